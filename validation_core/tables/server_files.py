"""Files on the server's own machine that its operator allows.

None are, unless NPTLAB_FILES names a folder. Links and `..` in a path are resolved before it is
compared with the folder, so that none leads out of it.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from validation_core.settings import FILES
from validation_core.tables.roles import label

ENDINGS = (
    ".npz", ".npy", ".csv", ".tsv", ".parquet", ".json", ".jsonl", ".h5", ".hdf5", ".nc",
    ".netcdf", ".mat", ".jld2",
)  # fmt: skip
"""Endings of files that are listed."""
MOST_FILES_LISTED = 200
"""Files that are listed at most."""
_VISITED = 20_000  # files that are looked at
_DEPTH = 6  # folders within folders


class FileListing(NamedTuple):
    """Files below the folder that can be read."""

    files: tuple[str, ...]
    """Paths relative to the folder, as `resolve_in_folder` takes them."""
    cut: str | None
    """A sentence where not all are listed."""


def data_folder() -> Path | None:
    """Return the folder whose files may be read; None where the operator allows none.

    Raises:
        ValueError: when it is set to something that is no folder.
    """
    return FILES.value()


def resolve_in_folder(folder: Path, text: str) -> Path:
    """Return the path of the file that a user's text names, if it lies in the folder.

    Args:
        folder: the folder that the operator allows.
        text: a path relative to it, or a whole path that leads into it.

    Raises:
        ValueError: for anything else; it does not tell whether a file outside exists.
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
    """List the files below a folder that can be read, by name; links are left out."""
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
    """All files below a folder but links: its own first, then those of the folders within."""
    try:
        with os.scandir(folder) as entries:
            here = sorted((e for e in entries if not e.is_symlink()), key=lambda e: e.name)
    except OSError:
        return
    yield from (Path(entry.path) for entry in here if entry.is_file())
    for entry in here:
        if entry.is_dir() and depth and not entry.name.startswith("."):
            yield from _walk(Path(entry.path), depth - 1)
