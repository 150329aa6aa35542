"""Every answer about one's own observation that a table allows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike

from validation_core.diagnosis.my_observation.answer import ObservationAnswer, worst_first
from validation_core.diagnosis.my_observation.likeness import independent_rows
from validation_core.diagnosis.my_observation.near import near
from validation_core.diagnosis.my_observation.predictive import predictive
from validation_core.diagnosis.my_observation.simulated import simulated
from validation_core.diagnosis.my_observation.targeted import targeted
from validation_core.diagnosis.my_observation.weights import log_ratios, weights
from validation_core.localization import neighbours
from validation_core.statistics.strangeness import FEWEST
from validation_core.tables import TableUpload, Upload
from validation_core.tables.shapes import holds_rows
from validation_core.types import Array, PosteriorTable

_NEAREST = 20  # rows whose weights stand for the observation's


@dataclass(frozen=True, eq=False)
class Observation:
    """One's own observations, and whatever was worked out at the first of them."""

    x: Array
    """(J, M)."""
    rows: tuple[int, ...] = ()
    """The table's rows that they are; those are left out of what they are judged by."""
    x_rep: Array | None = None
    """Data simulated at q's draws (L, M)."""
    log_q: Array | None = None
    """log q at q's draws there (K,)."""
    log_joint: Array | None = None
    """log p(theta, x_o) at these draws (K,)."""
    summaries: tuple[Array, Array] | None = None
    """Further quantities of the table's x (N, S) and of the observations (J, S)."""


def own_observation(upload: TableUpload) -> Observation:
    """The observation that came with a table.

    Raises:
        ValueError: where none did.
    """
    if upload.observations is None:
        raise ValueError(
            "An observation has the numbers of an x; got a table without x_o. Name one: x_o, or "
            "a row of the table."
        )
    x_rep = upload.x_rep
    return Observation(
        upload.observations.astype(np.float64),
        x_rep=None if x_rep is None else x_rep.astype(np.float64),
    )


def require_x(upload: Upload) -> None:
    """Refuse draws at which no observation can be looked.

    Raises:
        ValueError: for two samples, ranks, probabilities, and a table without x.
    """
    if not isinstance(upload, TableUpload) or not upload.dims[1]:
        raise ValueError(f"An observation is an x; got {upload.held}. Bring theta, x and theta_q.")


def observation_at(upload: TableUpload, x_o: ArrayLike | int | Sequence[int]) -> Observation:
    """Observations of these numbers, or the rows of a table that are named by whole numbers.

    Args:
        upload: the table.
        x_o: M numbers, J times M, or the place of a row, counted from 0.

    Raises:
        ValueError: for numbers that are not those of an x, or a row that is not there.
    """
    m, last = upload.dims[1], upload.saved_row(upload.n - 1)
    require_x(upload)
    given = np.asarray(x_o)
    if isinstance(x_o, int | np.integer):
        return at_rows(upload, [int(x_o)])
    fits = given.dtype.kind in "iufb" and given.size and holds_rows(given.shape, m)
    if not fits:
        raise ValueError(
            f"An observation has the {m} numbers of an x; got {given.dtype} of shape "
            f"{given.shape}. Give x_o as ({m},), several as (J, {m}), or a row from 0 to {last}; "
            "in the table's own file it is read as x is, gaps and complex numbers too."
        )
    x = given.reshape(-1, m).astype(np.float64)
    bad = int((~np.isfinite(x)).sum())
    if bad:
        raise ValueError(
            f"An observation has finite numbers; got {bad} NaN or infinite. Give what was "
            "measured, or leave these columns out of x as well."
        )
    return Observation(x)


def at_rows(upload: TableUpload, rows: Sequence[int]) -> Observation:
    """Rows of a table as observations.

    Args:
        upload: the table.
        rows: their places among the rows that were saved, counted from 0.

    Raises:
        ValueError: for a row that is not there, or that was left out.
    """
    if len(set(rows)) < len(rows):
        raise ValueError(f"Each row is looked at once; got {list(rows)}. Name it once.")
    read = [upload.row_saved_at(row) for row in rows]
    return Observation(upload.data.x[read].astype(np.float64), tuple(read))


def look(
    upload: TableUpload, observation: Observation, *, alpha: float = 0.05, seed: int = 0
) -> tuple[ObservationAnswer, ...]:
    """Answer all that needs no training, the worst first.

    Args:
        upload: the table.
        observation: the observations; what is asked of q is asked at the first.
        alpha: level of each answer by itself.
        seed: of ties, splits and relabelling.

    Raises:
        ValueError: for fewer than 20 simulations.
    """
    table = _without(upload.data, observation.rows)
    x_o = observation.x[0]
    independent = independent_rows(upload, observation.rows)
    if len(independent) < FEWEST:
        raise ValueError(
            f"An observation is judged by at least {FEWEST} simulations of their own; got "
            f"{len(independent)}. Bring more."
        )
    summaries = observation.summaries
    if summaries is not None:
        summaries = summaries[0][independent], summaries[1]
    answers = [
        simulated(
            upload.data.x[independent],
            observation.x,
            upload.x_names,
            alpha=alpha,
            seed=seed,
            summaries=summaries,
            around=upload.around is not None,
        )
    ]
    unlike = bool(answers[0].wrong)
    if upload.is_around(x_o):
        answers.append(targeted(upload, x_o, alpha=alpha, seed=seed, unlike=unlike))
    if upload.groups is None:  # rows that share their draws are not independent of one another
        answers.append(near(table, x_o, upload.names, alpha=alpha, seed=seed, unlike=unlike))
    if (weighed := _weights(upload, observation)) is not None:
        answers.append(weighed)
    if observation.x_rep is not None:
        answers.append(predictive(observation.x_rep, x_o, upload.x_names, alpha=alpha, seed=seed))
    if (several := len(observation.x)) > 1:
        first = f"Of {several} observations, this is asked at the first."
        answers[1:] = [
            replace(answer, sentences=(*answer.sentences, first)) for answer in answers[1:]
        ]
    return worst_first(answers)


def own_answers(upload: Upload, alpha: float, seed: int) -> tuple[ObservationAnswer, ...]:
    """What needs no training of the observation that came with a table; nothing without one, or
    where draws are not those of the true values."""
    if not isinstance(upload, TableUpload) or upload.observations is None or upload.unusable:
        return ()
    if len(independent_rows(upload)) < FEWEST:
        return ()
    return look(upload, own_observation(upload), alpha=alpha, seed=seed)


def _without(table: PosteriorTable, rows: Sequence[int]) -> PosteriorTable:
    """The table without some rows."""
    if not rows:
        return table
    keep = np.setdiff1d(np.arange(len(table)), rows)
    return PosteriorTable(table.theta[keep], table.x[keep], table.q[keep])


def _weights(upload: TableUpload, observation: Observation) -> ObservationAnswer | None:
    """The weights at the observation, at its row, or at the rows nearest to it."""
    if observation.log_q is not None and observation.log_joint is not None:
        return weights(
            [log_ratios(observation.log_joint, observation.log_q)], "at your observation"
        )
    known = upload.densities
    if not {"log_q_draws", "log_joint_draws"} <= {*known}:
        return None
    if observation.rows:
        rows, where = np.array(observation.rows[:1]), "at your observation"
    else:
        away = neighbours.distances(upload.data.x, observation.x[:1])[0]
        rows = np.argsort(away, kind="stable")[:_NEAREST]
        where = f"at the {len(rows)} simulations nearest to your observation"
    ratios = [log_ratios(known["log_joint_draws"][i], known["log_q_draws"][i]) for i in rows]
    return weights(ratios, where)
