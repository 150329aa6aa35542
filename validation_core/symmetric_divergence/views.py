"""Curves of the Symmetric divergence page, computed for every slider position."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from validation_core.bayes.inference import Inference
from validation_core.drawing import live, style
from validation_core.drawing.marks import HLine, Mark, Panel, Slider, over, sentence
from validation_core.symmetric_divergence import MS, Plan, Terms, importance_sample_size
from validation_core.symmetric_divergence.curves import (
    CurveFamily,
    FamilyTerms,
    trained_with_each,
    weighted,
)
from validation_core.symmetric_divergence.lines import (
    BARE_M,
    DrawnLine,
    NatsAxis,
    log_axis,
    m_style,
    rate_guide,
    staggered_places,
)
from validation_core.symmetric_divergence.lines import marks as line_marks
from validation_core.symmetric_divergence.nats_text import ROUNDING, format_number, with_unit
from validation_core.symmetric_divergence.runs import TermSummary, summarise_terms
from validation_core.text import count_text
from validation_core.types import Array, Integers, MethodStyle

PREFIXES = (10, 25, 50, 100, 200)
"""First data sets that are averaged, up to those that were simulated."""


class _SummaryCurve(NamedTuple):
    """One curve at every position of two sliders with A and P values, along X positions."""

    label: str
    look: MethodStyle
    numbers: TermSummary
    """Summaries (A, P, X) in nats; NaN without a run, or with a data set without q."""
    lost: Integers
    """Data sets without q (A, P, X)."""
    done: NDArray[np.bool_]
    """Whether there is a run (A, X)."""
    wanted: NDArray[np.bool_]
    """Whether there is to be one (A, X)."""
    first: tuple[int, ...]
    """Data sets averaged (P,)."""
    bare: bool = False
    """Whether it is drawn by its medians alone."""

    @property
    def gap(self) -> NDArray[np.bool_]:
        """Whether there is a run but no estimate (A, P, X)."""
        return np.asarray(self.done[:, None] & ~np.isfinite(self.numbers.mean))


Panels = Sequence[Sequence[_SummaryCurve]]
"""A panel for each model."""


def _prefixes(datasets: int) -> tuple[int, ...]:
    """Numbers of data sets to average over."""
    return (*(k for k in PREFIXES if k < datasets), datasets)


def _look(inference: Inference) -> MethodStyle:
    """Colour, dash and symbol of an inference; a variant has its algorithm's colour."""
    name = inference.name.removesuffix("_clipped")
    look = live.browser_style(style.algorithm_style(name))
    return look if name == inference.name else look._replace(dash="1 3", symbol="cross")


def families(plan: Plan) -> tuple[CurveFamily, ...]:
    """Families that are shown under every M: each inference of M = 1, and IWVI trained with M."""
    own = [importance_sample_size(inference) for inference in plan.inferences]
    each = tuple(weighted(plan, place) for place, m in enumerate(own) if m == 1)
    return (*each, trained_with_each(plan)) if max(own) > 1 else each


def panels_along_iterations(plan: Plan, terms: Mapping[tuple[int, int], Terms]) -> Panels:
    """Curves along iterations, over M (at least an inference's own) and K: (len(MS), P, I)."""

    def line(inference: Inference, of: Terms) -> _SummaryCurve:
        own = [MS.index(max(m, importance_sample_size(inference))) for m in MS]
        done = np.broadcast_to(of.done, (len(MS), len(of.done)))
        return _curve(inference.label, _look(inference), of.d[:, own].swapaxes(0, 1), done)

    return [
        [line(inference, terms[i, j]) for j, inference in enumerate(plan.inferences)]
        for i in range(len(plan.models))
    ]


def panels_for_each_m(plan: Plan, terms: Mapping[tuple[int, int], Terms]) -> Panels:
    """Curves for each M along iterations, over the families and K: (families, P, I)."""
    panels = []
    for i in range(len(plan.models)):
        several = [family.terms(plan, terms, i) for family in families(plan)]
        d, done = np.stack([of.d for of in several]), np.stack([of.done for of in several])
        wanted = np.array([[m in family.ms for m in MS] for family in families(plan)])
        panels.append(
            [
                _curve(
                    f"M = {m}",
                    live.browser_style(m_style(m)),
                    d[:, :, at],
                    done[:, :, at],
                    np.broadcast_to(wanted[:, at, None], done.shape[:2]),
                )._replace(bare=m in BARE_M)
                for at, m in enumerate(MS)
            ]
        )
    return panels


def panels_along_m(plan: Plan, terms: Mapping[tuple[int, int], Terms]) -> Panels:
    """A curve for each family along M, over iterations and K: (I, P, len(MS))."""

    def line(family: CurveFamily, of: FamilyTerms) -> _SummaryCurve:
        wanted = np.broadcast_to([m in family.ms for m in MS], of.done.shape)
        return _curve(family.label, live.browser_style(family.look), of.d, of.done, wanted)

    return [
        [line(family, family.terms(plan, terms, i)) for family in families(plan)]
        for i in range(len(plan.models))
    ]


def _curve(
    label: str,
    look: MethodStyle,
    d: Array,
    done: NDArray[np.bool_],
    wanted: NDArray[np.bool_] | None = None,
) -> _SummaryCurve:
    """A curve from terms d (A, X, K), with summaries (A, P, X) over the first data sets."""
    first = _prefixes(d.shape[-1])
    summaries = [summarise_terms(d[..., :k]) for k in first]
    lost = np.stack([np.isnan(d[..., :k]).sum(-1) for k in first], 1)
    return _SummaryCurve(
        label,
        look,
        TermSummary(*(np.stack(values, 1) for values in zip(*summaries, strict=True))),
        np.where(done[:, None], lost, 0),
        done,
        np.ones_like(done) if wanted is None else wanted,
        first,
    )


_CLOSEST = 1e-3
"""Nats below which nobody tells p and q apart."""

Place = tuple[int, int, int]
"""Positions of the two sliders, and along the curve."""


def _interval(line: _SummaryCurve, at: Place) -> str:
    """A median with its interval, and the mean with a warning where one data set dominates it."""
    mean, (middle, low, high) = line.numbers.mean[at], (v[at] for v in line.numbers.medians)
    largest = max(abs(v) for v in (mean, middle, low, high) if v == v)
    if largest < _CLOSEST:
        return f"less than {_CLOSEST:g} nats" if largest > ROUNDING else "0 nats to rounding"
    between = f"95% interval {format_number(low)} to {format_number(high)}; " if low == low else ""
    carried = ", most of it from one data set" * bool(line.numbers.dominated[at])
    return f"{with_unit(middle)} ({between}mean {format_number(mean)}{carried})"


def answer(titles: Sequence[str], panels: Panels, at: Place) -> str:
    """The medians furthest from 0 and nearest to it, with their models, at one slider position,
    and the largest mean where it is of another.

    Medians of different models, often with wide intervals, do not rank the fits: that is left
    open.
    """
    there = [
        (float(line.numbers.median[at]), f"{line.label} on {title}", line)
        for title, lines in zip(titles, panels, strict=True)
        for line in lines
        if np.isfinite(line.numbers.median[at])
    ]
    if not there:
        return "no run is there yet, or none has a q for every data set."
    there.sort(key=lambda one: abs(one[0]))  # noise takes some below 0
    (_, near, best), (_, far, worst) = there[0], there[-1]
    told = any(line.numbers.median_low[at] > 0 for _, _, line in there)
    if len(there) == 1:
        not_told = "" if told else ", not told from 0"
        return f"{near} has a median of {_interval(best, at)}{not_told}."
    return (
        f"{'' if told else 'no median is told from 0; '}{far} has the largest median, "
        f"{_interval(worst, at)}.{_largest_mean(there, at)} "
        f"Median nearest to 0: {near}, {_interval(best, at)}."
    )


def _largest_mean(there: Sequence[tuple[float, str, _SummaryCurve]], at: Place) -> str:
    """The largest mean, of lines in the order of their medians; empty where it is the last's."""
    means = [float(line.numbers.mean[at]) for _, _, line in there]
    most = means.index(max(means))
    if means[most] <= max(means[-1], _CLOSEST):
        return ""
    _, name, line = there[most]
    carried = ", most of it from one data set" * bool(line.numbers.dominated[at])
    return f" Largest mean: {name}, {with_unit(means[most])}{carried}."


def panel_caption(
    lines: Sequence[_SummaryCurve], places: Sequence[int], unit: str, a: int, p: int
) -> str:
    """Caption of a panel at one slider position: its best mean, gaps, and data sets left out."""
    sentences = []
    middle = np.array([line.numbers.median[a, p] for line in lines])
    finite = np.flatnonzero(np.isfinite(middle).any(0))
    if finite.size:
        x = int(finite[-1])
        best = lines[int(np.nanargmin(np.abs(middle[:, x])))]
        where = f"M = {places[x]}" if unit == "M" else f"{places[x]:,} {unit}"
        whose = f"Median nearest to 0 at {where}, of {best.label}" if lines[1:] else f"At {where}"
        sentences = [
            f"{whose}: {_interval(best, (a, p, x))}.",
            *_beyond(lines, places, unit, a, p),
        ]
    if gaps := _gaps(lines, places, unit, a, p):
        sentences.append(f"No q, hence a gap: {'; '.join(gaps)}.")
    if left := sum(int((line.wanted & ~line.done)[a].sum()) for line in lines):
        count = sum(int(line.wanted[a].sum()) for line in lines)
        some = "Some of its" if unit == "M" else f"{left} of its {count}"
        sentences.append(
            f"{some} runs are missing." if left < count else "None of its runs is there yet."
        )
    return " ".join(sentences)


def _beyond(
    lines: Sequence[_SummaryCurve], places: Sequence[int], unit: str, a: int, p: int
) -> list[str]:
    """The largest of the means beyond the axis."""
    nats = nats_axis(lines)
    means = np.array([line.numbers.mean[a, p] for line in lines])
    means[~(means > nats.high)] = -np.inf
    if not np.isfinite(means).any():
        return []
    j, x = map(int, np.unravel_index(means.argmax(), means.shape))
    where = f"M = {places[x]}" if unit == "M" else f"{places[x]:,} {unit}"
    most = f"{with_unit(float(means[j, x]))} ({lines[j].label}, {where})"
    return [f"Means beyond the axis: up to {most}."]


def _gaps(
    lines: Sequence[_SummaryCurve], places: Sequence[int], unit: str, a: int, p: int
) -> list[str]:
    """Where lines have gaps: once where it is the same for all."""
    there = [line for line in lines if line.lost[a, p].any()]
    where = [_gap(line, places, unit, a, p) for line in there]
    if len(there) == len(lines) > 2 and len(set(where)) == 1:
        return [f"every curve{where[0]}"]
    return [f"{line.label}{text}" for line, text in zip(there, where, strict=True)]


def _gap(line: _SummaryCurve, places: Sequence[int], unit: str, a: int, p: int) -> str:
    lost = line.lost[a, p]
    where = (
        ""
        if unit == "M"
        else (f" at {', '.join(f'{places[x]:,}' for x in np.flatnonzero(lost).tolist())} {unit}")
    )
    most = int(lost.max())
    some = "up to " if (lost[lost > 0] < most).any() else ""
    return f"{where} (on {some}{count_text(most, 'data set')})"


_HEIGHT, _MARGIN = 250, 104


def payload(view: str, plan: Plan, terms: Mapping[tuple[int, int], Terms]) -> live.Payload:
    """One view of the finished runs: "iterations", "each-m" or "over-m"."""
    along = {
        "iterations": panels_along_iterations,
        "each-m": panels_for_each_m,
        "over-m": panels_along_m,
    }
    return draw_view(view, plan, along[view](plan, terms))


def completion_mask(terms: Mapping[tuple[int, int], Terms]) -> bytes:
    """Which runs are finished, as bytes: a plan's pictures depend on nothing else."""
    return np.packbits(np.concatenate([terms[place].done for place in sorted(terms)])).tobytes()


def draw_view(view: str, plan: Plan, panels: Panels) -> live.Payload:
    """Draw a view at every position of its two sliders."""
    titles = [model.label for model in plan.models]
    first, second = _slider(view, plan), _data_sets(plan)
    along = "M" if view == "over-m" else "iterations"
    places = MS if along == "M" else plan.iterations
    a, p = len(first.grid), len(second.grid)
    ends = [_end(panels, i) for i in range(a)]
    answers = [[answer(titles, panels, (i, j, ends[i])) for j in range(p)] for i in range(a)]
    return live.payload(
        sliders=[first, second],
        panels=[
            _panel(title, lines, places, along, (first.name, "k"))
            for title, lines in zip(titles, panels, strict=True)
        ],
        headline=sentence(
            _HEADLINES[view],
            here=over([f"{places[end]:,}" for end in ends], first.name),
            first=over(list(first.names or ()), first.name),
            k=over(list(second.names or ()), "k"),
            answer=over(answers, first.name, "k"),
        ),
    )


_HEADLINES = {
    "iterations": "After {here} iterations (M = {first}, {k} data sets): {answer}",
    "each-m": "{first}, after {here} iterations ({k} data sets): {answer}",
    "over-m": "After {first} iterations (M = {here}, {k} data sets): {answer}",
}


def _slider(view: str, plan: Plan) -> Slider:
    if view == "iterations":
        return Slider(
            "m",
            MS,
            label="Draws weighed, M",
            names=[f"{m}" for m in MS],
            ends=("q as it is", "importance sampling"),
        )
    if view == "each-m":
        names = [family.label for family in families(plan)]
        paper = names.index(_PAPER) if _PAPER in names else 0
        return Slider("q", np.arange(len(names)), label="q is made by", names=names, start=paper)
    return Slider(
        "iterations",
        plan.iterations,
        label="Iterations of inference",
        play=True,
        names=[f"{n:,}" for n in plan.iterations],
        start=plan.iterations[-1],
    )


_PAPER = "Adjusted Laplace"
"""The q that Figure 2 of the paper weighs."""


def _data_sets(plan: Plan) -> Slider:
    first = _prefixes(plan.datasets)
    return Slider(
        "k",
        first,
        label="Data sets averaged, K",
        names=[f"{k}" for k in first],
        start=plan.datasets,
        ends=("wide intervals", "narrow"),
    )


def _end(panels: Panels, a: int) -> int:
    """Index of the last position at which any curve has an estimate."""
    there = [np.isfinite(line.numbers.mean[a]).any(0) for lines in panels for line in lines]
    finite = np.flatnonzero(np.any(there, axis=0))
    return int(finite[-1]) if finite.size else len(there[0]) - 1


def _panel(
    title: str,
    lines: Sequence[_SummaryCurve],
    places: Sequence[int],
    unit: str,
    names: tuple[str, str],
) -> Panel:
    x, nats = (
        log_axis(places, "iterations" if unit == "iterations" else "draws weighed, M"),
        nats_axis(lines),
    )
    marks: list[Mark] = [HLine(0.0, color=style.NULL)]
    if unit == "M":
        marks.append(rate_guide(places, [line.numbers.median for line in lines], nats, names))
    marks += [
        mark
        for j, line in enumerate(lines)
        for mark in line_marks(
            staggered_places(x, places, j, len(lines)),
            DrawnLine(line.label, line.look, line.numbers, line.gap, bare=line.bare),
            nats,
            by=names,
        )
    ]
    a, p, _ = lines[0].numbers.mean.shape
    captions = [[panel_caption(lines, places, unit, i, j) for j in range(p)] for i in range(a)]
    return Panel(
        marks,
        title=title,
        height=_HEIGHT,
        margin=_MARGIN,
        x=x,
        y=nats.axis(),
        caption=over(captions, *names),
    )


def nats_axis(lines: Sequence[_SummaryCurve]) -> NatsAxis:
    """Axis that holds all medians at every slider position, and intervals over all data sets."""
    medians = [line.numbers.median for line in lines]
    ends = [end[:, -1] for line in lines for end in line.numbers.medians[1:]]
    return NatsAxis.of([*medians, *ends])
