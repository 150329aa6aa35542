"""Answers of Dask workers, checked before they are kept.

That it is an answer, and the right one.
"""

from __future__ import annotations

import json
import math
import random
import shutil
import threading
import uuid
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import fields
from typing import Any, cast

import numpy as np

from validation_core import keys
from validation_core.engine.cluster.worker import ClusterAnswer, EntryFields, Name, SentEntry
from validation_core.engine.pool import WorkerPool
from validation_core.engine.task import Task, perform
from validation_core.keys import Specification
from validation_core.memory_folder import memory_folder
from validation_core.scores import trained_scores
from validation_core.settings import RECHECK
from validation_core.store import Store, Stored

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
        InvalidAnswer: where it is none.
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
        InvalidAnswer: where one is not, or the task is said to be done and is not.
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
    if not isinstance(plain, dict) or set(plain) != set(EntryFields.__annotations__):
        raise InvalidAnswer("it sent an entry without its parts")
    kind, key = _name(plain["name"])
    arrays, meta, spec = plain["arrays"], plain["meta"], plain["spec"]
    if not (isinstance(arrays, dict) and isinstance(meta, dict) and isinstance(spec, str)):
        raise InvalidAnswer(f"the parts of {kind}/{key} are of other types")
    for name, array in arrays.items():
        plain_array = isinstance(array, np.ndarray) and not array.dtype.hasobject
        if not (isinstance(name, str) and plain_array):
            raise InvalidAnswer(f"{kind}/{key} holds {str(name)!r}, which is no array of numbers")
    entry = SentEntry.of(cast("EntryFields", plain))
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
