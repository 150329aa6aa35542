"""The one picture of a verdict: true values over q's draws, coverage, or what would be found."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from scipy.special import ndtr, ndtri

from validation_core.drawing import style
from validation_core.drawing.drawn import Drawn
from validation_core.drawing.marks import (
    Axis,
    Band,
    Bars,
    Heat,
    HLine,
    Key,
    Line,
    Mark,
    Note,
    Panel,
    Points,
    Shades,
    VLine,
)
from validation_core.statistics import ecdf_band
from validation_core.text import share_text
from validation_core.types import Array, TwoSamples

HEIGHT = 290
_BINS, _CELLS = 34, 30
_TAIL = 0.005  # of true values, at most, beyond each end of an axis; of draws twice that
_FARTHEST = 25.0  # sd: what lies farther stands at the edge
_DOTS = 350
_NAME = 20  # letters of a name beside an axis
_FAR = 0.6  # along a level beyond which no words fit after a point
_GRID = np.linspace(0, 1, 101)
_KEYS: tuple[Key, ...] = (("true values", style.P, "circle"), ("q's draws", style.Q, "band"))
_SAMPLES: tuple[Key, ...] = (("sample p", style.P, "circle"), ("sample q", style.Q, "band"))
_OVER = "If q were correct, both would look alike."


def overlay(truth: Array, draws: Array, name: str, where: str) -> Drawn:
    """True values (n,) as bars over q's draws (n, K) as an area, both as shares.

    Args:
        truth: in q's sd from its mean at their x.
        draws: likewise.
        name: of the parameter.
        where: which rows, ` where x_1 > 0`; empty for all.
    """
    limits = _within_reach(_limits(truth, draws))
    label = f"{_beside_axis(name)}, sd from q's mean"
    beyond = float(((truth < limits[0]) | (truth > limits[1])).mean())
    more = f" {beyond:.1%} of true values lie beyond the axis, in the end bars." * (beyond > 0)
    panel = _histograms(truth, draws.ravel(), label, limits, _KEYS)
    return Drawn(f"True values over q's draws{where}", panel, f"{_OVER}{more}")


def _beside_axis(name: str) -> str:
    """A name as the label of an axis has room for it."""
    return style.short(name, _NAME, ends=True)


def on_two_scales(truth: Array, draws: Array, name: str) -> Drawn:
    """True values (n,) as bars beside q's draws (n, K) as an area, in the numbers of the file.

    Args:
        truth: as saved.
        draws: as saved.
        name: of the parameter.
    """
    limits = (
        min(float(truth.min()), float(draws.min())),
        max(float(truth.max()), float(draws.max())),
    )
    panel = _histograms(truth, draws.ravel(), f"{_beside_axis(name)}, as saved", limits, _KEYS)
    return Drawn(f"{name} as saved: two scales", panel, "On one scale, both would look alike.")


def _histograms(
    p: Array, q: Array, label: str, limits: tuple[float, float], keys: tuple[Key, ...]
) -> Panel:
    """One cloud as bars over another as an area; what lies beyond stands in the end bars."""
    low, high = limits
    edges = np.linspace(low, high, _BINS + 1)
    bars, area = (
        np.histogram(np.clip(values, low, high), edges)[0] / len(values) for values in (p, q)
    )
    return Panel(
        [
            Band(edges, np.zeros(_BINS), area, color=style.Q, opacity=0.6),
            Bars(edges, bars, color=style.P, opacity=0.72),
        ],
        x=Axis((low, high), label),
        y=Axis((0, 1.08 * float(max(bars.max(), area.max()))), "share", percent=True),
        height=HEIGHT,
        legend=keys,
    )


def cloud(truth: Array, draws: Array, names: Sequence[str], where: str = "") -> Drawn:
    """True values (n, 2) as dots over the density of q's draws (n, K, 2).

    Args:
        truth: in q's sd from its mean at their x.
        draws: likewise.
        names: of the two parameters.
        where: which rows; empty for all.
    """
    labels = [f"{_beside_axis(name)}, sd from q's mean" for name in names]
    sides = [_within_reach(_limits(truth[:, i], draws[..., i])) for i in range(2)]
    panel, dots = _plane(truth, draws.reshape(-1, 2), labels, sides, _KEYS)
    shown = f" {dots:,} of {len(truth):,} true values are drawn." * (dots < len(truth))
    return Drawn(f"True values over q's draws{where}", panel, f"{_OVER}{shown}")


def _plane(
    p: Array,
    q: Array,
    labels: Sequence[str],
    sides: Sequence[tuple[float, float]],
    keys: tuple[Key, ...],
) -> tuple[Panel, int]:
    """One cloud as dots over the density of another, and how many dots there are."""
    edges = [np.linspace(*side, _CELLS + 1) for side in sides]
    counts, _, _ = np.histogram2d(q[:, 1], q[:, 0], bins=[edges[1], edges[0]])
    smooth = _smoothed(counts)
    density = np.sqrt(smooth / max(float(smooth.max()), 1e-300))
    some = np.linspace(0, len(p) - 1, min(_DOTS, len(p))).astype(int)
    dots = np.stack([np.clip(p[some, i], *sides[i]) for i in range(2)])
    shades = Shades(np.where(density < 0.06, np.nan, density), limit=1.15, high=style.Q)
    panel = Panel(
        [
            Heat(edges[0], edges[1], shades),
            Points(*dots, color="#FFFFFF", size=6.5, opacity=0.6),
            Points(*dots, color=style.P, size=4.5, opacity=0.95),
        ],
        x=Axis(sides[0], labels[0]),
        y=Axis(sides[1], labels[1]),
        height=HEIGHT,
        legend=keys,
    )
    return panel, len(some)


def _smoothed(counts: Array) -> Array:
    """Counts, averaged over neighbours."""
    kernel = np.array([0.25, 0.5, 0.25])
    for axis in (0, 1):
        counts = np.apply_along_axis(np.convolve, axis, counts, kernel, "same")
    return counts


def _limits(p: Array, q: Array) -> tuple[float, float]:
    """An axis that holds both clouds, all but their outermost few."""
    tails = (_TAIL, 2 * _TAIL)
    ends = [np.quantile(v, [tail, 1 - tail]) for v, tail in zip((p, q), tails, strict=True)]
    low, high = min(float(end[0]) for end in ends), max(float(end[1]) for end in ends)
    # A constant keeps an axis of its own size.
    room = 0.06 * (high - low) or 0.05 * abs(high) or 0.5
    return low - room, high + room


def _within_reach(limits: tuple[float, float]) -> tuple[float, float]:
    """An axis of sds that ends where what lies farther stands at the edge."""
    return max(limits[0], -_FARTHEST), min(limits[1], _FARTHEST)


def samples(data: TwoSamples, names: Sequence[str] = ()) -> Drawn:
    """Two samples over one another, in the columns in which they differ most.

    Args:
        data: sample p and sample q, without x.
        names: of the columns.
    """
    p, q = np.asarray(data.p.theta, np.float64), np.asarray(data.q.theta, np.float64)
    spread = np.maximum(q.std(0), 1e-300)
    apart = np.abs(p.mean(0) - q.mean(0)) / spread + np.abs(np.log((p.std(0) + 1e-300) / spread))
    worst = np.argsort(-apart, kind="stable")[:2]
    labels = [names[i] if i < len(names) else f"column {i + 1}" for i in worst]
    sides = [_limits(p[:, i], q[:, i]) for i in worst]
    title, caption = "Sample p over sample q", "If both had one law, they would look alike."
    if len(worst) == 1:
        column = int(worst[0])
        bars = _histograms(p[:, column], q[:, column], labels[0], sides[0], _SAMPLES)
        return Drawn(title, bars, caption)
    plane, dots = _plane(p[:, worst], q[:, worst], labels, sides, _SAMPLES)
    shown = f" {dots:,} of {len(p):,} points of p are drawn." * (dots < len(p))
    return Drawn(title, plane, f"{caption}{shown}")


def coverage(
    ranks: Array, name: str, where: str = "", marked: tuple[float, float] | None = None
) -> Drawn:
    """How often q's central intervals hold the true value, against what they promise.

    Args:
        ranks: of the true values among q's draws, in (0, 1): (n,).
        name: of the parameter.
        where: which rows; empty for all.
        marked: the level, and the share that intervals of it hold, which a sentence beside the
            picture quotes; None marks half.
    """
    needed = 2 * np.abs(ranks - 0.5)
    share = np.searchsorted(np.sort(needed), _GRID, side="right") / len(needed)
    level, held = marked or (0.5, float(share[len(_GRID) // 2]))
    return _diagonal(
        share,
        len(ranks),
        (level, held),
        f"nominal intervals of {_beside_axis(name)}",
        "share of true values inside",
        f"{level:.0%} intervals hold {share_text(held)}",
        f"How often q's intervals of {name} hold the true value{where}",
        "Below the dashed line q is too narrow, above it too wide.",
    )


def quantiles(ranks: Array, name: str, where: str = "", below: float | None = None) -> Drawn:
    """The share of true values below each of q's quantiles.

    Args:
        ranks: of the true values among q's draws, in (0, 1): (n,).
        name: of the parameter.
        where: which rows; empty for all.
        below: share below q's median that a sentence beside the picture quotes.
    """
    share = np.searchsorted(np.sort(ranks), _GRID, side="right") / len(ranks)
    half = float(share[len(_GRID) // 2]) if below is None else below
    return _diagonal(
        share,
        len(ranks),
        (0.5, half),
        f"quantile of q for {_beside_axis(name)}",
        "share of true values below",
        f"{share_text(half)} lie below q's median",
        f"True values below each quantile of q{where}",
        "Above the dashed line q sits too high, below it too low.",
    )


def _diagonal(
    share: Array,
    n: int,
    marked: tuple[float, float],
    along: str,
    up: str,
    note: str,
    title: str,
    reading: str,
) -> Drawn:
    low, high = ecdf_band(n, 0.95, _GRID)
    at, value = marked
    above = value > at
    before = above or at > _FAR
    panel = Panel(
        [
            Band(_GRID, np.clip(_GRID + low, 0, 1), np.clip(_GRID + high, 0, 1), opacity=0.3),
            Line([0, 1], [0, 1], color=style.NULL, dash="dash", width=1.2),
            Line(_GRID, share, color=style.P, width=2.6),
            Points([at], [value], color=style.P, size=8),
            Note(
                at,
                value,
                note,
                color=style.P,
                anchor="end" if before else "start",
                shift=-10 if before else 10,
                rise=4 if before else -12,
            ),
        ],
        x=Axis((0, 1), along, percent=True),
        y=Axis((0, 1), up, percent=True),
        height=HEIGHT,
    )
    return Drawn(
        title, panel, f"{reading} If q were correct: inside the grey band in 95 of 100 tables."
    )


def detection_curve(
    size: float, alpha: float, powers: Sequence[tuple[float, float, float, float]]
) -> Drawn:
    """The chance that a bias in one parameter is found, against its size.

    Args:
        size: of the bias that is found with 80% power, in posterior sd.
        alpha: the level.
        powers: strength, power and the ends of its interval, by simulated tables; none yet leaves
            the curve of a normal statistic through `size`.
    """
    reach = 2.2 * size
    x = np.linspace(0, reach, 80)
    critical = ndtri(1 - alpha)
    drift = (critical + ndtri(0.8)) / size
    marks: list[Mark] = [
        HLine(0.8, dash="dash"),
        Line(x, ndtr(drift * x - critical), color=style.P, width=2.6),
        VLine(size, color=style.P, dash="dash"),
        Note(size, 0.12, f"{size:.2g} posterior sd", color=style.P, shift=8),
    ]
    if powers:
        strength, rate, low, high = np.array(powers).T
        inside = strength <= reach
        marks = [
            HLine(0.8, dash="dash"),
            Band(strength[inside], low[inside], high[inside], color=style.P, opacity=0.2),
            Line(strength[inside], rate[inside], color=style.P, width=2.6),
            *marks[2:],
        ]
    panel = Panel(
        marks,
        x=Axis((0, reach), "bias of q in one parameter, posterior sd"),
        y=Axis((0, 1.02), "chance to be found", percent=True),
        height=HEIGHT,
    )
    return Drawn(
        "What would have been found",
        panel,
        "Dashed: 80%. A smaller bias may well be there and stay unseen.",
    )
