"""Measured power on the Conformal C2ST page: curves over gamma, beta and m."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from validation_core import statistics
from validation_core.drawing import live, style
from validation_core.drawing.marks import (
    Axis,
    Band,
    HLine,
    Line,
    Mark,
    Note,
    Panel,
    Points,
    VLine,
    over,
)
from validation_core.explorers import conformal
from validation_core.explorers.conformal import BETAS, PAPER_M, Conformal
from validation_core.explorers.conformal_view import (
    PANEL_HEIGHT,
    PROBABILITY_TICKS,
    ConformalView,
    MeasuredPower,
    over_sliders,
)
from validation_core.methods.base import Method
from validation_core.types import Array


class _RateIntervals(NamedTuple):
    """Share of trials that reject (methods, BETAS, G), with its 95% Wilson interval."""

    rate: Array
    low: Array
    high: Array


def interpolate_rates(
    counted: MeasuredPower, gammas: Sequence[float], alpha: float
) -> _RateIntervals:
    """Counted at a few gammas and betas; between them, the straight line."""
    hits, trials = counted.trials.power(alpha)
    low, high = statistics.wilson(hits, np.full(hits.shape, trials))
    known = _place(counted.trials.gammas, gammas)
    return _RateIntervals(
        *(
            _between(_between(part, 1, counted.trials.betas, BETAS), 2, known, range(len(gammas)))
            for part in (hits / trials, np.asarray(low), np.asarray(high))
        )
    )


def _between(values: Array, axis: int, known: Any, wanted: Any) -> Array:
    """Values along an axis where they are not known, by straight lines."""
    return np.apply_along_axis(lambda row: np.interp(wanted, known, row), axis, values)


def _place(values: Any, gammas: Sequence[float]) -> Array:
    """Where gammas lie among those of the slider, in its steps."""
    return np.interp(values, gammas, np.arange(len(gammas), dtype=float))


def power_over_gamma_and_beta(look: ConformalView, counted: MeasuredPower | None) -> list[Panel]:
    """Power over gamma at the slider's beta, and over beta at its gamma."""
    gammas = look.study.learned.gammas
    places = np.arange(len(gammas), dtype=float)
    rates = interpolate_rates(counted, gammas, look.alpha) if counted else None
    legend = _legend(look, counted)
    ticks = np.unique(np.round(np.linspace(0, len(gammas) - 1, PROBABILITY_TICKS)).astype(int))
    words = "Press to move gamma."
    panels = []
    if len(gammas) > 1:
        panels.append(
            Panel(
                [
                    *_power_marks(look, counted, rates, places, "beta"),
                    VLine(over(places, "gamma")),
                ],
                title="Power over gamma",
                x=Axis(
                    (-0.5, len(gammas) - 0.5),
                    "gamma, finer where curves climb" if not look.study.learned.each else "gamma",
                    ticks=ticks,
                    names=[f"{gammas[i]:g}" for i in ticks],
                ),
                click="gamma",
                at=np.stack([places, np.full(len(gammas), 0.5)], axis=1),
                **_power_frame(look, counted, words, legend),
            )
        )
    panels.append(
        Panel(
            [
                *_power_marks(look, counted, rates, np.array(BETAS), "gamma"),
                VLine(over(BETAS, "beta")),
            ],
            title="Power over beta",
            x=Axis((-0.02, 1.02), "beta: the network is moved back to its random start"),
            click="beta",
            **_power_frame(look, counted, "Press to move beta.", legend),
        )
    )
    return panels


def power_over_m(look: ConformalView, counted: MeasuredPower | None) -> list[Panel]:
    """Power over calibration draws at the slider's gamma and beta."""
    x = np.log10(PAPER_M)
    marks: list[Mark] = _level(look)
    if counted:
        rates = interpolate_rates(counted, look.study.learned.gammas, look.alpha)
        values = np.moveaxis(rates.rate, 0, -1).swapaxes(0, 1)  # (G, BETAS, methods)
        flat = [np.repeat(values[..., i : i + 1], len(x), -1) for i in range(2)]
        for method, line in zip(counted.study.methods, (*flat, values[..., 2:]), strict=False):
            marks.append(_curve(method, counted.old, x, over(line, "gamma", "beta", coarse=True)))
    else:
        marks.append(_awaited(float(x.mean())))
    marks.append(VLine(float(np.log10(look.study.m))))
    return [
        Panel(
            marks,
            title="Power over m",
            x=Axis(
                (x[0] - 0.08, x[-1] + 0.08),
                "calibration draws per test point, m",
                ticks=x,
                names=[f"{m}" for m in PAPER_M],
            ),
            **_power_frame(look, counted, "", _legend(look, counted)),
        )
    ]


def _power_frame(
    look: ConformalView,
    counted: MeasuredPower | None,
    words: str,
    legend: list[tuple[str, str, str]],
) -> dict[str, Any]:
    """What all power panels have in common."""
    caption = "The trials come when the classifier has learnt."
    if counted and counted.old:
        caption = f"Grey: as it was before, {counted.said}. The new trials are on their way."
    elif counted:
        caption = f"{counted.said}, straight lines between; shaded: 95% intervals. {words}"
    return {
        "y": Axis((0, 1.02), "trials that reject q", percent=True),
        "height": PANEL_HEIGHT,
        "legend": legend,
        "caption": caption,
    }


def _power_marks(
    look: ConformalView,
    counted: MeasuredPower | None,
    rates: _RateIntervals | None,
    x: Array,
    other: str,
) -> list[Mark]:
    """A curve with its band for each test, along one slider and following the other."""
    marks = _level(look)
    if counted is None or rates is None:
        return [*marks, _awaited(float(np.mean(x)))]
    turned = [part if other == "beta" else part.swapaxes(1, 2) for part in rates]
    for i, method in enumerate(counted.study.methods):
        rate, low, high = (over(part[i], other, coarse=True) for part in turned)
        look_of = style.method_style(method.name)
        color = style.NULL if counted.old else look_of.color
        marks += [
            Band(x, low, high, color=color, opacity=0.13),
            _curve(method, counted.old, x, rate),
        ]
    return marks


def _level(look: ConformalView) -> list[Mark]:
    return [HLine(look.alpha, color=style.NULL, label="level")]


def _awaited(x: float) -> Note:
    return Note(x, 0.5, "not counted yet", color=style.NULL, anchor="middle")


def _curve(method: Method, old: bool, x: Array, y: Any) -> Line:
    color, dash, _ = live.browser_style(style.method_style(method.name))
    return Line(x, y, color=style.NULL if old else color, dash=dash)


def _legend(look: ConformalView, counted: MeasuredPower | None) -> list[tuple[str, str, str]]:
    if counted is None:
        return []
    several = len(counted.study.ms) > 1
    entries = []
    for method in counted.study.methods[:3]:
        color, dash, _ = live.browser_style(style.method_style(method.name))
        label = method.label_of_several if several else method.label
        symbol = "line" if dash == "solid" else "dash"
        entries.append((label, style.NULL if counted.old else color, symbol))
    return entries


def noise_text(look: ConformalView, seen: Conformal) -> Panel:
    """Var(U | its draw of q) against m, on doubly logarithmic axes."""
    x, y = np.log10(PAPER_M), np.log10(conformal.rank_variance(seen.unsettled))
    bottom, top = np.floor(y.min()), np.ceil(y.max())
    decades = np.arange(bottom, top + 1)
    return Panel(
        [
            Line(x, over_sliders(seen, y), color=style.NULL, dash="2 3"),
            Points(
                x,
                over_sliders(seen, y),
                color=style.method_style("uniform").color,
                symbol="diamond",
                size=7,
            ),
            VLine(float(np.log10(look.study.m))),
        ],
        title="Noise of a rank",
        x=Axis(
            (x[0] - 0.08, x[-1] + 0.08),
            "calibration draws m",
            ticks=x,
            names=[f"{m}" for m in PAPER_M],
        ),
        y=Axis(
            (float(bottom), float(top)),
            "variance of U at a given draw of q",
            ticks=decades,
            names=[f"{10.0**d:g}" for d in decades],
        ),
        height=PANEL_HEIGHT,
        caption=(
            "Over calibration sets. It falls as 1/m, and with it what more calibration draws "
            "can still gain."
        ),
    )


def power_table(counted: MeasuredPower, alpha: float) -> pd.DataFrame:
    """The counts behind the curves."""
    hits, trials = counted.trials.power(alpha)
    low, high = statistics.wilson(hits, np.full(hits.shape, trials))
    return pd.DataFrame(
        {
            "Test": method.label,
            "gamma": gamma,
            "beta": beta,
            "Rejected": int(hits[i, j, k]),
            "Trials": trials,
            "Power": hits[i, j, k] / trials,
            "95% from": low[i, j, k],
            "to": high[i, j, k],
        }
        for i, method in enumerate(counted.study.methods)
        for j, beta in enumerate(counted.trials.betas)
        for k, gamma in enumerate(counted.trials.gammas)
    )
