"""The interactive preset against the papers': how long it trains, and how well it then tells."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from benchmarks import rows as table
from benchmarks.lab import Lab, say
from benchmarks.rows import Row
from validation_core import sampling, statistics
from validation_core.benchmarks.gaussian import Gaussian
from validation_core.benchmarks.perturbations import PERTURBATIONS, Perturbation
from validation_core.rng import stream
from validation_core.scores.classifier import PRESETS, TrainedClassifier, train_classifiers
from validation_core.types import Preset

SOME: tuple[Perturbation, ...] = ("mean_shift", "additional_mode")
_HELD = 20_000  # rows of each side: the AUC's own error is .003


def rows(lab: Lab) -> Iterator[Row]:
    """Two perturbations at the middle of their grids, or all seven; one thread."""
    chosen = tuple(PERTURBATIONS) if lab.full else SOME
    seconds: dict[str, list[float]] = {"interactive": [], "paper": []}
    aucs: dict[str, tuple[float, ...]] = {}
    for perturbation in chosen:
        benchmark = Gaussian(perturbation=perturbation)
        results = [_trained(benchmark, preset) for preset in ("interactive", "paper")]
        aucs[perturbation] = tuple(_auc(benchmark, network) for network in results)
        for name, network in zip(seconds, results, strict=True):
            seconds[name].append(network.seconds)
        say(f"{perturbation}: AUC {aucs[perturbation]}, {[f'{n.seconds:.1f} s' for n in results]}")
    many = f"{len(chosen)} of {len(PERTURBATIONS)} perturbations, one thread"
    yield _times(seconds, many)
    yield _differences(aucs, many)


def _times(seconds: dict[str, list[float]], many: str) -> Row:
    means = {name: float(np.mean(values)) for name, values in seconds.items()}
    note = f"{means['interactive']:.2f} s against {means['paper']:.1f} s, {many}"
    ratio = means["paper"] / means["interactive"]
    what = "interactive preset against paper preset: training time"
    return table.at_least(what, "times faster", note, ratio=(ratio, 8.0))


def _differences(aucs: dict[str, tuple[float, ...]], many: str) -> Row:
    worst = max(abs(a - b) for a, b in aucs.values())
    each = "; ".join(f"{name} {a:.3f} | {b:.3f}" for name, (a, b) in aucs.items())
    what = "interactive preset against paper preset: held-out AUC"
    row = table.at_most(what, "apart", f"{each}; {many}", worst=(worst, 0.02))
    return row._replace(numbers={**row.numbers, "auc": aucs})


def middle(benchmark: Gaussian) -> float:
    """The middle of a benchmark's grid of gammas."""
    return float(benchmark.gammas[len(benchmark.gammas) // 2])


def _trained(benchmark: Gaussian, preset: Preset) -> TrainedClassifier:
    recipe = PRESETS[preset]
    rng = stream(0, "training rows")
    data = sampling.training_set(benchmark, middle(benchmark), recipe.train, 1000, rng)
    (network,) = train_classifiers([data], recipe, [0])
    return network


def _auc(benchmark: Gaussian, network: TrainedClassifier) -> float:
    rng = stream(1, "held out")
    blocks = sampling.blocks(benchmark, middle(benchmark), _HELD, _HELD, rng)
    score = network.at()
    p, q = score(blocks.p.theta, blocks.p.x), score(blocks.q.theta, blocks.q.x)
    return float(statistics.auc(p, q))
