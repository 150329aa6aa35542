"""The live chart of the Weak classifiers page."""

from __future__ import annotations

import numpy as np
from scipy.stats import norm

from validation_core.benchmarks import boundary
from validation_core.drawing import live
from validation_core.drawing.marks import (
    Axis,
    Bars,
    Line,
    Mark,
    Note,
    Panel,
    Points,
    Slider,
    Text,
    VLine,
    over,
    sentence,
    written,
)
from validation_core.drawing.power_curves import (
    Rates,
    curve_keys,
    level_line,
    rate_line,
    rate_points,
    rejection_axis,
)
from validation_core.drawing.style import P, Q, method_style
from validation_core.explorers.weak_classifiers.study import (
    ANGLES,
    DEGREES,
    LEVEL,
    OFFSETS,
    RejectionRates,
    at,
    false_alarms,
)
from validation_core.scores import LinearBoundary
from validation_core.text import list_text, said_pvalue
from validation_core.types import Array, Joint, MethodStyle, TwoSamples

_C2ST_COLOR, _MULTIPLE_COLOR, _UNIFORM_COLOR = (
    method_style(name).color for name in ("c2st", "multiple", "uniform")
)
_SPARSE = slice(None, None, 5), slice(None, None, 2)  # grid points that show trials: c, angle
_EDGES = np.linspace(-4, 4, 21)
_HARDLY = 0.1  # a power that is not worth a reason


def payload(
    blocks: TwoSamples,
    pvalues: RejectionRates,
    exact: RejectionRates,
    counts: RejectionRates,
    trials: int,
    m: int,
) -> live.Payload:
    """Four panels over the shift c and the angle.

    Args:
        counts: rejections among the trials, in the axes of `RejectionRates`.
    """
    rates = exact._replace(uniform=counts.uniform / trials)
    return live.payload(
        sliders=[
            Slider(
                "c",
                OFFSETS,
                label="Shift of the boundary, c",
                start=1.0,
                ends=("best place", "far off"),
            ),
            Slider(
                "angle",
                DEGREES,
                label="Turn of the boundary",
                form="{:.0f}°",
                ends=("sees the shift", "blind to it"),
            ),
        ],
        panels=[
            _scatter(blocks),
            _histograms(blocks, pvalues, m),
            _power_panel(rates, counts, trials, m, along="c"),
            _power_panel(rates, counts, trials, m, along="angle"),
        ],
        headline=headline(rates),
        columns=4,
    )


def headline(rates: RejectionRates) -> Text:
    """The answer in one sentence, for every place of the sliders."""
    power = {"c2st": rates.c2st, "multiple": np.broadcast_to(rates.multiple, rates.c2st.shape)}
    percents = {
        name: written(values, closed_form_text, "c", "angle") for name, values in power.items()
    }
    words = np.vectorize(_explanation)(
        OFFSETS[:, None], DEGREES, rates.c2st, rates.per_class, power["multiple"]
    )
    return sentence(
        "At c = {c} and {angle}, C2ST catches q in {c2st} of samples, Multiple in {multiple}{why}",
        c=written(OFFSETS, "{:g}", "c"),
        angle=written(DEGREES, "{:.0f}°", "angle"),
        why=over(words, "c", "angle"),
        **percents,
    )


def correct_q_text(n: int) -> str:
    """How often each test would reject a correct q, along the shift of an unturned boundary."""
    places = (0.0, 1.0, 2.0)
    c2st = [at(false_alarms(n), c, 0.0)[0] for c in places]
    alarms = list_text(
        [f"{closed_form_text(r)} at c = {c:g}" for r, c in zip(c2st, places, strict=True)]
    )
    return (
        "**If q were correct,** the two clouds would coincide, and so would the two histograms. "
        "Multiple and Uniform would reject one sample in twenty, wherever the boundary lies. With "
        f"a boundary that is not turned, C2ST would reject {alarms}: fewer, because its null is "
        "too wide there."
    )


def closed_form_text(rate: float) -> str:
    """A rate by a closed form, which is never 0 or 1: `4.8%`, `under 0.1%`, `over 99.9%`."""
    if rate < 0.0005:
        return "under 0.1%"
    return f"{rate:.1%}" if rate < 0.9995 else "over 99.9%"


def _explanation(c: float, degrees: float, c2st: float, per_class: float, multiple: float) -> str:
    """Why the two powers differ: the part of a fair coin's null, and the part of the threshold.

    At c = 0 the threshold is at its best place: there the rest is what counting loses to ranking.
    """
    if degrees == DEGREES[-1]:
        return ": the score no longer sees the difference, so no test of it can."
    if multiple < _HARDLY:
        return ": the score hardly sees the difference, too little for samples of this size."
    if multiple - c2st < 0.1:
        return "."
    share = (per_class - c2st) / (multiple - c2st)
    names = ((0.9, "nearly all"), (0.6, "most"), (0.4, "half"), (0.15, "a part"), (-9, "little"))
    word = next(word for bound, word in names if share >= bound)
    loss = "collapse" if c2st < 0.75 * multiple else "gap"
    if c == 0 and word == "little":
        return f": the {loss} comes from counting right answers rather than ranking scores."
    rest = "counting rather than ranking" if c == 0 else "the threshold"
    return f": {word} of the {loss} comes from the wrong null variance, the rest from {rest}."


def _scatter(blocks: TwoSamples) -> Panel:
    along = np.array([-9.0, 9.0])
    middle = boundary.MIDPOINT + OFFSETS[:, None, None]
    x = middle - along * np.sin(ANGLES)[:, None] + 0 * middle  # (offsets, angles, 2)
    y = np.broadcast_to(along * np.cos(ANGLES)[:, None], x.shape)
    return Panel(
        [
            Points(
                blocks.p.theta[:, 0],
                blocks.p.x[:, 0],
                color=P,
                opacity=0.75,
                label="p",
                label_at=(-3.3, 2.4),
            ),
            Points(
                blocks.q.theta[:, 0],
                blocks.q.x[:, 0],
                color=Q,
                opacity=0.75,
                symbol="diamond",
                label="q",
                label_at=(3.6, 2.4),
            ),
            Line(over(x, "c", "angle"), over(y, "c", "angle"), color="", width=2),
        ],
        title="One sample, and the boundary",
        x=Axis((-3.5, 4), "θ"),
        y=Axis((-2.9, 2.9), "x"),
        equal=True,
        height=270,
        caption="What lies left of the line (below it, once turned) is called p. If q were "
        "correct, "
        "both clouds would lie over one another.",
    )


def _histograms(blocks: TwoSamples, pvalues: RejectionRates, m: int) -> Panel:
    means = boundary.score_means(OFFSETS[:, None], ANGLES)
    grid = np.linspace(-4, 4, 81)
    marks: list[Mark] = []
    top = 0.45
    for side, joint, mean, color in (("p", blocks.p, means.p, P), ("q", blocks.q, means.q, Q)):
        shift = over(mean, "c", "angle")
        heights = _densities(joint, side)
        top = max(top, 1.04 * float(heights.max()))
        marks += [
            Bars(_EDGES, over(heights, "angle"), color=color, opacity=0.45, shift=shift),
            Line(grid, norm.pdf(grid), color=color, shift=shift, width=1.5),
            Note(
                over(mean + (0.9 if side == "p" else -0.9), "c", "angle"),
                0.42,
                side,
                color=color,
                anchor="middle",
            ),
        ]
    marks.append(VLine(0.0, dash="4 3", label="threshold"))
    return Panel(
        marks,
        title="Scores under p and under q",
        height=270,
        x=Axis((-4.2, 5.2), "score (high looks like p)"),
        y=Axis((0, top), "density"),
        caption=sentence(
            "Shifting moves both past the threshold and changes no ranking; turning slides them "
            "together. p-values of this sample: C2ST {c2st} (per-class variance {per_class}), "
            f"Multiple {{multiple}}, Uniform({m}) {{uniform}}.",
            c2st=written(pvalues.c2st, said_pvalue, "c", "angle"),
            per_class=written(pvalues.per_class, said_pvalue, "c", "angle"),
            multiple=written(pvalues.multiple, said_pvalue, "angle"),
            uniform=written(pvalues.uniform, said_pvalue, "angle"),
        ),
    )


def _power_panel(
    rates: RejectionRates, counts: RejectionRates, trials: int, m: int, *, along: str
) -> Panel:
    """Power along one slider, over the other, with the present place marked."""
    by_c = along == "c"
    x, other = (OFFSETS, "angle") if by_c else (DEGREES, "c")
    sparse = _SPARSE[0] if by_c else _SPARSE[1]
    places, at = x[sparse], over(x, along)
    looks = (
        ("c2st", "C2ST", MethodStyle(_C2ST_COLOR, "", "circle")),
        ("per_class", "C2ST per class", MethodStyle(_C2ST_COLOR, "5 3", "ring")),
        ("multiple", "Multiple", MethodStyle(_MULTIPLE_COLOR, "", "square")),
        ("uniform", f"Uniform({m})", MethodStyle(_UNIFORM_COLOR, "2 2", "diamond")),
    )
    marks: list[Mark] = [level_line(LEVEL)]
    for name, _, look in looks:
        lines = _along(getattr(rates, name), by_c)
        measured = Rates.of(_along(getattr(counts, name), by_c)[:, sparse], trials)
        marks += [
            rate_line(x, lines, look, other),
            rate_points(places, measured, look, other, size=5),
        ]
    marks.append(VLine(at, width=1))
    return Panel(
        marks,
        height=270,
        legend=curve_keys({label: look for _, label, look in looks}),
        title="Power along the shift" if by_c else "Power along the turn",
        x=Axis((0, 2), "shift c")
        if by_c
        else Axis((0, 90), "turn in degrees", ticks=(0, 30, 60, 90)),
        y=rejection_axis(),
        caption=f"Lines are closed forms (for Uniform({m}) the trials joined up), points "
        f"{trials} trials with 95% Wilson intervals."
        if by_c
        else "Vertical lines mark where the sliders stand. If q were correct, Multiple and "
        "Uniform would lie at the dashed 5%, and C2ST near it or under it.",
    )


def _along(values: Array, by_c: bool) -> Array:
    """Values as (other slider, this slider), whether or not the test depends on c."""
    full = np.broadcast_to(values, (len(OFFSETS), len(ANGLES)))
    return full.T if by_c else full


def _densities(joint: Joint, side: str) -> Array:
    """Histograms (angles, bins) of one side's scores about their mean."""
    rows = []
    for angle in ANGLES:
        score = LinearBoundary(angle=angle)(joint.theta, joint.x)
        mean = getattr(boundary.score_means(0.0, angle), side)
        rows.append(np.histogram(score - mean, _EDGES, density=True)[0])
    return np.array(rows)
