"""The protocol of a file of arrays: headers are checked first, then arrays read one by one.

An upload is never trusted. Its headers tell the shape and type of each array; sizes are added up
from these, and nothing is unpacked before they have been accepted.
"""

from __future__ import annotations

import math
import struct
import zipfile
import zlib
from collections.abc import Mapping, Sequence
from typing import Any, Literal, NamedTuple, Protocol, TypeGuard

import numpy as np
from numpy.typing import NDArray

from validation_core.tables.roles import LABEL_LENGTH, label, names_text
from validation_core.types import Array

Order = Literal["NKD", "KND", "DKN", "DNK"]
"""Order of the axes of draws: N simulations, K draws at each, D parameters. Where the parameters
come first, the axes of every array are reversed, as MATLAB, Julia and R store them."""
ORDERS: tuple[Order, ...] = ("NKD", "KND", "DKN", "DNK")


class AmbiguousOrder(ValueError):
    """Axes of the draws are equally long, or fit in both directions: only the user can say.

    A question to the user rather than a fault; pages ask it with a radio.

    Args:
        message: the refusal.
        orders: the orders that fit.

    Examples:
        >>> npt.Table(theta[:20], x[:20], theta_q[:20])
        Traceback (most recent call last):
            ...
        validation_core.tables.source.AmbiguousOrder: ...
        >>> npt.Table(theta[:20], x[:20], theta_q[:20], order="NKD").k
        20
    """

    def __init__(self, message: str, orders: tuple[Order, ...] = ("NKD", "KND")) -> None:
        super().__init__(message)
        self.orders = orders
        """The orders that fit."""


class UnknownArrays(ValueError):
    """Arrays whose names do not tell a table: only the user can say which is which.

    A question to the user rather than a fault; pages ask it with a form.

    Args:
        message: the refusal.
        shapes: shape of every array in the file by its name.
        columns: whether these are the columns of a table, perhaps a long one.
        answerable: whether arrays are left that could be what is missing.
    """

    def __init__(
        self,
        message: str,
        shapes: Mapping[str, tuple[int, ...]],
        *,
        columns: bool = False,
        answerable: bool = True,
    ) -> None:
        super().__init__(message)
        self.shapes = dict(shapes)
        """Shape of every array in the file by its name."""
        self.columns = columns
        """Whether these are the columns of a table, perhaps a long one."""
        self.answerable = answerable
        """Whether arrays are left that could be what is missing."""


LIMIT = 512 * 2**20
"""Bytes that the arrays of one file may take in memory."""
ARRAYS = 64
"""Arrays that one file may hold."""
HDF5, PARQUET = b"\x89HDF\r\n\x1a\n", b"PAR1"
"""First bytes of these files."""
_AXES = 32
_AXIS_LENGTH = 2**62
_CHUNK = 2**22  # bytes read at a time
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
    Warning,
)
"""Errors of libraries at a damaged file; warnings too, where these are errors. Memory that is used
up is no damage: `reader_process` reports it as a bound."""
_NO_MEMORY = ("alloc", "out of memory", "cannot contain more than")


def is_memory_error(error: Exception) -> bool:
    """Whether an error of a library says that it lacked memory."""
    return isinstance(error, MemoryError) or any(w in str(error).lower() for w in _NO_MEMORY)


SMALLER = "Keep fewer draws at each x (50 to 200 are plenty), or save arrays with numpy.savez."
"""The remedy at the end of a refusal of what is too large."""


def memory_refusal(memory: int) -> str:
    """The refusal of a file that needs more memory than its reader may take.

    Args:
        memory: bytes that it may take.
    """
    return (
        f"A file must be read in at most {size_text(memory)} of memory; got one that takes more. "
        f"{SMALLER}"
    )


class ArrayHeader(NamedTuple):
    """The shape and type that a file declares for one of its arrays."""

    shape: tuple[int, ...]
    dtype: np.dtype[np.generic]

    @property
    def nbytes(self) -> int:
        """Bytes of the array as stored or as worked on, by Python's unbounded integers."""
        return math.prod(self.shape) * max(self.dtype.itemsize, working_dtype(self.dtype).itemsize)


def label_header(count: int) -> ArrayHeader:
    """The header of labels (count,) that are made here, none longer than is shown."""
    return ArrayHeader((count,), np.dtype(f"U{LABEL_LENGTH}"))


class ArraySource(Protocol):
    """An open file of arrays, in any format, whole as far as its headers tell."""

    @property
    def order(self) -> Order | None:
        """Order of the axes of theta_q, where the file says so itself; known after `headers`."""
        ...

    @property
    def notes(self) -> tuple[str, ...]:
        """Notes on how it was read, and on arrays that were left unread."""
        ...

    def headers(self) -> Mapping[str, ArrayHeader]:
        """Return the header of each array by its name in the file.

        Raises:
            ValueError: for headers that cannot be read or that lie about the file.
        """
        ...

    def load(self, name: str) -> NDArray[np.generic]:
        """Read one array, in its working type.

        Raises:
            ValueError: when its bytes are cut short or damaged.
        """
        ...

    def close(self) -> None:
        """Close what was opened."""
        ...


def is_real(array: NDArray[np.generic]) -> TypeGuard[Array]:
    """Whether an array in its working type holds real numbers."""
    return array.dtype.kind == "f"


def working_dtype(dtype: np.dtype[np.generic]) -> np.dtype[np.generic]:
    """The type an array is worked on in: small numbers become float32, large ones float64."""
    if dtype.kind not in "fiub":
        return dtype
    wide = np.promote_types(dtype, np.float32)
    return np.dtype(np.float64) if wide.itemsize > 8 else wide


def as_working_dtype(array: NDArray[np.generic], *, copy: bool = False) -> NDArray[np.generic]:
    """The array in its working type, copied where that is another one, or where asked to."""
    with np.errstate(over="ignore", invalid="ignore"):
        return array.astype(working_dtype(array.dtype), copy=copy)


def read_into(stream: Any, array: NDArray[np.generic]) -> NDArray[np.generic]:
    """Fill an array with the next bytes of a stream, without a second copy of them; return it.

    Raises:
        EOFError: when they end too early.
    """
    into = array.reshape(-1).view(np.uint8) if array.nbytes else np.empty(0, np.uint8)
    done = 0
    while done < array.nbytes:
        got = stream.readinto(into[done : done + _CHUNK].data)
        if not got:
            raise EOFError
        done += got
    return array


def check_headers(declared: Mapping[str, ArrayHeader], limit: float) -> Mapping[str, ArrayHeader]:
    """Return the headers, if they declare plain numbers or text and no more than the limit.

    Args:
        declared: header of each array by its name.
        limit: bytes that the arrays may take together; `math.inf` for any number.

    Raises:
        ValueError: for pickled objects, negative sizes, or more bytes than the limit.
    """
    objects = [name for name, header in declared.items() if header.dtype.hasobject]
    if objects:
        ragged = (
            " Rows of different lengths become an array by import validation_core as npt; "
            "npt.Table(theta, x, theta_q).save('table.npz')."
        )
        raise ValueError(
            f"Arrays must hold plain numbers or text; got pickled Python objects in "
            f"{names_text(objects)}, which are never loaded. Save them as numbers, names with "
            f".astype(str), or leave them out.{ragged * bool({'x', 'theta_q'} & {*objects})}"
        )
    if len(declared) > ARRAYS:
        raise ValueError(
            f"A file must hold at most {ARRAYS} arrays; got {len(declared)}. Save theta, x and "
            f"theta_q alone."
        )
    for name, header in declared.items():
        if len(header.shape) > _AXES or not all(0 <= s < _AXIS_LENGTH for s in header.shape):
            raise ValueError(
                f"An array must have at most {_AXES} axes of lengths from 0 to 2**62; got "
                f"{label(name)!r}, which declares others. The file is damaged: save it "
                f"again."
            )
    total = sum(header.nbytes for header in declared.values())
    if total > limit:
        name, largest = max(declared.items(), key=lambda item: item[1].nbytes)
        raise ValueError(
            f"The arrays of a file must take at most {size_text(limit)}; got {size_text(total)} "
            f"declared by its headers, most of it {label(name)!r} of shape {largest.shape} in "
            f"{largest.dtype}. Keep fewer draws at each x (50 to 200 are plenty) or save as "
            f"float32."
        )
    return declared


def check_total_size(several: Sequence[Mapping[str, ArrayHeader]], limit: int) -> None:
    """Refuse files that are small enough alone but not together.

    Args:
        several: headers of each file by the name of the array.
        limit: bytes that all arrays may take together.

    Raises:
        ValueError: for more bytes than the limit.
    """
    total = sum(header.nbytes for declared in several for header in declared.values())
    if total > limit:
        raise ValueError(
            f"The arrays of files that are read together must take at most {size_text(limit)}; "
            f"got {size_text(total)} in {len(several)} files. Keep fewer draws at each x, or "
            f"compare fewer tables."
        )


def size_text(count: float) -> str:
    """A number of bytes: `512 MB`."""
    if count >= 1e15:
        return "more than 1000 TB"
    for unit in ("bytes", "kB", "MB", "GB"):
        if count < 999.5:
            return f"{count:.3g} {unit}"
        count /= 1000
    return f"{count:.3g} TB"
