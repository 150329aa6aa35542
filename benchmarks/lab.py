"""What several groups share: a folder, how thorough to be, and a cache of trained classifiers."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from validation_core.benchmarks.gaussian import Gaussian
from validation_core.benchmarks.perturbations import Perturbation
from validation_core.explorers.conformal.power_study import ConformalPower
from validation_core.explorers.conformal.study import PAPER_M, ConformalStudy, Learned
from validation_core.methods import C2ST, Multiple, Uniform
from validation_core.scores.classifier import PRESETS
from validation_core.scores.trained_scores import Simulated, Training
from validation_core.store import Store
from validation_core.study import Study

ROOT = Path(__file__).resolve().parents[1]
METHODS = (C2ST(), Multiple(), *(Uniform(m=m) for m in PAPER_M))
"""What a power cell of the workbench tests."""


@dataclass
class Lab:
    """One run of the benchmarks.

    Args:
        folder: temporary, for caches, tables and logs.
        full: measure in full what is otherwise measured in part and scaled.
        kept: a cache of trained classifiers to keep from run to run.
        shared: tables that one training serves where a level is measured; 0 trains for each,
            None leaves it to the benchmark.
        seconds: that visitors stay on the home page.
        minutes: that the hard crowd stays.
        pages: paths of the live pages that `playground` opens; all where none is named.
    """

    folder: Path
    full: bool = False
    kept: Path | None = None
    shared: int | None = None
    seconds: float = 120.0
    minutes: float = 20.0
    pages: Sequence[str] = ()

    @cached_property
    def trained(self) -> Path:
        """A cache that holds what the workbench asks for as it opens, and at every m."""
        root = self.kept or self.folder / "trained"
        store = Store(root)
        learned = Learned(benchmark=Gaussian())
        studies = [ConformalStudy(learned=learned, m=m) for m in PAPER_M]
        powers = [ConformalPower(learned=learned, ms=(m,)) for m in PAPER_M]
        asked: list[Study[Any]] = [*studies, *powers]
        for task in asked:
            if not task.done(store):
                say(task.label)
                task.run(store, lambda fraction, live: None)
        return root


def training(gamma: float, perturbation: Perturbation = "mean_shift") -> Training:
    """The network that the workbench reads first."""
    source = Simulated(benchmark=Gaussian(perturbation=perturbation), gamma=float(gamma))
    return Training(source=source, recipe=PRESETS["interactive"])


def say(text: str) -> None:
    """Progress, on standard error."""
    print(f"  .. {text}", file=sys.stderr, flush=True)
