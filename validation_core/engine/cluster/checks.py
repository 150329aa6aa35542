"""Checks of what a Dask worker sends back, before it is kept.

They find mistakes, not malice: whoever reaches a Dask scheduler can run anything on its workers.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast

import numpy as np

from validation_core import keys
from validation_core.array_files import Stored
from validation_core.engine.cluster.entries import Entry, Name, content
from validation_core.engine.cluster.worker import TaskResult
from validation_core.engine.task import Task
from validation_core.keys import Specification
from validation_core.store import Store


class InvalidAnswer(ValueError):
    """Why an answer is not kept."""


class _OverlayStore:
    """Reads the entries of an answer first, then the store."""

    def __init__(self, store: Store, sent: Mapping[Name, Stored]) -> None:
        self._store = store
        self._sent = sent

    def has(self, kind: Any, key: str) -> bool:
        return Name(kind, key) in self._sent or self._store.has(kind, key)

    def load(self, kind: Any, key: str) -> Stored | None:
        return self._sent.get(Name(kind, key)) or self._store.load(kind, key)


def checked_entries(result: object, task: Task, store: Store) -> dict[Name, Stored]:
    """The entries that a worker sent, each held against its specification.

    Raises:
        InvalidAnswer: where one is not what it is said to be, or the task is said to be done and
            is not.
    """
    if not isinstance(result, dict) or not isinstance(result.get("entries"), list):
        raise InvalidAnswer(f"it sent no result but {type(result).__name__}")
    sent: dict[Name, Stored] = {}
    for entry in cast("TaskResult", result)["entries"]:
        if not isinstance(entry, dict) or set(entry) != set(Entry.__annotations__):
            raise InvalidAnswer("it sent an entry without its parts")
        name = Name(entry["kind"], entry["key"])
        try:
            sent[name] = content(entry)
            _check(name, sent[name], cast("Store", _OverlayStore(store, sent)))
        except InvalidAnswer:
            raise
        except Exception as error:  # whatever reading garbage raises
            what = f"{'/'.join(map(str, name))} is not of its kind"
            raise InvalidAnswer(f"{what} ({type(error).__name__})") from error
    ended = "error" in result or "stopped" in result
    if not (ended or task.done(cast("Store", _OverlayStore(store, sent)))):
        raise InvalidAnswer("it said that the task was done and sent no result")
    return sent


def _check(name: Name, stored: Stored, store: Store) -> None:
    value, arrays = keys.read(stored.spec), stored.arrays.values()
    if not isinstance(value, Specification) or value.key != name.key:
        raise InvalidAnswer(f"{name.kind}/{name.key} is kept under another name than its own")
    if name.kind == "models":
        numbers = [array for array in arrays if array.dtype.kind in "fc"]
        if not numbers or not all(np.isfinite(array).all() for array in numbers):
            raise InvalidAnswer(f"the network {name.key} holds no finite numbers")
    elif name.kind != "results" or any(array.dtype.kind not in "biufc" for array in arrays):
        raise InvalidAnswer(f"{name.kind}/{name.key} is no result of numbers")
    elif hasattr(value, "result"):
        _check_pvalues(value, cast("Any", value).load(store))


def _check_pvalues(study: Any, result: object) -> None:
    """A result, read as its study's declared type, has p-values; those of trials one for each."""
    for name in ("pvalue", "pvalues"):
        value = getattr(result, name, None)
        if value is None:
            continue
        numbers = np.asarray(value, dtype=float)
        if not ((numbers >= 0) & (numbers <= 1)).all():
            raise InvalidAnswer(f"results/{study.key} holds p-values that are none")
        trials = getattr(study, "count", numbers.size)
        if numbers.size != trials:
            raise InvalidAnswer(f"results/{study.key} has {numbers.size} p-values, not {trials}")
