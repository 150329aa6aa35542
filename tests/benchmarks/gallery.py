"""Makes assets/gallery anew: the results that a first visit shows.

    python -m tests.benchmarks.gallery [--cache FOLDER] [--workers 2]

Conformal C2ST: six perturbations at (3, 3), every gamma of the papers' grid at beta = 0 and every
beta of theirs at the middle gamma, 200 trials of 1000 points. CoLT: the map that its page opens
with, Table 3 of its paper as run here, and the diffusion model behind the trained spiral. Compare
methods: the conformal paper's figures with all tests, the type I errors, the demonstrations.
Two hours on two cores; with a cache, what was computed before is not computed again.
"""

from __future__ import annotations

import argparse
import os
import shutil
import tempfile
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path

from pages.components.divergence_controls import MOST
from pages.components.power import METHODS, PAPER_BETAS, STAGES
from tests.benchmarks.figures import NAMES, compute
from tests.conftest import ROOT
from validation_core import comparisons, keys, models, papers
from validation_core.benchmarks.gaussian import Gaussian
from validation_core.benchmarks.perturbations import PERTURBATIONS
from validation_core.benchmarks.spiral import Spiral
from validation_core.comparisons import Comparison
from validation_core.maps import MapTask
from validation_core.methods.colt import CoLT
from validation_core.models import Simulated, Training
from validation_core.power import Trials
from validation_core.simulations import GRID, Run, Summed, figure
from validation_core.store import Store
from validation_core.sweep import Curve
from validation_core.tasks import PowerTask, TrainTask, sweep

GALLERY = ROOT / "assets" / "gallery"
DESIGN = Trials(trials=STAGES[-1])


def conformal() -> list[PowerTask]:
    """Power curves of the Conformal C2ST workbench."""
    found = []
    for name, kind in PERTURBATIONS.items():
        middle = kind.gammas[len(kind.gammas) // 2]
        training = Training(source=Simulated(benchmark=Gaussian(perturbation=name), gamma=middle))
        axes = (("gamma", kind.gammas), ("beta", PAPER_BETAS)) if len(kind.gammas) > 1 else ()
        for axis, values in axes:
            found += sweep(training, axis, values, beta=0.0, methods=METHODS, design=DESIGN)
    return list(dict.fromkeys(found))


def colt() -> list[PowerTask]:
    """CoLT's Table 3, but for the wide embedding, whose tests take minutes."""
    found = dict.fromkeys(compared.task for compared in papers.blind_prior_tasks())
    return [task for task in found if CoLT(embedding="mlp") not in task.methods]


def compared() -> list[Comparison]:
    """Comparisons whose curves are shipped."""
    shipped = (*NAMES, "conformal_beta")
    return [*map(comparisons.by_name, shipped), *comparisons.demonstrations()]


def curves() -> list[Curve]:
    """The records of those curves."""
    return [one.sweep.curve(method) for one in compared() for method in one.sweep.methods]


def runs() -> list[Run]:
    """Runs behind the Symmetric divergence page, as far as its iterations go."""
    grid = sorted({*GRID, *MOST})
    plans = figure(1, iterations=grid), figure(3, iterations=grid)
    return list(dict.fromkeys(run for plan in plans for run in plan.runs()))


def sums() -> list[Summed]:
    """What is shipped of them."""
    return [Summed(of=run) for run in runs()]


def networks() -> list[Training]:
    """Trained models that are shipped."""
    behind = models.network_behind(Spiral(model="diffusion"))
    return [behind] if behind else []


def tasks() -> list[PowerTask | MapTask]:
    """Every result that the gallery holds."""
    return [*conformal(), *colt(), papers.opening()]


def _make(task: PowerTask | MapTask | TrainTask | Run, folder: Path) -> str:
    store = Store(folder)
    if not task.done(store):
        task.run(store, lambda fraction, live: None)
    cells = task.load(store) if isinstance(task, PowerTask) else None
    return ", ".join([task.label, *(f"{cell.label} {cell.rate:.3f}" for cell in cells or ())])


def main(arguments: Sequence[str] | None = None) -> None:
    """Compute in a folder of its own, then replace the files."""
    parser = argparse.ArgumentParser(prog="python -m tests.benchmarks.gallery")
    parser.add_argument("--cache", type=Path, help="keep what is computed in this folder")
    parser.add_argument("--workers", type=int, default=os.cpu_count() or 1)
    asked = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory() as temporary:
        folder = asked.cache or Path(temporary)
        wanted = [*(TrainTask(trainings=(one,)) for one in networks()), *tasks(), *runs()]
        with ProcessPoolExecutor(asked.workers, mp_context=get_context("spawn")) as pool:
            for said in pool.map(_make, wanted, [folder] * len(wanted)):
                print(said, flush=True)
        for one in compared():
            print(one.title, compute(one, Store(folder)).done, flush=True)
        shutil.rmtree(GALLERY, ignore_errors=True)
        for kind in ("results", "models"):
            (GALLERY / kind).mkdir(parents=True)
        for made in (*tasks(), *curves(), *sums()):
            shutil.copy(folder / "results" / f"{made.key}.npz", GALLERY / "results")
        for one in networks():
            shutil.copy(folder / "models" / f"{keys.key(one)}.safetensors", GALLERY / "models")


if __name__ == "__main__":
    main()
