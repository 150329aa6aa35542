"""Does q predict it? An observation among data simulated at q's own draws there."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from validation_core.diagnosis.my_observation.answer import ObservationAnswer
from validation_core.diagnosis.my_observation.pictures import predictive_shown
from validation_core.diagnosis.questions.base import Rows
from validation_core.relabelling.claims import x_column_name
from validation_core.rng import stream
from validation_core.statistics.strangeness import strangeness
from validation_core.text import first_text, said_equals
from validation_core.types import Array

_TITLE = "Does q predict it?"
_CANNOT = (
    "This p is not exact: your observation is used twice, to draw from q and to judge it, so p is "
    "usually too large. A good prediction does not show that q is right."
)
_NAMED = 3
_SUMMARIES = ("mean", "standard deviation", "smallest value", "largest value")


def predictive(
    x_rep: Array, x_o: Array, x_names: Sequence[str], *, alpha: float, seed: int
) -> ObservationAnswer:
    """Answer whether an observation (M,) and its summaries are usual among predicted data (L, M).

    One p-value is of both, so that no summary is called rare where all is usual.
    """
    several = len(x_o) > 1  # one number is all of its own summaries
    of_rep, of_o = _summaries(x_rep), _summaries(x_o[None])
    ranked = strangeness(
        x_rep,
        x_o[None],
        stream(seed, "observation", "predictive"),
        summaries=(of_rep, of_o) if several else None,
    )
    shares = _two_sided(x_rep, x_o)
    summaries = (
        dict(zip(_SUMMARIES, _two_sided(of_rep, of_o[0]).tolist(), strict=True)) if several else {}
    )
    p = float(ranked.pvalue[0])
    out = [
        x_column_name(int(at), x_names)
        for at in np.argsort(ranked.coordinates[0], kind="stable")
        if ranked.coordinates[0, at] <= alpha
    ]
    where = f", farthest in {first_text(out, _NAMED)}" if out and p <= alpha else ""
    odd = [title for title, share in summaries.items() if share <= alpha / len(summaries)]
    sentences = (
        f"Data that q predicts are unlike your observation (p {said_equals(p)}){where}."
        if p <= alpha
        else f"Your observation is usual among the data that q predicts (p {said_equals(p)}).",
        *([f"Its {first_text(odd, _NAMED)} would be rare among them."] * bool(odd and p <= alpha)),
    )
    return ObservationAnswer(
        name="predictive",
        title=_TITLE,
        sentences=sentences,
        cannot=_CANNOT,
        wrong=True if p <= alpha else None,
        pvalue=p,
        drawn=(predictive_shown(x_rep, x_o, x_names),),
        rows=_rows(summaries, shares, x_names),
        numbers={"draws": len(x_rep), "summaries": summaries},
    )


def _summaries(x: Array) -> Array:
    """Summaries (n, 4) of data (n, M)."""
    return np.stack([x.mean(1), x.std(1), x.min(1), x.max(1)], axis=1)


def _rows(summaries: Mapping[str, float], shares: Array, x_names: Sequence[str]) -> Rows:
    """Summaries, then coordinates, the rarest first."""
    order = np.argsort(shares, kind="stable")
    named = {x_column_name(int(at), x_names): float(shares[at]) for at in order}
    return [
        {"quantity": quantity, "p, by itself": share}
        for quantity, share in (*summaries.items(), *named.items())
    ]


def _two_sided(x_rep: Array, x_o: Array) -> Array:
    """Twice the smaller share of predictions (L, M) at most and at least as large: (M,)."""
    below = (1 + (x_rep <= x_o).sum(0)) / (len(x_rep) + 1)
    above = (1 + (x_rep >= x_o).sum(0)) / (len(x_rep) + 1)
    return np.asarray(np.minimum(2 * np.minimum(below, above), 1.0))
