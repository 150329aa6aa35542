"""A data set's posterior, q, and the two draws, in a plane of two coordinates."""

import numpy as np
from numpy.typing import NDArray

from pages.components import live
from validation_core.figures.style import NULL, P, Q
from validation_core.rng import stream
from validation_core.simulations import Found, Run, opened
from validation_core.simulations.opened import Numbers
from validation_core.types import Array

SHARES = 0.5, 0.9
_SHOWN = 160
_TICKS = 4
_TRIM = 0.005  # of the draws at each end, which a frame need not hold
_HIDDEN = 0.05  # of half the frame: about the size of a mark
_EDGE = 1.06  # half the picture, in half widths of the frame


def picture(
    run: Run, found: Found, said: Numbers, posterior: Array, pair: tuple[int, int]
) -> dict:
    """One panel that follows the slider k, framed anew at each of its places.

    Args:
        posterior: draws (V, S, D), NaN where there are none yet.
    """
    two, places = list(pair), said.places
    truth, drawn = found.theta[places][:, two], found.weights.drawn[places][:, two]
    draws = posterior[:, :_SHOWN, two]
    outlines = _outlines(found, places, two)
    cloud = _cloud(run, found, places, two)
    parts = [_core(draws), _core(cloud), *outlines, truth[:, None], drawn[:, None]]
    centre, half = opened.frame(parts)

    def framed(points: Array) -> list[live.Over]:
        inside = (points - centre[:, None]) / half[:, None]
        return [live.over(inside[..., i], "k") for i in (0, 1)]

    names = run.model.names
    marks = [
        live.points(*framed(draws), color=P, size=4, opacity=0.7),
        live.points(*framed(cloud), color=Q, size=4, opacity=0.6, symbol="ring"),
        *(live.line(*framed(one), color=Q, width=1.8) for one in outlines),
        live.points(*framed(truth[:, None]), color="", size=11, symbol="cross"),
        live.points(*framed(drawn[:, None]), color=Q, size=10, symbol="diamond"),
        *_ticks(centre, half),
    ]
    q = ("q, 50% and 90%", Q, "line") if outlines else ("q", Q, "ring")
    return live.panel(
        marks, title="The posterior, q, and the two draws", square=True,
        x=live.axis((-_EDGE, _EDGE), names[pair[0]], ticks=()),
        y=live.axis((-_EDGE, _EDGE), names[pair[1]], ticks=()),
        legend=[("posterior", P, "circle"), q, ("true z", "", "cross"),
                ("q's draw z~", Q, "diamond")],
        caption=live.over(_remarks(draws, outlines[-1] if outlines else cloud, half), "k"),
    )  # fmt: skip


def _outlines(found: Found, places: Array, two: list[int]) -> list[Array]:
    """q's ellipses (V, L, 2), where it is a normal."""
    if found.q is None:
        return []
    mean, scale = found.q.mean[places][:, two], found.q.scale[places][:, two]
    return [opened.ellipses(mean, scale, share) for share in SHARES]


def _cloud(run: Run, found: Found, places: Array, two: list[int]) -> Array:
    """Draws of q (V, S, 2), where it is no normal; (V, 0, 2) elsewhere."""
    q = None if found.q is not None else opened.density(run, found)
    if q is None:
        return np.zeros((len(places), 0, 2))
    rngs = [stream(run.seed, "draws of q in a picture", k) for k in range(len(found.ok))]
    return np.asarray(q.sample(_SHOWN, rngs)[places][..., two])


def _core(draws: Array) -> Array:
    """What a frame holds of a cloud (V, S, 2): (V, 2, 2)."""
    out = np.full((len(draws), 2, 2), np.nan)
    there = np.isfinite(draws).all((1, 2)) & (draws.shape[1] > 0)
    if there.any():
        out[there] = np.quantile(draws[there], [_TRIM, 1 - _TRIM], axis=1).swapaxes(0, 1)
    return out


def _ticks(centre: Array, half: Array) -> list[dict]:
    """Numbers along both axes, which are others at every place."""
    marks = []
    for i, anchor in enumerate(("middle", "end")):
        at, shown = _labels(centre[:, i], half[:, i])
        for j in range(_TICKS):
            place, words = live.over(at[:, j], "k"), live.over([row[j] for row in shown], "k")
            x, y = (place, -1.17) if i == 0 else (-1.09, place)
            marks.append(live.note(x, y, words, color=NULL, anchor=anchor))
    return marks


def _labels(centre: Array, half: Array) -> tuple[Array, list[list[str]]]:
    """Where round numbers lie within frames (V,), and they in words: (V, 4), NaN for fewer."""
    at = np.full((len(centre), _TICKS), np.nan)
    shown: list[list[str]] = []
    for row, middle, reach in zip(at, centre, half, strict=True):
        values = opened.ticks(middle - reach, middle + reach, _TICKS)[:_TICKS]
        row[: len(values)] = (values - middle) / reach
        shown.append(_words(values) + [""] * (_TICKS - len(values)))
    return at, shown


def _words(values: Array) -> list[str]:
    steps = np.diff(values)
    step = float(steps[0]) if len(steps) else 1.0
    if max(abs(values[0]), abs(values[-1])) >= 1e5 or step < 1e-3:
        return [f"{value:.3g}".replace("-", "−") for value in values]
    digits = max(0, int(np.ceil(-np.log10(step) - 1e-9)))
    digits += step * 10**digits % 1 > 1e-6  # a step of 2.5
    return [f"{value + 0.0:.{digits}f}".replace("-", "−") for value in np.round(values, 9)]


def _remarks(draws: Array, q: Array, half: Array) -> list[str]:
    """What cannot be seen at each place: draws of the posterior (V, S, 2), or q's points."""
    waiting = ~np.isfinite(draws).all((1, 2))
    cases = (
        (waiting, "The posterior of this data set is being drawn."),
        (_tiny(draws, half), "The posterior is too narrow to be seen at this scale."),
        (_tiny(q, half), "q is too narrow to be seen at this scale: it lies about its draw."),
    )
    return [
        " ".join(words for where, words in cases if where[v]) for v in range(len(half))
    ]  # fmt: skip


def _tiny(points: Array, half: Array) -> NDArray[np.bool_]:
    """Where points (V, S, 2) are no wider than a mark (V,)."""
    if not points.shape[1]:
        return np.zeros(len(half), bool)
    return np.asarray((np.ptp(points, axis=1) < _HIDDEN * half).all(1))
