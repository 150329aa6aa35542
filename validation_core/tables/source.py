"""What every kind of file offers: headers that are checked first, and arrays read one by one.

An upload is never trusted. A source tells the shape and type of each array from the file's own
headers; sizes are added up from these, and nothing is unpacked before they have been accepted.
"""

from __future__ import annotations

import math
import struct
import unicodedata
import zipfile
import zlib
from collections.abc import Iterable, Mapping, Sequence
from typing import Literal, NamedTuple, Protocol, TypeGuard

import numpy as np
from numpy.typing import NDArray

from validation_core.types import Array

Order = Literal["NKD", "KND"]
ORDERS: tuple[Order, ...] = ("NKD", "KND")


class AmbiguousOrder(ValueError):
    """The draws' first two axes are equally long: only the user can say which is which.

    A question to the user rather than a fault; pages ask it with a radio.
    """


LIMIT = 512 * 2**20
"""Bytes that the arrays of one file may take in memory."""

ARRAYS = 64
"""Arrays that one file may hold."""

HDF5, PARQUET = b"\x89HDF\r\n\x1a\n", b"PAR1"
"""How these files begin."""

_AXES = 32
_AXIS_LENGTH = 2**62

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


class _Header(NamedTuple):
    """What a file declares about one of its arrays."""

    shape: tuple[int, ...]
    dtype: np.dtype[np.generic]

    @property
    def nbytes(self) -> int:
        """Bytes of the array as stored or as worked on, by Python's unbounded integers."""
        return math.prod(self.shape) * max(self.dtype.itemsize, _working(self.dtype).itemsize)


class _Source(Protocol):
    """A file of some format, opened and found whole as far as its headers tell."""

    order: Order | None
    """Which axis of theta_q is which, where the file says so itself; known after `headers`."""
    notes: tuple[str, ...]
    """What a user should know about what was left unread."""

    def headers(self) -> Mapping[str, _Header]:
        """Each array by its name in the file, unread.

        Raises:
            ValueError: for headers that cannot be read or that lie about the file.
        """
        ...

    def load(self, name: str) -> NDArray[np.generic]:
        """One array, in its working type.

        Raises:
            ValueError: when its bytes are cut short or damaged.
        """
        ...

    def close(self) -> None:
        """Let go of what was opened beside the stream itself."""
        ...


def _is_real(array: NDArray[np.generic]) -> TypeGuard[Array]:
    """Whether an array in its working type holds real numbers."""
    return array.dtype.kind == "f"


def _working(dtype: np.dtype[np.generic]) -> np.dtype[np.generic]:
    """The type an array is worked on in: small numbers become float32, large ones float64."""
    if dtype.kind not in "fiub":
        return dtype
    wide = np.promote_types(dtype, np.float32)
    return np.dtype(np.float64) if wide.itemsize > 8 else wide


def _worked(array: NDArray[np.generic]) -> NDArray[np.generic]:
    """The array in its working type, copied only where that is another one."""
    with np.errstate(over="ignore", invalid="ignore"):
        return array.astype(_working(array.dtype), copy=False)


def _accepted(declared: Mapping[str, _Header], limit: int) -> Mapping[str, _Header]:
    """The headers, if nothing in them is an object or more than memory is given for.

    Raises:
        ValueError: for pickled objects, negative sizes, or more bytes than the limit.
    """
    objects = [name for name, header in declared.items() if header.dtype.hasobject]
    if objects:
        raise ValueError(
            f"Arrays must hold plain numbers or text; got pickled Python objects in "
            f"{_listed(objects)}, which are never loaded. Save them as numbers, names with "
            f".astype(str), or leave them out."
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
            f"The arrays of a file must take at most {_size(limit)}; got {_size(total)} declared "
            f"by its headers, most of it {label(name)!r} of shape {largest.shape} in "
            f"{largest.dtype}. Keep fewer draws at each x (50 to 200 are plenty) or save as "
            f"float32."
        )
    return declared


def _together(several: Sequence[Mapping[str, _Header]], limit: int) -> None:
    """Refuse files that are small enough alone but not together.

    Raises:
        ValueError: for more bytes than the limit.
    """
    total = sum(header.nbytes for declared in several for header in declared.values())
    if total > limit:
        raise ValueError(
            f"The arrays of files that are read together must take at most {_size(limit)}; got "
            f"{_size(total)} in {len(several)} files. Keep fewer draws at each x, or compare "
            f"fewer tables."
        )


def _size(count: int) -> str:
    """A number of bytes, in words."""
    for unit in ("bytes", "kB", "MB", "GB", "TB"):
        if count < 1000:
            return f"{count:.3g} {unit}"
        count //= 1000
    return "more than 1000 TB"


# ---- Which array of a file is what: public names, other tools' names for them, and labels ----


ROLES: Mapping[str, tuple[str, ...]] = {
    "theta": ("theta", "thetas", "theta_true", "true_theta", "targets", "trues", "prior_samples"),
    "x": ("x", "xs", "data", "observations", "observables"),
    "theta_q": ("theta_q", "posterior_samples", "samples", "estimates", "posterior", "draws"),
    "p": ("p",),
    "q": ("q",),
    "theta_names": ("theta_names", "parameter_names", "variable_names", "names"),
    "x_names": ("x_names",),
    "log_q": ("log_q", "log_prob_true"),
    "log_q_draws": ("log_q_draws", "log_prob_samples"),
    "log_joint": ("log_joint",),
    "log_joint_draws": ("log_joint_draws",),
    "x_o": ("x_o", "x_observed"),
    "theta_o": ("theta_o", "posterior_samples_o"),
}
"""What each array is for: its own name first, then the names sbi, BayesFlow and tarp use."""

_LABEL_LENGTH = 40


class _Roles(NamedTuple):
    """Array name for each role that was found, and what is said about the others."""

    found: dict[str, str]
    notes: tuple[str, ...]


def _roles(arrays: Iterable[str]) -> _Roles:
    """Which array plays which role; capitals do not matter, the first alias present wins."""
    present: dict[str, str] = {}
    for name in arrays:
        present.setdefault(name.lower(), name)
    by_role: dict[str, str] = {}
    for role, aliases in ROLES.items():
        names = [present[alias] for alias in aliases if alias in present]
        if names:
            by_role[role] = names[0]
    used = set(by_role.values())
    return _Roles(by_role, tuple(_unread(name) for name in arrays if name not in used))


def _unread(name: str) -> str:
    return f"{label(name)!r} was left unread: no test knows an array of that name."


def label(text: str, longest: int = _LABEL_LENGTH) -> str:
    """A name fit to be shown: one line of printable characters, cut to a readable length.

    Escaping for HTML or markdown is left to whatever draws it.
    """
    printable = "".join(c for c in text if not unicodedata.category(c).startswith("C"))
    printable = " ".join(printable.split())
    return printable if len(printable) <= longest else printable[: longest - 1] + "…"


def _listed(names: Iterable[str]) -> str:
    """Names fit to be shown, in a row; at most twenty of them."""
    texts = [label(name) or "(no name)" for name in names]
    more = f" and {len(texts) - 20} more" if len(texts) > 20 else ""
    return ", ".join(texts[:20]) + more or "nothing"


def _labels_or_numbers(
    given: NDArray[np.generic] | None, stem: str, count: int
) -> tuple[tuple[str, ...], str | None]:
    """`count` labels, and a warning when the given ones cannot be used."""
    numbered = tuple(f"{stem}_{i + 1}" for i in range(count))
    if given is None:
        return numbered, None
    flat = given.reshape(-1)
    if given.dtype.kind not in "US" or len(flat) != count:
        return numbered, (
            f"{stem}_names should be {count} strings; got {given.dtype} of shape {given.shape}, "
            f"so numbers are shown instead."
        )
    try:
        texts: Sequence[bytes | str] = flat.tolist()
    except ValueError:  # code points beyond Unicode
        return numbered, f"{stem}_names should be text; got other bytes, so numbers are shown."
    decoded = [t.decode("utf-8", "replace") if isinstance(t, bytes) else t for t in texts]
    return tuple(label(t) or n for t, n in zip(decoded, numbered, strict=True)), None
