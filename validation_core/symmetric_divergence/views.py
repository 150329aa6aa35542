"""Curves of the Symmetric divergence page, computed for every slider position."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from validation_core.bayes.inference import Inference
from validation_core.drawing import live, style
from validation_core.drawing.marks import HLine, Mark, Panel, Slider, over, sentence
from validation_core.symmetric_divergence import MS, Plan, Terms, importance_sample_size
from validation_core.symmetric_divergence.lines import (
    DrawnLine,
    LineStyle,
    NatsAxis,
    log_axis,
    staggered_places,
)
from validation_core.symmetric_divergence.lines import marks as line_marks
from validation_core.symmetric_divergence.nats_text import format_number
from validation_core.symmetric_divergence.runs import TermSummary, summarise_terms
from validation_core.types import Array

PREFIXES = (10, 25, 50, 100, 200)
"""First data sets that are averaged, up to those that were simulated."""


class _SummaryCurve(NamedTuple):
    """One curve at every position of two sliders with A and P values, along X positions."""

    label: str
    look: LineStyle
    numbers: TermSummary
    """Summaries (A, P, X) in nats; NaN without a run, or with a data set without q."""
    lost: NDArray[np.int64]
    """Data sets without q (A, P, X)."""
    done: NDArray[np.bool_]
    """Whether there is a run (A, X)."""
    first: tuple[int, ...]
    """Data sets averaged (P,)."""

    @property
    def gap(self) -> NDArray[np.bool_]:
        """Whether there is a run but no estimate (A, P, X)."""
        return np.asarray(self.done[:, None] & ~np.isfinite(self.numbers.mean))

    @property
    def carried(self) -> Array:
        """Share of the largest term in the sum over data sets (A, P, X)."""
        count = np.array(self.first)[:, None]
        with np.errstate(invalid="ignore", divide="ignore"):
            return np.where(self.numbers.mean > 0, self.numbers.largest / self.numbers.mean, 0) / (
                count
            )


Panels = Sequence[Sequence[_SummaryCurve]]
"""A panel for each model."""


def _prefixes(datasets: int) -> tuple[int, ...]:
    """Numbers of data sets to average over."""
    return (*(k for k in PREFIXES if k < datasets), datasets)


def _look(inference: Inference) -> LineStyle:
    """Colour, dash and symbol of an inference; a variant has its algorithm's colour."""
    name = inference.name.removesuffix("_clipped")
    look = LineStyle(*live.browser_style(style.algorithm_style(name)))
    return look if name == inference.name else look._replace(dash="1 3", symbol="cross")


def panels_along_iterations(plan: Plan, terms: Mapping[tuple[int, int], Terms]) -> Panels:
    """Curves along iterations, over M (at least an inference's own) and K: (len(MS), P, I)."""

    def line(inference: Inference, of: Terms) -> _SummaryCurve:
        own = [max(m, importance_sample_size(inference)) for m in MS]
        numbers, lost = _over_prefixes(of.d[:, [MS.index(m) for m in own]], of.done)
        return _SummaryCurve(
            inference.label,
            _look(inference),
            TermSummary(*(v.transpose(2, 0, 1) for v in numbers)),
            lost.transpose(2, 0, 1),
            np.broadcast_to(of.done, (len(MS), len(of.done))),
            _prefixes(plan.datasets),
        )

    return _each(plan, terms, line)


def panels_along_m(plan: Plan, terms: Mapping[tuple[int, int], Terms]) -> Panels:
    """Curves along M, over iterations and K: (I, P, len(MS))."""

    def line(inference: Inference, of: Terms) -> _SummaryCurve:
        numbers, lost = _over_prefixes(of.d, of.done)
        done = np.repeat(of.done[:, None], len(MS), 1)
        return _SummaryCurve(
            inference.label,
            _look(inference),
            *_by_iterations(numbers, lost),
            done,
            _prefixes(plan.datasets),
        )

    return _each(plan, terms, line)


def panels_along_training(plan: Plan, terms: Mapping[tuple[int, int], Terms]) -> Panels:
    """IWVI trained and tested with the same M, and VI that is only weighted: (I, P, X)."""
    ms = [MS.index(importance_sample_size(inference)) for inference in plan.inferences]
    first = _prefixes(plan.datasets)
    panels = []
    for i in range(len(plan.models)):
        row = [terms[i, j] for j in range(len(plan.inferences))]
        d = np.stack([of.d[:, m] for of, m in zip(row, ms, strict=True)], 1)  # (I, X, K)
        done = np.stack([of.done for of in row], 1)
        iwvi = _over_prefixes(d, done)
        vi = _over_prefixes(row[0].d[:, ms], row[0].done)
        once = np.repeat(row[0].done[:, None], len(ms), 1)
        panels.append(
            [
                _SummaryCurve(
                    label,
                    LineStyle(*live.browser_style(style.algorithm_style(name))),
                    *_by_iterations(*of),
                    ran,
                    first,
                )
                for label, name, of, ran in (
                    ("trained IWVI", "iwvi", iwvi, done),
                    ("weighted VI", "vi", vi, once),
                )
            ]
        )
    return panels


def _each(
    plan: Plan,
    terms: Mapping[tuple[int, int], Terms],
    line: Callable[[Inference, Terms], _SummaryCurve],
) -> Panels:
    return [
        [line(inference, terms[i, j]) for j, inference in enumerate(plan.inferences)]
        for i in range(len(plan.models))
    ]


def _by_iterations(
    numbers: TermSummary, lost: NDArray[np.int64]
) -> tuple[TermSummary, NDArray[np.int64]]:
    """Transpose (P, I, X) to (I, P, X)."""
    return TermSummary(*(value.swapaxes(0, 1) for value in numbers)), lost.swapaxes(0, 1)


def _over_prefixes(d: Array, done: NDArray[np.bool_]) -> tuple[TermSummary, NDArray[np.int64]]:
    """Summaries (P, I, X) of d (I, X, K) over its first data sets, and those without q."""
    first = _prefixes(d.shape[-1])
    summaries = [summarise_terms(d[..., :k]) for k in first]
    gone = np.stack([np.isnan(d[..., :k]).sum(-1) for k in first])
    there = done if done.ndim == 2 else done[:, None]
    return TermSummary(*map(np.stack, zip(*summaries, strict=True))), np.where(there, gone, 0)


_ROUNDING = 1e-9
_CLOSEST = 1e-3
"""Nats below which nobody tells p and q apart."""
_MOST = 0.5
"""Share of a sum above which one term is said to dominate it."""

Place = tuple[int, int, int]
"""Positions of the two sliders, and along the curve."""


def _interval(line: _SummaryCurve, at: Place) -> str:
    """A median with its interval, and the mean with a warning where one data set dominates it."""
    mean, (middle, low, high) = line.numbers.mean[at], (v[at] for v in line.numbers.medians)
    largest = max(abs(v) for v in (mean, middle, low, high) if v == v)
    if largest < _CLOSEST:
        return f"less than {_CLOSEST:g} nats" if largest > _ROUNDING else "0 nats, up to rounding"
    between = f"95% interval {format_number(low)} to {format_number(high)}; " if low == low else ""
    carried = ", most of it from one data set" * _dominated(line, at)
    return f"{format_number(middle)} nats ({between}mean {format_number(mean)}{carried})"


def answer(titles: Sequence[str], panels: Panels, at: Place) -> str:
    """The medians nearest to 0 and farthest from it, with their models, at one slider position.

    Medians of different models, often with wide intervals, do not rank the fits: that is left
    open.
    """
    medians = [
        (float(line.numbers.median[at]), f"{line.label} on {title}", line)
        for title, lines in zip(titles, panels, strict=True)
        for line in lines
        if np.isfinite(line.numbers.median[at])
    ]
    if not medians:
        return "no run is there yet, or none has a q for every data set."
    medians.sort(key=lambda one: abs(one[0]))  # noise takes some below 0
    (_, near, best), (_, far, worst) = medians[0], medians[-1]
    if len(medians) == 1:
        return f"{near} is {_interval(best, at)} away from the posterior."
    return (
        f"the median nearest to 0 is {_interval(best, at)}, of {near}; the farthest is "
        f"{_interval(worst, at)}, of {far}."
    )


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
    if gaps := [_gap(line, places, unit, a, p) for line in lines if line.lost[a, p].any()]:
        sentences.append(f"No q, hence a gap: {'; '.join(gaps)}.")
    if left := sum(int((~line.done[a]).sum()) for line in lines):
        count = sum(line.done[a].size for line in lines)
        some = "Some of its" if unit == "M" else f"{left} of its {count}"
        sentences.append(
            f"{some} runs are to come." if left < count else "None of its runs is there yet."
        )
    return " ".join(sentences)


def _dominated(line: _SummaryCurve, at: Place) -> bool:
    return bool(line.carried[at] > _MOST and line.numbers.mean[at] > _ROUNDING)


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
    most = f"{format_number(float(means[j, x]))} nats ({lines[j].label}, {where})"
    return [f"Means beyond the axis: up to {most}."]


def _gap(line: _SummaryCurve, places: Sequence[int], unit: str, a: int, p: int) -> str:
    lost = line.lost[a, p]
    where = (
        ""
        if unit == "M"
        else (f" at {', '.join(f'{places[x]:,}' for x in np.flatnonzero(lost).tolist())} {unit}")
    )
    most = int(lost.max())
    some = "up to " if (lost[lost > 0] < most).any() else ""
    return f"{line.label}{where} (on {some}{most} data sets)"


_HEIGHT, _MARGIN = 250, 104


def payload(view: str, plan: Plan, terms: Mapping[tuple[int, int], Terms]) -> live.Payload:
    """One view of the finished runs: "iterations", "weighted" or "trained"."""
    along = {
        "iterations": panels_along_iterations,
        "weighted": panels_along_m,
        "trained": panels_along_training,
    }
    return draw_view(view, plan, along[view](plan, terms))


def completion_mask(terms: Mapping[tuple[int, int], Terms]) -> bytes:
    """Which runs are finished, as bytes: a plan's pictures depend on nothing else."""
    return np.packbits(np.concatenate([terms[place].done for place in sorted(terms)])).tobytes()


def draw_view(view: str, plan: Plan, panels: Panels) -> live.Payload:
    """Draw a view at every position of its two sliders."""
    titles = [model.label for model in plan.models]
    first, second = _slider(view, plan), _data_sets(plan)
    at_first, at_second = list(first.names or ()), list(second.names or ())
    places = plan.iterations if view == "iterations" else _ms(view, plan)
    unit = "iterations" if view == "iterations" else "M"
    a, p = len(first.grid), len(second.grid)
    ends = [_end(panels, i) for i in range(a)]
    answers = [[answer(titles, panels, (i, j, ends[i])) for j in range(p)] for i in range(a)]
    here = [f"{places[end]:,}" for end in ends]
    names = first.name, "k"
    return live.payload(
        sliders=[first, second],
        panels=[
            _panel(title, lines, places, unit, names)
            for title, lines in zip(titles, panels, strict=True)
        ],
        headline=sentence(
            "After {iterations} iterations, over {k} data sets and with M = {m}: {answer}",
            iterations=over(here if unit == "iterations" else at_first, names[0]),
            k=over(at_second, "k"),
            m=over(at_first if unit == "iterations" else here, names[0]),
            answer=over(answers, *names),
        ),
    )


def _ms(view: str, plan: Plan) -> tuple[int, ...]:
    """M along the axis of a view."""
    if view == "trained":
        return tuple(importance_sample_size(inference) for inference in plan.inferences)
    return MS


def _slider(view: str, plan: Plan) -> Slider:
    if view == "iterations":
        return Slider(
            "m",
            MS,
            label="Draws weighed, M",
            names=[f"{m}" for m in MS],
            ends=("q as it is", "importance sampling"),
        )
    return Slider(
        "iterations",
        plan.iterations,
        label="Iterations of inference",
        play=True,
        names=[f"{n:,}" for n in plan.iterations],
        start=plan.iterations[-1],
    )


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
    marks += [
        mark
        for j, line in enumerate(lines)
        for mark in line_marks(
            staggered_places(x, places, j, len(lines)),
            DrawnLine(line.label, line.look, line.numbers, line.gap),
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
