"""Numbers in nats as a person says them, and the sentences of the Symmetric divergence page."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from pages.components.divergence_curves import Line, Panels


def nats(value: float) -> str:
    """0.166, 12.3, 1,230, 3e-13: three digits."""
    if not np.isfinite(value):
        return "no number of"
    size = abs(value)
    if size == 0:
        return "0"
    if size < 1e-4 or size >= 1e6:
        digits, power = f"{value:.1e}".split("e")
        return f"{digits} × 10{raised(int(power))}".replace("-", "−")
    if size >= 100:
        return f"{float(f'{value:.3g}'):,.0f}".replace("-", "−")
    digits = max(0, min(5, 2 - int(np.floor(np.log10(size)))))
    return f"{value:.{digits}f}".replace("-", "−")


def interval(line: Line, at: tuple[int, int, int]) -> str:
    """A mean with its interval."""
    of = line.numbers
    return f"{nats(of.mean[at])} nats (95% interval {nats(of.low[at])} to {nats(of.high[at])})"


def answer(titles: Sequence[str], panels: Panels, a: int, p: int, x: int) -> str:
    """Which q is nearest its posterior and which farthest, at one position of the sliders."""
    every = [
        (float(line.numbers.mean[a, p, x]), f"{line.label} on {title}", line)
        for title, lines in zip(titles, panels, strict=True) for line in lines
        if np.isfinite(line.numbers.mean[a, p, x])
    ]  # fmt: skip
    if not every:
        return "no run is there yet, or none has a q for every data set."
    every.sort(key=lambda one: one[0])
    (_, near, best), (_, far, worst) = every[0], every[-1]
    if len(every) == 1:
        return f"{near} is {interval(best, (a, p, x))} away from the posterior."
    return (
        f"{near} is nearest to its posterior, {interval(best, (a, p, x))} away; {far} is "
        f"farthest, {interval(worst, (a, p, x))}."
    )


def caption(lines: Sequence[Line], places: Sequence[int], unit: str, a: int, p: int) -> str:
    """What a panel shows at one position of its sliders: the nearest q, gaps, what is to come."""
    said = []
    mean = np.array([line.numbers.mean[a, p] for line in lines])
    seen = np.flatnonzero(np.isfinite(mean).any(0))
    if seen.size:
        x = int(seen[-1])
        best = lines[int(np.nanargmin(mean[:, x]))]
        where = f"{unit} = {places[x]}" if unit == "M" else f"{places[x]:,} {unit}"
        said.append(f"Nearest at {where}: {best.label}, {interval(best, (a, p, x))}.")
    gaps = [_gap(line, places, unit, a, p) for line in lines]
    if any(gaps):
        said.append(f"No q, hence a gap: {'; '.join(filter(None, gaps))}.")
    left = sum(int((~line.done[a]).sum()) for line in lines)
    if left and unit != "M":
        said.append(f"{left} of {sum(line.done[a].size for line in lines)} runs are to come.")
    elif left:
        said.append("Some of its runs are to come.")
    return " ".join(said)


def _gap(line: Line, places: Sequence[int], unit: str, a: int, p: int) -> str:
    lost = line.lost[a, p]
    if not lost.any():
        return ""
    where = "" if unit == "M" else (
        f" at {', '.join(f'{places[x]:,}' for x in np.flatnonzero(lost))} {unit}"
    )  # fmt: skip
    most = int(lost.max())
    return f"{line.label}{where} (on {'up to ' if (lost[lost > 0] < most).any() else ''}{most} data sets)"


def decade(power: int) -> str:
    """A power of ten as an axis shows it."""
    if -4 <= power <= 3:
        return f"{10.0**power:g}" if power > -4 else "0.0001"
    return f"10{raised(power)}"


def raised(power: int) -> str:
    """An exponent."""
    return str(power).translate(str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹"))
