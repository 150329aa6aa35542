"""A folder of files that make one table, or several: its files by name, no folder within it."""

from __future__ import annotations

from pathlib import Path

from validation_core.tables import roles
from validation_core.tables.event_rows import natural_key
from validation_core.tables.server_files import ENDINGS
from validation_core.tables.zarr_store import is_store_folder

_TEXTS = (".txt", ".dat")  # may hold anything: of these, only arrays by a table's own names
_OWN = ("theta", "x", "theta_q")


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
    files = [path for path in shown if _may_hold_arrays(path) and path.is_file()]
    others = [path.name for path in shown if path not in files]
    if not files:
        raise ValueError(
            f"A folder must hold files that end in {', '.join(ENDINGS)}; got "
            f"{roles.names_text(others)} in {roles.label(str(folder))!r}. Name the files."
        )
    return files, roles.unread_notes(others, "no file of arrays by its ending")


def _may_hold_arrays(path: Path) -> bool:
    """Whether a file may hold arrays, by its ending, or the name of one before it."""
    ending = path.suffix.lower()
    return ending in ENDINGS or (ending in _TEXTS and path.stem in _OWN)
