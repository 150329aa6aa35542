"""`observation`: what can be said of q at one's own data."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from numbers import Integral
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from validation_core.api.ask import ask
from validation_core.api.keywords import checked_keywords
from validation_core.api.result import Result, Rows
from validation_core.api.table import Table, as_table
from validation_core.api.work import Watch
from validation_core.diagnosis.my_observation.answer import ObservationAnswer, worst_first
from validation_core.diagnosis.my_observation.local import local
from validation_core.diagnosis.my_observation.look import (
    Observation,
    at_rows,
    look,
    observation_at,
    own_observation,
    require_x,
)
from validation_core.diagnosis.questions.observation import ObservationQuestion
from validation_core.diagnosis.questions.observation.place import Where
from validation_core.drawing.drawn import Drawn
from validation_core.store import Store
from validation_core.tables import TableUpload, Upload
from validation_core.tables.observed import with_observation
from validation_core.tables.package_arrays import array_of
from validation_core.tables.reading import File
from validation_core.tables.shapes import holds_rows
from validation_core.types import Array


@dataclass(frozen=True, eq=False, repr=False)
class ObservationResult(Result):
    """Answers about one's own observation, the worst first.

    Examples:
        >>> result = npt.observation(table, [66.0, 66.0], local=False)
        >>> result.sentences[0]
        'No check on simulations speaks for your observation: the simulator could hardly ...'
        >>> result["simulated"].state
        'problem'
    """

    answers: tuple[ObservationAnswer, ...]
    x_o: Array
    """The observations (J, M)."""
    left_out: Mapping[str, str]
    """Why an answer is missing, by its name."""
    alpha: float
    """Level of each answer by itself."""
    notes: tuple[str, ...] = ()
    """What a user should know of the table: warnings first, and rows that were left out."""

    @property
    def title(self) -> str:
        return "My observation"

    @property
    def sentences(self) -> tuple[str, ...]:
        """Each answer's sentences, and what it cannot say."""
        return tuple(
            sentence for answer in self.answers for sentence in (*answer.sentences, answer.cannot)
        )

    @property
    def pvalues(self) -> dict[str, float]:
        """p-values of the answers that are tests, each at a level of its own."""
        return {answer.name: answer.pvalue for answer in self.answers if answer.pvalue is not None}

    def __getitem__(self, name: str) -> ObservationAnswer:
        """The answer of a name: simulated, targeted, near, weights, predictive or local.

        Raises:
            KeyError: for one that is not there, with why.
        """
        for answer in self.answers:
            if answer.name == name:
                return answer
        names = ", ".join(answer.name for answer in self.answers)
        raise KeyError(self.left_out.get(name) or f"An answer is one of {names}; got {name!r}.")

    def _ipython_key_completions_(self) -> list[str]:
        return [answer.name for answer in self.answers]

    def figures(self) -> tuple[Drawn, ...]:
        """Figures of every answer, in their order."""
        return tuple(drawn for answer in self.answers for drawn in answer.drawn)

    def rows(self) -> Rows:
        """A row for each answer."""
        return [
            {
                "answer": answer.name,
                "state": answer.state,
                "pvalue": answer.pvalue,
                "sentence": answer.sentences[0],
                "cannot say": answer.cannot,
            }
            for answer in self.answers
        ]

    def to_json(self) -> str:
        """Every answer with its words and numbers, the worst first."""
        from validation_core.report.numbers import dumps

        return dumps(
            {
                "level": self.alpha,
                "observations": self.x_o,
                "answers": [answer.to_json() for answer in self.answers],
                "left_out": dict(self.left_out),
                "notes": list(self.notes),
            }
        )


@checked_keywords()
def observation(
    table: Table | Upload | File | Mapping[str, ArrayLike],
    x_o: ArrayLike | int | None = None,
    theta_o: ArrayLike | None = None,
    *,
    x_rep: ArrayLike | None = None,
    log_q_o: ArrayLike | None = None,
    log_joint_o: ArrayLike | None = None,
    x_summary: ArrayLike | None = None,
    x_summary_o: ArrayLike | None = None,
    rows: int | Sequence[int] = (),
    local: bool = True,
    alpha: float = 0.05,
    seed: int = 0,
    store: Store | None = None,
    progress: bool | Watch = True,
) -> ObservationResult:
    """Say what can be said of q at your own observation, the worst first.

    Could the simulator have made it? Is q right around it, where the table was simulated there
    (`export.around`)? Is q calibrated near it? What do importance weights say?
    Does q predict it? What do L-C2ST and CoLT say there? Each answer has a level of its own.

    Args:
        table: theta (N, D), x (N, ...), theta_q (N, K, D); or a file that holds them.
        x_o: your observation (M,), several (J, M), or the place of a row as it was saved, which
            is then left out of what it is judged by; by default the one that came with the table.
        theta_o: draws of q at x_o (K', D), for L-C2ST; at the first of several observations.
        x_rep: data simulated at q's draws there (L, M), for a predictive check.
        log_q_o: log q at theta_o (K',), in nats; with log_joint_o for importance weights. Without
            them the table's own densities at the nearest rows serve.
        log_joint_o: log p(theta, x_o) at theta_o (K',), up to one constant.
        x_summary: further quantities of the simulations (N, S) that x_o is compared in.
        x_summary_o: the same of the observations (S,) or (J, S).
        rows: place of the row that is the observation, or of several, in place of x_o.
        local: whether L-C2ST and CoLT are trained, which takes seconds.
        alpha: level of each answer by itself.
        seed: of ties, splits and networks.
        store: of networks and results; by default the user's cache folder.
        progress: True for a bar on terminals and in notebooks, False for silence, or a `Watch`.

    Raises:
        ValueError: for a table without x, draws that look mistaken, or an observation that does
            not fit.

    Examples:
        >>> npt.observation(table, 12, local=False).pvalues["simulated"] <= 1
        True
    """
    given = as_table(table)
    upload = given.upload
    require_x(upload)
    assert isinstance(upload, TableUpload), "others have no x"
    ready = prepare(
        upload,
        int(x_o) if isinstance(x_o, Integral) and not isinstance(x_o, bool) else _array(x_o),
        _array(theta_o),
        x_rep=_array(x_rep),
        log_q_o=_array(log_q_o),
        log_joint_o=_array(log_joint_o),
        x_summary=_array(x_summary),
        x_summary_o=_array(x_summary_o),
        rows=rows,
    )
    upload, at = ready.upload, ready.observation
    answers = list(look(upload, at, alpha=alpha, seed=seed))
    left_out = missing_answers(upload, at)
    reason = ObservationQuestion().obstacle(upload)
    if not local:
        left_out["local"] = (
            "L-C2ST and CoLT at the observation were not asked: leave out --quick on the command "
            "line, give local=True in Python."
        )
    elif reason is not None:
        left_out["local"] = reason
    else:
        answers.append(_local(upload, ready.where, alpha, seed, store, progress))
    told = (*given.warnings, *given.notes)
    return ObservationResult(worst_first(answers), at.x, left_out, alpha, told)


def _array(value: ArrayLike | None) -> NDArray[np.generic] | None:
    """Numbers of any package as an array."""
    return None if value is None else array_of(value)


class Prepared(NamedTuple):
    """A table and one's own observation, checked."""

    upload: TableUpload
    """With q's draws at the observation, where they were given."""
    observation: Observation
    where: Where
    """Where L-C2ST looks."""


def prepare(
    upload: TableUpload,
    x_o: ArrayLike | int | None = None,
    theta_o: ArrayLike | None = None,
    *,
    x_rep: ArrayLike | None = None,
    log_q_o: ArrayLike | None = None,
    log_joint_o: ArrayLike | None = None,
    x_summary: ArrayLike | None = None,
    x_summary_o: ArrayLike | None = None,
    rows: int | Sequence[int] = (),
) -> Prepared:
    """Check what was given of an observation; the arguments are those of `observation`.

    Raises:
        ValueError: for draws that look mistaken, or an observation that does not fit the table.
    """
    upload.require_usable()
    rows = (int(rows),) if isinstance(rows, int | np.integer) else tuple(map(int, rows))
    own = x_o is None and not rows and upload.observed is not None
    if rows and x_o is not None:
        raise ValueError("An observation is x_o or rows of the table; got both. Leave one out.")
    if rows:
        at = at_rows(upload, rows)
    else:
        at = own_observation(upload) if x_o is None else observation_at(upload, x_o)
    if theta_o is not None:
        upload, own = with_observation(upload, at.x[0], np.asarray(theta_o)), True
    log_q, log_joint = _densities(log_q_o, log_joint_o)
    at = replace(
        at,
        x_rep=at.x_rep if x_rep is None else _predictions(x_rep, upload.dims[1]),
        log_q=log_q,
        log_joint=log_joint,
        summaries=_summaries(x_summary, x_summary_o, (upload.n, len(at.x))),
    )
    row = upload.saved_row(at.rows[0]) if at.rows else None
    where = None if own else tuple(at.x[0].tolist()) if row is None else row
    return Prepared(upload, at, where)


def _local(
    upload: TableUpload,
    where: Where,
    alpha: float,
    seed: int,
    store: Store | None,
    progress: bool | Watch,
) -> ObservationAnswer:
    result = ask(
        "observation", upload, alpha=alpha, seed=seed, store=store, progress=progress, where=where
    )
    return local(result.answer, result.diagnosis)


def missing_answers(upload: TableUpload, at: Observation) -> dict[str, str]:
    """Why an answer is missing, by its name."""
    missing = {}
    if upload.groups is not None:
        missing["near"] = (
            "Rows of this table share their draws, so that their ranks are not independent: draw "
            "from q at each x anew."
        )
    dense = {"log_q_draws", "log_joint_draws"} <= {*upload.densities}
    if at.log_q is None and not dense:
        missing["weights"] = (
            "Importance weights need log densities: give log_q_o and log_joint_o at theta_o, or "
            "a table with log_q_draws and log_joint_draws."
        )
    if not upload.is_around(at.x[0]):
        missing["targeted"] = (
            "A targeted check needs simulations around the observation: save a table by "
            "export.around(simulate, sample, x_o, prior_log_prob)."
        )
    if at.x_rep is None:
        missing["predictive"] = "A predictive check needs x_rep: data simulated at q's draws."
    return missing


def _predictions(x_rep: ArrayLike | None, m: int) -> Array | None:
    """Data simulated at q's draws, as (L, M).

    Raises:
        ValueError: for numbers that are not rows of x, or fewer than 20 rows.
    """
    if x_rep is None:
        return None
    given = np.asarray(x_rep)
    rows = given.size // m if holds_rows(given.shape, m) else 0
    if given.dtype.kind not in "iufb" or rows < 20 or not np.isfinite(given).all():
        raise ValueError(
            f"x_rep must hold 20 or more rows of {m} finite numbers; got {given.dtype} of shape "
            f"{given.shape}. Simulate an x at each of q's draws."
        )
    return given.reshape(rows, m).astype(np.float64)


def _densities(
    log_q_o: ArrayLike | None, log_joint_o: ArrayLike | None
) -> tuple[Array | None, Array | None]:
    """Log densities of q's draws at the observation.

    Raises:
        ValueError: for one without the other, or two of different lengths.
    """
    if log_q_o is None and log_joint_o is None:
        return None, None
    kinds = {np.asarray(one).dtype.kind for one in (log_q_o, log_joint_o) if one is not None}
    if not kinds <= {*"iuf"}:
        raise ValueError(
            "log_q_o and log_joint_o hold logarithms of densities; got other things than numbers. "
            "Give both at the same draws."
        )
    sizes = [None if one is None else np.size(one) for one in (log_q_o, log_joint_o)]
    if sizes[0] != sizes[1]:
        raise ValueError(
            f"log_q_o and log_joint_o hold a number for each draw of theta_o; got {sizes[0]} and "
            f"{sizes[1]}. Give both at the same draws."
        )
    q, joint = (np.asarray(one, dtype=np.float64).ravel() for one in (log_q_o, log_joint_o))
    return q, joint


def _summaries(
    of_x: ArrayLike | None, of_o: ArrayLike | None, sizes: tuple[int, int]
) -> tuple[Array, Array] | None:
    """Further quantities of the simulations and of the observations.

    Raises:
        ValueError: for one without the other, or numbers that do not fit.
    """
    if of_x is None and of_o is None:
        return None
    n, j = sizes
    first, second = (np.asarray(() if one is None else one) for one in (of_x, of_o))
    width = first.size // n
    in_rows = first.shape[:1] == (n,) and (j == 1 or second.shape[:1] == (j,))
    fits = width > 0 and in_rows and second.size == j * width
    numbers = all(one.dtype.kind in "iufb" and np.isfinite(one).all() for one in (first, second))
    if not fits or not numbers:
        raise ValueError(
            f"x_summary ({n}, S) and x_summary_o ({j}, S) hold finite numbers; got shapes "
            f"{first.shape} and {second.shape}. Work the same quantities out for both."
        )
    return first.reshape(n, width), second.reshape(j, width)
