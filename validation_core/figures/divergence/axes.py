"""Axes of a panel: what of its numbers fits on a logarithm, and where it ends."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from validation_core.figures.style import Axis
from validation_core.simulations.curves import DivergenceCurve

LOWEST = 1e-4
"""Nats below which no axis goes: nothing that anybody would notice is smaller."""

LARGEST = 1e37
"""Nats above which nothing is drawn: numbers travel in single precision."""

_FEW, _TICKS = 2, 6  # ticks along the divergence
_BELOW, _ABOVE = 0.06, 0.12  # of its axis, for open marks and for crosses
_NOTHING = 0.01  # nats: where a panel ends at most, of which an estimate is nothing


def number(tick: float) -> str:
    """A tick as it is written: in figures where it has few, else with a power of ten."""
    exponent = int(np.floor(np.log10(tick) + 1e-9))
    if -3 < exponent < 4:
        return f"{tick:g}"
    times = round(tick / 10.0**exponent)
    return f"{times} × " * (times > 1) + f"10<sup>{exponent}</sup>".replace("-", "−")


def along(curves: Sequence[DivergenceCurve], name: str) -> Axis:
    """The axis of iterations or of M."""
    places = np.concatenate([curve.x for curve in curves])
    low, high = float(places.min()), float(places.max())
    room = (high / low) ** 0.07 if high > low else 2.0
    ticks = sorted(set(places))
    return Axis(name, (low / room, high * room), log=True, ticks=_fewer(ticks, high / low))


def _fewer(ticks: Sequence[float], span: float) -> list[float]:
    """Those of the places that do not write over one another."""
    spaced: list[float] = []
    for tick in ticks:
        if not spaced or np.log(tick / spaced[-1]) >= 0.09 * np.log(span) - 1e-9:
            spaced.append(float(tick))
    return spaced


def foot(curves: Sequence[DivergenceCurve]) -> float:
    """The lowest power of ten that an estimate or an interval's end above 0 asks for; lower where
    an estimate is nothing, which should not look like a hundred nats.
    """
    ends = np.concatenate([[*c.found.mean, *c.found.low] for c in curves])
    above = ends[np.isfinite(ends) & (ends > LOWEST)]
    low = float(10.0 ** np.floor(np.log10(above.min()))) if above.size else LOWEST
    nothing = any((c.found.mean <= LOWEST).any() for c in curves)
    return min(low, _NOTHING) if nothing else low


def up(curves: Sequence[DivergenceCurve]) -> Axis:
    """The axis of the divergence, with room below its foot and for crosses at its top."""
    low = foot(curves)
    ends = np.concatenate([[*c.found.mean, *c.found.high] for c in curves])
    top = min(max(float(ends[np.isfinite(ends)].max(initial=0.0)), 10 * low), LARGEST)
    span = np.log10(top / low)
    limits = low * 10 ** (-_BELOW * span), top * 10 ** (_ABOVE * span)
    return Axis("SKL, nats", limits, log=True, ticks=_ticks(low, top))


def _ticks(low: float, top: float) -> list[float]:
    """Powers of ten from the foot on, and what lies between where these are few."""
    decades = 10.0 ** np.arange(np.round(np.log10(low)), np.floor(np.log10(top)) + 1)
    if len(decades) > _FEW:
        return list(map(float, decades[:: -(-len(decades) // _TICKS)]))
    between = np.outer(decades, (1, 2, 5)).ravel()
    return [float(tick) for tick in between if tick <= top]
