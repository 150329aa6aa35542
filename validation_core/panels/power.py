"""Power of methods along gamma, beta or m, and against their cost in draws or seconds."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from validation_core.drawing import live, style
from validation_core.drawing.drawn import Drawn
from validation_core.drawing.marks import SYMBOLS, Axis, Mark, Note, Panel, Points, Slider, over
from validation_core.drawing.power_curves import (
    Rates,
    curve_keys,
    level_line,
    method_look,
    places_axis,
    rate_curve,
    rate_points,
    rejection_axis,
)
from validation_core.panels.gamma_scale import GammaScale
from validation_core.scores.classifier import TableClassifier
from validation_core.sweep.plan import Sweep
from validation_core.sweep.presets import broken, disagreement
from validation_core.sweep.progress import Progress
from validation_core.sweep.rates import counts_of, rate_interval
from validation_core.text import (
    capitalise,
    first_text,
    level_text,
    list_text,
    range_text,
    share_interval_text,
    share_text,
)
from validation_core.types import Array, MethodStyle, PowerCell

Along = Literal["gamma", "beta", "m"]


def level_said(alpha: float) -> str:
    """What the dashed line says; a test whose null is too wide rejects in fewer trials."""
    return (
        f"The dashed line is the level: if q were correct, every test would reject in about "
        f"{level_text(alpha)} of trials or fewer."
    )


class PowerCurve(NamedTuple):
    """Rejection rates of one method along x."""

    method: str
    label: str
    x: Array
    rates: Rates
    """With the intervals of their cells."""


def curves(cells: Sequence[PowerCell], x: Along) -> list[PowerCurve]:
    """Cells gathered into curves by method and label; cells at one place are added up."""
    by_curve: dict[tuple[str, str], dict[float, PowerCell]] = defaultdict(dict)
    for cell in cells:
        label = cell.method if x == "m" else cell.label or cell.method
        at, place = by_curve[cell.method, label], _place(cell, x)
        at[place] = _added(at[place], cell) if place in at else cell
    gathered = []
    for (method, label), at in by_curve.items():
        places = sorted(place for place in at if np.isfinite(place))
        if places:
            rates = _rates([at[place] for place in places])
            gathered.append(PowerCurve(method, label, np.array(places), rates))
    return gathered


def _added(one: PowerCell, other: PowerCell) -> PowerCell:
    """Counts of two cells together."""
    trials, rejections = one.trials + other.trials, one.rejections + other.rejections
    return replace(one, trials=trials, rejections=rejections)


def _rates(cells: Sequence[PowerCell | None]) -> Rates:
    """Rates of cells with their intervals (cells,); NaN where there is none."""
    rows = [(cell.rate, *rate_interval(cell)) if cell else (np.nan,) * 3 for cell in cells]
    return Rates(*np.array(rows).reshape(-1, 3).T)


def trials_text(cells: Sequence[PowerCell]) -> str:
    """Trials and networks behind each point, and what bands are: the begin of a caption."""
    counts = range_text(count for cell in cells for _, count in counts_of(cell))
    networks = max((len(cell.networks) for cell in cells), default=0)
    if networks:
        return (
            f"{counts} trials a point with each of {networks} trained networks, where a test "
            "reads one: a curve is their mean, its band reaches from the lowest to the highest "
            "of their 95% Wilson intervals."
        )
    return (
        f"{counts} trials a point; bands are 95% Wilson intervals of each, with one trained "
        "network."
    )


def by_network(cell: PowerCell) -> str:
    """Power by each network, in words; "" where there is one."""
    return ", ".join(f"{count.rejections / count.trials:g}" for count in cell.networks)


def _place(cell: PowerCell, x: Along) -> float:
    if x == "gamma":
        return cell.gamma
    return cell.beta if x == "beta" else float(cell.options.get("m", np.nan))


AXES: dict[Along, str] = {
    "gamma": "perturbation strength gamma",
    "beta": "classifier degradation beta",
    "m": "calibration draws per test point m",
}


def power_figure(cells: Sequence[PowerCell], along: Along, fixed: str, alpha: float) -> Drawn:
    """Power curves with their bands and labels; the axis of m is logarithmic.

    Args:
        cells: counts of the methods.
        along: the setting on the axis.
        fixed: the constant settings, for the title.
        alpha: the level.
    """
    lines = curves(cells, along)
    places = sorted({float(x) for line in lines for x in line.x}) or [1.0]
    place: Callable[[ArrayLike], Array] = np.log10 if along == "m" else np.asarray
    looks = method_looks({line.label: line.method for line in lines})
    marks: list[Mark] = [level_line(alpha)]
    for line in lines:
        marks += rate_curve(place(line.x), line.rates, looks[line.label])
    return Drawn(
        f"Power over {along}, {fixed}",
        Panel(
            marks,
            x=places_axis(places, AXES[along], at=place(places)),
            y=rejection_axis(),
            height=300,
            legend=curve_keys(looks),
        ),
        f"{trials_text(cells)} {level_said(alpha)}",
    )


VIEWS = {"power": "Power", "draws": "Power per draw", "seconds": "Power per second"}

_DASHES = ("", "dash", "dot", "longdash", "dashdot", "longdashdot")

_MARKS = 6  # symbols that points know

FAINT = 0.07
"""Opacity of bands of which eight lie over one another."""


def along(sweep: Sweep) -> Along:
    """The setting along which a sweep's curves run."""
    return "beta" if len(sweep.betas) > 1 else "gamma"


def axis_label(sweep: Sweep) -> str:
    """Label of that axis."""
    return "degradation beta" if along(sweep) == "beta" else sweep.benchmark.axis


def place_text(sweep: Sweep, value: float) -> str:
    """A place on that axis in words, to follow "at"."""
    return f"beta = {value:g}" if along(sweep) == "beta" else sweep.benchmark.place(value)


def where_text(sweep: Sweep, value: float) -> str:
    """A place with "at"; empty on a benchmark that has no strength to choose."""
    if along(sweep) == "gamma" and len(sweep.benchmark.gammas) == 1:
        return ""
    return f"at {place_text(sweep, value)}"


def compare(sweep: Sweep, progress: Progress) -> live.Payload:
    """Rejection rates along gamma or beta, a curve for each method; of one place side by side."""
    places = sweep.betas if along(sweep) == "beta" else sweep.gammas
    looks = curve_looks(progress.cells)
    drawn = _side_by_side if len(places) == 1 else _curves
    marks, x, y = drawn(sweep, progress, looks)
    legend = curve_keys(looks if len(places) > 1 else {})
    wrong = broken(sweep.benchmark, progress.cells)
    if wrong and along(sweep) == "gamma":
        legend.append(("level broken", style.OBSERVED, "ring"))
    panel = Panel(
        [level_line(sweep.design.alpha), *marks],
        height=380,
        legend=legend,
        x=x,
        y=y,
        caption=_caption(sweep, progress),
    )
    return live.payload(panels=[panel], columns=1)


_Drawing = tuple[list[Mark], Axis, Axis]
"""Marks with their two axes."""


def _curves(sweep: Sweep, progress: Progress, looks: dict[str, MethodStyle]) -> _Drawing:
    """A curve for each method, with a ring where it breaks its level."""
    axis = along(sweep)
    places = sweep.betas if axis == "beta" else sweep.gammas
    across = _scale(sweep, places)
    marks = [
        mark
        for curve in curves(progress.cells, axis)
        for mark in rate_curve(across(curve.x), curve.rates, looks[curve.label], opacity=FAINT)
    ]
    if axis == "gamma" and (wrong := broken(sweep.benchmark, progress.cells)):
        marks.append(_ring(across([cell.gamma for cell in wrong]), wrong))
    x = places_axis(places, axis_label(sweep), at=across(places))
    return marks, x, rejection_axis()


def _side_by_side(sweep: Sweep, progress: Progress, looks: dict[str, MethodStyle]) -> _Drawing:
    """The methods at the only place, each with its interval above its name."""
    axis = along(sweep)
    order = list(looks)
    at = {curve.label: curve.rates for curve in curves(progress.cells, axis)}
    marks: list[Mark] = [
        rate_points([order.index(label)], rates, looks[label]) for label, rates in at.items()
    ]
    wrong = broken(sweep.benchmark, progress.cells)
    if wrong:
        marks.append(_ring([order.index(cell.label) for cell in wrong], wrong))
    highest = max(float(np.nanmax(rates.high)) for rates in at.values())
    y = rejection_axis(min(1.0, 1.1 * max(highest, 2 * sweep.design.alpha)))
    foot = 0.18 * y.limits[1]
    marks += [
        Note(place, -(0.5 + 0.4 * (place % 2)) * foot, label, color=look.color, anchor="middle")
        for place, (label, look) in enumerate(looks.items())  # in two rows, for narrow screens
    ]
    label = where_text(sweep, getattr(sweep.places[0], axis))
    x = Axis((-0.6, len(order) - 0.4), label, hidden=True)
    return marks, x, replace(y, limits=(-foot, y.limits[1]))


def _ring(x: ArrayLike, cells: Sequence[PowerCell]) -> Points:
    rates = [cell.rate for cell in cells]
    return Points(x, rates, color=style.OBSERVED, symbol="ring", size=12)


def _scale(sweep: Sweep, places: Sequence[float]) -> Callable[[ArrayLike], Array]:
    """Positions of places on the axis: logarithmic for iterations, else linear."""
    scale = GammaScale.of(sweep.benchmark)
    logarithmic = along(sweep) == "gamma" and scale.logarithmic and min(places) > 0
    return scale._replace(logarithmic=logarithmic).places


def cost(sweep: Sweep, progress: Progress, view: str) -> live.Payload:
    """Power of each method against the draws or the seconds of one test, over a slider."""
    axis = along(sweep)
    places = sorted({getattr(cell, axis) for cell in progress.cells})
    start = telling_place(sweep, progress.cells)
    marks: list[Mark] = [level_line(sweep.design.alpha)]
    looks = curve_looks(progress.cells)
    xs = []
    for label, look in looks.items():
        at = {getattr(cell, axis): cell for cell in progress.cells if cell.label == label}
        x = np.array([_spent(sweep, at[p], view) if p in at else np.nan for p in places])
        rates = Rates(*(end[:, None] for end in _rates([at.get(p) for p in places])))
        xs.append(x)
        marks.append(rate_points(over(np.log10(x)[:, None], axis), rates, look, axis, size=8))
    spent = np.concatenate(xs)
    decades = np.arange(
        np.floor(np.log10(np.nanmin(spent))), np.ceil(np.log10(np.nanmax(spent))) + 1
    )
    unit = (
        "draws of p and q in one test" if view == "draws" else "seconds of one test, on one core"
    )
    panel = Panel(
        marks,
        height=380,
        legend=curve_keys(looks),
        x=Axis(
            (decades[0] - 0.1, decades[-1] + 0.1),
            unit,
            ticks=decades,
            names=[f"{10.0**d:,.0f}" if d >= 0 else f"{10.0**d:g}" for d in decades],
        ),
        y=rejection_axis(),
        caption="Up and to the left is better: more power for less. Bars are the intervals of "
        "the curves' bands. Training comes on top, once for all trials: the table below has it. "
        f"{level_said(sweep.design.alpha)}",
    )
    slider = Slider(
        axis,
        places,
        label=axis_label(sweep).capitalize(),
        names=[f"{p:g}" for p in places],
        start=start,
    )
    return live.payload(sliders=[slider], panels=[panel], columns=1)


def _spent(sweep: Sweep, cell: PowerCell, view: str) -> float:
    if view == "draws":  # of one test, as if trials shared no work
        design = sweep.design
        method = next(method for method in sweep.methods if method.label == cell.label)
        return float(sum(method.budget(design.n, design.k)))
    return max(cell.seconds / cell.trials, 1e-5)


def curve_looks(cells: Sequence[PowerCell]) -> dict[str, MethodStyle]:
    """Styles by label: each method's own, and of its variants other dashes and symbols."""
    return method_looks({cell.label: cell.method for cell in cells})


def method_looks(labels: Mapping[str, str]) -> dict[str, MethodStyle]:
    """The same of methods' names by label."""
    looks: dict[str, MethodStyle] = {}
    variants: Counter[str] = Counter()
    for label, method in labels.items():
        color, dash, symbol = method_look(method)
        step = variants[method]
        variants[method] += 1
        looks[label] = MethodStyle(
            color,
            _DASHES[(_DASHES.index(dash) + step) % len(_DASHES)],
            SYMBOLS[(SYMBOLS.index(symbol) + step) % _MARKS],
        )
    return looks


def _caption(sweep: Sweep, progress: Progress) -> str:
    pooled = any(cell.method == "uniform" and cell.protocol == "pooled" for cell in progress.cells)
    law = (
        " Uniform draws its calibration counts from one pooled law of p's scores, 100 for "
        "each test point."
        if pooled
        else ""
    )
    return f"{trials_text(progress.cells)}{law} {level_said(sweep.design.alpha)}"


_NAMED = 3  # tests that tie, by name


def telling_place(sweep: Sweep, cells: Sequence[PowerCell]) -> float:
    """The place that separates the tests, of which a comparison speaks throughout.

    It is where most tests miss what another finds, or else where rates differ most; of places
    where they differ equally, the one nearest to the middle of the grid.
    """
    axis = along(sweep)
    conflict = disagreement(sweep, cells)
    if conflict is not None:
        return float(getattr(conflict.place, axis))
    rates: dict[float, list[float]] = defaultdict(list)
    for cell in cells:
        rates[float(getattr(cell, axis))].append(cell.rate)
    middle = sorted(rates)[len(rates) // 2]

    def differ(at: float) -> tuple[int, float, float]:
        return len(rates[at]), max(rates[at]) - min(rates[at]), -abs(at - middle)

    return max(rates, key=differ)


def answer(sweep: Sweep, progress: Progress) -> str:
    """Which tests detect the error, at the place that separates them, and on how many draws their
    classifier was trained.

    Where q is correct, how often they reject it.
    """
    if not progress.cells:
        return ""
    axis, at = along(sweep), telling_place(sweep, progress.cells)
    here = [cell for cell in progress.cells if getattr(cell, axis) == at]
    here.sort(key=lambda cell: (-cell.rate, cell.label))
    count = len(sweep.methods)
    far = "" if len(here) == count else f"with {len(here)} of {count} tests run so far"
    if sweep.benchmark.is_exact(at if axis == "gamma" else sweep.gammas[0]):
        false = _false_alarms(here)
        if axis == "beta":
            false = f"{where_text(sweep, at)} {false}"
        said = f"q is correct here: {', '.join(filter(None, (false, far)))}"
    else:
        rejected = f"q is rejected {_by_whom(here)}"
        said = capitalise(", ".join(filter(None, (where_text(sweep, at), far, rejected))))
    return f"{said}. {trained_on(sweep)}".strip()


def trained_on(sweep: Sweep) -> str:
    """Which tests read a classifier and the draws from which that learns, as a sentence; empty
    where none does.
    """
    labels = (m.label.partition("(")[0] for m in sweep.methods if m.reads_classifier)
    readers, recipe = list(dict.fromkeys(labels)), sweep.recipe
    if not readers:
        return ""
    if isinstance(recipe, TableClassifier):
        draws = f"{recipe.n:,} draws of p and {recipe.k:,} of q at each"
    elif rows := getattr(recipe, "train", 0):
        draws = f"{rows:,} draws a side"
    else:
        return ""
    verb = "reads" if len(readers) == 1 else "read"
    return f"{list_text(readers)} {verb} a classifier trained on {draws}."


def _by_whom(here: Sequence[PowerCell]) -> str:
    """Rejection rates of tests at one place, the highest first, in words."""
    best, last = here[0], here[-1]
    most, least = (share_text(cell.rate) for cell in (best, last))
    by_rate: dict[str, list[str]] = defaultdict(list)
    for cell in here:
        by_rate[share_text(cell.rate)].append(cell.label)
    share = f"{share_interval_text((best.rate, *rate_interval(best)))} of {_trials(best)}"
    parts = [f"in {share} by {_named(by_rate.pop(most))}"]
    lowest = by_rate.pop(least, [])
    if by_rate:
        high, *_, low = [*by_rate] * 2
        others = [label for labels in by_rate.values() for label in labels]
        who = others[0] if len(others) == 1 else f"{len(others)} others"
        parts.append(f"in {low if low == high else f'{low} to {high}'} by {who}")
    if lowest:
        parts.append(f"in {least} by {_named(lowest)}")
    return list_text(parts)


def _false_alarms(here: Sequence[PowerCell]) -> str:
    """How seldom and how often tests reject a correct q, in words."""
    most, least = here[0], here[-1]
    ends = f"{least.rate:.1%} of {_trials(least)} ({least.label})"
    if most.rate > least.rate:
        ends += f" to {most.rate:.1%} ({most.label})"
    return f"tests reject it in {ends}; their level is {level_text(most.alpha)}"


def _trials(cell: PowerCell) -> str:
    """Trials behind a cell's rate, in words."""
    if cell.networks:
        return f"{cell.networks[0].trials} trials (mean of {len(cell.networks)} networks)"
    return f"{cell.trials} trials"


def _named(labels: Sequence[str]) -> str:
    """Tests by name, or how many there are and the first of them."""
    return labels[0] if len(labels) == 1 else f"{len(labels)} tests ({first_text(labels, _NAMED)})"
