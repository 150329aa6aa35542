"""Measured power on the Conformal C2ST page: curves over gamma, beta and m."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd

from validation_core.drawing import style
from validation_core.drawing.marks import Axis, Key, Line, Mark, Note, Panel, Points, VLine, over
from validation_core.drawing.power_curves import (
    LEVEL_KEY,
    Rates,
    level_line,
    line_key,
    method_look,
    rate_band,
    rate_line,
    rejection_axis,
)
from validation_core.explorers.conformal.study import BETAS, PAPER_M, Conformal, rank_variance
from validation_core.explorers.conformal.view import (
    PANEL_HEIGHT,
    ConformalView,
    MeasuredPower,
    gamma_axis,
    over_sliders,
)
from validation_core.methods.base import Method
from validation_core.text import list_text
from validation_core.types import Array, MethodStyle


def interpolate_rates(counted: MeasuredPower, gammas: Sequence[float], alpha: float) -> Rates:
    """Rates (methods, BETAS, G), interpolated between the measured gammas and betas."""
    first = counted.trials[0]
    known = _place(first.gammas, gammas)
    return Rates(
        *(
            _between(_between(part, 1, first.betas, BETAS), 2, known, range(len(gammas)))
            for part in counted.rates(alpha)
        )
    )


def _between(values: Array, axis: int, known: Any, wanted: Any) -> Array:
    """Linear interpolation along an axis; NaN beyond what is known."""
    nan = float("nan")
    return np.apply_along_axis(
        lambda row: np.interp(wanted, known, row, left=nan, right=nan), axis, values
    )


def _place(values: Any, gammas: Sequence[float]) -> Array:
    """Positions of gammas among those of the slider, in its steps."""
    return np.interp(values, gammas, np.arange(len(gammas), dtype=float))


def power_over_gamma_and_beta(look: ConformalView, counted: MeasuredPower | None) -> list[Panel]:
    """Panels of power over gamma at the slider's beta, and over beta at its gamma."""
    gammas = look.study.learned.gammas
    places = np.arange(len(gammas), dtype=float)
    rates = interpolate_rates(counted, gammas, look.alpha) if counted else None
    legend = _legend(counted)
    panels = []
    if len(gammas) > 1:
        panels.append(
            Panel(
                [
                    *_power_marks(look, counted, rates, places, "beta"),
                    VLine(over(places, "gamma")),
                ],
                title="Power over gamma",
                x=gamma_axis(look.study.learned),
                click="gamma",
                at=np.stack([places, np.full(len(gammas), 0.5)], axis=1),
                **_power_frame(counted, legend),
            )
        )
    panels.append(
        Panel(
            [
                *_power_marks(look, counted, rates, np.array(BETAS), "gamma"),
                VLine(over(BETAS, "beta")),
            ],
            title="Power over beta",
            x=Axis((-0.02, 1.02), "beta: 0 trained network, 1 random network"),
            click="beta",
            **_power_frame(counted, legend),
        )
    )
    return panels


def power_over_m(look: ConformalView, counted: MeasuredPower | None) -> list[Panel]:
    """Panels of power over calibration draws m, at the slider's gamma and beta."""
    x = np.log10(PAPER_M)
    marks: list[Mark] = [level_line(look.alpha)]
    if counted:
        rates = interpolate_rates(counted, look.study.learned.gammas, look.alpha)
        values = np.moveaxis(rates.rate, 0, -1).swapaxes(0, 1)  # (G, BETAS, methods)
        flat = [np.repeat(values[..., i : i + 1], len(x), -1) for i in range(2)]
        for method, line in zip(counted.study.methods, (*flat, values[..., 2:]), strict=False):
            color = _look(method, counted.old)
            marks.append(rate_line(x, line, color, "gamma", "beta", coarse=True))
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
            **_power_frame(counted, _legend(counted), over_m=True),
        )
    ]


def _power_frame(
    counted: MeasuredPower | None, legend: list[Key], *, over_m: bool = False
) -> dict[str, Any]:
    """Settings common to all power panels."""
    caption = "The trials come when the classifier has learnt."
    if counted and counted.old:
        rows = counted.study.learned.recipe.train
        caption = (
            f"Grey: as it was before, {counted.said}, by a classifier trained on {rows:,} draws a "
            "side. The new trials have not run yet."
        )
    elif counted and over_m:
        betas = counted.trials[0].betas
        places = list_text([f"{beta:g}" for beta in betas])
        beyond = f", none beyond {betas[-1]:g}" if betas[-1] < BETAS[-1] else ""
        caption = f"{counted.said}, counted at beta = {places}; lines between{beyond}."
    elif counted:
        shaded = "each point's 95% interval"
        if len(counted.trials) > 1:
            shaded = "from the lowest to the highest of the networks' 95% intervals"
        caption = f"{counted.said}, straight lines between; shaded: {shaded}."
    return {"y": rejection_axis(), "height": PANEL_HEIGHT, "legend": legend, "caption": caption}


def _power_marks(
    look: ConformalView, counted: MeasuredPower | None, rates: Rates | None, x: Array, other: str
) -> list[Mark]:
    """Curve and band of each test along one slider, over the other."""
    marks: list[Mark] = [level_line(look.alpha)]
    if counted is None or rates is None:
        return [*marks, _awaited(float(np.mean(x)))]
    turned = [part if other == "beta" else part.swapaxes(1, 2) for part in rates]
    for method, *parts in zip(counted.study.methods, *turned, strict=True):
        own, color = Rates(*parts), _look(method, counted.old)
        marks += [
            rate_band(x, own, color, other, coarse=True),
            rate_line(x, own.rate, color, other, coarse=True),
        ]
    return marks


def _awaited(x: float) -> Note:
    return Note(x, 0.5, "not counted yet", color=style.NULL, anchor="middle")


def _look(method: Method, old: bool) -> MethodStyle:
    """A method's style, grey where its trials are of an earlier setting."""
    look = method_look(method.name)
    return look._replace(color=style.NULL) if old else look


def _legend(counted: MeasuredPower | None) -> list[Key]:
    if counted is None:
        return [LEVEL_KEY]
    several = len(counted.study.ms) > 1
    keys = [
        line_key(method.label_of_several if several else method.label, _look(method, counted.old))
        for method in counted.study.methods[:3]
    ]
    return [*keys, LEVEL_KEY]


def rank_noise_panel(look: ConformalView, seen: Conformal) -> Panel:
    """Var(U | its draw of q) against m, on doubly logarithmic axes."""
    x, y = np.log10(PAPER_M), np.log10(rank_variance(seen.unsettled))
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
            "How much one rank would vary with other calibration draws. It falls about as 1/m: a "
            "larger m gains ever less."
        ),
    )


def power_table(counted: MeasuredPower, alpha: float) -> pd.DataFrame:
    """Table of the counts behind the curves."""
    hits = np.stack([one.at(alpha) for one in counted.trials])
    rate, low, high = counted.rates(alpha)
    first, trials = counted.trials[0], counted.study.trials
    return pd.DataFrame(
        {
            "Test": method.label,
            "gamma": gamma,
            "beta": beta,
            "Rejected": int(hits[:, i, j, k].sum()),
            "Trials": trials * len(hits),
            "Power": rate[i, j, k],
            "95% from": low[i, j, k],
            "to": high[i, j, k],
            **{
                f"Network {number}": count / trials
                for number, count in enumerate(hits[:, i, j, k], 1)
                if len(hits) > 1
            },
        }
        for i, method in enumerate(counted.study.methods)
        for j, beta in enumerate(first.betas)
        for k, gamma in enumerate(first.gammas)
    )
