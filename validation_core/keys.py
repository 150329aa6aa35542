"""Canonical text of a frozen value, its key, and the way back.

The text is JSON: every dataclass carries its type's name at its own level and its class's
`version`, so that two types with equal fields never share a key (Streamlit's hashing of nested
dataclasses does). Only dataclasses of this package are read back.
"""

from __future__ import annotations

import dataclasses
import hashlib
import importlib
import json
from collections.abc import Mapping
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

_PACKAGE = __name__.rpartition(".")[0]


def encode(value: Any) -> Any:
    """A JSON value that says everything about a frozen specification.

    Raises:
        TypeError: for anything but None, bool, int, float, str, tuples and frozen dataclasses.
    """
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        kind = type(value)
        fields = {f.name: _field(f, getattr(value, f.name)) for f in dataclasses.fields(value)}
        return {
            "type": f"{kind.__module__}:{kind.__qualname__}",
            "version": getattr(kind, "version", 1),
            **fields,
        }
    if isinstance(value, tuple):
        return [encode(item) for item in value]
    if value is None or isinstance(value, bool | int | float | str):
        return value
    raise TypeError(
        f"A specification holds plain values, tuples and frozen dataclasses; got "
        f"{type(value).__name__}. Turn it into one of those."
    )


def _field(field: dataclasses.Field[Any], value: Any) -> Any:
    # 0 and 0.0 are one gamma: a field declared float is always written as one.
    if field.type in ("float", float) and isinstance(value, int | np.floating):
        return float(value)
    if field.type == "tuple[float, ...]":
        return [float(item) for item in value]
    return encode(value)


def text(value: Any) -> str:
    """The canonical text of a frozen value: equal values, equal text."""
    return json.dumps(encode(value), sort_keys=True, separators=(",", ":"), allow_nan=False)


def key(value: Any) -> str:
    """A short name for a frozen value: 32 hexadecimal digits, safe as a file name."""
    return hashlib.sha256(text(value).encode()).hexdigest()[:32]


def decode(encoded: Any) -> Any:
    """The value that `encode` described.

    Raises:
        ValueError: when a type is not a dataclass of this package or its version has moved on.
    """
    if isinstance(encoded, list):
        return tuple(decode(item) for item in encoded)
    if not isinstance(encoded, dict):
        return encoded
    kind = _kind(encoded["type"])
    if getattr(kind, "version", 1) != encoded["version"]:
        raise ValueError(
            f"A stored specification has the version of its class; {encoded['type']} is at "
            f"{getattr(kind, 'version', 1)}, the stored one at {encoded['version']}. "
            "Ask for it anew."
        )
    fields = {f.name for f in dataclasses.fields(kind)}
    return kind(**{name: decode(item) for name, item in encoded.items() if name in fields})


def _kind(name: str) -> Any:
    module, _, qualname = name.partition(":")
    if module != _PACKAGE and not module.startswith(_PACKAGE + "."):
        raise ValueError(f"Only types of {_PACKAGE} are read back; got {name!r}.")
    kind = getattr(importlib.import_module(module), qualname, None)
    if not (isinstance(kind, type) and dataclasses.is_dataclass(kind)):
        raise ValueError(f"A stored type must be a dataclass; got {name!r}.")
    return kind


def read(canonical: str) -> Any:
    """The value behind a canonical text."""
    return decode(json.loads(canonical))


def part(arrays: Mapping[str, Any], name: str) -> dict[str, Any]:
    """The arrays stored as `name.<key>`, by key."""
    return {n[len(name) + 1 :]: a for n, a in arrays.items() if n.startswith(f"{name}.")}


def digest(**arrays: NDArray[Any]) -> str:
    """A fingerprint of named arrays: names, shapes, types and every byte.

    Streamlit samples large arrays when it hashes them and returns another array's result; this
    reads all of it, 2 ms per 4 MB.
    """
    hasher = hashlib.sha256()
    for name in sorted(arrays):
        array = np.ascontiguousarray(arrays[name])
        hasher.update(f"{name}{array.shape}{array.dtype.str}".encode())
        hasher.update(cast("Any", array).data if array.size else b"")
    return hasher.hexdigest()[:32]
