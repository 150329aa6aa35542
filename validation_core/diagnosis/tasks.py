"""A diagnosis as pieces of work: each method on an uploaded table, results in the store.

The learned methods share one network under one key; whichever starts first trains it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar
from weakref import WeakValueDictionary

import numpy as np

from validation_core import keys, models
from validation_core.diagnosis import run
from validation_core.diagnosis.records import Record
from validation_core.models import Training
from validation_core.sampling import TrainingSet
from validation_core.scores.classifier import Classifier
from validation_core.tasks import Live, TrainTask
from validation_core.types import Draws, Method
from validation_core.uploads import Upload

if TYPE_CHECKING:
    from validation_core.store import Store

_here: WeakValueDictionary[str, Upload] = WeakValueDictionary()  # not read again by this process


def hold(upload: Upload) -> None:
    """Let tasks of this process use an upload for as long as it is alive, without the store."""
    _here[upload.digest] = upload


def keep(store: Store, upload: Upload) -> None:
    """Put an upload where worker processes find it."""
    if not store.has("tables", upload.digest):
        meta = {"label": f"{upload.n} rows", "names": list(upload.names)}
        store.save("tables", upload.digest, upload.arrays(), spec="upload", meta=meta)


def table(store: Store, digest: str) -> Upload:
    """The upload of a digest.

    Raises:
        ValueError: when the store has let it go.
    """
    if digest in _here:
        return _here[digest]
    found = store.load("tables", digest)
    if found is None:
        raise ValueError(
            f"A diagnosis needs its table in the store; got none for {digest}. Upload it again."
        )
    upload = Upload.of(found.arrays, order="NKD")
    hold(upload)
    return upload


@dataclass(frozen=True, kw_only=True)
class Uploaded:
    """An upload as the source of a classifier's training rows (see `models.Source`)."""

    digest: str

    @property
    def label(self) -> str:
        """What it is, for a list of trained models."""
        return f"Uploaded table {self.digest[:8]}"

    def training_set(self, recipe: Classifier, seed: int, store: Store) -> TrainingSet:
        """The rows that no test looks at."""
        del recipe
        return run.training_set(table(store, self.digest), seed)

    def test_table(
        self, n: int, k: int, rng: np.random.Generator, *, seed: int, store: Store
    ) -> Draws:
        """The rows that no network of this seed learns from, however many were asked for."""
        del n, k, rng
        return run.test_table(table(store, self.digest), seed)


@dataclass(frozen=True, kw_only=True)
class DiagnoseTask:
    """One method on one upload."""

    version: ClassVar[int] = 1

    digest: str
    method: Method
    seed: int = 0
    recipe: Classifier = field(default=run.RECIPE)

    @property
    def key(self) -> str:
        return keys.key(self)

    @property
    def label(self) -> str:
        return f"{self.method.label} on an uploaded table"

    @property
    def training(self) -> Training:
        """The network that this task reads, if its method reads one."""
        source = Uploaded(digest=self.digest)
        return Training(source=source, recipe=self.recipe, seed=self.seed)

    @property
    def needs(self) -> frozenset[str]:
        """The network's key: the engine lets its training come first."""
        return frozenset({keys.key(self.training)} if self.method.learned else ())

    def done(self, store: Store) -> bool:
        return store.has("results", self.key)

    def run(self, store: Store, report: Live) -> None:
        """Test, training the network where the store lacks it."""
        record = run.run_method(
            table(store, self.digest), self.method, self.seed,
            network=lambda: models.trained(store, self.training, report),
        )  # fmt: skip
        store.save(
            "results", self.key, record.arrays, spec=keys.text(self),
            meta={"label": self.label, "record": record.plain()},
        )  # fmt: skip
        report(1.0, {})

    def load(self, store: Store) -> Record | None:
        """The stored record, or None."""
        found = store.load("results", self.key)
        if found is None:
            return None
        plain: Any = found.meta["record"]
        return Record(**plain, arrays=found.arrays)


def tasks(
    upload: Upload, methods: Sequence[Method], seed: int, recipe: Classifier | None = None
) -> tuple[DiagnoseTask | TrainTask, ...]:
    """What runs for these methods: those that learn nothing, the network, those that read it.

    Methods that meet an obstacle are left out: their record is known without work.
    """
    how = recipe or run.recipe(upload)
    wanted = [
        DiagnoseTask(digest=upload.digest, method=method, seed=seed, recipe=how)
        for method in methods
        if run.obstacle(method, upload) is None
    ]
    learned = [task for task in wanted if task.method.learned]
    network = (TrainTask(trainings=(learned[0].training,)),) if learned else ()
    return (*(task for task in wanted if not task.method.learned), *network, *learned)


def records(
    store: Store, upload: Upload, methods: Sequence[Method], seed: int,
    recipe: Classifier | None = None,
) -> tuple[list[Record], int]:  # fmt: skip
    """Records of the methods that have answered or cannot run, and how many are to come."""
    how = recipe or run.recipe(upload)
    found: list[Record] = []
    for method in methods:
        reason = run.obstacle(method, upload)
        task = DiagnoseTask(digest=upload.digest, method=method, seed=seed, recipe=how)
        record = task.load(store) if reason is None else Record.not_run(method, reason)
        found += [record] if record else []
    return found, len(methods) - len(found)
