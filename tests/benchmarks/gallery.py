"""Makes validation_core/data/gallery anew: the results that a first visit shows.

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

from pages.conformal.power import METHODS, PAPER_BETAS, TRIALS
from pages.divergence.controls import MOST
from tests.benchmarks.figures import NAMES, compute
from tests.conftest import ROOT
from validation_core import keys, models
from validation_core.benchmarks.gaussian import Gaussian
from validation_core.benchmarks.perturbations import PERTURBATIONS
from validation_core.benchmarks.spiral import Spiral
from validation_core.localization import MapTask
from validation_core.methods.colt import CoLT
from validation_core.models import Training, TrainTask
from validation_core.scores.classifier import PRESETS
from validation_core.simulations import GRID, InferenceRun, RunTermsStudy, figure
from validation_core.store import Store
from validation_core.sweep import presets as comparisons
from validation_core.sweep import published as papers
from validation_core.sweep.plan import Sweep, _SweepCurve
from validation_core.sweep.presets import Comparison
from validation_core.sweep.trials import TrialDesign

GALLERY = ROOT / "validation_core" / "data" / "gallery"
DESIGN = TrialDesign(trials=TRIALS)


def conformal() -> list[Sweep]:
    """Power curves of the Conformal C2ST page, along gamma and along beta."""
    sweeps = []
    for name, kind in PERTURBATIONS.items():
        if len(kind.gammas) == 1:
            continue
        middle = kind.gammas[len(kind.gammas) // 2]
        for gammas, betas in ((kind.gammas, (0.0,)), ((middle,), PAPER_BETAS)):
            benchmark = Gaussian(perturbation=name)
            sweeps.append(
                Sweep(
                    benchmark=benchmark, methods=METHODS, gammas=gammas, betas=betas,
                    design=DESIGN, recipe=PRESETS["interactive"],
                )
            )  # fmt: skip
    return sweeps


def colt() -> list[Sweep]:
    """CoLT's Table 3, but for the wide embedding, whose tests take minutes."""
    sweeps = dict.fromkeys(compared.sweep for compared in papers.blind_prior_tasks())
    return [sweep for sweep in sweeps if CoLT(embedding="mlp") not in sweep.methods]


def compared() -> list[Comparison]:
    """Comparisons whose curves are shipped."""
    shipped = (*NAMES, "conformal_beta")
    return [*map(comparisons.by_name, shipped), *comparisons.demonstrations()]


def sweeps() -> dict[str, Sweep]:
    """All sweeps whose curves are shipped, with what they are called."""
    pages = {f"{sweep.label}, gammas {sweep.gammas}, betas {sweep.betas}": sweep
             for sweep in (*conformal(), *colt())}  # fmt: skip
    return {**pages, **{one.title: one.sweep for one in compared()}}


def curves() -> list[_SweepCurve]:
    """The records of those curves."""
    return [sweep.curve(method) for sweep in sweeps().values() for method in sweep.methods]


def runs() -> list[InferenceRun]:
    """Runs behind the Symmetric divergence page, as far as its iterations go."""
    grid = sorted({*GRID, *MOST})
    plans = figure(1, iterations=grid), figure(3, iterations=grid)
    return list(dict.fromkeys(run for plan in plans for run in plan.runs()))


def sums() -> list[RunTermsStudy]:
    """What is shipped of them."""
    return [RunTermsStudy(of=run) for run in runs()]


def networks() -> list[Training]:
    """Trained models that are shipped."""
    behind = models.network_behind(Spiral(model="diffusion"))
    return [behind] if behind else []


def _make(task: MapTask | TrainTask | InferenceRun, folder: Path) -> str:
    store = Store(folder)
    if not task.done(store):
        task.run(store, lambda fraction, live: None)
    return task.label


def main(arguments: Sequence[str] | None = None) -> None:
    """Compute in a folder of its own, then replace the files."""
    parser = argparse.ArgumentParser(prog="python -m tests.benchmarks.gallery")
    parser.add_argument("--cache", type=Path, help="keep what is computed in this folder")
    parser.add_argument("--workers", type=int, default=os.cpu_count() or 1)
    asked = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory() as temporary:
        folder = asked.cache or Path(temporary)
        wanted = [*(TrainTask(trainings=(one,)) for one in networks()), papers._opening(), *runs()]
        with ProcessPoolExecutor(asked.workers, mp_context=get_context("spawn")) as pool:
            for said in pool.map(_make, wanted, [folder] * len(wanted)):
                print(said, flush=True)
        for title, sweep in sweeps().items():
            print(title, compute(title, sweep, Store(folder)).done, flush=True)
        shutil.rmtree(GALLERY, ignore_errors=True)
        for kind in ("results", "models"):
            (GALLERY / kind).mkdir(parents=True)
        for made in (papers._opening(), *curves(), *sums()):
            shutil.copy(folder / "results" / f"{made.key}.npz", GALLERY / "results")
        for one in networks():
            shutil.copy(folder / "models" / f"{keys.key(one)}.safetensors", GALLERY / "models")


if __name__ == "__main__":
    main()
