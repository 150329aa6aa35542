"""A folder of files that make one table, or several: its files by name, no folder within it."""

from __future__ import annotations

from pathlib import Path

from validation_core.tables import roles
from validation_core.tables.event_rows import natural_key
from validation_core.tables.server_files import ENDINGS
from validation_core.tables.zarr_store import is_store_folder


def files_of(folder: Path) -> tuple[list[Path], tuple[str, ...]]:
    """Return the files of a folder that may hold arrays, by name, and notes on the others.

    Args:
        folder: the folder; hidden files are passed over. A store of zarr is one file.

    Raises:
        ValueError: for a folder without such files.
    """
    if is_store_folder(folder):
        return [folder], ()
    inside = sorted(folder.iterdir(), key=lambda path: natural_key(path.name))
    shown = [path for path in inside if not path.name.startswith(".")]
    files = [path for path in shown if path.suffix.lower() in ENDINGS and path.is_file()]
    others = [path.name for path in shown if path not in files]
    if not files:
        raise ValueError(
            f"A folder must hold files that end in {', '.join(ENDINGS)}; got "
            f"{roles.names_text(others)} in {roles.label(str(folder))!r}. Name the files."
        )
    return files, roles.unread_notes(others, "no file of arrays by its ending")
