"""What a Dask worker does with a task, and how its answer is checked before it is kept.

A machine may be broken, its memory or its code another. An answer is held against the task, each
entry against its checksum and its specification; and now and then a task is done once more on
this machine and compared to the bit. This finds mistakes, not malice.
"""

from __future__ import annotations

import functools
import hashlib
import importlib
import importlib.metadata
import json
import math
import os
import random
import shutil
import threading
import time
import traceback
import uuid
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import fields
from pathlib import Path
from typing import Any, NamedTuple, TypedDict, cast

import numpy as np
from numpy.typing import NDArray

from validation_core import keys
from validation_core.engine.job import (
    Report,
    Task,
    TaskStopped,
    describe_error,
    numpy_as_json,
    perform,
)
from validation_core.engine.pool import WorkerPool
from validation_core.keys import JSON, Arrays, Specification
from validation_core.scores import trained_scores
from validation_core.settings import RECHECK
from validation_core.store import Kind, Store, Stored, memory_folder

# ---- What a Dask worker does with a task ----
#
# Runs it on a store of its own, sends back what it made.
#
# The worker may share no disk with the program that asks. It keeps what it was sent and what it
# made in a folder of its own process, so that a network travels once; what the task asks of the
# store and the folder lacks is asked of the program, which sends it or says that it has it not
# either, and the task begins again.


Name = tuple[Kind, str]
"""Kind and key of an entry of a store."""

_EVERY = 0.25  # seconds between progress reports: each passes through the scheduler
_importing = threading.Lock()
_LIBRARIES = ("numpy", "scipy", "torch", "geomloss")


class _EntryFields(TypedDict):
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
    given: Sequence[_EntryFields]
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
    entries: Sequence[_EntryFields]
    notices: Sequence[str]


class SentEntry(NamedTuple):
    """An entry of a store, on its way to another."""

    name: Name
    stored: Stored

    def plain(self) -> _EntryFields:
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
    def of(cls, fields: _EntryFields) -> SentEntry:
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
            Lacking: where some of it is not here.
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
            Lacking: where it is not here and the program was not asked yet.
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
        device: str = importlib.import_module("validation_core.learn.training").pick_device()
        return device


# ---- What comes back from a worker, before it is kept ----
#
# That it is an answer, and the right one.


_KINDS = ("models", "results")
_WAITING = 3  # answers that may wait for that
_OF_A_MACHINE = ("seconds", "cost", "time")  # in names of arrays that differ between machines


class InvalidAnswer(ValueError):
    """Why an answer is not believed."""


class _OverlayStore:
    """A store and entries that it does not have yet."""

    def __init__(self, store: Store, entries: Sequence[SentEntry]) -> None:
        self.store = store
        self.entries = {entry.name: entry.stored for entry in entries}

    def has(self, kind: Any, key: str) -> bool:
        return (kind, key) in self.entries or self.store.has(kind, key)

    def load(self, kind: Any, key: str) -> Stored | None:
        return self.entries.get((kind, key)) or self.store.load(kind, key)


def parse_answer(sent: object) -> ClusterAnswer:
    """What a worker sent, where it is an answer.

    Raises:
        Garbage: where it is none.
    """
    if not isinstance(sent, dict) or not isinstance(sent.get("worker"), str):
        raise InvalidAnswer(f"it sent no answer but {type(sent).__name__}")
    kinds: Mapping[str, type] = {
        "sources": str,
        "device": str,
        "refused": str,
        "error": str,
        "stopped": bool,
        "lacks": list,
        "entries": list,
        "notices": list,
    }
    for name, value in sent.items():
        if name != "worker" and not isinstance(value, kinds.get(name, ())):
            raise InvalidAnswer(f"its answer holds {str(name)!r} of type {type(value).__name__}")
    if not ("refused" in sent or "sources" in sent):
        raise InvalidAnswer("its answer does not say with which code it was made")
    if not all(isinstance(notice, str) for notice in sent.get("notices", ())):
        raise InvalidAnswer("its notices are not text")
    for name in sent.get("lacks", ()):
        _name(name)
    return cast("ClusterAnswer", sent)


def parse_entries(answer: ClusterAnswer, task: Task, store: Store) -> list[SentEntry]:
    """The entries of an answer, each sound and of this task, which they complete.

    Raises:
        Garbage: where one is not, or the task is said to be done and is not.
    """
    sent = [_entry(each) for each in answer.get("entries", ())]
    together = _OverlayStore(store, sent)
    known = set(_within(task))
    for entry in sent:
        _belongs(entry, known, cast("Store", together))
    ended = any(ending in answer for ending in ("refused", "lacks", "error", "stopped"))
    if not (ended or task.done(cast("Store", together))):
        raise InvalidAnswer("it said that the task was done and sent no result")
    return sent


def parse_progress(text: str) -> tuple[str, float, Mapping[str, Any]] | None:
    """Which task is how far, and what it shows; None for what is no such report."""
    with suppress(ValueError, TypeError):
        name, fraction, live = json.loads(text)
        if isinstance(name, str) and isinstance(live, dict) and math.isfinite(fraction):
            return name, float(fraction), live
    return None


def _name(name: object) -> Name:
    if isinstance(name, list | tuple) and len(name) == 2:
        kind, key = name
        with suppress(ValueError):
            if kind in (*_KINDS, "tables") and isinstance(key, str) and Store.is_key(key):
                return kind, key
    raise InvalidAnswer(f"it names an entry {str(name)[:80]!r}")


def _entry(plain: object) -> SentEntry:
    if not isinstance(plain, dict) or set(plain) != set(_EntryFields.__annotations__):
        raise InvalidAnswer("it sent an entry without its parts")
    kind, key = _name(plain["name"])
    arrays, meta, spec = plain["arrays"], plain["meta"], plain["spec"]
    if not (isinstance(arrays, dict) and isinstance(meta, dict) and isinstance(spec, str)):
        raise InvalidAnswer(f"the parts of {kind}/{key} are of other types")
    for name, array in arrays.items():
        plain_array = isinstance(array, np.ndarray) and not array.dtype.hasobject
        if not (isinstance(name, str) and plain_array):
            raise InvalidAnswer(f"{kind}/{key} holds {str(name)!r}, which is no array of numbers")
    entry = SentEntry.of(cast("_EntryFields", plain))
    try:
        sound = entry.checksum == plain["checksum"]
    except (TypeError, ValueError) as error:
        raise InvalidAnswer(f"the facts about {kind}/{key} are not plain values") from error
    if not sound:
        raise InvalidAnswer(f"the checksum of {kind}/{key} does not match its content")
    return entry


def _belongs(entry: SentEntry, known: set[str], store: Store) -> None:
    """Hold an entry against its specification, and that against those of the task."""
    (kind, key), stored = entry.name, entry.stored
    if kind not in _KINDS:
        raise InvalidAnswer(f"no task makes {kind}")
    try:
        value = keys.read(stored.spec)
        right = isinstance(value, Specification) and value.key == key
    except Exception as error:  # of a text that is none of ours
        raise InvalidAnswer(f"{kind}/{key} does not say what it is") from error
    if not right:
        raise InvalidAnswer(f"{kind}/{key} is kept under another name than its own")
    parts = {part for child in _children(value) for part in (child.key, *_within(child))}
    if not (key in known or parts <= known or parts & known):
        raise InvalidAnswer(f"{kind}/{key} is not of this task")
    if kind == "models":
        numbers = [array for array in stored.arrays.values() if array.dtype.kind in "fc"]
        if not numbers or not all(np.isfinite(array).all() for array in numbers):
            raise InvalidAnswer(f"the network {key} holds no finite numbers")
    elif hasattr(value, "load"):
        _require_readable(value, key, store)


def _require_readable(study: Any, key: str, store: Store) -> None:
    """A result is of its study's type, and its p-values are some."""
    try:
        result = study.load(store)
        values = [getattr(result, name, None) for name in ("pvalue", "pvalues")]
        numbers = [np.asarray(value, dtype=float) for value in values if value is not None]
    except Exception as error:  # whatever reading garbage raises
        raise InvalidAnswer(
            f"results/{key} is not of its kind ({type(error).__name__})"
        ) from error
    if not all(((array >= 0) & (array <= 1)).all() for array in numbers):
        raise InvalidAnswer(f"results/{key} holds p-values that are none")


def _children(value: Specification) -> Iterator[Specification]:
    for field in fields(value):
        item = getattr(value, field.name)
        for each in item if isinstance(item, tuple) else (item,):
            if isinstance(each, Specification):
                yield each


def _within(value: Any) -> Iterator[str]:
    """Keys of a specification, of all that it is made of, and of networks that those draw from."""
    if not isinstance(value, Specification):
        return
    yield value.key
    behind = (
        trained_scores.network_behind(cast("Any", value)) if hasattr(value, "sampler") else None
    )
    for part in (*_children(value), *([behind] if behind is not None else [])):
        yield from _within(part)
    for name in ("needs", "makes"):
        yield from getattr(value, name, ())


class RecheckSample:
    """Tasks that are done once more in a worker process of this machine, and compared.

    Args:
        every: one answer in so many, and the first of each worker; 0 for none. By default what
            NPTLAB_RECHECK says.

    Raises:
        ValueError: where that is no whole number.
    """

    def __init__(self, every: int | None = None) -> None:
        self.every = RECHECK.value() if every is None else every
        self._seen: set[str] = set()
        self._waiting = 0
        self._pool: WorkerPool | None = None
        self._closed = False
        self._random = random.Random()
        self._lock = threading.Lock()

    def wanted(self, worker: str, task: Task, device: str) -> bool:
        """Whether this answer of a worker is to be checked; if so `differs` must be called.

        Not where this machine would compute something else: networks on a GPU, and a search that
        ends when its time has run out.
        """
        text = json.dumps(keys.encode(task))
        elsewhere = (device == "cuda" and task.gpu) or '"automl"' in text
        with self._lock:
            if not self.every or elsewhere or self._closed:
                return False
            first = worker not in self._seen
            chosen = first or self._random.randrange(self.every) == 0
            if not chosen or (self._waiting >= _WAITING and not first):
                return False
            self._seen.add(worker)
            self._waiting += 1
            return True

    def differs(self, task: Task, store: Store, entries: Sequence[SentEntry]) -> str:
        """What of these entries is not what this machine makes of the task; empty if all is.

        Empty as well where it cannot be made here: that says nothing about a worker.
        """
        folder = memory_folder() / f"recheck-{uuid.uuid4().hex}"
        try:
            own = Store(folder, gallery=store.root)
            self._done_here(task, own)
            for entry in entries:
                here = own.load(*entry.name) if own.file(*entry.name) else None
                if here is not None and _digest(here) != _digest(entry.stored):
                    kind, key = entry.name
                    return f"{kind}/{key} is not what this machine makes of the same task"
        except Exception:  # said by whoever wants the task done here
            return ""
        finally:
            shutil.rmtree(folder, ignore_errors=True)
            with self._lock:
                self._waiting -= 1
        return ""

    def close(self) -> None:
        """End the worker process."""
        with self._lock:
            self._closed = True
            pool, self._pool = self._pool, None
        if pool is not None:
            pool.shutdown()

    def _done_here(self, task: Task, store: Store) -> None:
        with self._lock:
            if self._closed:
                raise RuntimeError("It was closed.")
            pool = self._pool = self._pool or WorkerPool(1)
        pool.submit(perform, task, store, lambda fraction, live: None).result()


def _digest(stored: Stored) -> str:
    own = {
        name: array
        for name, array in stored.arrays.items()
        if not any(word in name for word in _OF_A_MACHINE)
    }
    return keys.digest(**own)
