"""The sentences of the Symmetric divergence page's figures, with their numbers."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from validation_core.figures.divergence.curves import Panels, SummaryCurve
from validation_core.figures.divergence.nats import size

_ROUNDING = 1e-9
_MOST = 0.5
"""Share of a sum from which on one term is said to carry it."""

Place = tuple[int, int, int]
"""Positions of the two sliders, and along the curve."""


def interval(line: SummaryCurve, at: Place, more: str = "") -> str:
    """A mean with its interval."""
    mean, low, high = (float(getattr(line.numbers, name)[at]) for name in ("mean", "low", "high"))
    if max(abs(mean), abs(low), abs(high)) < _ROUNDING:
        return "0 nats, up to rounding"
    return f"{size(mean)} nats (95% interval {size(low)} to {size(high)}{more})"


def answer(titles: Sequence[str], panels: Panels, at: Place) -> str:
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


def _away(line: SummaryCurve, at: Place) -> str:
    """How far, and by how many data sets it is so."""
    most = f"; most of it from one data set, the median is {_median(line, at)}"
    return interval(line, at, most if _dominated(line, at) else "")


def caption(
    lines: Sequence[SummaryCurve], places: Sequence[int], unit: str, a: int, p: int
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
        sentences = [f"{whose}: {interval(best, (a, p, x))}.", *_carried(lines, (a, p, x), where)]
    if gaps := [_gap(line, places, unit, a, p) for line in lines if line.lost[a, p].any()]:
        sentences.append(f"No q, hence a gap: {'; '.join(gaps)}.")
    if left := sum(int((~line.done[a]).sum()) for line in lines):
        count = sum(line.done[a].size for line in lines)
        some = "Some of its" if unit == "M" else f"{left} of its {count}"
        sentences.append(
            f"{some} runs are to come." if left < count else "None of its runs is there yet."
        )
    return " ".join(sentences)


def _dominated(line: SummaryCurve, at: Place) -> bool:
    return bool(line.carried[at] > _MOST and line.numbers.mean[at] > _ROUNDING)


def _median(line: SummaryCurve, at: Place) -> str:
    return size(float(line.numbers.median[at]))


def _carried(lines: Sequence[SummaryCurve], at: Place, where: str) -> list[str]:
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


def _gap(line: SummaryCurve, places: Sequence[int], unit: str, a: int, p: int) -> str:
    lost = line.lost[a, p]
    where = (
        ""
        if unit == "M"
        else (f" at {', '.join(f'{places[x]:,}' for x in np.flatnonzero(lost).tolist())} {unit}")
    )
    most = int(lost.max())
    some = "up to " if (lost[lost > 0] < most).any() else ""
    return f"{line.label}{where} (on {some}{most} data sets)"
