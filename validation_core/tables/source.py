"""What every kind of file offers: headers that are checked first, and arrays read one by one.

An upload is never trusted. A source tells the shape and type of each array from the file's own
headers; sizes are added up from these, and nothing is unpacked before they have been accepted.
"""

from __future__ import annotations

import math
import struct
import zipfile
import zlib
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from validation_core.tables import names
from validation_core.tables.shapes import Order

LIMIT = 512 * 2**20
"""Bytes that the arrays of one file may take in memory."""

ARRAYS = 64
"""Arrays that one file may hold."""


_AXES = 32
_LONGEST = 2**62


BROKEN = (
    zipfile.BadZipFile,
    zlib.error,
    struct.error,
    EOFError,
    OSError,
    RuntimeError,
    ValueError,
    TypeError,
    AttributeError,
    SyntaxError,
    LookupError,
    ArithmeticError,
    AssertionError,
    MemoryError,
    Warning,
)
"""What libraries raise at a damaged file; a warning where warnings are errors."""


class Header(NamedTuple):
    """What a file declares about one of its arrays."""

    shape: tuple[int, ...]
    dtype: np.dtype[Any]

    @property
    def nbytes(self) -> int:
        """Bytes of the array as stored or as worked on, by Python's unbounded integers."""
        return math.prod(self.shape) * max(self.dtype.itemsize, working(self.dtype).itemsize)


class Source(Protocol):
    """A file of some format, opened and found whole as far as its headers tell."""

    order: Order | None
    """Which axis of theta_q is which, where the file says so itself; known after `headers`."""
    notes: tuple[str, ...]
    """What a user should know about what was left unread."""

    def headers(self) -> Mapping[str, Header]:
        """Each array by its name in the file, unread.

        Raises:
            ValueError: for headers that cannot be read or that lie about the file.
        """
        ...

    def load(self, name: str) -> NDArray[Any]:
        """One array, in its working type.

        Raises:
            ValueError: when its bytes are cut short or damaged.
        """
        ...

    def close(self) -> None:
        """Let go of what was opened beside the stream itself."""
        ...


def working(dtype: np.dtype[Any]) -> np.dtype[Any]:
    """The type an array is worked on in: small numbers become float32, large ones float64."""
    if dtype.kind not in "fiub":
        return dtype
    wide = np.promote_types(dtype, np.float32)
    return np.dtype(np.float64) if wide.itemsize > 8 else wide


def worked(array: NDArray[Any]) -> NDArray[Any]:
    """The array in its working type, copied only where that is another one."""
    with np.errstate(over="ignore", invalid="ignore"):
        return array.astype(working(array.dtype), copy=False)


def accepted(declared: Mapping[str, Header], limit: int) -> Mapping[str, Header]:
    """The headers, if nothing in them is an object or more than memory is given for.

    Raises:
        ValueError: for pickled objects, negative sizes, or more bytes than the limit.
    """
    objects = [name for name, header in declared.items() if header.dtype.hasobject]
    if objects:
        raise ValueError(
            f"Arrays must hold plain numbers or text; got pickled Python objects in "
            f"{names.listed(objects)}, which are never loaded. Save them as numbers, names with "
            f".astype(str), or leave them out."
        )
    if len(declared) > ARRAYS:
        raise ValueError(
            f"A file must hold at most {ARRAYS} arrays; got {len(declared)}. Save theta, x and "
            f"theta_q alone."
        )
    for name, header in declared.items():
        if len(header.shape) > _AXES or not all(0 <= s < _LONGEST for s in header.shape):
            raise ValueError(
                f"An array must have at most {_AXES} axes of lengths from 0 to 2**62; got "
                f"{names.label(name)!r}, which declares others. The file is damaged: save it "
                f"again."
            )
    total = sum(header.nbytes for header in declared.values())
    if total > limit:
        name, largest = max(declared.items(), key=lambda item: item[1].nbytes)
        raise ValueError(
            f"The arrays of a file must take at most {size(limit)}; got {size(total)} declared "
            f"by its headers, most of it {names.label(name)!r} of shape {largest.shape} in "
            f"{largest.dtype}. Keep fewer draws at each x (50 to 200 are plenty) or save as "
            f"float32."
        )
    return declared


def together(several: Sequence[Mapping[str, Header]], limit: int) -> None:
    """Refuse files that are small enough alone but not together.

    Raises:
        ValueError: for more bytes than the limit.
    """
    total = sum(header.nbytes for declared in several for header in declared.values())
    if total > limit:
        raise ValueError(
            f"The arrays of files that are read together must take at most {size(limit)}; got "
            f"{size(total)} in {len(several)} files. Keep fewer draws at each x, or compare fewer "
            f"tables."
        )


def size(count: int) -> str:
    """A number of bytes, in words."""
    for unit in ("bytes", "kB", "MB", "GB", "TB"):
        if count < 1000:
            return f"{count:.3g} {unit}"
        count //= 1000
    return "more than 1000 TB"
