"""Entries of a store as they travel to a Dask worker and back, as plain arrays and texts.

Also which entries a task reads: said here once, from what its specification is made of.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import fields
from typing import Any, NamedTuple, TypedDict, cast

import numpy as np
from numpy.typing import NDArray

from validation_core.array_files import Stored
from validation_core.engine.task import Task, numpy_as_json
from validation_core.keys import Specification
from validation_core.scores import trained_scores
from validation_core.scores.trained_scores import Simulated
from validation_core.store import Store, StoreKind


class Name(NamedTuple):
    """Kind and key of an entry of a store."""

    kind: StoreKind
    key: str


class Entry(TypedDict):
    """An entry as builtin values and arrays: a worker unpacks it without this program."""

    kind: StoreKind
    key: str
    arrays: dict[str, NDArray[np.generic]]
    meta: str
    """As JSON, as a file of the store has it."""
    spec: str


def entry(name: Name, arrays: Mapping[str, NDArray[np.generic]], meta: object, spec: str) -> Entry:
    """An entry that may travel."""
    written = json.dumps(meta, default=numpy_as_json)
    return {"kind": name.kind, "key": name.key, "arrays": dict(arrays), "meta": written,
            "spec": spec}  # fmt: skip


def content(sent: Entry) -> Stored:
    """Its content as a store gives it, in arrays of its own that may be written to."""
    arrays = {name: np.array(array) for name, array in sent["arrays"].items()}
    return Stored(arrays, json.loads(sent["meta"]), sent["spec"])


def nbytes(sent: Entry) -> int:
    """Bytes of its arrays."""
    return sum(array.nbytes for array in sent["arrays"].values())


def load_read(task: Task, store: Store) -> list[Entry]:
    """What a store has of the entries that a task may read."""
    loaded = []
    for name in sorted(names_read(task)):
        stored = store.load(*name) if store.has(*name) else None
        if stored is not None:
            loaded.append(entry(name, stored.arrays, stored.meta, stored.spec))
    return loaded


def names_read(task: Task) -> set[Name]:
    """Names of all that a task may read: networks, results and uploads.

    A task reads what its specification is made of: the networks and results named in it or in its
    `needs` and `reads`, networks that its benchmarks draw from, and the upload of a `digest`.
    """
    names: set[Name] = set()
    for part in _parts(task, set()):
        made = (part.key, *getattr(part, "needs", ()), *getattr(part, "makes", ()))
        names |= {Name(kind, key) for kind in ("models", "results") for key in made}
        digest = getattr(part, "digest", None)
        if isinstance(digest, str) and Store.is_key(digest):
            names.add(Name("tables", digest))
    return names


def _parts(value: object, seen: set[str]) -> Iterator[Specification]:
    """A specification and those that it is made of, trains or draws from, each once."""
    if isinstance(value, tuple):
        for each in value:
            yield from _parts(each, seen)
    if not isinstance(value, Specification) or value.key in seen:
        return
    seen.add(value.key)
    yield value
    behind: object = None
    if isinstance(value, Simulated):
        behind = trained_scores.networks_behind(value)
    elif hasattr(value, "sampler"):
        behind = trained_scores.network_behind(cast("Any", value))
    inside = tuple(getattr(value, field.name) for field in fields(value))
    further = (getattr(value, name, ()) for name in ("trainings", "reads"))
    yield from _parts((*inside, behind, *further), seen)
