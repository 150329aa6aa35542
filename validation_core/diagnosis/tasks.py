"""A diagnosis as pieces of work: each method on an uploaded table, results in the store.

Methods that read a classifier share one network under one key; whichever starts first trains it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar
from weakref import WeakValueDictionary

import numpy as np

from validation_core import keys, models
from validation_core.diagnosis import learning, run
from validation_core.diagnosis.obstacles import obstacle
from validation_core.diagnosis.records import Record
from validation_core.maps import MapTask
from validation_core.models import Recipe, Training
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
    """An upload as the source of a network's training rows (see `models.Source`)."""

    version: ClassVar[int] = 2

    digest: str

    @property
    def label(self) -> str:
        """What it is, for a list of trained models."""
        return f"Uploaded table {self.digest[:8]}"

    def training_set(self, recipe: Recipe, seed: int, store: Store) -> Any:
        """The rows that no test looks at."""
        return learning.training_set(table(store, self.digest), recipe, seed)

    def test_table(
        self, n: int, k: int, rng: np.random.Generator, *, seed: int, store: Store
    ) -> Draws:
        """The rows that no network of this seed learns from, however many were asked for."""
        del n, k, rng
        return run.test_table(table(store, self.digest), seed)


@dataclass(frozen=True, kw_only=True)
class DiagnoseTask:
    """One method on one upload."""

    version: ClassVar[int] = 4

    digest: str
    method: Method
    seed: int = 0
    recipe: Recipe | None = None
    """How the network that the method reads is trained; None where it reads none."""

    @property
    def key(self) -> str:
        return keys.key(self)

    @property
    def label(self) -> str:
        return f"{self.method.label} on an uploaded table"

    @property
    def training(self) -> Training | None:
        """The network that this task reads, if its method reads one."""
        if self.recipe is None:
            return None
        source = Uploaded(digest=self.digest)
        return Training(source=source, recipe=self.recipe, seed=self.seed)

    @property
    def needs(self) -> frozenset[str]:
        """The network's key: the engine lets its training come first."""
        return frozenset({keys.key(self.training)} if self.training else ())

    def done(self, store: Store) -> bool:
        return store.has("results", self.key)

    def run(self, store: Store, report: Live) -> None:
        """Test, training the network where the store lacks it."""

        def network() -> Any:
            assert self.training is not None, "a method that reads a network has a recipe for it"
            return models.trained(store, self.training, report)

        upload = table(store, self.digest)
        record = run.run_method(upload, self.method, self.seed, network=network)
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


How = Callable[[Upload, Method], Recipe | None]
"""A recipe for the network that a method reads on an upload."""


def tasks(
    upload: Upload, methods: Sequence[Method], seed: int, how: How = learning.recipe
) -> tuple[DiagnoseTask | TrainTask, ...]:
    """What runs for these methods, in turn: each network is followed by all that read it.

    Methods that meet an obstacle are left out: their record is known without work.
    """
    queues: dict[Training | str, list[DiagnoseTask | TrainTask]] = {}
    for method in methods:
        if obstacle(method, upload) is None:
            task = _task(upload, method, seed, how)
            network = [TrainTask(trainings=(task.training,))] if task.training else []
            queues.setdefault(task.training or method.label, [*network]).append(task)
    return tuple(task for queue in queues.values() for task in queue)


def maps(
    upload: Upload, methods: Sequence[Method], seed: int, how: How = learning.recipe
) -> tuple[MapTask, ...]:
    """A map of the ball of the first localizer that these methods train; none without one."""
    for method in methods:
        if method.reads == "localizer" and obstacle(method, upload) is None:
            training = _task(upload, method, seed, how).training
            return (MapTask(training=training, seed=seed),) if training else ()
    return ()


def records(
    store: Store, upload: Upload, methods: Sequence[Method], seed: int, how: How = learning.recipe
) -> tuple[list[Record], int]:
    """Records of the methods that have answered or cannot run, and how many are to come."""
    found: list[Record] = []
    for method in methods:
        reason = obstacle(method, upload)
        if reason is not None:
            found.append(Record.not_run(method, reason))
        elif record := _task(upload, method, seed, how).load(store):
            found.append(record)
    return found, len(methods) - len(found)


def training(upload: Upload, method: Method, seed: int) -> Training | None:
    """The network that a method reads on an upload; None if it reads none."""
    return _task(upload, method, seed, learning.recipe).training


def _task(upload: Upload, method: Method, seed: int, how: How) -> DiagnoseTask:
    recipe = how(upload, method)
    return DiagnoseTask(digest=upload.digest, method=method, seed=seed, recipe=recipe)
