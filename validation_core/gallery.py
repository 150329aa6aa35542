"""The shipped gallery: results and networks that a first visit shows, by page.

    nptlab gallery                    list files present, missing and stale
    nptlab gallery --make             make the missing ones, and put them into the package
    nptlab gallery --make --only playground

Intermediate results stay in the user's store, so that a stopped run resumes. A file is found by
its key: where code changes the meaning of a result, its key changes (by a field, or the `version`
of its class); the old file is then stale and the new one missing.
"""

from __future__ import annotations

import shutil
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from typing import Any, NamedTuple

from validation_core import keys
from validation_core.api.work import Watch, run_on_engine
from validation_core.benchmarks import Digits, Gaussian, SphereFlow, Spiral
from validation_core.diagnosis import examples, tasks
from validation_core.engine import Task
from validation_core.explorers.conformal.power_study import shipped as conformal_power_shipped
from validation_core.explorers.conformal.study import shipped as conformal_shipped
from validation_core.explorers.conformal.theory_study import shipped as conformal_theory_shipped
from validation_core.explorers.highdim.digits.study import shipped as digits_shipped
from validation_core.explorers.highdim.digits.study import sweeps as digits_sweeps
from validation_core.explorers.highdim.images.study import shipped as images_shipped
from validation_core.explorers.highdim.lensing.table import shipped as lensing_shipped
from validation_core.explorers.highdim.lensing.table import sweeps as lensing_sweeps
from validation_core.explorers.highdim.sphere_flow.study import (
    other_tests as sphere_flow_other_tests,
)
from validation_core.explorers.highdim.sphere_flow.study import shipped as sphere_flow_shipped
from validation_core.explorers.papers.curvature import CurvatureStudy
from validation_core.explorers.playground.study import shipped as playground_shipped
from validation_core.explorers.training import found_verdict, mended, scoreboard
from validation_core.explorers.training.film import shipped as films_shipped
from validation_core.explorers.weak_classifiers.study import shipped as weak_classifiers_shipped
from validation_core.lessons import LESSONS
from validation_core.localization import BallTheoryStudy
from validation_core.scores import trained_scores
from validation_core.scores.trained_scores import Training, TrainTask
from validation_core.store import SHIPPED, Store, StoreKind
from validation_core.study import Study
from validation_core.sweep import colt_paper, presets, progress
from validation_core.sweep.plan import Sweep
from validation_core.symmetric_divergence.shipped import shipped as divergence_shipped
from validation_core.tables import Upload
from validation_core.types import Benchmark

FOLDER = SHIPPED


class PartWork(NamedTuple):
    """What it took to make the files of a part."""

    seconds: float
    """Of a core."""
    untimed: int
    """Files whose records, of earlier versions, name no seconds."""


@dataclass(frozen=True)
class Part:
    """Shipped files of one page."""

    name: str
    title: str
    studies: tuple[Study[Any], ...] = ()
    """Studies whose results are shipped."""
    sweeps: tuple[Sweep, ...] = ()
    """Sweeps whose trials are shipped."""
    trainings: tuple[Training, ...] = ()
    """Trainings whose networks are shipped."""
    behind: tuple[Task, ...] = ()
    """Tasks whose results the studies read, and which are not shipped."""
    uploads: tuple[Upload, ...] = ()
    """Tables of the studies."""

    def entries(self) -> Iterator[tuple[StoreKind, str]]:
        """Kind and key of every file."""
        yield from (("results", study.key) for study in self.studies)
        for sweep in self.sweeps:
            yield from (("results", curve.key) for curve in progress.curve_records(sweep))
        yield from (("models", training.key) for training in self.trainings)

    def missing(self, store: Store) -> list[tuple[StoreKind, str]]:
        """Files that neither a store nor its gallery has."""
        return [(kind, key) for kind, key in self.entries() if not store.has(kind, key)]

    def work(self, store: Store) -> PartWork:
        """Seconds of work that the records of its files name.

        Draws that tests share count for each of them, networks that do not ship for none.
        """
        wanted = set(self.entries())
        named = [
            entry.meta.get("seconds")
            for entry in store.entries()
            if (entry.kind, entry.key) in wanted
        ]
        return PartWork(sum(float(str(each)) for each in named if each), named.count(None))

    def make(self, store: Store, watch: Watch, engine: str | None = None) -> list[str]:
        """Compute the missing results; returns a message for each failure."""
        failures: list[str] = []
        wanted: list[Task] = []
        for upload in self.uploads:
            tasks.register_upload(upload)
            tasks.save_upload(store, upload)
        for training in self.trainings:
            if not store.has("models", training.key):
                wanted.append(TrainTask(trainings=(training,)))
        studies = [study for study in self.studies if not study.done(store)]
        if studies:
            wanted += [task for task in self.behind if not task.done(store)]
        wanted += studies
        if wanted:
            state = run_on_engine(wanted, store, watch, self.title, engine)
            failures += state.failures.values()
        for benchmark, sweeps in groupby(self.sweeps, lambda sweep: sweep.benchmark):
            left = [sweep for sweep in sweeps if not _is_kept(sweep, store)]
            if not left:
                continue
            missing = progress.missing_of_all(left, store)
            state = run_on_engine(missing, store, watch, benchmark.label, engine)
            failures += state.failures.values()
            for sweep in left:
                progress.keep_curves(sweep, store)
        return failures

    def ship(self, store: Store, folder: Path) -> int:
        """Copy its files from a store into a gallery; returns the number of files."""
        copied = 0
        for kind, key in self.entries():
            if file := store.file(kind, key):
                (folder / kind).mkdir(parents=True, exist_ok=True)
                _copy(file, folder / kind / file.name)
                copied += 1
        for training in self.trainings:
            if store.file("models", training.key):
                _slim(training, store, Store(folder))
        return copied


def parts() -> tuple[Part, ...]:
    """Everything that is shipped."""
    shown, ranked = playground_shipped(), conformal_shipped()
    return (
        Part(
            "playground",
            "Playground",
            studies=shown,
            trainings=tuple(training for study in shown for training in study.trainings),
        ),
        Part("lessons", "Lessons", studies=tuple(LESSONS.values())),
        Part("weak", "Weak classifiers", studies=weak_classifiers_shipped()),
        Part(
            "conformal",
            "Conformal C2ST",
            studies=(*ranked, *conformal_power_shipped(), *conformal_theory_shipped()),
            trainings=tuple(dict.fromkeys(one for study in ranked for one in study.trainings)),
        ),
        Part(
            "colt",
            "CoLT",
            studies=(
                *colt_paper.shipped_maps(),
                *colt_paper.shipped_runs(),
                colt_paper.shipped_training(),
                *_ball_theory(),
            ),
            sweeps=(
                *colt_paper.blind_prior_sweeps(),
                *colt_paper.type_one_sweeps(),
                *colt_paper.tree_sweeps(),
                *colt_paper.tree_sweeps(noise="added"),
                *colt_paper.shipped_power(),
            ),
            trainings=tuple(_networks(Spiral(model="diffusion"))),
        ),
        Part("compare", "Compare methods", sweeps=presets.shipped()),
        Part(
            "diagnose",
            "My posterior, Compare posteriors",
            studies=(*examples.draws(), *examples.studies()),
            behind=examples.trainings(),
            uploads=examples.tables(),
        ),
        Part(
            "highdim",
            "High dimensions",
            studies=(
                *images_shipped(),
                *lensing_shipped(),
                *digits_shipped(),
                *sphere_flow_shipped(),
            ),
            sweeps=(*lensing_sweeps(), *digits_sweeps(), sphere_flow_other_tests()),
            trainings=tuple(_networks(SphereFlow(flow="trained"), Digits())),
        ),
        Part("papers", "The papers, item by item", studies=(CurvatureStudy(),)),
        Part("divergence", "Symmetric divergence", studies=divergence_shipped()),
        Part(
            "trained",
            "Trained estimators",
            studies=(
                *films_shipped(),
                *found_verdict.shipped(),
                *mended.shipped(),
                *scoreboard.shipped_studies(),
            ),
            trainings=tuple(
                dict.fromkeys(
                    (
                        *(one.training for one in scoreboard.shipped_estimators()),
                        *(one.training for one in films_shipped()),
                    )
                )
            ),
        ),
    )


def part(name: str) -> Part:
    """The part of that name.

    Raises:
        ValueError: when there is none.
    """
    known = keys.by_name(*parts())
    if name not in known:
        raise ValueError(f"The gallery has {', '.join(known)}; got {name!r}. Choose one of those.")
    return known[name]


def stale(folder: Path = FOLDER) -> list[Path]:
    """Files of a gallery that no part needs any more."""
    wanted = {key for one in parts() for _, key in one.entries()}
    return [path for path in sorted(folder.glob("*/*.*")) if path.stem not in wanted]


def _networks(*benchmarks: Benchmark) -> Iterator[Training]:
    """Networks that benchmarks draw from."""
    for benchmark in benchmarks:
        if behind := trained_scores.network_behind(benchmark):
            yield behind


def _ball_theory() -> Iterator[BallTheoryStudy]:
    """Theory of the balls that the CoLT page opens with: planes of every perturbation."""
    for maps in colt_paper.shipped_maps():
        benchmark = maps.benchmark
        if isinstance(benchmark, Gaussian) and benchmark.dims == (2, 2) and not benchmark.curved:
            yield BallTheoryStudy(maps=maps)


def _is_kept(sweep: Sweep, store: Store) -> bool:
    """Whether every curve of a sweep is stored."""
    return all(store.has("results", curve.key) for curve in progress.curve_records(sweep))


def _copy(file: Path, target: Path) -> None:
    """A file of the store; of an npz, every member deflated: a shipped file is read once."""
    if file.suffix != ".npz":
        shutil.copy(file, target)
        return
    with (
        zipfile.ZipFile(file) as plain,
        zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as packed,
    ):
        for member in plain.infolist():
            packed.writestr(member.filename, plain.read(member))


def _slim(training: Training, store: Store, gallery: Store) -> None:
    """A network without the film of its training, where it has one."""
    network = trained_scores.load(store, training)
    if not hasattr(network, "without_film"):
        return
    stored = store.load("models", training.key)
    assert stored is not None
    arrays = network.without_film().arrays()
    gallery.save(
        "models", training.key, arrays, spec=keys.canonical_text(training), meta=stored.meta
    )
