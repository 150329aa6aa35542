"""CoLT: how long localizers train and test, exact W2 against Sinkhorn, memory."""

from __future__ import annotations

import resource
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import torch

from benchmarks import rows as table
from benchmarks.lab import ROOT, Lab, say
from benchmarks.rows import Row
from validation_core.benchmarks.gaussian import Gaussian
from validation_core.benchmarks.tree import Tree
from validation_core.methods.colt import CoLT
from validation_core.rng import stream
from validation_core.scores import localizer_training
from validation_core.scores.localizer import Embedding
from validation_core.sweep import trials

N, K = 100, 500
_SHIFT = Gaussian(perturbation="covariance_scaling")
_MEMORY = 2048.0  # MB


def rows(lab: Lab) -> Iterator[Row]:
    """One thread throughout."""
    identity = None
    limits: dict[Embedding, float] = {"identity": 2.0, "mlp": 20.0, "fourier": 20.0}
    for embedding, limit in limits.items():
        seconds, network = _training(_SHIFT, 0.8, N, K, embedding=embedding)
        identity = identity or network
        what = f"CoLT {embedding}, N = {N}, K = {K}: training, 300 steps and its starts"
        yield table.at_most(what, "s", seconds=(seconds, limit))
    seconds, _ = _training(Tree(), 1.5, 1000, 100)
    yield table.at_most("tree with the default embedding: training", "s", seconds=(seconds, 40.0))
    yield _trials(identity)
    yield _divergences()
    yield from _same_optimum()
    yield _memory()


def _training(
    benchmark: Any, gamma: float, n: int, k: int, embedding: Embedding = "fourier"
) -> tuple[float, Any]:
    recipe = CoLT(embedding=embedding).recipe(n, k, benchmark)
    data = recipe.sample(benchmark, gamma, stream(0, "training rows"))
    (network,) = recipe.learn_all([data], [0])
    return network.seconds, network


def _trials(network: Any) -> Row:
    design = trials.TrialDesign(trials=200, n=N, k=K)
    (found,) = trials.run_trials(_SHIFT, 0.8, network.at(), [CoLT(embedding="identity")], design)
    what = f"200 test trials of CoLT ID, N = {N}, K = {K}, drawing included"
    return table.at_most(what, "s", seconds=(found.seconds, 3.0))


def _divergences() -> Row:
    u = torch.from_numpy(stream(0, "ranks").random(N)).requires_grad_()

    def once(away: Callable[[torch.Tensor], torch.Tensor]) -> None:
        away(u).backward()  # type: ignore[no-untyped-call]
        u.grad = None

    times = []
    for away in (localizer_training.squared_wasserstein, localizer_training.sinkhorn_divergence):
        once(away)
        start, count = time.perf_counter(), 0
        while time.perf_counter() - start < 1.0:
            once(away)
            count += 1
        times.append((time.perf_counter() - start) / count)
    note = f"{1e6 * times[0]:.0f} us against {1e6 * times[1]:.0f} us, {N} ranks, with gradient"
    ratio = times[1] / times[0]
    return table.at_least("exact W2 against geomloss Sinkhorn, a step", "times faster", note,
                          ratio=(ratio, 10.0))  # fmt: skip


def _same_optimum() -> Iterator[Row]:
    """Power of the paper's identity localizer, trained by either divergence."""
    rates = {}
    for name in ("w2", "sinkhorn"):
        method = CoLT(embedding="identity", preset="paper", divergence=name)
        recipe = method.recipe(N, K, _SHIFT)
        data = recipe.sample(_SHIFT, 0.8, stream(0, "training rows"))
        (network,) = recipe.learn_all([data], [0])
        design = trials.TrialDesign(trials=200, n=N, k=K)
        (tested,) = trials.run_trials(_SHIFT, 0.8, network.at(), [method], design)
        rates[name] = float((tested.pvalues <= 0.05).mean())
        say(f"{name}: power {rates[name]:.3f}, {network.seconds:.1f} s")
    gap = abs(rates["w2"] - rates["sinkhorn"])
    error = 2 * np.sqrt(2 * 0.25 / 200)
    note = f"power {rates['w2']:.3f} and {rates['sinkhorn']:.3f}, 200 trials each"
    yield table.at_most("W2 and Sinkhorn reach the same optimum", "apart", note, gap=(gap, error))


def _memory() -> Row:
    """In a process of its own, interpreter and torch included."""
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks.colt"], cwd=ROOT, check=True,
        capture_output=True, text=True,
    )  # fmt: skip
    peak = float(done.stdout.split()[-1])
    what = "memory of a training on N = 1000, K = 200, D = 100"
    return table.at_most(what, "MB", peak=(peak, _MEMORY))


def _peak() -> float:
    benchmark = Gaussian(dim_x=100, dim_theta=100)
    _training(benchmark, 0.15, 1000, 200)
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


if __name__ == "__main__":
    print(_peak())
