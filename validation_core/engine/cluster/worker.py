"""The side of a Dask worker: runs a task, and sends the entries it made.

Runs it on a store of its own, sends back what it made.

The worker may share no disk with the program that asks. It keeps what it was sent and what it
made in a folder of its own process, so that a network travels once; what the task asks of the
store and the folder lacks is asked of the program, which sends it or says that it has it not
either, and the task begins again.
"""

from __future__ import annotations

import functools
import hashlib
import importlib.metadata
import json
import os
import threading
import time
import traceback
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple, TypedDict

import numpy as np
from numpy.typing import NDArray

from validation_core import keys
from validation_core.engine.task import Report, TaskStopped, describe_error, numpy_as_json, perform
from validation_core.keys import JSON, Arrays
from validation_core.store import Kind, Store, Stored

Name = tuple[Kind, str]
"""Kind and key of an entry of a store."""
_EVERY = 0.25  # seconds between progress reports: each passes through the scheduler
_importing = threading.Lock()
_LIBRARIES = ("numpy", "scipy", "torch", "geomloss")


class EntryFields(TypedDict):
    """An entry of a store as plain values and arrays: none of our classes travels."""

    name: Name
    arrays: dict[str, NDArray[np.generic]]
    meta: Mapping[str, JSON]
    spec: str
    checksum: str
    """Of all of it, made where it was made."""


class ClusterMessage(TypedDict, total=False):
    """What a program sends: what it computes with, and a task unless it asks who is there."""

    versions: Mapping[str, str]
    task: JSON
    id: str
    topic: str
    given: Sequence[EntryFields]
    """What the worker has asked for."""
    held: Sequence[Name]
    """What the program holds of what the task names."""
    absent: Sequence[Name]


class ClusterAnswer(TypedDict, total=False):
    """What a worker says: who it is and, where it was sent a task, how that ended."""

    worker: str
    sources: str
    device: str
    refused: str
    lacks: Sequence[Name]
    error: str
    stopped: bool
    entries: Sequence[EntryFields]
    notices: Sequence[str]


class SentEntry(NamedTuple):
    """An entry of a store, on its way to another."""

    name: Name
    stored: Stored

    def plain(self) -> EntryFields:
        """What travels."""
        arrays, meta, spec = self.stored
        return {
            "name": self.name,
            "arrays": arrays,
            "meta": meta,
            "spec": spec,
            "checksum": self.checksum,
        }

    @property
    def checksum(self) -> str:
        """A fingerprint of its name and all that it holds."""
        arrays, meta, spec = self.stored
        text = json.dumps([*self.name, keys.digest(**arrays), meta, spec], sort_keys=True)
        return hashlib.sha256(text.encode()).hexdigest()

    @classmethod
    def of(cls, fields: EntryFields) -> SentEntry:
        """The way back."""
        kind, key = fields["name"]
        return cls((kind, key), Stored(fields["arrays"], fields["meta"], fields["spec"]))


def load_entries(store: Store, names: Iterable[Name]) -> list[SentEntry]:
    """Those of these entries that a store has."""
    loaded = ((name, store.load(*name)) for name in names)
    return [SentEntry(name, stored) for name, stored in loaded if stored is not None]


def save_entries(store: Store, entries: Iterable[SentEntry]) -> None:
    """Save those that a store lacks."""
    for name, (arrays, meta, spec) in entries:
        if not store.has(*name):
            store.save(*name, arrays, spec=spec, meta=meta)


def _by_value() -> Callable[..., ClusterAnswer]:
    def call(message: ClusterMessage, dask_worker: Any = None) -> ClusterAnswer:
        import importlib  # its module does not travel with it

        worker = dask_worker or importlib.import_module("distributed").get_worker()
        try:
            remote = importlib.import_module("validation_core.engine.cluster.checks")
        except ImportError as error:
            return {"worker": str(worker.address), "refused": f"it cannot import that ({error})"}
        answered: ClusterAnswer = remote._answer(message, worker)
        return answered

    return call


call = _by_value()
"""Answers a message: the one function that is sent.

A function inside another has no name to be found by, so it travels whole and imports the rest: a
worker that cannot import it says so instead of ending, and the scheduler, which reads everything
it passes on, needs nothing of this program. Beside tasks Dask says who the worker is.
"""


def _answer(message: ClusterMessage, worker: Any) -> ClusterAnswer:
    """Run the task of a message, or say who this worker is where it holds none.

    Returns:
        `refused`, `lacks`, `error` or `stopped` with their reasons, none of them when the task is
        done; `entries` that the program lacks, `notices` of the store and the worker's address.
    """
    identity: ClusterAnswer = {"worker": str(worker.address), "sources": code_fingerprint()}
    if differ := _differences(message["versions"]):
        return {**identity, "refused": differ}
    device = _ready()
    if "task" not in message:
        return {**identity, "device": device}
    store = _ProxyStore(Path(worker.local_directory) / "nptlab", message)
    ending = _run(message, store, _reporter(worker, message["topic"], message["id"]))
    entries = [entry.plain() for entry in load_entries(store.own, store.made)]
    notices = [*store.notices, *store.own.notices]
    return {**identity, **ending, "entries": entries, "notices": notices}


class _MissingEntries(Exception):
    """Entries that a task asks for and the program may have."""

    def __init__(self, names: list[Name]) -> None:
        super().__init__(f"The store of a worker lacks {names}.")
        self.names = names


class _ProxyStore(Store):
    """The store of a worker: what the program has is as good as here.

    Args:
        root: the folder of this worker's process.
        message: what the program says of its own store: `given` entries, names that it `held`
            when it sent the task, and names that are `absent` there too.
    """

    def __init__(self, root: Path, message: ClusterMessage) -> None:
        super().__init__(root)
        self.own = Store(root)
        """The same folder, without asking anybody."""
        entries = [SentEntry.of(fields) for fields in message["given"]]
        for entry, sent in zip(entries, message["given"], strict=True):
            if entry.checksum != sent["checksum"]:
                raise ValueError(
                    f"What was sent must arrive; got another {entry.name}. Try again."
                )
        save_entries(self.own, entries)
        # as tuples again: what travels may have become lists
        self._held = {(kind, key) for kind, key in message["held"]}
        self._held |= {entry.name for entry in entries}
        self._absent = {(kind, key) for kind, key in message["absent"]}
        self._touched: dict[Name, None] = {}

    @property
    def made(self) -> list[Name]:
        """What the task wrote or found here and the program lacks.

        Found ones count: a task that was stopped may have left what the next one uses.
        """
        return [name for name in self._touched if name not in self._held]

    def want(self) -> None:
        """Ask at once for all that the program holds of what the task names.

        Raises:
            _MissingEntries: where some of it is not here.
        """
        lacks = sorted(name for name in self._held if not self.own.has(*name))
        if lacks:
            raise _MissingEntries(lacks)

    def save(
        self, kind: Kind, key: str, arrays: Arrays, *, spec: str, meta: Mapping[str, object]
    ) -> None:
        """As any store does."""
        super().save(kind, key, arrays, spec=spec, meta=meta)
        self._touched[kind, key] = None

    def load(self, kind: Kind, key: str) -> Stored | None:
        """What a key holds here or in the program.

        Raises:
            _MissingEntries: where it is not here and the program was not asked yet.
        """
        stored = super().load(kind, key)
        self._asked((kind, key), stored is not None)
        return stored

    def has(self, kind: Kind, key: str) -> bool:
        """Whether it is here or in the program; raises as `load` does."""
        present = super().has(kind, key)
        self._asked((kind, key), present)
        return present

    def _asked(self, name: Name, found: bool) -> None:
        if found:
            self._touched[name] = None
        elif name not in self._absent:
            raise _MissingEntries([name])


def _run(message: ClusterMessage, store: _ProxyStore, report: Report) -> ClusterAnswer:
    try:
        store.want()
        perform(keys.decode(message["task"]), store, report)
    except _MissingEntries as lacking:
        return {"lacks": lacking.names}
    except TaskStopped:
        return {"stopped": True}
    except Exception as error:
        traceback.print_exc()
        return {"error": describe_error(error)}
    return {}


def _reporter(worker: Any, topic: str, name: str) -> Report:
    """Sends the first report at once, then a few a second, and the last one; stops the task.

    A task that its client has cancelled, or whose client has gone, is cancelled in the worker's
    own list; its thread goes on until it looks there.
    """
    key = worker.get_current_task()
    last = 0.0

    def report(fraction: float, live: Mapping[str, JSON]) -> None:
        nonlocal last
        known = worker.state.tasks.get(key)
        if known is None or known.state == "cancelled":
            raise TaskStopped
        now = time.monotonic()
        if now - last >= _EVERY or fraction >= 1:
            last = now
            worker.log_event(
                topic, json.dumps([name, float(fraction), live], default=numpy_as_json)
            )

    return report


def numerical_versions() -> dict[str, str]:
    """What the bits of a result follow from, beside this program: libraries, and one thread."""
    threads = os.environ.get("OMP_NUM_THREADS", "not set")
    libraries = {name: _version(name) for name in _LIBRARIES}
    return {**libraries, "OMP_NUM_THREADS": os.environ.get("OPENBLAS_NUM_THREADS", threads)}


def _version(library: str) -> str:
    # torch 2.13.0+cpu and 2.13.0+cu130 compute alike on a processor
    return importlib.metadata.version(library).partition("+")[0]


def _differences(wanted: Mapping[str, str]) -> str:
    own = numerical_versions()
    differ = [f"{n} {own[n]} instead of {wanted[n]}" for n in wanted if own[n] != wanted[n]]
    return f"it has {', '.join(differ)}" if differ else ""


@functools.cache
def code_fingerprint() -> str:
    """A fingerprint of this program's code."""
    package = Path(__file__).parents[2]
    texts = (path.read_text("utf-8") for path in sorted(package.rglob("*.py")))
    return keys.key("\n".join(texts))


def _ready() -> str:
    """Import what tasks need, and say where networks are trained.

    One thread at a time: a worker that is asked who it is while it begins its first task would
    import scipy in one thread and torch in another, and scipy fails on half a torch.
    """
    with _importing:
        importlib.import_module("validation_core.statistics")
        device: str = importlib.import_module("validation_core.learn.perceptron").pick_device()
        return device
