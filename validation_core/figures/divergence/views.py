"""Numbers behind the curves of the Symmetric divergence page: a mean for every slider position."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from validation_core.bayes.inference import Inference
from validation_core.figures import live, style
from validation_core.figures.divergence.nats import _tick, size
from validation_core.figures.marks import Axis, Line, Mark, Panel, Points, _Slider, _text, over
from validation_core.simulations import MS, Plan, Summary, Terms, summary, tested
from validation_core.types import Array

PREFIXES = (10, 25, 50, 100, 200)
"""First data sets that are averaged, up to those that were simulated."""


class _SummaryCurve(NamedTuple):
    """One curve at every position of two sliders, A and P values, along X places."""

    label: str
    color: str
    dash: str
    symbol: str
    numbers: Summary
    """Of shape (A, P, X), in nats; NaN where there is no run, or a data set without q."""
    lost: NDArray[np.int64]
    """Data sets without q (A, P, X)."""
    done: NDArray[np.bool_]
    """Where there is a run (A, X)."""
    first: tuple[int, ...]
    """Data sets averaged (P,)."""

    @property
    def carried(self) -> Array:
        """Share of the sum over data sets that its largest term makes up (A, P, X)."""
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


def _look(inference: Inference) -> tuple[str, str, str]:
    """Colour, dash and symbol; a variant has its algorithm's colour."""
    name = inference.name.removesuffix("_clipped")
    color, dash, symbol = live._look(style._algorithm_style(name))
    return (color, dash, symbol) if name == inference.name else (color, "1 3", "ring")


def _along_iterations(plan: Plan, terms: Mapping[tuple[int, int], Terms]) -> Panels:
    """Over M and K: (len(MS), P, I). No inference is tested with less M than it was made for."""

    def line(inference: Inference, of: Terms) -> _SummaryCurve:
        own = [max(m, tested(inference)) for m in MS]
        numbers, lost = _over_prefixes(of.d[:, [MS.index(m) for m in own]], of.done)
        return _SummaryCurve(
            inference.label,
            *_look(inference),
            Summary(*(v.transpose(2, 0, 1) for v in numbers)),
            lost.transpose(2, 0, 1),
            np.broadcast_to(of.done, (len(MS), len(of.done))),
            _prefixes(plan.datasets),
        )

    return _each(plan, terms, line)


def _along_m(plan: Plan, terms: Mapping[tuple[int, int], Terms]) -> Panels:
    """Over iterations and K: (I, P, len(MS))."""

    def line(inference: Inference, of: Terms) -> _SummaryCurve:
        numbers, lost = _over_prefixes(of.d, of.done)
        done = np.repeat(of.done[:, None], len(MS), 1)
        return _SummaryCurve(
            inference.label,
            *_look(inference),
            *_by_iterations(numbers, lost),
            done,
            _prefixes(plan.datasets),
        )

    return _each(plan, terms, line)


def _along_training(plan: Plan, terms: Mapping[tuple[int, int], Terms]) -> Panels:
    """IWVI trained with M and tested with the same, and VI that is only weighted: (I, P, X)."""
    ms = [MS.index(tested(inference)) for inference in plan.inferences]
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
                    *live._look(style._algorithm_style(name)),
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


def _by_iterations(numbers: Summary, lost: NDArray[np.int64]) -> tuple[Summary, NDArray[np.int64]]:
    """From (P, I, X) to (I, P, X)."""
    return Summary(*(value.swapaxes(0, 1) for value in numbers)), lost.swapaxes(0, 1)


def _over_prefixes(d: Array, done: NDArray[np.bool_]) -> tuple[Summary, NDArray[np.int64]]:
    """Summaries (P, I, X) of d (I, X, K) over its first data sets, and those without q."""
    first = _prefixes(d.shape[-1])
    summaries = [summary(d[..., :k]) for k in first]
    gone = np.stack([np.isnan(d[..., :k]).sum(-1) for k in first])
    there = done if done.ndim == 2 else done[:, None]
    return Summary(*map(np.stack, zip(*summaries, strict=True))), np.where(there, gone, 0)


_ROUNDING = 1e-9
_MOST = 0.5
"""Share of a sum from which on one term is said to carry it."""

Place = tuple[int, int, int]
"""Positions of the two sliders, and along the curve."""


def _interval(line: _SummaryCurve, at: Place, more: str = "") -> str:
    """A mean with its interval."""
    mean, low, high = (float(getattr(line.numbers, name)[at]) for name in ("mean", "low", "high"))
    if max(abs(mean), abs(low), abs(high)) < _ROUNDING:
        return "0 nats, up to rounding"
    return f"{size(mean)} nats (95% interval {size(low)} to {size(high)}{more})"


def _answer(titles: Sequence[str], panels: Panels, at: Place) -> str:
    """The means nearest to 0 and farthest, and whose, at one position of the sliders.

    Means of different models, often with wide intervals: which q is nearer is left open.
    """
    means = [
        (float(line.numbers.mean[at]), f"{line.label} on {title}", line)
        for title, lines in zip(titles, panels, strict=True)
        for line in lines
        if np.isfinite(line.numbers.mean[at])
    ]
    if not means:
        return "no run is there yet, or none has a q for every data set."
    means.sort(key=lambda one: abs(one[0]))  # noise takes some below 0
    (_, near, best), (_, far, worst) = means[0], means[-1]
    if len(means) == 1:
        return f"{near} is {_away(best, at)} away from the posterior."
    return (
        f"the mean nearest to 0 is {_away(best, at)}, of {near}; the farthest is "
        f"{_away(worst, at)}, of {far}."
    )


def _away(line: _SummaryCurve, at: Place) -> str:
    """How far, and by how many data sets it is so."""
    most = f"; most of it from one data set, the median is {_median(line, at)}"
    return _interval(line, at, most if _dominated(line, at) else "")


def _caption(
    lines: Sequence[_SummaryCurve], places: Sequence[int], unit: str, a: int, p: int
) -> str:
    """What a panel shows at one position of its sliders: its best mean, gaps, what is left."""
    sentences = []
    mean = np.array([line.numbers.mean[a, p] for line in lines])
    finite = np.flatnonzero(np.isfinite(mean).any(0))
    if finite.size:
        x = int(finite[-1])
        best = lines[int(np.nanargmin(np.abs(mean[:, x])))]
        where = f"M = {places[x]}" if unit == "M" else f"{places[x]:,} {unit}"
        whose = f"Mean nearest to 0 at {where}, of {best.label}" if lines[1:] else f"At {where}"
        sentences = [f"{whose}: {_interval(best, (a, p, x))}.", *_carried(lines, (a, p, x), where)]
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


def _median(line: _SummaryCurve, at: Place) -> str:
    return size(float(line.numbers.median[at]))


def _carried(lines: Sequence[_SummaryCurve], at: Place, where: str) -> list[str]:
    """Means that one data set makes up."""
    dominated = [line for line in lines if _dominated(line, at)]
    if not dominated:
        return []
    medians = ", ".join(f"{_median(line, at)} ({line.label})" for line in dominated)
    return [
        f"One data set makes up more than {_MOST:.0%} of "
        f"{'these means' if dominated[1:] else 'a mean'} "
        f"at {where}: the median{'s are' if dominated[1:] else ' is'} {medians}."
    ]


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


_FLOOR, _CEILING = -4, 15  # decades of nats; what is nearer to 0 is not told apart

_HEIGHT, _MARGIN = 250, 104

_APART = 0.012  # of the axis: intervals do not hide one another


def payload(view: str, plan: Plan, terms: Mapping[tuple[int, int], Terms]) -> live.Payload:
    """A view of what has run: "iterations", "weighted" or "trained"."""
    along = {"iterations": _along_iterations, "weighted": _along_m, "trained": _along_training}
    return _draw(view, plan, along[view](plan, terms))


def there(terms: Mapping[tuple[int, int], Terms]) -> bytes:
    """Which runs are there: pictures of one plan differ by that alone."""
    return np.packbits(np.concatenate([terms[place].done for place in sorted(terms)])).tobytes()


def _draw(view: str, plan: Plan, panels: Panels) -> live.Payload:
    """A view at every position of its two sliders."""
    titles = [model.label for model in plan.models]
    first, second = _slider(view, plan), _data_sets(plan)
    at_first, at_second = list(first.names or ()), list(second.names or ())
    places = plan.iterations if view == "iterations" else _ms(view, plan)
    unit = "iterations" if view == "iterations" else "M"
    a, p = len(first.grid), len(second.grid)
    ends = [_end(panels, i) for i in range(a)]
    answers = [[_answer(titles, panels, (i, j, ends[i])) for j in range(p)] for i in range(a)]
    here = [f"{places[end]:,}" for end in ends]
    names = first.name, "k"
    return live._payload(
        sliders=[first, second],
        panels=[
            _panel(title, lines, places, unit, names)
            for title, lines in zip(titles, panels, strict=True)
        ],
        headline=_text(
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
        return tuple(tested(inference) for inference in plan.inferences)
    return MS


def _slider(view: str, plan: Plan) -> _Slider:
    if view == "iterations":
        return _Slider(
            "m",
            MS,
            label="Draws weighed, M",
            names=[f"{m}" for m in MS],
            ends=("q as it is", "importance sampling"),
        )
    return _Slider(
        "iterations",
        plan.iterations,
        label="Iterations of inference",
        play=True,
        names=[f"{n:,}" for n in plan.iterations],
        start=plan.iterations[-1],
    )


def _data_sets(plan: Plan) -> _Slider:
    first = _prefixes(plan.datasets)
    return _Slider(
        "k",
        first,
        label="Data sets averaged, K",
        names=[f"{k}" for k in first],
        start=plan.datasets,
        ends=("wide intervals", "narrow"),
    )


def _end(panels: Panels, a: int) -> int:
    """The last place at which any curve has a number."""
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
    at = np.log10(np.array(places, float))
    width = at[-1] - at[0] or 1.0
    low, high = _limits(lines)
    marks: list[Mark] = []
    for j, line in enumerate(lines):
        x = at + _APART * width * (j - (len(lines) - 1) / 2)
        of = line.numbers
        y, down, up = (over(_log(curve, low), *names) for curve in (of.mean, of.low, of.high))
        marks += [
            Line(x, y, color=line.color, dash=line.dash, label=line.label),
            Points(
                x,
                over(_log(of.median, low), *names),
                color=line.color,
                symbol="ring",
                size=5,
                opacity=0.75,
            ),
            Points(x, y, low=down, high=up, color=line.color, symbol=line.symbol, size=6),
        ]
    a, p, _ = lines[0].numbers.mean.shape
    captions = [[_caption(lines, places, unit, i, j) for j in range(p)] for i in range(a)]
    decades = np.arange(low, high + 1, -(-(high - low) // 5))
    return Panel(
        marks,
        title=title,
        height=_HEIGHT,
        margin=_MARGIN,
        x=Axis(
            (at[0] - 0.04 * width, at[-1] + 0.04 * width),
            "iterations" if unit == "iterations" else "draws weighed, M",
            ticks=at,
            names=[_short(n) for n in places],
        ),
        y=Axis(
            (low - 0.05, high + 0.05),
            "symmetric divergence, nats",
            ticks=decades,
            names=[_tick(float(10.0**d)) for d in decades],
        ),
        caption=over(captions, *names),
    )


def _limits(lines: Sequence[_SummaryCurve]) -> tuple[int, int]:
    """Decades between which all curves lie, at every position of the sliders."""
    numbers = [line.numbers for line in lines]
    centres = np.concatenate(
        [of.ravel() for summary in numbers for of in (summary.mean, summary.median)]
    )
    tops = np.concatenate([summary.high.ravel() for summary in numbers])
    centres, tops = centres[centres > 0], tops[tops > 0]
    if not (centres.size and tops.size):
        return -2, 1
    low = int(np.clip(np.floor(np.log10(centres.min())), _FLOOR, _CEILING - 2))
    high = int(np.clip(np.ceil(np.log10(tops.max())), low + 2, _CEILING))
    return low, high


def _log(values: Array, low: int) -> Array:
    return np.log10(np.clip(values, 10.0**low, 10.0**_CEILING))


def _short(n: int) -> str:
    return f"{n // 1000}k" if n >= 1000 else f"{n}"
