"""What the Compare page draws: curves that refine, and power against what it costs."""

from collections import Counter
from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import ArrayLike

from pages.components import live
from pages.components.compare_controls import Chosen
from validation_core.benchmarks.strength import counts
from validation_core.comparisons import bounds, broken
from validation_core.figures import style
from validation_core.figures.power import Curve, curves
from validation_core.sweep import Progress
from validation_core.types import Array, PowerCell

VIEWS = {"power": "Power", "draws": "Power per draw", "seconds": "Power per second"}
_DASHES = ("", "7 5", "2 3", "10 4", "8 3 2 3", "12 3 2 3 2 3")
_MARKS = 5  # symbols that points know
_BAND = 0.07  # eight of them lie over one another


def power(chosen: Chosen, progress: Progress) -> live.Payload:
    """Share of trials rejected along gamma or beta, a curve for each method."""
    axis, sweep = chosen.axis, chosen.sweep
    places = sweep.betas if axis == "beta" else sweep.gammas
    across = _scale(chosen, places)
    ticks = across(places)
    room = 0.02 * float(np.ptp(ticks)) or 0.5
    marks = [live.hline(sweep.design.alpha, dash="6 4", color=style.NULL)]
    legend = []
    seen = looks(progress.cells)
    for curve in curves(progress.cells, axis):
        color, dash, symbol = seen[curve.label]
        marks += _marks(curve._replace(x=across(curve.x)), color, dash, symbol)
        legend.append((curve.label, color, symbol))
    wrong = broken(progress.cells)
    if wrong and axis == "gamma":
        marks.append(
            live.points(across([cell.gamma for cell in wrong]), [cell.rate for cell in wrong],
                        color=style.OBSERVED, symbol="ring", size=12)
        )  # fmt: skip
        legend.append(("level broken", style.OBSERVED, "ring"))
    panel = live.panel(
        marks, height=380, legend=legend,
        x=live.axis((ticks.min() - room, ticks.max() + room), chosen.axis_label, ticks=ticks,
                    shown=[f"{value:g}" for value in places]),
        y=live.axis((-0.03, 1.04), "share of trials rejected", percent=True),
        caption=_caption(progress, chosen),
    )  # fmt: skip
    return live.payload(sliders=[], panels=[panel], columns=1)


def _scale(chosen: Chosen, places: Sequence[float]) -> Callable[[ArrayLike], Array]:
    """Where places are drawn: iterations by their logarithm, all else as it is."""
    if chosen.axis == "gamma" and counts(chosen.sweep.benchmark) and min(places) > 0:
        return lambda values: np.log10(np.asarray(values, float))
    return lambda values: np.asarray(values, float)


def cost(chosen: Chosen, progress: Progress, view: str) -> live.Payload:
    """Power of each method against the draws or the seconds of one test; a slider moves along."""
    axis = chosen.axis
    places = sorted({getattr(cell, axis) for cell in progress.cells})
    start = places[len(places) // 2]
    marks, seen = [], looks(progress.cells)
    labels = dict.fromkeys(cell.label for cell in progress.cells)
    xs = []
    for label in labels:
        at = {getattr(cell, axis): cell for cell in progress.cells if cell.label == label}
        x = np.array([_spent(chosen, at[p], view) if p in at else np.nan for p in places])
        rate = np.array([at[p].rate if p in at else np.nan for p in places])
        ends = np.array([bounds(at[p]) if p in at else (np.nan, np.nan) for p in places])
        color, _, symbol = seen[label]
        xs.append(x)
        marks.append(
            live.points(
                live.over(np.log10(x)[:, None], axis), live.over(rate[:, None], axis),
                low=live.over(ends[:, :1], axis), high=live.over(ends[:, 1:], axis),
                color=color, symbol=symbol, size=8,
            )
        )  # fmt: skip
    spent = np.concatenate(xs)
    decades = np.arange(
        np.floor(np.log10(np.nanmin(spent))), np.ceil(np.log10(np.nanmax(spent))) + 1
    )
    unit = "draws of p and q in one test" if view == "draws" else "seconds of one test"
    panel = live.panel(
        marks, height=380, legend=[(label, color, symbol) for label, (color, _, symbol) in
                                   seen.items()],
        x=live.axis((decades[0] - 0.1, decades[-1] + 0.1), unit, ticks=decades,
                    shown=[f"{10.0**d:,.0f}" if d >= 0 else f"{10.0**d:g}" for d in decades]),
        y=live.axis((-0.03, 1.04), "share of trials rejected", percent=True),
        caption="Up and to the left is better: more power for less. Bars are 95% Wilson "
        "intervals. Training comes on top, once for all trials: the table below has it. Were q "
        "right, every point would lie at the level.",
    )  # fmt: skip
    slider = live.slider(
        axis, places, label=chosen.axis_label.capitalize(), shown=[f"{p:g}" for p in places],
        start=start,
    )  # fmt: skip
    return live.payload(sliders=[slider], panels=[panel], columns=1)


def _spent(chosen: Chosen, cell: PowerCell, view: str) -> float:
    if view == "draws":  # of one test, whatever trials share
        design = chosen.sweep.design
        method = next(one for one in chosen.sweep.methods if one.label == cell.label)
        return float(sum(method.budget(design.n, design.k)))
    return max(cell.seconds / cell.trials, 1e-5)


Look = tuple[str, str, str]


def looks(cells: Sequence[PowerCell]) -> dict[str, Look]:
    """Colour, dash and symbol by label: one colour a method, variants told apart by the others."""
    found: dict[str, Look] = {}
    variants: Counter[str] = Counter()
    methods = list(dict.fromkeys(cell.method for cell in cells))
    for label, method in {cell.label: cell.method for cell in cells}.items():
        place = methods.index(method) + variants[method]
        variants[method] += 1
        found[label] = (
            style.method_style(method).color, _DASHES[place % len(_DASHES)],
            live.SYMBOLS[place % _MARKS],
        )  # fmt: skip
    return found


def _marks(curve: Curve, color: str, dash: str, symbol: str) -> list[dict]:
    low, high = curve.interval
    return [
        live.band(curve.x, low, high, color=color, opacity=_BAND),
        live.line(curve.x, curve.rate, color=color, dash=dash),
        live.points(curve.x, curve.rate, color=color, symbol=symbol, size=6),
    ]


def _caption(progress: Progress, chosen: Chosen) -> str:
    counts = sorted({cell.trials for cell in progress.cells})
    count = f"{counts[0]}" if len(counts) == 1 else f"{counts[0]} to {counts[-1]}"
    pooled = any(cell.method == "uniform" and cell.protocol == "pooled" for cell in progress.cells)
    law = (
        " Uniform reads its calibration counts off one pooled law of p's scores, 100 for each "
        "test point." if pooled else ""
    )  # fmt: skip
    return (
        f"{count} trials a point; bands are 95% Wilson intervals with one trained network a "
        f"point.{law} The dashed line is the level of {chosen.sweep.design.alpha:.0%}, where "
        "every curve would lie were q right."
    )


def answer(chosen: Chosen, progress: Progress) -> str:
    """Who sees it, in one sentence with its numbers, at the middle of the grid."""
    axis = chosen.axis
    places = sorted({getattr(cell, axis) for cell in progress.cells})
    at = places[len(places) // 2] if places else None
    here = sorted(
        (cell for cell in progress.cells if getattr(cell, axis) == at),
        key=lambda cell: (-cell.rate, cell.label),
    )
    if not here:
        return ""
    best, last = here[0], here[-1]
    low, high = bounds(best)
    count = len(chosen.sweep.methods)
    far = "" if len(here) == count else f" so far, with {len(here)} of {count} tests run"
    said = (
        f"At {chosen.at(at)}{far}, {best.label} rejects q most often: in {best.rate:.0%} of "
        f"{best.trials} trials (95% interval {low:.0%} to {high:.0%})"
    )
    return said + (f"; {last.label} in {last.rate:.0%}." if len(here) > 1 else ".")
