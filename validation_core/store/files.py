"""One file of the store: named arrays with the text they follow from, facts and a checksum.

Two formats, by suffix: safetensors for networks, npz for the rest. Neither is ever unpickled.
"""

from __future__ import annotations

import hashlib
import json
import time
import zipfile
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias, cast

import numpy as np
import safetensors.numpy
from numpy.typing import NDArray

from validation_core import keys

JSON: TypeAlias = "bool | int | float | str | Sequence[JSON] | Mapping[str, JSON] | None"
Arrays = Mapping[str, NDArray[Any]]

_ABOUT = "__about__"


class About(NamedTuple):
    """What a file says of itself, read without its arrays."""

    spec: str
    meta: Mapping[str, Any]
    created: float
    checksum: str


class Stored(NamedTuple):
    """What a key holds: plain arrays in memory, facts about them, the specification's text."""

    arrays: dict[str, NDArray[Any]]
    meta: Mapping[str, Any]
    spec: str


def write(path: Path, arrays: Arrays, spec: str, meta: Mapping[str, object]) -> None:
    """Write one file.

    Raises:
        ValueError: for arrays of Python objects, or one under the name kept for the file itself.
    """
    # C order: safetensors writes another's memory as it lies, and strided arrays come out wrong.
    contiguous = {name: np.asarray(array, order="C") for name, array in arrays.items()}
    if _ABOUT in contiguous or any(array.dtype.hasobject for array in contiguous.values()):
        kinds = {name: str(array.dtype) for name, array in contiguous.items()}
        raise ValueError(
            f"A store keeps arrays of plain numbers or text, none named {_ABOUT}; got {kinds}. "
            "Convert or rename them."
        )
    written = json.loads(json.dumps(dict(meta), default=_plain))
    about = About(spec, written, time.time(), "")
    about = about._replace(checksum=_checksum(contiguous, about))
    _WRITERS[path.suffix](path, contiguous, json.dumps(about._asdict()))


def read(path: Path) -> Stored:
    """The whole file, held against its checksum.

    Raises:
        ValueError: when the content is not what was written; and whatever a damaged file makes
            its format's reader raise.
    """
    text, arrays = _READERS[path.suffix](path, whole=True)
    about = _parse(text)
    if _checksum(arrays, about) != about.checksum:
        raise ValueError("its checksum does not match its content")
    return Stored(arrays, about.meta, about.spec)


def about(path: Path) -> About:
    """What a file says of itself; raises as `read` does, but for the checksum."""
    return _parse(_READERS[path.suffix](path, whole=False)[0])


def _parse(text: str) -> About:
    about = About(**json.loads(text))
    if not (isinstance(about.spec, str) and isinstance(about.meta, dict)):
        raise ValueError("its description is not one")
    return about


def _plain(value: Any) -> JSON:
    """JSON for the numbers and arrays of numpy, which results are full of."""
    if isinstance(value, np.generic | np.ndarray):
        return cast("JSON", value.tolist())
    raise TypeError(f"Facts about a result must be plain values; got {type(value).__name__}.")


def _checksum(arrays: Arrays, about: About) -> str:
    text = json.dumps([keys.digest(**arrays), about.spec, about.meta, about.created])
    return hashlib.sha256(text.encode()).hexdigest()


def _write_npz(path: Path, arrays: Arrays, text: str) -> None:
    # np.savez would take an array named "file" for the file; and the description comes first.
    described = {_ABOUT: np.frombuffer(text.encode(), np.uint8), **arrays}
    with zipfile.ZipFile(path, "w", allowZip64=True) as archive:
        for name, array in described.items():
            with archive.open(f"{name}.npy", "w", force_zip64=True) as member:
                np.lib.format.write_array(member, array, allow_pickle=False)


def _read_npz(path: Path, *, whole: bool) -> tuple[str, dict[str, NDArray[Any]]]:
    # opened here: numpy leaves a file open that turns out to be no archive
    with path.open("rb") as file, np.load(file, allow_pickle=False) as archive:
        names = [name for name in archive.files if name != _ABOUT] if whole else []
        arrays = {name: archive[name] for name in names}
        return archive[_ABOUT].tobytes().decode(), arrays


def _write_safetensors(path: Path, arrays: Arrays, text: str) -> None:
    safetensors.numpy.save_file(dict(arrays), str(path), {_ABOUT: text})


def _read_safetensors(path: Path, *, whole: bool) -> tuple[str, dict[str, NDArray[Any]]]:
    with safetensors.safe_open(str(path), framework="numpy") as archive:
        names = list(archive.keys()) if whole else []
        return archive.metadata()[_ABOUT], {name: archive.get_tensor(name) for name in names}


_WRITERS: Mapping[str, Callable[[Path, Arrays, str], None]] = {
    ".npz": _write_npz,
    ".safetensors": _write_safetensors,
}
_READERS: Mapping[str, Callable[..., tuple[str, dict[str, NDArray[Any]]]]] = {
    ".npz": _read_npz,
    ".safetensors": _read_safetensors,
}
