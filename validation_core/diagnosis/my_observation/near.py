"""Is q calibrated near it? Evidence over the simulations nearest to an observation."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import repeat

import numpy as np

from validation_core import sampling
from validation_core.diagnosis.evidence import RankEvidence, ranked_parameters, ranks_in_rows
from validation_core.diagnosis.evidence_curve import evidence_curve
from validation_core.diagnosis.my_observation.answer import ObservationAnswer
from validation_core.diagnosis.questions.observation.nearby import nearby_rank_test
from validation_core.diagnosis.questions.observation.words import interval_or_blank, nearby_text
from validation_core.drawing.drawn import Drawn
from validation_core.localization import neighbours
from validation_core.relabelling.claims import parameter_name
from validation_core.rng import stream
from validation_core.statistics.betting import log_wealth, mean_wealth
from validation_core.text import level_text, list_text, number_text, said_equals, share_text
from validation_core.types import Array, PosteriorTable

_ROWS = 2000  # nearest simulations that are bet on, at most
_MOST = 0.5  # of a table's rows, beyond which these are no neighbourhood
_SAID = np.log(1e6)  # no reader acts on larger evidence
_TITLE = "Is q calibrated near it?"
_CANNOT = (
    "It speaks of the simulations nearest to your observation, not of the observation itself: an "
    "error in a smaller neighbourhood than a few dozen simulations stays unseen."
)


def evidence_near(table: PosteriorTable, x_o: Array, seed: int) -> RankEvidence:
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
    which = ranked_parameters(table.theta.shape[1], rng)
    u = ranks_in_rows(sampling.take(table, order), which, repeat(rng))
    own = np.stack([log_wealth(ranks[None]) for ranks in u])
    return RankEvidence(mean_wealth(own), own, which)


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

    The evidence alone claims, at level alpha; the ranks of the nearest describe what it claims.

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
    wrong = found.first_beyond(alpha) is not None
    return ObservationAnswer(
        name="near",
        title=_TITLE,
        sentences=(
            *_sentences(found, names, alpha, len(table)),
            nearby_text(ranks, names, alpha, claimed=wrong),
            *(["Your observation is unlike these simulations."] if unlike else []),
        ),
        cannot=_CANNOT,
        wrong=wrong,
        pvalue=found.pvalue,
        drawn=(
            Drawn(
                "Evidence against q, from the nearest simulation on",
                evidence_curve(found.wealth, alpha, "nearest simulations", "%{x} nearest"),
                "Evidence over the n simulations nearest to your observation. If q were correct, "
                f"the line would ever reach {1 / alpha:.3g} to 1 in at most {100 * alpha:.3g}% of "
                "tables.",
            ),
        ),
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


def _sentences(
    found: RankEvidence, names: Sequence[str], alpha: float, rows: int
) -> tuple[str, ...]:
    n, after = len(found.wealth), found.first_beyond(alpha)
    line = f"{1 / alpha:.3g} to 1 rejects"
    if after is None:
        return (
            f"No evidence that q is wrong near your observation: at most "
            f"{number_text(found.most, 2)} to 1 over its {n:,} nearest simulations ({line}).",
        )
    named = [parameter_name(names, each) for each in found.named(alpha)[:3]]
    where = f", in {list_text(named)}" if named else ""
    most = int(found.wealth.argmax()) + 1
    claim = f"q is wrong among the {after:,} simulations nearest to your observation{where}"
    p = f"p {said_equals(found.pvalue)}, valid however many are looked at"
    far = [_mostly_elsewhere(found, most, after, rows)] if most > _MOST * rows else []
    if most == after:
        return f"{claim} ({p}).", *far
    least = found.wealth[after:most].min()
    fell = f", after a fall to {_odds(least)} in between" if least < 0 else ""
    return (
        f"{claim} ({_odds(found.wealth[after - 1])} against q, rejected at {level_text(alpha)}).",
        f"Evidence is largest over the {most:,} nearest: {_odds(found.wealth.max())} ({p}){fell}.",
        *far,
    )


def _odds(wealth: float) -> str:
    """Log evidence to 1: `0.19 to 1`, `2,900 to 1`."""
    if wealth >= _SAID:
        return "over a million to 1"
    odds = float(np.exp(wealth))
    size = f"{float(f'{odds:.2g}'):,.0f}" if odds >= 99.5 else number_text(odds, 2)
    return f"{size} to 1"


def _mostly_elsewhere(found: RankEvidence, most: int, after: int, rows: int) -> str:
    """That evidence is largest over most of the table, and how much is near the observation."""
    close = max(1, rows // 10)
    least = max(float(found.wealth[:close].max()), 0.0)
    what = "the error" if after > _MOST * rows else "some of that evidence"
    return (
        f"These are {share_text(most / rows)} of the table: {what} may lie far from your "
        f"observation. Its {close:,} nearest simulations alone give at most {_odds(least)} "
        "against q."
    )
