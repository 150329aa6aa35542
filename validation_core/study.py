"""A study is a frozen question; its result a frozen record of numbers and arrays, kept by its key.

    class MapStudy(Study[Maps], spec="map"):      # fields: what data, which options, which seed
        def compute(self, store, report) -> Maps  # all that is its own

It is done when the store holds its result, so that progress counts keys, a restart submits what
is missing, and two users who ask for the same thing wait for one.
"""

from __future__ import annotations

import dataclasses
import platform
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from types import NoneType, UnionType
from typing import (
    TYPE_CHECKING,
    Any,
    ClassVar,
    Generic,
    TypeVar,
    Union,
    get_args,
    get_origin,
    get_type_hints,
)

import numpy as np
from numpy.typing import NDArray

from validation_core.keys import JSON, Arrays, Specification, canonical_text

if TYPE_CHECKING:
    from validation_core.store import Store, Stored


# ---- One codec for results: a typed record to named arrays with a JSON tree, and back ----
#
# A record is a frozen dataclass or a NamedTuple; its fields hold arrays, plain values, records,
# and tuples, lists or mappings (by text) of these. Types come from its annotations, so that a
# class that is read back imports what they name at run time.


_Array = NDArray[np.generic]
_ARRAY = {"@": "array"}


def dump(record: object) -> tuple[dict[str, _Array], dict[str, JSON]]:
    """Arrays by the path of their field (`parts.0.u`), and a JSON tree of all else.

    Raises:
        TypeError: for what no record holds.
    """
    arrays: dict[str, _Array] = {}
    tree = _dump(record, "", arrays)
    if not isinstance(tree, dict):
        raise TypeError(f"A result is a record; got {type(record).__name__}. Make it one.")
    return arrays, tree


def load(kind: type[R], arrays: Arrays, tree: JSON) -> R:
    """The record of that class which `dump` gave; fields that were added since have defaults.

    Raises:
        TypeError: when the class has an annotation that no record has.
    """
    record = _load(kind, tree, "", arrays)
    assert isinstance(record, kind), "a record's tree is that of its fields"
    return record


def _dump(value: object, path: str, arrays: dict[str, _Array]) -> JSON:
    if isinstance(value, np.ndarray):
        arrays[path] = value
        return _ARRAY
    if isinstance(value, np.generic):
        return value.item()
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if fields := _fields(value):
        return {name: _dump(getattr(value, name), _at(path, name), arrays) for name in fields}
    if isinstance(value, Mapping):
        if not all(isinstance(name, str) for name in value):
            raise TypeError(f"Mappings of a record go by text; got {list(value)[:3]} at {path!r}.")
        return {name: _dump(part, _at(path, name), arrays) for name, part in value.items()}
    if isinstance(value, Sequence):
        return [_dump(part, _at(path, i), arrays) for i, part in enumerate(value)]
    raise TypeError(
        f"A record holds arrays, plain values, records, tuples and mappings; got "
        f"{type(value).__name__} at {path!r}. Turn it into one of those."
    )


def _load(hint: object, tree: JSON, path: str, arrays: Arrays) -> object:
    if tree == _ARRAY:
        return _unpacked(hint, arrays[path])
    origin, args = get_origin(hint), get_args(hint)
    if tree is None or hint in (Any, object):
        return tree
    if origin in (Union, UnionType):
        return _load(_arm(args, tree), tree, path, arrays)
    if isinstance(tree, dict):
        if isinstance(hint, type) and _names(hint):
            hints = _hints(hint)
            return hint(
                **{
                    name: _load(hints[name], part, _at(path, name), arrays)
                    for name, part in tree.items()
                    if name in hints
                }
            )
        inner = args[1] if len(args) == 2 else object
        return {name: _load(inner, part, _at(path, name), arrays) for name, part in tree.items()}
    if isinstance(tree, list):
        parts = [_load(_each(args, i), part, _at(path, i), arrays) for i, part in enumerate(tree)]
        if isinstance(hint, type) and _names(hint):  # a NamedTuple that was kept as one
            return hint(*parts)
        return parts if origin is list else tuple(parts)
    return float(tree) if hint is float and isinstance(tree, int) else tree


@cache
def _hints(kind: type[Any]) -> dict[str, Any]:
    """The types of a record's fields; a result holds many records of few classes."""
    return get_type_hints(kind)


def _unpacked(hint: object, array: _Array) -> object:
    """An array; where older results hold a number or a record of numbers as one, that."""
    if hint is float:
        return float(array)
    if not (isinstance(hint, type) and (names := _names(hint))):
        return array
    hints = _hints(hint)
    return hint(*(_number(hints[name], v) for name, v in zip(names, array.tolist(), strict=True)))


def _number(hint: object, value: float) -> float:
    return int(value) if hint is int else value


def _arm(args: tuple[object, ...], tree: JSON) -> object:
    """Which type of a union this tree is of."""
    arms = [arm for arm in args if arm is not NoneType]
    records = [arm for arm in arms if isinstance(arm, type) and _names(arm)]
    if isinstance(tree, dict) and records:
        return max(records, key=lambda arm: len(set(tree) & set(_names(arm))))
    plain = [arm for arm in arms if isinstance(arm, type) and isinstance(tree, arm)]
    return plain[0] if plain else arms[0]


def _each(args: tuple[object, ...], i: int) -> object:
    """The type of the i-th part of a tuple or list."""
    if not args:
        return object
    return args[0] if len(args) == 1 or args[1] is Ellipsis else args[i]


def _fields(value: object) -> tuple[str, ...]:
    return _names(type(value))


def _names(kind: type) -> tuple[str, ...]:
    """Fields of a record's class; none for anything else."""
    if dataclasses.is_dataclass(kind):
        return tuple(field.name for field in dataclasses.fields(kind))
    names: tuple[str, ...] = getattr(kind, "_fields", ())
    return names


def _at(path: str, name: str | int) -> str:
    return f"{path}.{name}" if path else str(name)


# ---- Studies ----
#
# Kept by its key.


R = TypeVar("R")


def versions() -> dict[str, str]:
    """Of what numbers depend on: Python, and the libraries that this process has imported."""
    loaded = ((name, sys.modules.get(name)) for name in ("numpy", "scipy", "torch"))
    own = {name: str(module.__version__) for name, module in loaded if module is not None}
    return {"python": platform.python_version(), **own}


def _device() -> str:
    """Where networks run in this process; without torch there is none."""
    nets = sys.modules.get("validation_core.learn.training")
    return "cpu" if nets is None else str(nets.pick_device())


Report = Callable[[float, Mapping[str, Any]], None]
"""Called with the fraction done and a small payload that a page may draw meanwhile."""


class Study(Specification, Generic[R]):
    """A question whose answer lands in the store.

    A subclass is a frozen dataclass that says its `label` and computes; where it reads trained
    networks it names their `trainings`, so that the engine trains each of them once and first.
    """

    result: ClassVar[type[Any]]
    """The class R of its results: a frozen dataclass or a NamedTuple."""
    gpu: ClassVar[bool] = True
    """Whether it may run a network: then it queues for a GPU, where there is one."""

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        for base in getattr(cls, "__orig_bases__", ()):
            kinds = [kind for kind in get_args(base) if isinstance(kind, type)]
            if kinds and isinstance(get_origin(base), type):
                cls.result = kinds[0]

    @property
    def label(self) -> str:
        """What it does, in a line."""
        raise NotImplementedError

    @property
    def trainings(self) -> tuple[Specification, ...]:
        """The networks that it reads."""
        return ()

    @property
    def needs(self) -> frozenset[str]:
        """Keys of what must be made before it: it waits while another study makes one."""
        return frozenset(training.key for training in self.trainings)

    @property
    def makes(self) -> frozenset[str]:
        """Keys that others wait for."""
        return frozenset()

    def compute(self, store: Store, report: Report) -> R:
        """The result; `report(fraction, {})` may be called on the way."""
        raise NotImplementedError

    def run(self, store: Store, report: Report) -> None:
        """Compute, and keep the result."""
        began = time.perf_counter()
        result = self.compute(store, report)
        self.keep(store, result, seconds=time.perf_counter() - began)
        report(1.0, {})

    def keep(self, store: Store, result: R, *, seconds: float | None = None) -> None:
        """Put a result into the store, with what made it, and in how many seconds."""
        arrays, tree = dump(result)
        meta: dict[str, object] = {"label": self.label, "result": tree, "versions": versions()}
        if seconds is not None:
            meta |= {"seconds": round(seconds, 3), "device": _device()}
        store.save("results", self.key, arrays, spec=canonical_text(self), meta=meta)

    def done(self, store: Store) -> bool:
        """Whether the store holds the result."""
        return store.has("results", self.key)

    def load(self, store: Store) -> R | None:
        """The stored result, or None."""
        stored = store.load("results", self.key)
        if stored is None:
            return None
        if "result" not in stored.meta:
            return self._older(stored)
        return load(self.result, stored.arrays, stored.meta["result"])

    def _older(self, stored: Stored) -> R:
        """An older result: arrays by the names of fields, what is no array beside the label."""
        return load(self.result, stored.arrays, {**stored.meta, **dump(stored.arrays)[1]})
