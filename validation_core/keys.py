"""Specifications: frozen values with a stable name, a canonical text and a key, and decoding.

The text is JSON: every specification carries its name and its class's `version`, so that two
types with equal fields never share a key (Streamlit's hashing of nested dataclasses does). A name
is given once, where the class is written; moving the class changes no key.
"""

from __future__ import annotations

import dataclasses
import hashlib
import importlib
import json
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from typing import Any, ClassVar, Protocol, TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray

V = TypeVar("V")
JSON: TypeAlias = "bool | int | float | str | Sequence[JSON] | Mapping[str, JSON] | None"
Arrays = Mapping[str, NDArray[np.generic]]
"""Named arrays of any numbers, or of text."""

_PACKAGE = __name__.rpartition(".")[0]
_ROOMS = (
    "methods",
    "benchmarks",
    "sweep.plan",
    "sweep.trial_detail",
    "localization",
    "symmetric_divergence",
    "diagnosis.questions",
    "diagnosis.comparison",
    "diagnosis.epidemic",
    "diagnosis.reliability",
    "symmetric_divergence.bounds",
    "symmetric_divergence.geweke",
    "symmetric_divergence.learned",
    "symmetric_divergence.terms",
    "explorers.conformal.study",
    "explorers.conformal.power_study",
    "explorers.conformal.theory_study",
    "explorers.playground.study",
    "explorers.weak_classifiers.study",
    "explorers.highdim.lensing.study",
    "explorers.highdim.sphere_flow.study",
    "explorers.highdim.images.study",
    "explorers.highdim.digits.study",
    "explorers.papers.curvature",
    "explorers.training.film",
    "explorers.training.found_verdict",
    "explorers.training.fresh_table",
    "explorers.training.mended",
    "explorers.training.nats",
    "explorers.training.scoreboard",
    "lessons",
    "engine.self_check",
)
"""Modules imported in this order until a name is found: together they define every one."""


class Specification:
    """A frozen dataclass that names itself: `class Training(Specification, spec="training")`.

    Stored text and keys identify its type by this name, whatever file the class is in. A class
    without one (a base, a test's own method) is identified by its module and name.
    """

    spec: ClassVar[str] = ""
    __dataclass_fields__: ClassVar[dict[str, dataclasses.Field[Any]]]
    version: ClassVar[int] = 1
    """Incremented when the same fields come to mean another result."""

    def __init_subclass__(cls, *, spec: str | None = None, **options: object) -> None:
        """Register the class under its name."""
        super().__init_subclass__(**options)
        cls.spec = spec or f"{cls.__module__}:{cls.__qualname__}"
        register_specification(cls)

    @cached_property
    def key(self) -> str:
        """Its name in the store."""
        return key(self)


SPECIFICATIONS: dict[str, type[Specification]] = {}


def register_specification(kind: type[Specification]) -> None:
    """Register a class under its name, also when its file is executed a second time.

    Raises:
        ValueError: when another class already has the name.
    """
    known = SPECIFICATIONS.get(kind.spec, kind)
    if known.__qualname__ != kind.__qualname__:
        raise ValueError(
            f"A specification's name is its own; {kind.spec!r} is {known.__name__} as well as "
            f"{kind.__name__}. Choose another."
        )
    SPECIFICATIONS[kind.spec] = kind


def known_specifications() -> Mapping[str, type[Specification]]:
    """Every specification imported so far, by name."""
    return SPECIFICATIONS


def encode(value: object) -> JSON:
    """Encode a specification completely as a JSON value.

    A field's metadata may name an attribute, `stored`, that is encoded in its place; the class
    decodes it. A field whose metadata says `later` is left out at its default: it came after
    results had been stored, and their keys stay.

    Args:
        value: a specification, or a plain value or tuple in one.

    Raises:
        TypeError: for anything but None, bool, int, float, str, tuples and specifications.
    """
    if isinstance(value, Specification):
        fields = [f for f in dataclasses.fields(value) if not _left_out(f, value)]
        return {
            "type": type(value).spec,
            "version": type(value).version,
            **{f.name: _field(f, value) for f in fields},
        }
    if isinstance(value, tuple):
        return [encode(item) for item in value]
    if isinstance(value, np.integer | np.bool_):
        return value.item()
    if value is None or isinstance(value, bool | int | float | str):
        return value
    raise TypeError(
        f"A specification holds plain values, tuples and specifications; got "
        f"{type(value).__name__}. Turn it into one of those."
    )


def _left_out(field: dataclasses.Field[object], of: Specification) -> bool:
    return bool(field.metadata.get("later")) and getattr(of, field.name) == field.default


def _field(field: dataclasses.Field[object], of: Specification) -> JSON:
    value: object = getattr(of, field.metadata.get("stored", field.name))
    # 0 and 0.0 are one gamma: a field declared float is always written as one.
    if field.type in ("float", float) and isinstance(value, int | float | np.floating):
        return float(value) + 0.0  # 0 has one sign
    if field.type == "tuple[float, ...]" and isinstance(value, Iterable):
        return [float(item) + 0.0 for item in value]
    return encode(value)


def canonical_text(value: object) -> str:
    """The canonical text of a frozen value: equal values, equal text."""
    return json.dumps(encode(value), sort_keys=True, separators=(",", ":"), allow_nan=False)


def key(value: object) -> str:
    """The key of a frozen value: 32 hexadecimal digits, safe as a file name."""
    return hashlib.sha256(canonical_text(value).encode()).hexdigest()[:32]


def decode(encoded: JSON) -> Any:
    """Decode the value that `encode` encoded.

    Args:
        encoded: a JSON value.

    Raises:
        ValueError: when no specification has that name, or its version differs.
    """
    if isinstance(encoded, list):
        return tuple(decode(item) for item in encoded)
    if not isinstance(encoded, dict):
        return encoded
    kind = specification_named(encoded["type"])
    if kind.version != encoded["version"]:
        raise ValueError(
            f"A stored specification has the version of its class; {encoded['type']} is at "
            f"{kind.version}, the stored one at {encoded['version']}. Ask for it anew."
        )
    fields = {f.name for f in dataclasses.fields(kind)}
    return kind(**{name: decode(item) for name, item in encoded.items() if name in fields})


def specification_named(name: str) -> type[Specification]:
    """The specification of that name.

    Raises:
        ValueError: when there is none.
    """
    for room in _ROOMS:
        if name in SPECIFICATIONS:
            break
        importlib.import_module(f"{_PACKAGE}.{room}")
    if name not in SPECIFICATIONS:
        raise ValueError(f"Only specifications are read back; got {name!r}. Ask for it anew.")
    return SPECIFICATIONS[name]


def read(canonical: str) -> Any:
    """The value behind a canonical text."""
    return decode(json.loads(canonical))


def part(arrays: Mapping[str, V], name: str) -> dict[str, V]:
    """The arrays stored as `name.<key>`, by key."""
    return {n[len(name) + 1 :]: a for n, a in arrays.items() if n.startswith(f"{name}.")}


def check_options(options: Specification) -> None:
    """Check numeric options against the bounds that their fields' metadata state.

    Raises:
        ValueError: for an option below `min` or above `max`, or a broken count.
    """
    for option in dataclasses.fields(options):
        if "min" not in option.metadata:
            continue
        value, low, high = (
            getattr(options, option.name),
            option.metadata["min"],
            option.metadata["max"],
        )
        if not low <= value <= high:
            raise ValueError(
                f"{option.name} lies between {low:,} and {high:,}; got {value:,}. Choose within."
            )
        if option.type in ("int", int) and value != int(value):
            raise ValueError(f"{option.name} is a whole number; got {value:,}. Round it.")


class _Named(Protocol):
    @property
    def name(self) -> str: ...


N = TypeVar("N", bound=_Named)


def by_name(*values: N) -> dict[str, N]:
    """Named values or classes, by name and in the given order."""
    return {value.name: value for value in values}


def digest(**arrays: NDArray[np.generic]) -> str:
    """A fingerprint of named arrays: names, shapes, types and every byte.

    Streamlit only samples large arrays when it hashes them, and can return another array's
    result; this reads all bytes, 2 ms per 4 MB.
    """
    hasher = hashlib.sha256()
    for name in sorted(arrays):
        array = np.ascontiguousarray(arrays[name])
        hasher.update(f"{name}{array.shape}{array.dtype.str}".encode())
        hasher.update(array.data if array.size else b"")
    return hasher.hexdigest()[:32]
