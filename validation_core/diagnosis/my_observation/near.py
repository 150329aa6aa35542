"""Is q calibrated near it? Evidence over the simulations nearest to an observation."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import logsumexp

from validation_core.diagnosis.my_observation.answer import ObservationAnswer
from validation_core.diagnosis.my_observation.pictures import evidence_curve
from validation_core.diagnosis.questions.observation.nearby import nearby_rank_test
from validation_core.diagnosis.questions.observation.words import interval_or_blank, nearby_text
from validation_core.localization import neighbours
from validation_core.relabelling.claims import parameter_name
from validation_core.relabelling.normal_scores import MOST
from validation_core.rng import stream
from validation_core.statistics.betting import anytime_pvalue, log_wealth
from validation_core.statistics.ranks import count
from validation_core.text import list_text, number_text, said_equals
from validation_core.types import Array, Float, PosteriorTable

_ROWS = 2000  # nearest simulations that are bet on, at most
_TITLE = "Is q calibrated near it?"
_CANNOT = (
    "It speaks of the simulations nearest to your observation, not of the observation itself: an "
    "error in a smaller neighbourhood than a few dozen simulations stays unseen."
)


@dataclass(frozen=True, eq=False)
class NearEvidence:
    """Evidence against q over the nearest simulations, in the order of their distance."""

    wealth: Float
    """Log evidence (n,) after each, averaged over all scores."""
    each: Float
    """Log evidence (S, n) of each score by itself: parameters, then q's distance."""
    parameters: NDArray[np.int64]
    """Those of the first scores."""

    @property
    def pvalue(self) -> float:
        """Valid however many of the nearest are looked at."""
        return anytime_pvalue(self.wealth)

    def first_beyond(self, alpha: float) -> int | None:
        """The number of nearest simulations after which it first rejects; None where never."""
        beyond = np.flatnonzero(self.wealth >= -np.log(alpha))
        return int(beyond[0]) + 1 if len(beyond) else None

    def named(self, alpha: float) -> tuple[int, ...]:
        """Parameters whose own evidence rejects among as many simulations, the clearest first.

        Each of S scores holds 1 / S of the stake: that one alone reaches S / alpha has a chance of
        at most alpha / S where it is uniform, so that a wrong name has one of at most alpha.
        """
        own = self.each[: len(self.parameters), : self.first_beyond(alpha)].max(1)
        order = np.argsort(-own, kind="stable")
        line = np.log(len(self.each) / alpha)
        return tuple(int(self.parameters[i]) for i in order if own[i] >= line)


def evidence_near(table: PosteriorTable, x_o: Array, seed: int) -> NearEvidence:
    """Bet against the ranks of true values at the simulations nearest to x_o (M,).

    Rows are ordered by x alone, so that under a correct q the ranks are independent and uniform
    in that order too; ties among draws are broken at random.

    Args:
        table: theta (N, D), x (N, M), q (N, K, D); rows independent of one another.
        x_o: the observation.
        seed: of tie-breakers, and of the parameters where there are more than 50.
    """
    order = np.argsort(neighbours.distances(table.x, x_o[None])[0], kind="stable")[:_ROWS]
    rng = stream(seed, "observation", "evidence")
    d, k = table.theta.shape[1], table.q.shape[1]
    which = np.arange(d) if d <= MOST else np.sort(rng.permutation(d)[:MOST])
    theta, q = table.theta[order][:, which], table.q[order][:, :, which]
    truth, draws = list(theta.T), list(np.moveaxis(q, 2, 0))
    if len(which) > 1:
        distance = _distances_in_row(theta, q)
        truth.append(distance[:, 0])
        draws.append(distance[:, 1:])
    own = np.empty((len(truth), len(order)))
    for i, (value, others) in enumerate(zip(truth, draws, strict=True)):
        below, equal = count(value, others)
        u = (below + rng.random(len(order)) * (equal + 1)) / (k + 1)
        own[i] = log_wealth(u[None])
    wealth = logsumexp(own, axis=0) - np.log(len(own))
    return NearEvidence(np.asarray(wealth), own, which)


def _distances_in_row(theta: Array, q: Array) -> Float:
    """Squared distance (n, K + 1) of the truth and each draw from the middle of all of them."""
    slots = np.concatenate([theta[:, None], q], axis=1).astype(np.float64)  # (n, K + 1, D)
    away = slots - slots.mean(1, keepdims=True)
    sd = np.sqrt(np.square(away).mean(1, keepdims=True))
    return np.asarray(np.square(away / np.where(sd > 0, sd, np.inf)).sum(2))


def near(
    table: PosteriorTable,
    x_o: Array,
    names: Sequence[str],
    *,
    alpha: float,
    seed: int,
    unlike: bool = False,
) -> ObservationAnswer:
    """Answer whether q is calibrated at the simulations nearest to x_o (M,).

    Args:
        table: simulations that are not the observation.
        x_o: the observation.
        names: of the parameters.
        alpha: level.
        seed: of tie-breakers and of relabelling.
        unlike: whether the observation is unlike the simulations.
    """
    found = evidence_near(table, x_o, seed)
    ranks = nearby_rank_test(table, found.parameters, x_o, seed)
    return ObservationAnswer(
        name="near",
        title=_TITLE,
        sentences=(
            *_sentences(found, names, alpha),
            nearby_text(ranks, names),
            *(["Your observation is unlike these simulations."] if unlike else []),
        ),
        cannot=_CANNOT,
        wrong=found.first_beyond(alpha) is not None,
        pvalue=found.pvalue,
        drawn=(evidence_curve(found.wealth, alpha),),
        rows=[
            {
                "parameter": parameter_name(names, one.parameter),
                "bias nearby, posterior sd (+ is too high)": interval_or_blank(one.shift, "+.2f"),
                "width / needed width": interval_or_blank(one.width, ".2f"),
                "p, adjusted": one.pvalue,
            }
            for one in ranks.worst
        ],
        notes=(
            "Beta densities are bet on the ranks of true values among q's draws, the nearest "
            "simulation first; the stake is shared by all parameters and the distance from q's "
            "middle. Rows are ordered by x alone (Ville's inequality).",
        ),
        numbers={
            "evidence": float(np.exp(min(found.wealth.max(), 700.0))),
            "decided_after": found.first_beyond(alpha),
            "rows": len(found.wealth),
            "nearest_rows": {"rows": ranks.rows, "pvalue": ranks.pvalue},
        },
    )


def _sentences(found: NearEvidence, names: Sequence[str], alpha: float) -> tuple[str, ...]:
    n, after = len(found.wealth), found.first_beyond(alpha)
    most = float(np.exp(min(found.wealth.max(), 700.0)))
    line = f"{1 / alpha:.3g} to 1 rejects"
    if after is None:
        return (
            f"No evidence that q is wrong near your observation: at most "
            f"{number_text(max(most, 1.0), 2)} to 1 over its {n:,} nearest simulations ({line}).",
        )
    named = [parameter_name(names, each) for each in found.named(alpha)[:3]]
    where = f", in {list_text(named)}" if named else ""
    return (
        f"q is wrong among the {after:,} simulations nearest to your observation{where} "
        f"(p {said_equals(found.pvalue)}, valid however many are looked at).",
    )
