"""Rejections of q at the level of the page: counted in trials, drawn as power, told in words."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np

from validation_core.drawing.marks import Mark, Over, Panel, VLine, over, written
from validation_core.drawing.power_curves import curve_keys, level_line, rejection_axis
from validation_core.explorers.conformal.power_study import conformal_pvalues
from validation_core.methods.base import Method
from validation_core.panels import power
from validation_core.statistics import PooledLaw
from validation_core.text import level_text, list_text, share_text
from validation_core.types import Array, Benchmark, BlockScores, Integers, MethodStyle

LEVEL = 0.05


def count_rejections(
    methods: Sequence[Method],
    p: Array,
    q: Array,
    seed: int,
    trials: range,
    *,
    law: PooledLaw | None = None,
) -> Integers:
    """Trials that each method rejects: (methods,).

    Args:
        methods: the tests.
        p: scores of the trials' draws of p, one trial after another.
        q: scores of their draws of q.
        seed: of the numbers that break ties.
        trials: numbers of the trials.
        law: of p's scores, which Uniform reads its calibration counts off; by default that of
            all trials.
    """
    blocks = BlockScores(p.reshape(len(trials), -1), q.reshape(len(trials), -1))
    of_p = PooledLaw(p) if law is None else law
    pvalues = conformal_pvalues(methods, blocks, of_p, seed, trials)
    return np.asarray((pvalues <= LEVEL).sum(-1))


def power_panel(
    methods: Sequence[Method],
    curve: Callable[[int, MethodStyle], Iterable[Mark]],
    here: Over,
    **panel: Any,
) -> Panel:
    """Panel of the power of each method, over the level.

    Args:
        methods: the tests.
        curve: marks of a method, from its place and its look.
        here: place of the slider along x.
        **panel: x axis, title, height, caption and whatever else a panel has.
    """
    looks = power.method_looks({method.label: method.name for method in methods})
    curves = [mark for i, look in enumerate(looks.values()) for mark in curve(i, look)]
    return Panel(
        [level_line(LEVEL), VLine(here, width=1), *curves],
        y=rejection_axis(),
        legend=curve_keys(looks),
        **panel,
    )


def rejections_in_words(
    benchmark: Benchmark, methods: Sequence[Method], rates: Array, counted: str, *sliders: str
) -> tuple[str, dict[str, Over]]:
    """Template of a sentence with each method's rejection rate, and its {parts} over the sliders.

    Where q is correct, it says so.

    Args:
        benchmark: source of the draws.
        methods: the tests.
        rates: (methods, G, ...), the sliders' axes in their order, gamma first.
        counted: the trials behind each rate, in words: `200 trials`.
        *sliders: names of the sliders.
    """
    first, *others = (method.label for method in methods)
    rest = [f"{label} in {{power{i + 1}}}" for i, label in enumerate(others)]
    names = list_text([f"{first} rejects {{q}} in {{power0}} of {counted}", *rest])
    correct = [benchmark.is_exact(gamma) for gamma in benchmark.gammas]
    parts = {f"power{i}": written(rate, share_text, *sliders) for i, rate in enumerate(rates)}
    parts["q"] = over(["a correct q" if yes else "q" for yes in correct], "gamma")
    allowed = f", where the level is {level_text(LEVEL)}"
    parts["level"] = over([allowed * yes for yes in correct], "gamma")
    return names + "{level}", parts
