"""What travels to the browser for a live chart: a description in JSON and one block of numbers.

Numbers are float32; arrays of int8 stay bytes, a quarter of that.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True, eq=False)
class Over:
    """Values whose leading axes run over the named sliders."""

    values: NDArray[Any]
    sliders: tuple[str, ...]


@dataclass(frozen=True, eq=False)
class Text:
    """A sentence with {named} parts, each a string or strings over sliders."""

    template: str
    parts: Mapping[str, str | Over]


@dataclass(frozen=True)
class Payload:
    """What the browser needs: a description and one block of numbers."""

    head: str
    body: bytes
    sliders: tuple[tuple[float, ...], ...]
    start: tuple[float, ...]

    @property
    def digest(self) -> str:
        """Equal payloads, equal text."""
        return hashlib.sha256(self.head.encode() + self.body).hexdigest()[:16]

    def message(self, at: Sequence[float]) -> bytes:
        """Length of the JSON, the JSON padded to 4 bytes, the numbers."""
        head = json.dumps({"at": list(at), "digest": self.digest})[:-1] + ", " + self.head[1:]
        raw = head.encode()
        raw += b" " * (-len(raw) % 4)
        return len(raw).to_bytes(4, "little") + raw + self.body

    def nearest(self, values: Sequence[float]) -> tuple[float, ...]:
        """The grid values next to the given ones."""
        pairs = zip(self.sliders, values, strict=True)
        return tuple(min(grid, key=lambda v, a=value: abs(v - a)) for grid, value in pairs)


@dataclass
class Packer:
    """Turns a description into what JSON can hold, its arrays into places in one block."""

    lengths: Mapping[str, int]
    names: tuple[str, ...]
    blocks: list[bytes] = field(default_factory=list)
    used: int = 0

    @property
    def body(self) -> bytes:
        """All numbers so far."""
        return b"".join(self.blocks)

    def pack(self, value: Any) -> Any:
        """The description, each array replaced by where it lies and which sliders it follows."""
        if isinstance(value, Over):
            self._check(value)
            by = [self.names.index(name) for name in value.sliders]
            pack = self._strings if value.values.dtype.kind in "UO" else self._block
            return pack(value.values, by)
        if isinstance(value, Text):
            return {"template": value.template, "parts": self.pack(dict(value.parts))}
        if isinstance(value, Mapping):
            return {name: self.pack(item) for name, item in value.items()}
        if isinstance(value, np.ndarray | list | tuple):
            return self._block(np.asarray(value), [])
        return value.item() if isinstance(value, np.generic) else value

    def _check(self, value: Over) -> None:
        if unknown := set(value.sliders) - set(self.names):
            raise ValueError(
                f"Values run over sliders of the payload; got {sorted(unknown)}. "
                f"Name one of {list(self.names)}."
            )
        wanted = tuple(self.lengths[name] for name in value.sliders)
        if value.values.shape[: len(wanted)] != wanted:
            raise ValueError(
                f"Values over {value.sliders} have leading axes {wanted}; got shape "
                f"{value.values.shape}. Put the sliders' axes first."
            )

    def _block(self, values: NDArray[Any], by: list[int]) -> dict[str, Any]:
        small = values.dtype == np.int8
        flat = np.ascontiguousarray(values, dtype="i1" if small else "<f4").ravel()
        packed = {"first": self.used // flat.itemsize, "shape": list(values.shape), "by": by}
        raw = flat.tobytes()
        raw += b"\0" * (-len(raw) % 4)  # float32 may begin at multiples of 4 only
        self.blocks.append(raw)
        self.used += len(raw)
        return {**packed, "small": True} if small else packed

    def _strings(self, values: NDArray[Any], by: list[int]) -> dict[str, Any]:
        # Captions repeat: each different one travels once, the grid as places among them.
        kinds, index = np.unique(values.astype(str), return_inverse=True)
        return {"strings": kinds.tolist(), **self._block(index.reshape(values.shape), by)}
