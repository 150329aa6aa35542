"""What every kind of file offers: headers that are checked first, and arrays read one by one.

An upload is never trusted. A source tells the shape and type of each array from the file's own
headers; sizes are added up from these, and nothing is unpacked before they have been accepted.
"""

from __future__ import annotations

import math
import os
import re
import struct
import unicodedata
import zipfile
import zlib
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, NamedTuple, Protocol, TypeGuard

import numpy as np
from numpy.typing import NDArray

from validation_core.settings import FILES
from validation_core.types import Array

Order = Literal["NKD", "KND"]
ORDERS: tuple[Order, ...] = ("NKD", "KND")


class AmbiguousOrder(ValueError):
    """The draws' first two axes are equally long: only the user can say which is which.

    A question to the user rather than a fault; pages ask it with a radio.
    """


class UnknownArrays(ValueError):
    """Arrays whose names do not tell a table: only the user can say which is which.

    A question to the user rather than a fault; pages ask it with a form.
    """

    def __init__(self, message: str, shapes: Mapping[str, tuple[int, ...]]) -> None:
        super().__init__(message)
        self.shapes = dict(shapes)
        """Of every array there is, by its name."""


LIMIT = 512 * 2**20
"""Bytes that the arrays of one file may take in memory."""

ARRAYS = 64
"""Arrays that one file may hold."""

HDF5, PARQUET = b"\x89HDF\r\n\x1a\n", b"PAR1"
"""How these files begin."""

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
"""What libraries raise at a damaged file; a warning where warnings are errors. Memory that is
used up is no damage: `child` tells it as the bound that it is."""


_NO_MEMORY = ("alloc", "out of memory", "cannot contain more than")


def is_memory_error(error: Exception) -> bool:
    """Whether an error of a library says that memory was what it lacked."""
    return isinstance(error, MemoryError) or any(w in str(error).lower() for w in _NO_MEMORY)


SMALLER = "Keep fewer draws at each x (50 to 200 are plenty), or save arrays with numpy.savez."


def memory_refusal(memory: int) -> str:
    """What is said of a file that needs more memory than a reader has."""
    return (
        f"A file must be read in at most {size_text(memory)} of memory; got one that takes more. "
        f"{SMALLER}"
    )


class ArrayHeader(NamedTuple):
    """What a file declares about one of its arrays."""

    shape: tuple[int, ...]
    dtype: np.dtype[np.generic]

    @property
    def nbytes(self) -> int:
        """Bytes of the array as stored or as worked on, by Python's unbounded integers."""
        return math.prod(self.shape) * max(self.dtype.itemsize, working_dtype(self.dtype).itemsize)


class ArraySource(Protocol):
    """A file of some format, opened and found whole as far as its headers tell."""

    order: Order | None
    """Which axis of theta_q is which, where the file says so itself; known after `headers`."""
    notes: tuple[str, ...]
    """What a user should know about what was left unread."""

    def headers(self) -> Mapping[str, ArrayHeader]:
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


def is_real(array: NDArray[np.generic]) -> TypeGuard[Array]:
    """Whether an array in its working type holds real numbers."""
    return array.dtype.kind == "f"


def working_dtype(dtype: np.dtype[np.generic]) -> np.dtype[np.generic]:
    """The type an array is worked on in: small numbers become float32, large ones float64."""
    if dtype.kind not in "fiub":
        return dtype
    wide = np.promote_types(dtype, np.float32)
    return np.dtype(np.float64) if wide.itemsize > 8 else wide


def as_working_dtype(array: NDArray[np.generic]) -> NDArray[np.generic]:
    """The array in its working type, copied only where that is another one."""
    with np.errstate(over="ignore", invalid="ignore"):
        return array.astype(working_dtype(array.dtype), copy=False)


def read_into(stream: Any, array: NDArray[np.generic]) -> NDArray[np.generic]:
    """The array, filled with the next bytes of a stream without a second copy of them.

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
    """The headers, if nothing in them is an object or more than memory is given for.

    Args:
        declared: by the name of each array.
        limit: bytes that they may take together; `math.inf` where that is asked later.

    Raises:
        ValueError: for pickled objects, negative sizes, or more bytes than the limit.
    """
    objects = [name for name, header in declared.items() if header.dtype.hasobject]
    if objects:
        raise ValueError(
            f"Arrays must hold plain numbers or text; got pickled Python objects in "
            f"{names_text(objects)}, which are never loaded. Save them as numbers, names with "
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
            f"The arrays of a file must take at most {size_text(limit)}; got {size_text(total)} "
            f"declared by its headers, most of it {label(name)!r} of shape {largest.shape} in "
            f"{largest.dtype}. Keep fewer draws at each x (50 to 200 are plenty) or save as "
            f"float32."
        )
    return declared


def check_total_size(several: Sequence[Mapping[str, ArrayHeader]], limit: int) -> None:
    """Refuse files that are small enough alone but not together.

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
    """A number of bytes, in words."""
    if count >= 1e15:
        return "more than 1000 TB"
    for unit in ("bytes", "kB", "MB", "GB"):
        if count < 999.5:
            return f"{count:.3g} {unit}"
        count /= 1000
    return f"{count:.3g} TB"


# ---- Which array of a file is what: public names, other tools' names for them, and labels ----


ROLES: Mapping[str, tuple[str, ...]] = {
    "theta": ("theta", "thetas", "theta_true", "true_theta", "targets", "trues", "prior_samples"),
    "x": ("x", "xs", "data", "observations", "observables"),
    "theta_q": ("theta_q", "posterior_samples", "samples", "estimates", "posterior", "draws"),
    "p": ("p",),
    "q": ("q",),
    "theta_names": ("theta_names", "parameter_names", "variable_names", "names"),
    "x_names": ("x_names",),
    "periods": ("periods",),
    "log_q": ("log_q", "log_prob_true"),
    "log_q_draws": ("log_q_draws", "log_prob_samples"),
    "log_joint": ("log_joint",),
    "log_joint_draws": ("log_joint_draws",),
    "x_o": ("x_o", "x_observed"),
    "theta_o": ("theta_o", "posterior_samples_o"),
}
"""What each array is for: its own name first, then the names sbi, BayesFlow and tarp use."""

_LABEL_LENGTH = 40
_NAME_LENGTH = 120
_READ_LENGTH = 1000  # characters of a name that are looked at
_LAST_CODE, _REPLACEMENT = 0x10FFFF, 0xFFFD  # of Unicode


class _Roles(NamedTuple):
    """Array name for each role that was found, and what is said about the others."""

    found: dict[str, str]
    notes: tuple[str, ...]


def find_roles(arrays: Iterable[str], chosen: Mapping[str, str] | None = None) -> _Roles:
    """Which array plays which role; capitals do not matter, the first alias present wins.

    Args:
        arrays: their names.
        chosen: role and array, as the user says; those that are not there are passed over.
    """
    by_role = {role: name for role, name in (chosen or {}).items() if name in set(arrays)}
    present: dict[str, str] = {}
    for name in arrays:
        if name not in by_role.values():
            present.setdefault(name.lower(), name)
    for role, aliases in ROLES.items():
        names = [present[alias] for alias in aliases if alias in present]
        if names:
            by_role.setdefault(role, names[0])
    used = set(by_role.values())
    return _Roles(by_role, tuple(_unread(name) for name in arrays if name not in used))


def roles_complete(roles: Collection[str]) -> bool:
    """Whether these roles make a table or, without draws at each x, two samples."""
    return {"theta", "x", "theta_q"} <= {*roles} or (
        {"p", "q"} <= {*roles} and "theta_q" not in roles
    )


def check_chosen_roles(chosen: Mapping[str, str], shapes: Mapping[str, tuple[int, ...]]) -> None:
    """Refuse what a user says of arrays where it cannot be.

    Args:
        chosen: role and array.
        shapes: of the arrays that there are.

    Raises:
        ValueError: for a role or an array that there is not, or an array of two roles.
    """
    if unknown := [role for role in chosen if role not in ROLES]:
        raise ValueError(
            f"An array is one of {', '.join(ROLES)}; got {names_text(unknown)}. Choose among "
            f"those."
        )
    if lost := [name for name in chosen.values() if name not in shapes]:
        raise ValueError(
            f"Name arrays that the file holds; got {names_text(lost)}, and it holds "
            f"{shapes_text(shapes)}. Correct the name."
        )
    if len(set(chosen.values())) < len(chosen):
        pairs = ", ".join(f"{role} = {label(name)}" for role, name in chosen.items())
        raise ValueError(f"Each array is one thing; got {pairs}. Choose another array for one.")


def guess_roles(shapes: Mapping[str, tuple[int, ...]]) -> dict[str, str]:
    """Which array is probably theta, x and theta_q, by names that are known and by shapes.

    Draws have three axes, theta has as many columns as they and as many rows as one of their
    first two axes is long, x as many rows. What cannot be guessed is left out.
    """
    roles = {r: a for r, a in find_roles(shapes).found.items() if r in ("theta", "x", "theta_q")}
    free = {name: shape for name, shape in shapes.items() if name not in roles.values()}

    def choose(role: str, fits: Callable[[tuple[int, ...]], bool]) -> tuple[int, ...] | None:
        names = [name for name, shape in free.items() if fits(shape)]
        if role not in roles and names:
            roles[role] = min(names, key=lambda name: not _HINTS[role] & _words(name))
            free.pop(roles[role])
        return shapes.get(roles.get(role, ""))

    draws = choose("theta_q", lambda shape: len(shape) == 3)
    if draws is None or len(draws) < 3:
        return roles
    theta = choose("theta", lambda shape: len(shape) == 2 and shape in _paired(draws))
    if theta is not None:
        choose("x", lambda shape: len(shape) > 1 and shape[0] == theta[0])
    return roles


_HINTS = {
    "theta": frozenset({"theta", "parameters", "parameter", "params", "param", "true", "truth"}),
    "x": frozenset({"x", "data", "obs", "observed", "observations", "summaries"}),
    "theta_q": frozenset({"posterior", "samples", "draws"}),
}
"""Words in a name that decide between arrays of the same shape."""


def _words(name: str) -> frozenset[str]:
    return frozenset(re.split(r"[^a-z0-9]+", name.lower()))


def _paired(draws: tuple[int, ...]) -> tuple[tuple[int, int], ...]:
    """Shapes that theta may have beside draws."""
    return (draws[0], draws[2]), (draws[1], draws[2])


def shapes_text(shapes: Mapping[str, tuple[int, ...]]) -> str:
    """Arrays with their shapes, fit to be shown; at most twenty of them."""
    texts = [f"{label(name) or '(no name)'} {shape_text(shape)}" for name, shape in shapes.items()]
    more = f" and {len(texts) - 20} more" if len(texts) > 20 else ""
    return ", ".join(texts[:20]) + more or "nothing"


def shape_text(shape: tuple[int, ...]) -> str:
    return f"({', '.join(map(str, shape))})"


def _unread(name: str) -> str:
    return f"{label(name)!r} was left unread: no test knows an array of that name."


def label(text: str, longest: int = _LABEL_LENGTH) -> str:
    """A name fit to be shown: one line of printable characters, cut to a readable length.

    Escaping for HTML or markdown is left to whatever draws it.
    """
    text = text[:_READ_LENGTH]
    printable = "".join(c for c in text if not unicodedata.category(c).startswith("C"))
    printable = " ".join(printable.split())
    return printable if len(printable) <= longest else printable[: longest - 1] + "…"


def printable_names(names: Iterable[str]) -> dict[str, str]:
    """Each array's own name by one of printable characters, of bounded length and its own."""
    plain: dict[str, str] = {}
    for name in names:
        short = name[:_NAME_LENGTH]
        if not short.isprintable():
            short = short.encode("unicode_escape").decode("ascii")
        stem, count = short or "(no name)", 1
        while short in plain or not short:
            count += bool(short)
            short = f"{stem} ({count})" if count > 1 else stem
        plain[short] = name
    return plain


def names_text(names: Iterable[str]) -> str:
    """Names fit to be shown, in a row; at most twenty of them."""
    texts = [label(name) or "(no name)" for name in names]
    more = f" and {len(texts) - 20} more" if len(texts) > 20 else ""
    return ", ".join(texts[:20]) + more or "nothing"


def column_labels(
    given: NDArray[np.generic] | None, stem: str, count: int
) -> tuple[tuple[str, ...], str | None]:
    """`count` labels, and a warning when the given ones cannot be used."""
    numbered = tuple(f"{stem}_{i + 1}" for i in range(count))
    if given is None:
        return numbered, None
    flat = given.reshape(-1)
    if given.dtype.kind not in "US" or len(flat) != count:
        return numbered, (
            f"{stem}_names should be {count} strings; got {label(str(given.dtype))} of shape "
            f"{given.shape}, so numbers are shown instead."
        )
    texts: Sequence[bytes | str] = truncate_text(flat).tolist()
    decoded = [t.decode("utf-8", "replace") if isinstance(t, bytes) else t for t in texts]
    return tuple(label(t) or n for t, n in zip(decoded, numbered, strict=True)), None


def truncated_dtype(dtype: np.dtype[np.generic]) -> np.dtype[np.generic]:
    """The type of text cut to the characters that are looked at; any other type as it is."""
    if dtype.kind not in "US" or dtype.itemsize == 0:
        return dtype
    width = dtype.itemsize // np.dtype(f"{dtype.kind}1").itemsize
    return np.dtype(f"{dtype.kind}{min(width, _READ_LENGTH)}")


def truncate_text(array: NDArray[np.generic]) -> NDArray[np.generic]:
    """Text (n,) cut to the characters that are looked at; what is no character is replaced."""
    short = truncated_dtype(array.dtype)
    if short.kind != "U" or not array.size or not short.itemsize:
        return array.astype(short, copy=False)
    order = np.dtype(np.uint32).newbyteorder(array.dtype.byteorder)
    codes = np.ascontiguousarray(array).view(order).reshape(len(array), -1)
    native = np.ascontiguousarray(codes[:, : short.itemsize // 4], np.uint32)
    return np.where(native > _LAST_CODE, _REPLACEMENT, native).astype(np.uint32).view(short)[:, 0]


# ---- Files that are on the server's own machine: samples, and what its operator allows ----
#
# That is off unless NPTLAB_FILES names a folder. A path is followed to where it really leads
# before it is compared with the folder, so that neither `..` nor a link leads out of it.


ENDINGS = (".npz", ".npy", ".csv", ".parquet", ".h5", ".hdf5", ".nc", ".netcdf")

MOST_FILES_LISTED = 200
_VISITED = 20_000
_DEPTH = 6


class FileListing(NamedTuple):
    """Files that can be read, as texts that `within` takes, and what is said when some are not
    listed."""

    files: tuple[str, ...]
    cut: str | None


def data_folder() -> Path | None:
    """The folder whose files may be read; None where the operator allows none.

    Raises:
        ValueError: when it is set to something that is no folder.
    """
    return FILES.value()


def resolve_in_folder(folder: Path, text: str) -> Path:
    """The file that a user's text names, if it lies in the folder.

    Args:
        folder: the folder that the operator allows.
        text: a path relative to it, or a whole path that leads into it.

    Raises:
        ValueError: for anything else; the words do not tell whether a file outside exists.
    """
    name = label(text)
    try:
        root = folder.resolve(strict=True)
        path = (root / text).resolve(strict=True)
        inside = path.is_relative_to(root) and path.is_file()
    except (OSError, RuntimeError, ValueError):
        inside = False
    if not text.strip() or not inside:
        raise ValueError(
            f"A path must name a file in the folder that this server allows; got {name!r}. "
            f"Choose one from its list."
        )
    return path


def list_files(folder: Path) -> FileListing:
    """The files below a folder that can be read, by name; links are left out."""
    files: list[str] = []
    cut = None
    for visited, path in enumerate(_walk(folder, _DEPTH)):
        if visited >= _VISITED or len(files) >= MOST_FILES_LISTED:
            cut = f"Only the first {len(files)} files are listed; name another by its path."
            break
        if path.suffix.lower() in ENDINGS:
            files.append(path.relative_to(folder).as_posix())
    return FileListing(tuple(files), cut)


def _walk(folder: Path, depth: int) -> Iterator[Path]:
    """Everything below a folder that is no link: files first, then the folders within."""
    try:
        with os.scandir(folder) as entries:
            here = sorted((e for e in entries if not e.is_symlink()), key=lambda e: e.name)
    except OSError:
        return
    yield from (Path(entry.path) for entry in here if entry.is_file())
    for entry in here:
        if entry.is_dir() and depth and not entry.name.startswith("."):
            yield from _walk(Path(entry.path), depth - 1)


# ---- Two small tables to try a diagnosis on, of a posterior that is known exactly ----

SAMPLES: Mapping[str, str] = {
    "sample_well_trained": (
        "draws of the exact posterior of a straight line seen at five places: what a perfectly "
        "trained estimator would give (400 rows, 50 draws at each)"
    ),
    "sample_undertrained": (
        "the same line with draws from a posterior 30% too narrow, its slope 0.3 posterior sd too "
        "high: what an undertrained estimator often gives (400 rows, 50 draws at each)"
    ),
}
"""What each sample is, in a sentence for the page that offers it."""


def sample_path(name: str) -> Path:
    """Where a sample lies."""
    return Path(__file__).parents[1] / "data" / f"{name}.npz"
