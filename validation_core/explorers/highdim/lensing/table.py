"""Rejection rates of all tests on lensing, as in Table 2 of Bansal, Chen, Scott."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache

import numpy as np
from numpy.typing import NDArray

from validation_core import methods
from validation_core.benchmarks.lensing import Lensing
from validation_core.drawing import live, style
from validation_core.drawing.marks import Mark, Panel, VLine
from validation_core.drawing.power_curves import (
    curve_keys,
    level_line,
    places_axis,
    rate_curve,
    rejection_axis,
)
from validation_core.explorers.highdim.lensing.pictures import CLOSE
from validation_core.explorers.highdim.lensing.study import (
    BETAS,
    DEGRADED_AT,
    POWER_GAMMAS,
    PRINTED_DEGRADED_AT,
    PRINTED_GAMMAS,
    TRIALS,
    K,
    LensingStudy,
    N,
)
from validation_core.methods.base import Method
from validation_core.panels import power
from validation_core.sweep.plan import Sweep
from validation_core.sweep.presets import NETWORKS, SMALL_MMD
from validation_core.sweep.progress import Progress
from validation_core.sweep.trials import TrialDesign
from validation_core.text import list_text
from validation_core.types import MethodStyle


def _table_methods() -> tuple[Method, ...]:
    """The tests of the paper's Table 2; DC also with features of ours, AutoML also of C2ST's
    classifier."""
    return (
        methods.C2ST(),
        methods.Multiple(),
        methods.Uniform(m=50),
        methods.SBC(),
        methods.TARP(),
        methods.DC(net="paper"),
        methods.DC(),
        methods.AutoML(),
        methods.AutoML(engine="classifier"),
        SMALL_MMD,
    )


@cache
def sweeps(benchmark: Lensing | None = None, networks: int = NETWORKS) -> tuple[Sweep, ...]:
    """Sweeps of its two halves: over gamma and at the paper's other gammas, over beta at two.

    All that learns does so from as many simulations as C2ST's classifier. Degraded are, as in the
    paper, the tests that read that classifier.

    Args:
        benchmark: the lens; by default the one that ships.
        networks: trained at each gamma for each test that learns, from seeds of their own.
    """
    lensing = benchmark or Lensing()
    every = _table_methods()
    degraded = tuple(method for method in every if method.reads_classifier)
    grids: Sequence[tuple[tuple[Method, ...], tuple[float, ...], tuple[float, ...]]] = (
        (every, POWER_GAMMAS, (0.0,)),
        (every, PRINTED_GAMMAS, (0.0,)),
        (degraded, (DEGRADED_AT,), BETAS),
        (degraded, (PRINTED_DEGRADED_AT,), BETAS),
    )
    return tuple(
        Sweep(
            benchmark=lensing,
            methods=compared,
            gammas=gammas,
            betas=betas,
            design=TrialDesign(trials=TRIALS, n=N, k=K),
            recipe=lensing.classifier,
            networks=networks,
            learnt_from=lensing.classifier.train,
        )
        for compared, gammas, betas in grids
    )


def shipped() -> tuple[LensingStudy, ...]:
    """Studies that ship with NPT Lab: the page's opening view."""
    return (LensingStudy(),)


def rates(
    sweeps: Sequence[Sweep], progress: Sequence[Progress], at: float | None = None
) -> live.Payload:
    """Rejection rates over gamma, and over beta at each gamma that has them, with their intervals
    as bands.

    Args:
        at: a gamma to mark.
    """
    along: dict[power.Along, list[tuple[Sweep, Progress]]] = {"gamma": [], "beta": []}
    for sweep, one in zip(sweeps, progress, strict=True):
        along[power.along(sweep)].append((sweep, one))
    looks = power.curve_looks([cell for one in progress for cell in one.cells])
    panels = [_rates(along["gamma"], looks, at), *(_rates([one], looks) for one in along["beta"])]
    return live.payload(panels=panels, columns=2)


def _rates(
    pairs: Sequence[tuple[Sweep, Progress]], looks: dict[str, MethodStyle], at: float | None = None
) -> Panel:
    """Rates of sweeps that run along one axis."""
    sweep, _ = pairs[0]
    axis = power.along(sweep)
    cells = [cell for _, one in pairs for cell in one.cells]
    grids = [one.gammas if axis == "gamma" else one.betas for one, _ in pairs]
    places = np.unique(np.concatenate(grids))
    marks: list[Mark] = [level_line(sweep.design.alpha)]
    if at is not None:
        marks.append(VLine(at, color=style.NULL, dash="2 3"))
    shown = power.curves(cells, axis)
    for curve in shown:
        marks += rate_curve(curve.x, curve.rates, looks[curve.label], opacity=power.FAINT)
    fixed = "beta = 0" if axis == "gamma" else f"gamma = {sweep.gammas[0]:g}"
    what = (
        "how wrong q is" if axis == "gamma" else "how far the networks are moved to a random start"
    )
    printed = " The paper's gamma." if sweep.gammas[0] == PRINTED_DEGRADED_AT else ""
    return Panel(
        marks,
        title=f"Share of test sets rejected, {fixed}",
        height=320,
        x=places_axis(places, f"{axis}: {what}", names=tick_names(places)),
        y=rejection_axis(),
        legend=curve_keys({curve.label: looks[curve.label] for curve in shown}),
        caption=f"{power.trials_text(cells)} Dashed: the level of 5%."
        if axis == "gamma"
        else f"Of the tests that read C2ST's classifier.{printed}",
    )


def tick_names(places: NDArray[np.floating]) -> list[str]:
    """Names of places on an axis; empty where one would overlap the next."""
    near = np.append(np.diff(places) < CLOSE * np.ptp(places), False)
    return [f"{place:g}" * (not close) for place, close in zip(places, near, strict=True)]


def answer(sweeps: Sequence[Sweep], progress: Sequence[Progress]) -> str:
    """Gamma at which each test rejects half of its test sets, in words; "" before all ran."""
    over_gamma = [
        one for sweep, one in zip(sweeps, progress, strict=True) if power.along(sweep) == "gamma"
    ]
    if not all(one.complete for one in over_gamma):
        return ""
    cells = [cell for one in over_gamma for cell in one.cells]
    reached, blind = [], []
    for curve in power.curves(cells, "gamma"):
        at = half_power_crossing(curve.x, curve.rates.rate)
        if at is None:
            blind.append(curve.label)
        else:
            reached.append((at, curve.label))
    thresholds = ", ".join(f"{at:.2f} ({label})" for at, label in sorted(reached))
    first = (
        f"Half of the test sets are rejected from about gamma = {thresholds}, by straight lines "
        "between what was counted"
        if thresholds
        else ""
    )
    never = f"{list_text(blind)} never reach{'es' * (len(blind) == 1)} one half" if blind else ""
    return "; ".join(part for part in (first, never) if part) + "."


def half_power_crossing(x: NDArray[np.floating], rate: NDArray[np.floating]) -> float | None:
    """First place at which a piecewise linear rate reaches one half; None if it never does."""
    above = np.flatnonzero(rate >= 0.5)
    if not len(above):
        return None
    i = int(above[0])
    if i == 0:
        return float(x[0])
    share = (0.5 - rate[i - 1]) / (rate[i] - rate[i - 1])
    return float(x[i - 1] + share * (x[i] - x[i - 1]))


def how_to_read(study: LensingStudy) -> str:
    """The networks behind the picture, and their training, in words."""
    rows, anchors = study.classifier.train, study.localizer.anchors
    own = study.benchmark.classifier.train
    return (
        f"For these pictures one classifier ({rows:,} + {rows:,} rows) and one localizer of "
        f"CoLT's ({anchors} anchors at each gamma) learn at all gammas. C2ST, Multiple and "
        f"Uniform below read networks of single gammas, trained on {own:,} + {own:,} rows. DC, "
        "by its authors' network or our features, and AutoML learn from as many, too."
    )
