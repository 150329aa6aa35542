"""HDF5 files: groups, datasets and their headers; nothing is followed out of the file."""

from __future__ import annotations

import io
import math
import zlib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any, BinaryIO, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from validation_core.tables import source
from validation_core.tables.source import (
    BROKEN,
    ArrayHeader,
    Order,
    as_working_dtype,
    read_into,
    working_dtype,
)

if TYPE_CHECKING:
    import h5py
    from h5py.h5p import PropDCID

_Member: TypeAlias = "h5py.Group | h5py.Dataset"

SIMULATIONS = frozenset(
    {"sim", "sims", "sim_id", "simulation", "simulations", "simulation_id", "dataset", "datasets"}
)
"""What the axis of simulations is called, where axes have names."""
DRAWS = frozenset({"draw", "draws", "sample", "samples"})

_MEMBERS = 4096  # of a group
_OBJECTS = 10_000  # that are looked at in one file
_LINKS = 20_000  # that are followed in one file
_STEPS = 8  # soft links followed one after another
_ATTRIBUTE = 4096  # bytes of one that is read
WHOLE = "An HDF5 file must be whole; got one that is truncated or damaged. Save or copy it again."


class HdfFile:
    """An open HDF5 file: its groups and datasets, and their numbers.

    Raises:
        ValueError: for anything but a whole HDF5 file.
    """

    def __init__(self, stream: BinaryIO, limit: int) -> None:
        import h5py

        self.limit = limit
        self._stream = stream
        self._length = stream.seek(0, io.SEEK_END)
        self._objects = self._links = 0
        self._notes: list[str] = []
        stream.seek(0)
        try:
            self._file = h5py.File(stream, "r", locking=False)
        except BROKEN:
            raise ValueError(WHOLE) from None

    def close(self) -> None:
        """Let the library forget the file; the stream stays open."""
        self._file.close()

    def members(self, group: h5py.Group | None = None) -> dict[str, _Member]:
        """Groups and datasets of a group by name, soft links followed inside the file.

        Raises:
            ValueError: for a link out of the file, or a damaged group.
        """
        import h5py

        group = self._file if group is None else group
        try:
            if len(group) > _MEMBERS:
                count = len(group)
            else:
                self._objects += len(group)
                if self._objects > _OBJECTS:
                    raise _NotFollowed(
                        f"An HDF5 file must hold at most {_OBJECTS:,} arrays and groups; got "
                        f"more. Save theta, x and theta_q alone."
                    )
                # The library cannot follow a name that is no UTF-8, and gives it as bytes.
                names = [name for name in group if isinstance(name, str)]
                entries = {name: self._follow(group, name, _STEPS) for name in names}
                count = 0
        except BROKEN as error:
            raise ValueError(str(error) if isinstance(error, _NotFollowed) else WHOLE) from None
        if count:
            raise ValueError(
                f"A group of an HDF5 file must hold at most {_MEMBERS:,} arrays; got {count:,}. "
                f"Save theta, x and theta_q alone."
            )
        return {
            name: entry
            for name, entry in entries.items()
            if isinstance(entry, h5py.Group) or (is_dataset(entry) and _has_type(entry))
        }

    def _follow(self, group: h5py.Group, path: str, steps: int) -> _Member | None:
        import h5py

        here = self._file if path.startswith("/") else group
        for name in filter(None, path.split("/")):
            if name == ".":
                continue
            self._links += 1
            if self._links > _LINKS:
                raise _NotFollowed(
                    f"The links of an HDF5 file must be followed in {_LINKS:,} steps; got more. "
                    f"Save the arrays at the root."
                )
            link = here.get(name, getlink=True) if isinstance(here, h5py.Group) else None
            if isinstance(link, h5py.ExternalLink):
                raise _NotFollowed(
                    f"An HDF5 file must hold its arrays itself; got {source.label(name)!r}, a "
                    f"link to another file. Save the arrays in one file."
                )
            if isinstance(link, h5py.SoftLink):
                here = self._follow(here, str(link.path), steps - 1) if steps else None
            else:
                here = here[name] if link is not None else None
        return here

    def header(self, dataset: h5py.Dataset, name: str) -> ArrayHeader:
        """What a dataset declares.

        Raises:
            ValueError: for numbers that are kept elsewhere, oddly packed or of no fixed length.
        """
        try:
            reason = (
                _no_array(name)
                if dataset.shape is None or dataset.dtype.kind == "O"
                else _refusal(dataset, name, self.limit)
            )
            declared = ArrayHeader(tuple(int(s) for s in dataset.shape or ()), dataset.dtype)
        except BROKEN:
            raise ValueError(WHOLE) from None
        if reason:
            raise ValueError(reason)
        return declared

    def load(self, dataset: h5py.Dataset, name: str) -> NDArray[np.generic]:
        """The numbers of a dataset whose header was accepted, in their working type.

        Raises:
            ValueError: when its bytes are missing or damaged.
        """
        try:
            empty = 0 not in dataset.shape and _is_unwritten(dataset)
        except BROKEN:
            raise ValueError(WHOLE) from None
        if empty:
            raise ValueError(
                f"An array must hold numbers; got {source.label(name)!r}, which was declared and "
                f"never written. Save the file again when it is."
            )
        try:
            numbers, unwritten = _read_dataset(dataset, self._stream, self._length)
            missing = _missing_values(dataset)
            fill = str(dataset.fillvalue) if unwritten else ""
        except BROKEN as error:
            if source.is_memory_error(error):
                raise
            raise ValueError(
                f"The bytes of an array must be whole; got {source.label(name)!r} truncated or "
                f"damaged. Save or copy the file again."
            ) from None
        if unwritten:
            self._notes.append(
                f"{unwritten:,} values of {source.label(name)} were never written: the file's "
                f"fill value {source.label(fill)} stands for them."
            )
        return self._without(missing, numbers, name)

    def _without(
        self, missing: Sequence[np.generic], numbers: NDArray[np.generic], name: str
    ) -> NDArray[np.generic]:
        """The numbers in their working type, NaN where they are one of those that mean none."""
        worked = as_working_dtype(numbers)
        for value in missing:
            here = numbers == value
            if count := int(np.count_nonzero(here)):
                worked[here] = np.nan
                are = "value of {} is" if count == 1 else "values of {} are"
                self._notes.append(
                    f"{count:,} {are.format(source.label(name))} the file's missing value "
                    f"{value:g}: treated as missing."
                )
        return worked

    def new_notes(self) -> tuple[str, ...]:
        """What is to be said of the arrays that were read since this was asked."""
        notes, self._notes = tuple(self._notes), []
        return notes

    def dims(self, dataset: h5py.Dataset) -> tuple[str, ...]:
        """What the axes of a dataset are called, as netCDF keeps it; empty where it is unknown."""
        try:
            scales = [len(axis) and axis[0].name for axis in dataset.dims]
            if scales and all(scales):
                return tuple(str(scale).rpartition("/")[2].lower() for scale in scales)
            if "_ARRAY_DIMENSIONS" in dataset.attrs and dataset.attrs.get_id(
                "_ARRAY_DIMENSIONS"
            ).shape == (len(dataset.shape),):
                dimensions = dataset.attrs["_ARRAY_DIMENSIONS"]
                return tuple(
                    str(dimension).lower() for dimension in np.asarray(dimensions).astype(str)
                )
        except BROKEN:
            return ()
        return ()


def is_dataset(member: _Member) -> bool:
    """Whether a member of a group is an array rather than a group."""
    import h5py

    return isinstance(member, h5py.Dataset)


def _has_type(dataset: h5py.Dataset) -> bool:
    """Whether its type is one that NumPy knows."""
    try:
        return dataset.dtype is not None
    except BROKEN:
        return False


class _NotFollowed(ValueError):
    """A link that leads out of the file, or one too many."""


def _no_array(name: str) -> str:
    return (
        f"An array of an HDF5 file must have a shape and a type of fixed length; got "
        f"{source.label(name)!r}, which has not. Save it as float32 or float64."
    )


def _is_scale(dataset: h5py.Dataset) -> bool:
    """Whether a dataset only labels an axis."""
    try:
        return bool(_attribute(dataset, "CLASS") == b"DIMENSION_SCALE")
    except BROKEN:
        return False


def _attribute(dataset: h5py.Dataset, name: str) -> Any:
    """An attribute; None where there is none, or one that is longer than is read."""
    if name not in dataset.attrs or dataset.attrs.get_id(name).get_storage_size() > _ATTRIBUTE:
        return None
    return dataset.attrs[name]


def _missing_values(dataset: h5py.Dataset) -> list[np.generic]:
    """The numbers by which a dataset says that there is none, in its own type (CF, 2.5)."""
    if dataset.dtype.kind not in "fiu":
        return []
    values: list[np.generic] = []
    for name in ("_FillValue", "missing_value"):
        for value in np.ravel(_attribute(dataset, name)):
            own = _in_type(value, dataset.dtype)
            if own is not None and own not in values:
                values.append(own)
    return values


def _in_type(value: Any, dtype: np.dtype[np.generic]) -> np.generic | None:
    """A number in another type; None where no number of that type equals it, as none does NaN."""
    if not isinstance(value, np.number | np.bool_) or not np.isreal(value) or np.isnan(value):
        return None
    if dtype.kind in "iu":
        bounds = np.iinfo(dtype.str)
        if not (np.isfinite(value) and bounds.min <= value <= bounds.max and value == int(value)):
            return None
    with np.errstate(over="ignore"):
        return dtype.type(value)


# ---- The numbers of an HDF5 dataset, read from the file's own bytes ----


_CHUNKS = 200_000
_PACKINGS = ("scale_factor", "add_offset", "_Unsigned")  # attributes of netCDF
_COMPACT = 2**16
_WORDS = 2**20
_DEFLATE, _SHUFFLE, _FLETCHER32 = 1, 2, 3  # the filters' numbers in the format


def _refusal(dataset: h5py.Dataset, name: str, limit: int) -> str | None:
    """Why the bytes of a dataset are not read, known from its headers; or None."""
    from h5py import h5d, h5t

    plist = dataset.id.get_create_plist()
    layout = plist.get_layout()
    label = source.label(name)
    if layout == h5d.VIRTUAL or (layout == h5d.CONTIGUOUS and plist.get_external_count()):
        return (
            f"The numbers of an HDF5 file must lie in the file itself; got {label!r}, which "
            f"points to other files. Save it again with its numbers inside."
        )
    if dataset.dtype.kind not in "SO" and not h5t.py_create(dataset.dtype, logical=True).equal(
        dataset.id.get_type()
    ):
        return (
            f"The numbers of an HDF5 file must be of a usual type; got another in {label!r}. Save "
            f"it as float32 or float64."
        )
    if packing := [name for name in _PACKINGS if name in dataset.attrs]:
        return (
            f"Numbers must be saved as they are; got {label!r} packed with {packing[0]}. Save it "
            f"as float32 or float64."
        )
    return _refused_chunks(dataset, plist, label, limit) if layout == h5d.CHUNKED else None


def _is_unwritten(dataset: h5py.Dataset) -> bool:
    """Whether nothing of a dataset was ever written; one in its own header always is."""
    from h5py import h5d

    layout = dataset.id.get_create_plist().get_layout()
    if layout == h5d.CHUNKED:
        return dataset.id.get_num_chunks() == 0
    unallocated: bool = dataset.id.get_space_status() == h5d.SPACE_STATUS_NOT_ALLOCATED
    return layout == h5d.CONTIGUOUS and unallocated


def _refused_chunks(dataset: h5py.Dataset, plist: PropDCID, shown: str, limit: int) -> str | None:
    filters = {plist.get_filter(i)[0] for i in range(plist.get_nfilters())}
    if filters - {_DEFLATE, _SHUFFLE, _FLETCHER32}:
        return (
            f"An HDF5 dataset may be packed with gzip and shuffle alone; got {shown!r} with "
            f"filter {min(filters - {_DEFLATE, _SHUFFLE, _FLETCHER32})}. Save it with "
            f"compression='gzip' or without."
        )
    counts = math.prod(-(-s // c) for s, c in zip(dataset.shape, dataset.chunks, strict=True))
    declared = math.prod(dataset.chunks) * dataset.dtype.itemsize
    if counts > _CHUNKS or declared > limit:
        return (
            f"An HDF5 dataset must lie in at most {_CHUNKS:,} chunks, none beyond the limit of "
            f"memory; got {shown!r} in {counts:,} of {declared:,} bytes. Save it without chunks."
        )
    return None


def _read_dataset(
    dataset: h5py.Dataset, stream: BinaryIO, length: int
) -> tuple[NDArray[np.generic], int]:
    """The numbers of a dataset that was not refused, and how many of them were never written.

    Args:
        dataset: an h5py dataset.
        stream: the file that it is in.
        length: bytes of that file.

    Raises:
        ValueError, EOFError, zlib.error: for bytes that are missing or damaged.
    """
    from h5py import h5d

    array = np.empty(dataset.shape, dataset.dtype)
    plist = dataset.id.get_create_plist()
    layout = plist.get_layout()
    if layout == h5d.CHUNKED:
        return _from_chunks(dataset, plist, array, length)
    if layout == h5d.COMPACT and array.nbytes <= _COMPACT:
        dataset.read_direct(array)
        return array, 0
    offset = dataset.id.get_offset()
    if array.nbytes and (offset is None or offset + array.nbytes > length):
        raise EOFError
    stream.seek(offset or 0)
    return read_into(stream, array), 0


def _from_chunks(
    dataset: h5py.Dataset, plist: PropDCID, array: NDArray[np.generic], length: int
) -> tuple[NDArray[np.generic], int]:
    filters = [plist.get_filter(i)[0] for i in range(plist.get_nfilters())]
    size = math.prod(dataset.chunks) * array.dtype.itemsize
    unwritten = 0
    for at in _chunk_starts(array.shape, dataset.chunks):
        inside = tuple(
            slice(a, min(a + c, s))
            for a, c, s in zip(at, dataset.chunks, array.shape, strict=True)
        )
        info = dataset.id.get_chunk_info_by_coord(at)
        if info.byte_offset is None and info.size == 0:
            array[inside] = dataset.fillvalue
            unwritten += array[inside].size
            continue
        if info.byte_offset is None or not 0 < info.size <= length:
            raise EOFError
        skipped, raw = dataset.id.read_direct_chunk(at)
        for i, kind in reversed(list(enumerate(filters))):
            if not skipped >> i & 1:
                raw = _unpacked(kind, raw, size, array.dtype.itemsize)
        whole = np.frombuffer(raw, array.dtype).reshape(dataset.chunks)
        array[inside] = whole[tuple(slice(0, s.stop - s.start) for s in inside)]
    return array, unwritten


def _chunk_starts(shape: tuple[int, ...], chunks: tuple[int, ...]) -> Iterator[tuple[int, ...]]:
    """Where each chunk begins."""
    for place in np.ndindex(*(-(-s // c) for s, c in zip(shape, chunks, strict=True))):
        yield tuple(p * c for p, c in zip(place, chunks, strict=True))


def _unpacked(kind: int, raw: bytes, size: int, itemsize: int) -> bytes:
    if kind == _DEFLATE:
        # A checksum of four bytes may lie inside; nothing longer than that can be right.
        return zlib.decompressobj().decompress(raw, size + 4)
    if kind == _SHUFFLE:
        return np.frombuffer(raw, np.uint8).reshape(itemsize, -1).T.tobytes()
    if _sums(raw[:-4]) != (
        int.from_bytes(raw[-4:-2], "little") % 65535,
        int.from_bytes(raw[-2:], "little") % 65535,
    ):
        raise ValueError
    return raw[:-4]


def _sums(raw: bytes) -> tuple[int, int]:
    """Fletcher's two sums of 16-bit words, by which HDF5 knows damaged chunks."""
    words = np.frombuffer(raw + b"\0" * (len(raw) % 2), ">u2").astype(np.int64)
    first = second = 0
    for begin in range(0, len(words), _WORDS):
        piece = words[begin : begin + _WORDS]
        weights = np.arange(len(piece), 0, -1)
        second = int(second + len(piece) * first + (weights * piece).sum()) % 65535
        first = int(first + piece.sum()) % 65535
    return first, second


# ---- A table in an HDF5 file: arrays at the root or in one group, under the names of roles ----


_NAMES = 4096
_TEXT = 2**20  # bytes of names that are read


class HdfArrays:
    """The arrays at the root of an HDF5 file, or in its one group that holds arrays with roles.

    Where these make no table, and where the user has chosen arrays, it is those of the root and
    of every group: `group/array`.

    Args:
        file: it.
        chosen: role and array, as the user says.

    Raises:
        ValueError: for a file that is damaged, or whose groups leave it open what is meant.
    """

    def __init__(self, file: HdfFile, chosen: Mapping[str, str] | None = None) -> None:
        self._file, self._chosen = file, chosen or {}
        self._found = self._place()
        self.order: Order | None = None
        self.notes: tuple[str, ...] = ()
        self._texts: dict[str, h5py.Dataset] = {}

    def close(self) -> None:
        self._file.close()

    def _place(self) -> dict[str, h5py.Dataset]:
        """The datasets of the root or of one group where they make a table, else all."""
        root = self._file.members()
        here = _datasets(root)
        if self._whole(here):
            return here
        inside = {
            name: _datasets(self._file.members(group))
            for name, group in list(root.items())[:64]
            if not is_dataset(group)
        }
        fitting = [name for name, datasets in inside.items() if source.find_roles(datasets).found]
        if source.find_roles(here).found or self._chosen:
            fitting = []
        if len(fitting) > 1:
            raise ValueError(
                f"An HDF5 file must hold its arrays at the root or in one group; got them in "
                f"{source.names_text(fitting)}. Save one table in a file."
            )
        plain = inside.pop(fitting[0]) if fitting else here
        return plain if self._whole(plain) else {**plain, **_by_path(inside)}

    def _whole(self, datasets: Mapping[str, h5py.Dataset]) -> bool:
        """Whether these make a table or two samples, and hold every array that was chosen."""
        return set(self._chosen.values()) <= set(datasets) and source.roles_complete(
            source.find_roles(datasets, self._chosen).found
        )

    def headers(self) -> Mapping[str, ArrayHeader]:
        roles = source.find_roles(self._found, self._chosen).found
        used = set(roles.values())
        listed = not source.roles_complete(roles)  # the user is asked which of them is what
        declared: dict[str, ArrayHeader] = {}
        unread: list[str] = []
        for name, dataset in self._found.items():
            if name in used and self._is_text(dataset, roles, name):
                self._texts[name] = dataset
                declared[name] = ArrayHeader((dataset.size,), np.dtype("U40"))
            elif name in used:
                declared[name] = self._file.header(dataset, name)
            elif not _is_scale(dataset):
                unread.append(name)
        self.notes = (f"{source.names_text(unread)}: left unread, no test knows these.",) * bool(
            unread
        )
        for name in unread if listed else ():
            with suppress(ValueError):  # one that cannot be read is none to choose
                declared[name] = self._file.header(self._found[name], name)
        if "theta_q" in roles:
            self.order = _axis_order(self._file.dims(self._found[roles["theta_q"]]))
        return declared

    def _is_text(self, dataset: h5py.Dataset, roles: Mapping[str, str], name: str) -> bool:
        """Whether a dataset holds labels of no fixed length, few enough to be read."""
        import h5py

        labels = {roles.get("theta_names"), roles.get("x_names")}
        try:
            text = h5py.check_string_dtype(dataset.dtype)
            many = math.prod(dataset.shape or ()) > _NAMES or dataset.shape is None
            return name in labels and text is not None and text.length is None and not many
        except BROKEN:
            return False

    def load(self, name: str) -> NDArray[np.generic]:
        if name in self._texts:
            return self._labels(self._texts[name])
        array = self._file.load(self._found[name], name)
        self.notes += self._file.new_notes()
        return array

    def _labels(self, dataset: h5py.Dataset) -> NDArray[np.generic]:
        """Labels of no fixed length, one by one: a file may repeat a long one without end."""
        labels = np.full(dataset.size, "", dtype="U40")
        length = 0
        try:
            for i, place in enumerate(np.ndindex(*dataset.shape)):
                text = dataset[place]
                length += len(text)
                if length > _TEXT:
                    break
                labels[i] = source.label(bytes(text).decode("utf-8", "replace"))
        except BROKEN:
            raise ValueError(WHOLE) from None
        return labels


def _datasets(members: Mapping[str, _Member]) -> dict[str, h5py.Dataset]:
    return {name: member for name, member in members.items() if is_dataset(member)}


def _by_path(groups: Mapping[str, Mapping[str, h5py.Dataset]]) -> dict[str, h5py.Dataset]:
    """Datasets of several groups as `group/array`."""
    return {
        f"{group}/{name}": dataset
        for group, datasets in groups.items()
        for name, dataset in datasets.items()
    }


def _axis_order(dims: tuple[str, ...]) -> Order | None:
    """Which axis of theta_q is which, if the names of its first two axes tell."""
    first, second = (*dims, "", "")[:2]
    if first in SIMULATIONS or second in DRAWS:
        return "NKD"
    return "KND" if second in SIMULATIONS or first in DRAWS else None


# ---- ArviZ files (InferenceData, DataTree in netCDF-4): draws in the group `posterior` ----

# Its variables lie over a dimension of simulations, over chain and draw, and over their own
# further dimensions; the truths are found under the same names in one of `TRUE_DRAWS`.

_TRUTHS = ("truth", "true_parameters", "prior")
_DATA = ("observed_data", "prior_predictive", "constant_data")
_CHAINS = frozenset({"chain", "chains"})
_HOW = (
    "Save a group posterior whose variables have the dimensions sim, chain and draw, a group "
    "truth with the same variables over sim, and the data over sim in observed_data."
)


class _Variable(NamedTuple):
    """A variable with its axes sorted: simulations, chains, draws, then its own."""

    name: str
    dataset: h5py.Dataset
    dtype: np.dtype[np.generic]
    axes: tuple[int, ...]
    """Its axes in that order; simulations, chains and draws may each be missing."""
    sims: int | None
    draws: int | None
    """Chains times draws."""
    own: tuple[int, ...]

    @property
    def columns(self) -> int:
        """How many numbers it has at each draw."""
        return math.prod(self.own)

    @property
    def labels(self) -> Iterator[str]:
        """`mu` of a single number, `mu[0]`, `mu[1]` of several."""
        for place in np.ndindex(*self.own):
            yield f"{self.name}[{','.join(map(str, place))}]" if place else self.name


class ArviZTree:
    """A table in the groups of an ArviZ file.

    Raises:
        ValueError: for groups or dimensions that are missing, or that do not fit each other.
    """

    order: Order | None = "NKD"

    def __init__(self, file: HdfFile, groups: Mapping[str, _Member]) -> None:
        self._file = file
        self._groups = {n: g for n, g in groups.items() if not is_dataset(g)}
        self.notes: tuple[str, ...] = ()
        posterior = [v for v in self._variables("posterior") if v.draws is not None]
        if not posterior or any(v.sims is None for v in posterior):
            ranks = ", and the group prior_sbc holds ranks, not draws" * (
                "prior_sbc" in self._groups
            )
            raise ValueError(
                f"An ArviZ file must hold posterior draws for many simulations; missing: a "
                f"dimension of simulations in the group posterior{ranks}; got: "
                f"{source.names_text(self._groups)}. {_HOW}"
            )
        self._sizes = (posterior[0].sims or 0, posterior[0].draws or 0)
        self._check_sizes(posterior)
        self._truth = self._truths(posterior)
        by_name = {v.name: v for v in posterior}
        self._drawn = [v for name, v in by_name.items() if name in self._truth]
        self._data = self._observations()
        unread = [name for name in by_name if name not in self._truth]
        self.notes = ((f"{source.names_text(unread)}: left unread, without true values."),) * bool(
            unread
        )

    def close(self) -> None:
        self._file.close()

    def _variables(self, group: str) -> list[_Variable]:
        """Variables of numbers of a group; those of text are passed over."""
        if group not in self._groups:
            return []
        variables = []
        for name, dataset in self._file.members(self._groups[group]).items():
            if (
                hasattr(dataset, "dtype")
                and not _is_scale(dataset)
                and dataset.dtype.kind in "fiub"
            ):
                header = self._file.header(dataset, name)
                dims = self._file.dims(dataset)
                if len(dims) == len(header.shape):
                    variables.append(_with_axes(name, dataset, header, dims))
        return variables

    def _check_sizes(self, drawn: Sequence[_Variable]) -> None:
        sizes = sorted({(v.sims, v.draws) for v in drawn}, key=str)
        if len(sizes) > 1:
            raise ValueError(
                f"The variables of the group posterior must have equally many simulations and "
                f"draws; got {source.names_text(map(str, sizes))}. {_HOW}"
            )

    def _truths(self, drawn: Sequence[_Variable]) -> dict[str, _Variable]:
        """The truth of each variable, from the first group that has any of them."""
        wanted = {v.name: v for v in drawn}
        for group in _TRUTHS:
            members = {v.name: v for v in self._variables(group) if self._at_each(v)}
            truths = {
                name: v
                for name, v in members.items()
                if name in wanted and v.own == wanted[name].own
            }
            if truths:
                return truths
        raise ValueError(
            "An ArviZ file must hold the true values that were simulated; missing: a group "
            f"truth, true_parameters or prior with {source.names_text(wanted)} for "
            f"{self._sizes[0]:,} simulations; got: {source.names_text(self._groups)}. {_HOW}"
        )

    def _observations(self) -> list[_Variable]:
        for group in _DATA:
            observations = [v for v in self._variables(group) if self._at_each(v)]
            if observations:
                return observations
        raise ValueError(
            f"An ArviZ file must hold the data of each simulation; missing: variables over "
            f"{self._sizes[0]:,} simulations in observed_data, prior_predictive or constant_data; "
            f"got: {source.names_text(self._groups)}. {_HOW}"
        )

    def _at_each(self, variable: _Variable) -> bool:
        """Whether a variable has one value for each simulation: prior draws are simulations."""
        n = self._sizes[0]
        if variable.sims is not None:
            return variable.sims == n and variable.draws in (None, 1)
        return variable.draws == n

    def headers(self) -> Mapping[str, ArrayHeader]:
        n, k = self._sizes
        d, m = (sum(v.columns for v in many) for many in (self._drawn, self._data))
        truth = [self._truth[v.name] for v in self._drawn]
        return {
            "theta": ArrayHeader((n, d), _declared_dtype(truth)),
            "x": ArrayHeader((n, m), _declared_dtype(self._data)),
            "theta_q": ArrayHeader((n, k, d), _declared_dtype(self._drawn)),
            "theta_names": ArrayHeader((d,), np.dtype("U40")),
            "x_names": ArrayHeader((m,), np.dtype("U40")),
        }

    def load(self, name: str) -> NDArray[np.generic]:
        truth = [self._truth[v.name] for v in self._drawn]
        of = {"theta": truth, "theta_q": self._drawn, "theta_names": self._drawn}
        variables = of.get(name, self._data)
        if name.endswith("_names"):
            return np.array([source.label(label) for v in variables for label in v.labels])
        rows = self._sizes if name == "theta_q" else self._sizes[:1]
        if len(variables) == 1:
            return self._load(variables[0]).reshape(*rows, -1)
        array = np.empty(
            (*rows, sum(v.columns for v in variables)), _common_working_dtype(variables)
        )
        done = 0
        for variable in variables:
            numbers = self._load(variable)
            columns = array[..., done : done + variable.columns]
            columns.reshape(numbers.shape)[...] = numbers  # a view: only axes are split
            done += variable.columns
        return array

    def _load(self, variable: _Variable) -> NDArray[np.generic]:
        """The numbers with simulations first, then chains, draws and the rest."""
        array = self._file.load(variable.dataset, variable.name).transpose(variable.axes)
        self.notes += self._file.new_notes()
        return array


def _with_axes(
    name: str, dataset: h5py.Dataset, header: ArrayHeader, dims: tuple[str, ...]
) -> _Variable:
    groups = (SIMULATIONS, _CHAINS, DRAWS)
    places = [[i for i, dim in enumerate(dims) if dim in group][:1] for group in groups]
    special = [i for place in places for i in place]
    own = [i for i in range(len(dims)) if i not in special]
    sims, chains, draws = (header.shape[place[0]] if place else None for place in places)
    merged = None if draws is None and chains is None else (draws or 1) * (chains or 1)
    if 0 in header.shape:
        merged = None
    return _Variable(
        name=name,
        dataset=dataset,
        dtype=header.dtype,
        axes=(*special, *own),
        sims=sims,
        draws=merged,
        own=tuple(header.shape[i] for i in own),
    )


def _common_working_dtype(variables: Sequence[_Variable]) -> np.dtype[np.generic]:
    return np.result_type(*(working_dtype(v.dtype) for v in variables))


def _declared_dtype(variables: Sequence[_Variable]) -> np.dtype[np.generic]:
    return np.result_type(*(v.dtype for v in variables))
