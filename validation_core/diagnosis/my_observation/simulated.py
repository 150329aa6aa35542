"""Could the simulator have made it? An exact test of an observation among the simulations."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from validation_core.diagnosis.my_observation.answer import ObservationAnswer
from validation_core.diagnosis.my_observation.likeness import (
    as_strange_text,
    farthest_text,
    outlyingness,
    rank_among,
)
from validation_core.diagnosis.my_observation.pictures import among_simulations, strangeness_shown
from validation_core.diagnosis.questions.base import Rows
from validation_core.localization import neighbours
from validation_core.relabelling.claims import x_column_name
from validation_core.statistics.strangeness import Strangeness
from validation_core.text import (
    count_text,
    level_text,
    list_text,
    more_text,
    number_text,
    said_equals,
    said_pvalue,
)
from validation_core.types import Array

_TITLE = "Could the simulator have made it?"
_CANNOT = (
    "It looks at x alone: an observation can be usual under a model that is wrong, and q can be "
    "wrong at a usual observation."
)
_AROUND = (
    "Simulations at theta where q puts it given the observation, not from the prior: another "
    "theta may make it, and a large p says little, since it chose them."
)
_PARTS = {
    "mahalanobis": "distance from the middle (Mahalanobis)",
    "neighbours": "distance to the fifth nearest simulation",
    "coordinates": "single coordinates, alone and given the others",
    "summaries": "your summaries",
}


def simulated(
    x: Array,
    x_o: Array,
    x_names: Sequence[str],
    *,
    alpha: float,
    seed: int,
    summaries: tuple[Array, Array] | None = None,
    around: bool = False,
) -> ObservationAnswer:
    """Answer whether the simulator could have made observations.

    Args:
        x: simulations (n, M) that are not the observations.
        x_o: observations (J, M).
        x_names: of the columns.
        alpha: level of the claim. Of several observations, half of it is the rate of false
            discoveries among those that are named.
        seed: of ties and of splits.
        summaries: further quantities of the simulations (n, S) and the observations (J, S).
        around: whether theta was drawn around q's draws at an observation.
    """
    ranked = rank_among(x, x_o, seed, summaries)
    several = len(x_o) > 1
    sentences = (
        _several(ranked, alpha)
        if several
        else _one(ranked, x_names, alpha, nearest(x, x_o[0]), " where q puts theta" * around)
    )
    worst = int(ranked.pvalue.argmin())
    return ObservationAnswer(
        name="simulated",
        title=_TITLE,
        sentences=sentences,
        cannot=f"{_AROUND} {_CANNOT}" if around else _CANNOT,
        wrong=ranked.overall <= alpha,
        pvalue=ranked.overall,
        drawn=(
            among_simulations(x, x_o[worst], x_names),
            strangeness_shown(ranked, worst, _PARTS),
        ),
        rows=_rows(ranked, x_names),
        notes=(_method_text(ranked, several),),
        numbers={
            "pvalues": ranked.pvalue.tolist(),
            "adjusted": ranked.adjusted.tolist(),
            "joint": ranked.joint,
            "as_strange": list(ranked.as_strange),
            "simulations": ranked.n,
            "parts": {name: p.tolist() for name, p in ranked.parts.items()},
            "coordinates": _numbers_of_coordinates(ranked, worst, x_names),
        },
    )


def nearest(x: Array, x_o: Array) -> float:
    """Distance of an observation (M,) to its nearest simulation, in sds a column."""
    return float(neighbours.distances(x, x_o[None])[0].min())


def _one(
    ranked: Strangeness, x_names: Sequence[str], alpha: float, away: float, place: str
) -> tuple[str, ...]:
    """Sentences about one observation; `place` follows a clause about the simulator."""
    p, count = float(ranked.pvalue[0]), as_strange_text(ranked)
    if p > alpha:
        return (
            f"Your observation looks like one of the simulations{place}: {count} as strange "
            f"(p {said_equals(p)}).",
        )
    where = farthest_text(ranked, x_names)
    distance = f"Its nearest simulation differs by {number_text(away, 2)} sd per column."
    if ranked.as_strange[0] == 0:
        return (
            "No check on simulations speaks for your observation: the simulator could hardly "
            f"have made it{place}, since {count} as strange (p {said_equals(p)}){where}.",
            distance,
        )
    return (
        f"The simulator would rarely make your observation{place}: {count} as strange "
        f"(p {said_equals(p)}){where}. What holds at simulations may not hold there.",
        distance,
    )


def _several(ranked: Strangeness, alpha: float) -> tuple[str, ...]:
    found, p = ranked.unlike(alpha), f"p {said_equals(ranked.overall)}"
    total, joint = len(ranked.pvalue), ranked.joint
    assert joint is not None, "there are several"
    parts = (
        f"The smallest adjusted p of one is {said_pvalue(float(ranked.adjusted.min()))}; together "
        f"their mean strangeness has p {said_equals(joint)} among random sets of {total}."
    )
    if not len(found):
        if ranked.overall <= alpha:
            return (
                f"Together your {total} observations are unlike the simulations ({p}); no single "
                "one stands out.",
                parts,
            )
        least = 2 * total / (ranked.n + 1)  # p where one alone is stranger than all simulations
        few = (
            f"Among {ranked.n:,} simulations no single one of {total} can stand out at "
            f"{level_text(alpha)}: bring more simulations, or ask of fewer observations."
        )
        return (
            f"All {total} observations look like simulations ({p}).",
            parts,
            *([few] if least > alpha else []),
        )
    listed = ", ".join(str(at) for at in found[:8]) + more_text(len(found) - 8)
    verb = "is" if len(found) == 1 else "are"
    return (
        f"{len(found)} of {total} observations {verb} unlike the simulations ({p}): no check on "
        f"simulations speaks for {listed} (counted from 0; false discovery rate "
        f"{100 * alpha / 2:.3g}%).",
        parts,
    )


def _rows(ranked: Strangeness, x_names: Sequence[str]) -> Rows:
    """A row for each coordinate of one observation, or for each of several observations."""
    if len(ranked.pvalue) > 1:
        return [
            {
                "observation": int(at),
                "p": float(ranked.pvalue[at]),
                "p, adjusted": float(ranked.adjusted[at]),
                **{_PARTS[name]: float(p[at]) for name, p in ranked.parts.items()},
            }
            for at in np.argsort(ranked.pvalue, kind="stable")
        ]
    return [
        {
            "coordinate": x_column_name(int(each), x_names),
            "sds from the median": float(ranked.deviations[0, each]),
            "sds from what the others predict": float(ranked.residuals[0, each]),
            "p, over all coordinates": float(ranked.coordinates[0, each]),
        }
        for each in np.argsort(-outlyingness(ranked, 0), kind="stable")
    ]


def _numbers_of_coordinates(
    ranked: Strangeness, at: int, x_names: Sequence[str]
) -> list[dict[str, object]]:
    """The farthest coordinates, at most 20."""
    return [
        {
            "name": x_column_name(int(each), x_names),
            "deviation": float(ranked.deviations[at, each]),
            "residual": float(ranked.residuals[at, each]),
            "pvalue": float(ranked.coordinates[at, each]),
        }
        for each in np.argsort(-outlyingness(ranked, at), kind="stable")[:20]
    ]


def _method_text(ranked: Strangeness, several: bool) -> str:
    """How the test is done."""
    learnt = "one half of the simulations" if several else "the simulations and the observation"
    kinds = list_text([_PARTS[name] for name in ranked.parts])
    both = (
        " p of all is twice the smaller of two: the smallest of single observations, adjusted "
        "(Benjamini and Hochberg), and that of their mean strangeness."
    )
    return (
        f"Each strangeness is learnt from {learnt}, and the observation ranked among "
        f"{count_text(ranked.n, 'simulation')}: exact whatever the distribution of x (conformal "
        f"prediction). Joined before they are ranked: {kinds}.{both * several}"
    )
