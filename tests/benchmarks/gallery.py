"""Makes assets/gallery anew: the power curves that a first visit to the workbench shows.

    python -m tests.benchmarks.gallery

Six perturbations at (3, 3), every gamma of the papers' grid at beta = 0 and every beta of theirs
at the middle gamma, 200 trials of 1000 points: about five minutes on one core.
"""

import shutil
import tempfile
from pathlib import Path

from pages.components.power import METHODS, PAPER_BETAS, STAGES
from tests.conftest import ROOT
from validation_core.benchmarks.gaussian import Gaussian
from validation_core.benchmarks.perturbations import PERTURBATIONS
from validation_core.models import Simulated, Training
from validation_core.power import Trials
from validation_core.store import Store
from validation_core.tasks import PowerTask, sweep

GALLERY = ROOT / "assets" / "gallery" / "results"
DESIGN = Trials(trials=STAGES[-1])


def tasks() -> list[PowerTask]:
    """What the gallery holds."""
    found = []
    for name, kind in PERTURBATIONS.items():
        middle = kind.gammas[len(kind.gammas) // 2]
        training = Training(source=Simulated(benchmark=Gaussian(perturbation=name), gamma=middle))
        axes = (("gamma", kind.gammas), ("beta", PAPER_BETAS)) if len(kind.gammas) > 1 else ()
        for axis, values in axes:
            found += sweep(training, axis, values, beta=0.0, methods=METHODS, design=DESIGN)
    return found


def main() -> None:
    """Compute in a folder of its own, then replace the files."""
    with tempfile.TemporaryDirectory() as folder:
        store = Store(Path(folder))
        for task in tasks():
            if not task.done(store):
                task.run(store, lambda fraction, live: None)
            print(
                ", ".join(f"{cell.label} {cell.rate:.3f}" for cell in task.load(store)), task.label
            )
        shutil.rmtree(GALLERY, ignore_errors=True)
        GALLERY.mkdir(parents=True)
        for task in tasks():
            shutil.copy(store.root / "results" / f"{task.key}.npz", GALLERY)


if __name__ == "__main__":
    main()
