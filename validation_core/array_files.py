"""A file of named arrays, with the text they follow from, facts and a checksum.

Two formats by suffix: safetensors for networks, npz for the rest. Neither is ever unpickled.
"""

from __future__ import annotations

import hashlib
import json
import time
import zipfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import NamedTuple, cast

import numpy as np
import safetensors.numpy
from numpy.typing import NDArray

from validation_core import keys
from validation_core.keys import JSON, Arrays

_ABOUT = "__about__"


class DamagedError(ValueError):
    """The damage of a file, in words."""


class Description(NamedTuple):
    """What a file says of its arrays, read without them."""

    spec: str
    meta: Mapping[str, JSON]
    created: float
    checksum: str


class Stored(NamedTuple):
    """A loaded file: its arrays in memory, its metadata, and the specification's text."""

    arrays: dict[str, NDArray[np.generic]]
    meta: Mapping[str, JSON]
    spec: str

    def number(self, name: str) -> float:
        """A numeric value of the metadata."""
        value = self.meta[name]
        assert isinstance(value, int | float), f"{name} is kept as a number"
        return float(value)


def write(path: Path, arrays: Arrays, spec: str, meta: Mapping[str, object]) -> None:
    """Write one file.

    Raises:
        ValueError: for arrays of Python objects, or one under the name kept for the file itself.
    """
    # Safetensors writes memory as it lies: strided arrays and foreign bytes would come out wrong.
    contiguous = {name: _native(np.asarray(array)) for name, array in arrays.items()}
    if _ABOUT in contiguous or any(array.dtype.hasobject for array in contiguous.values()):
        kinds = {name: str(array.dtype) for name, array in contiguous.items()}
        raise ValueError(
            f"A store keeps arrays of plain numbers or text, none named {_ABOUT}; got {kinds}. "
            "Convert or rename them."
        )
    written = json.loads(json.dumps(dict(meta), default=_as_json))
    about = Description(spec, written, time.time(), "")
    about = about._replace(checksum=_checksum(contiguous, about))
    _WRITERS[path.suffix](path, contiguous, json.dumps(about._asdict()))


def read(path: Path) -> Stored:
    """Read a file and verify its checksum.

    Raises:
        DamagedError: when the content differs from what was written. The reader of the format may
            raise other exceptions for a damaged file.
    """
    text, arrays = _READERS[path.suffix](path, whole=True)
    about = _parse(text)
    if _checksum(arrays, about) != about.checksum:
        raise DamagedError("its checksum does not match its content")
    return Stored(arrays, about.meta, about.spec)


def describe(path: Path) -> Description:
    """Read what a file says of its arrays; raises as `read` does, except for the checksum."""
    return _parse(_READERS[path.suffix](path, whole=False)[0])


def _parse(text: str) -> Description:
    about = Description(**json.loads(text))
    if not (isinstance(about.spec, str) and isinstance(about.meta, dict)):
        raise DamagedError("its description is not one")
    return about


def _native(array: NDArray[np.generic]) -> NDArray[np.generic]:
    """The array in C order and in this machine's order of bytes."""
    return np.asarray(array, array.dtype.newbyteorder("="), order="C")


def _as_json(value: object) -> JSON:
    """JSON for the numbers and arrays of numpy, which results are full of."""
    if isinstance(value, np.generic | np.ndarray):
        return cast("JSON", value.tolist())
    raise TypeError(f"Facts about a result must be plain values; got {type(value).__name__}.")


def _checksum(arrays: Arrays, about: Description) -> str:
    text = json.dumps([keys.digest(**arrays), about.spec, about.meta, about.created])
    return hashlib.sha256(text.encode()).hexdigest()


def _write_npz(path: Path, arrays: Arrays, text: str) -> None:
    # np.savez would take an array named "file" for the file; and the description comes first.
    described = {_ABOUT: np.frombuffer(text.encode(), np.uint8), **arrays}
    with zipfile.ZipFile(path, "w", allowZip64=True) as archive:
        for name, array in described.items():
            with archive.open(f"{name}.npy", "w", force_zip64=True) as member:
                np.lib.format.write_array(member, array, allow_pickle=False)


def _read_npz(path: Path, *, whole: bool) -> tuple[str, dict[str, NDArray[np.generic]]]:
    # opened here: numpy leaves a file open that turns out to be no archive
    with path.open("rb") as file, np.load(file, allow_pickle=False) as archive:
        names = [name for name in archive.files if name != _ABOUT] if whole else []
        arrays = {name: archive[name] for name in names}
        return archive[_ABOUT].tobytes().decode(), arrays


def _write_safetensors(path: Path, arrays: Arrays, text: str) -> None:
    # its own writer tells a full disk by an error of its own
    path.write_bytes(safetensors.numpy.save(dict(arrays), {_ABOUT: text}))


def _read_safetensors(path: Path, *, whole: bool) -> tuple[str, dict[str, NDArray[np.generic]]]:
    with safetensors.safe_open(str(path), framework="numpy") as archive:
        names = list(archive.keys()) if whole else []
        return archive.metadata()[_ABOUT], {name: archive.get_tensor(name) for name in names}


_WRITERS: Mapping[str, Callable[[Path, Arrays, str], None]] = {
    ".npz": _write_npz,
    ".safetensors": _write_safetensors,
}
_READERS: Mapping[str, Callable[..., tuple[str, dict[str, NDArray[np.generic]]]]] = {
    ".npz": _read_npz,
    ".safetensors": _read_safetensors,
}
