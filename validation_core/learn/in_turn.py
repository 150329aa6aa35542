"""Several trainings in one process, one after another."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, TypeVar

from validation_core.study import Report

_Data = TypeVar("_Data")
_Recipe = TypeVar("_Recipe")
_Network = TypeVar("_Network")


def train_in_turn(
    train: Callable[[_Data, _Recipe, int, Report | None], _Network],
    data: Sequence[_Data],
    recipe: _Recipe,
    seeds: Sequence[int],
    report: Report | None,
) -> list[_Network]:
    """One network for each set of data and seed, each as if trained alone, to the bit.

    On a processor threads wait for Python's lock, and products of several networks at once round
    by how many they are: a network's key would not name its bits. A batch would gain up to twice
    the speed with few units, and nothing with 256 (`benchmarks.gpu` measures it). Worker processes
    train others meanwhile.

    Args:
        train: trains one network of a recipe on data and a seed, and calls its report, if given.
        data: one set for each network.
        recipe: of all networks.
        seeds: as many.
        report: called with the fraction of all done, and the live numbers of the present network.
    """
    return [
        train(one, recipe, seed, partial(_report_part, report, i, len(data)) if report else None)
        for i, (one, seed) in enumerate(zip(data, seeds, strict=True))
    ]


def _report_part(
    report: Report, index: int, count: int, fraction: float, live: Mapping[str, Any]
) -> None:
    report((index + fraction) / count, live)
