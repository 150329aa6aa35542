"""Pictures of the Lensing page: systems, wrong pixels, and power of tests."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from validation_core.benchmarks.galaxies import SIDE
from validation_core.drawing import live, style
from validation_core.drawing.marks import (
    Axis,
    Heat,
    Image,
    Line,
    Mark,
    Note,
    Panel,
    Shades,
    Slider,
    Words,
    formatted,
    over,
    sentence,
    written,
)
from validation_core.explorers.highdim.lensing.study import LensingView
from validation_core.text import (
    level_text,
    numbered,
    said_equals,
    share_interval_text,
    signed_text,
)

_START = 0.5
"""The gamma that the page opens at."""
_APART = 1.12  # from one picture of a panel to the next, in widths of one
_ROOM = 0.17  # above it, for its name
_THREE, _TWO = 168, 212  # pixels of a panel, by its number of pictures
# From a dark sky to a bright core, in equal steps of light.
_LIGHT = np.array(
    [(8, 8, 20), (60, 20, 90), (150, 45, 95), (230, 100, 60), (252, 190, 90), (255, 250, 220)],
    dtype=float,
)
_DARK, _BRIGHT = -0.1, 1.6  # ends of that scale, in units of the mean peak
_SDS = 4.0  # of the noise, at which a residual has its full colour
CLOSE = 0.06  # of an axis: ticks nearer than that share one name
_LEVEL = 0.05  # of CoLT's test, above which its map is noise
_FULL = 0.995  # quantile of a map that has its full colour


def payload(seen: LensingView) -> live.Payload:
    """Galaxies and maps, over gamma and the galaxy."""
    gammas = [float(gamma) for gamma in seen.gammas]
    count = len(seen.source)
    return live.payload(
        sliders=[
            Slider(
                "gamma",
                gammas,
                form="{:g}",
                start=min(gammas, key=lambda gamma: abs(gamma - _START)),
                label="Share of the biased score, gamma",
                ends=("q = p", "biased score alone"),
                play=True,
            ),
            Slider(
                "galaxy",
                np.arange(1, count + 1),
                names=numbered(count),
                label="Galaxy",
                ends=("bright", "faint"),
            ),
        ],
        panels=[_galaxy(seen), _draws(seen), _at_x(seen), _over_x(seen)],
        headline=_headline(seen),
        columns=2,
    )


def _headline(seen: LensingView) -> Words:
    right = seen.gammas == 0
    best = [f"guessing is 0.5, the best possible {auc:.2f}" for auc in seen.oracle]
    return sentence(
        "At gamma = {gamma} {correct}a classifier parts q's draws from true sources with an AUC "
        "of {auc} ({best}). CoLT {colt} (p {p}).",
        gamma=written(seen.gammas, "{:g}", "gamma"),
        correct=over(np.where(right, "q is correct: ", ""), "gamma"),
        auc=written(seen.auc, "{:.2f}", "gamma"),
        best=over(np.where(right, "no better than guessing, 0.5, but for chance", best), "gamma"),
        colt=over(np.where(_found(seen), "finds it too", "gives no evidence against q"), "gamma"),
        p=written(seen.pvalue, said_equals, "gamma"),
    )


def _found(seen: LensingView) -> NDArray[np.bool_]:
    """Where CoLT finds q wrong, and q is: (G,)."""
    return np.asarray((seen.pvalue <= _LEVEL) & (seen.gammas > 0))


def brightness_to_rgb(brightness: NDArray[np.floating]) -> NDArray[np.uint8]:
    """Colours (..., 16, 16, 3) of brightness (..., 16, 16), as a square root of light."""
    share = np.clip((brightness.astype(float) - _DARK) / (_BRIGHT - _DARK), 0, 1) ** 0.7
    steps = np.linspace(0, 1, len(_LIGHT))
    channels = [np.interp(share, steps, _LIGHT[:, channel]) for channel in range(3)]
    return np.asarray(np.round(np.stack(channels, axis=-1)), dtype=np.uint8)


def _photograph(
    brightness: NDArray[np.floating], place: int, name: str, *sliders: str
) -> list[Mark]:
    left = place * _APART
    image = Image((left, left + 1), (0, 1), over(brightness_to_rgb(brightness), *sliders))
    return [image, *_framed(place, name)]


def _map(
    values: NDArray[np.floating], place: int, name: str, limit: float, *sliders: str
) -> list[Mark]:
    """A signed map: orange above 0, blue below."""
    left = place * _APART
    upright = values[..., ::-1, :].astype(float)  # a heat map's first row lies lowest
    shades = Shades(over(upright, *sliders), limit=limit, low=style.P, high=style.Q)
    heat = Heat(np.linspace(left, left + 1, SIDE + 1), np.linspace(0, 1, SIDE + 1), shades)
    return [heat, *_framed(place, name)]


def _framed(place: int, name: str) -> list[Mark]:
    left = place * _APART
    x, y = np.array([0, 1, 1, 0, 0]) + left, np.array([0, 0, 1, 1, 0])
    return [
        Line(x, y, color=style.NULL, width=1, opacity=0.6),
        Note(left + 0.5, 1.06, name, anchor="middle"),
    ]


def _panel(marks: Sequence[Sequence[Mark]], title: str, caption: Words) -> Panel:
    width = 1 + _APART * (len(marks) - 1)
    return Panel(
        [mark for group in marks for mark in group],
        x=Axis((-0.01, width + 0.01), hidden=True),
        y=Axis((-0.02, 1 + _ROOM), hidden=True),
        title=title,
        caption=caption,
        height=_THREE if len(marks) > 2 else _TWO,
        equal=True,
    )


def _limit(values: NDArray[np.floating]) -> float:
    """Value at which a map has its full colour."""
    return max(float(np.quantile(np.abs(values.astype(float)), _FULL)), 1e-3)


def _galaxy(seen: LensingView) -> Panel:
    return _panel(
        [
            _photograph(seen.source, 0, "source θ", "galaxy"),
            _photograph(seen.image, 1, "image x", "galaxy"),
            _photograph(seen.posterior, 2, "p's mean", "galaxy"),
        ],
        "A galaxy behind a lens",
        "A galaxy of the Hubble Deep Field, what a lens, a blur and noise make of it, and the "
        "mean of the exact posterior.",
    )


def _draws(seen: LensingView) -> Panel:
    residual = seen.residual.astype(float)
    size = np.sqrt((residual**2).mean((-1, -2)))
    return _panel(
        [
            _photograph(seen.draws[:, :, 0], 0, "a draw of q", "gamma", "galaxy"),
            _photograph(seen.draws[:, :, 1], 1, "another", "gamma", "galaxy"),
            _map(residual, 2, "residual", _SDS, "gamma", "galaxy"),
        ],
        "Draws of q",
        sentence(
            "Residual: the image less the first draw's, full colour at 4 sds of the noise. Its "
            "root mean square is {size} sds; about 1 fits the data.",
            size=written(size, "{:.2f}", "gamma", "galaxy"),
        ),
    )


def _at_x(seen: LensingView) -> Panel:
    sds, correlation = _limit(seen.off), _limit(seen.classifier)
    return _panel(
        [
            _map(seen.off, 0, "true error of q's mean", sds, "gamma", "galaxy"),
            _map(seen.classifier, 1, "classifier's map", correlation, "gamma", "galaxy"),
        ],
        "Which pixels are wrong at this x?",
        sentence(
            f"Orange: q too bright. Left, in posterior sds: full colour at {sds:.2f}. Right: how "
            "each pixel of q's draws correlates with minus the logit, full colour at "
            f"{correlation:.2f}. {{agree}}",
            agree=over(_agreement(seen), "gamma", "galaxy"),
        ),
    )


def _agreement(seen: LensingView) -> NDArray[np.str_]:
    """Agreement of the classifier's map with the true one, in words (G, V)."""
    words = formatted(
        seen.agreement, lambda r: f"Over pixels, the maps correlate by {signed_text(r, '.2f')}."
    )
    right = np.abs(seen.off.astype(float)).max((-1, -2)) < 1e-6
    return np.where(right, "At gamma = 0 nothing is wrong: the classifier's map is noise.", words)


def _over_x(seen: LensingView) -> Panel:
    log = np.log2(np.maximum(seen.spread.astype(float), 1e-3))
    wide, part = _limit(log), _limit(seen.colt)
    inside, found = np.asarray(seen.inside, float), _found(seen)
    words = over(np.where(found, "", "nothing found"), "gamma")
    nothing = Note(_APART + 0.5, 0.5, words, anchor="middle")
    shown = np.where(found[:, None, None], seen.colt, np.nan)
    return _panel(
        [
            _map(log, 0, "true spread, q over p", wide, "gamma"),
            [*_map(shown, 1, "CoLT's map", part, "gamma"), nothing],
        ],
        "Which pixels are wrong over all x?",
        sentence(
            f"Left: orange where q is too wide, full colour at a factor of {2**wide:.2f}. "
            f"Right, where CoLT's p is at most {level_text(_LEVEL)}: orange where true sources "
            f"lie further from the ball's centre than q's draws, full colour at {part:.2f} of a "
            "pixel's mean squared distance. The ball that holds half of q's draws holds {inside} "
            "of true sources (p {p}).",
            inside=over(_shares(inside), "gamma"),
            p=written(np.asarray(seen.pvalue), said_equals, "gamma"),
        ),
    )


def _shares(inside: NDArray[np.floating]) -> list[str]:
    """Shares (G, 3) with their intervals, as text."""
    return [share_interval_text(ends) for ends in inside]
