"""`mend FILE`: weights for q's draws, judged on rows that they did not learn from."""

from __future__ import annotations

import argparse
from pathlib import Path

from validation_core import MendResult, mend
from validation_core.cli.options import (
    NoteLines,
    add_json_option,
    add_table_options,
    check_writable,
    make_folder,
    parse_file,
    parse_seed,
    read_table,
    write_json_text,
)

_WRITTEN = ("mend.npz", "mend.py", "weighted.npz", "mend.html")
_EPILOG = """\
DIR gets mend.npz and mend.py, which mend new draws of the same q with NumPy alone (python mend.py
draws.npz mended.npz), weighted.npz (the table with log_w and log_w_draws) and mend.html. Where
the weights do not help on rows that they were not learned from, only mend.html is written.
"""


def add(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the command."""
    parser.formatter_class, parser.epilog = argparse.RawDescriptionHelpFormatter, _EPILOG
    option = parser.add_argument
    option("file", type=parse_file, metavar="FILE", help="the table: theta, x, theta_q")
    option("--out", type=Path, metavar="DIR", help="folder of the files; made where missing")
    option("--seed", type=parse_seed, default=0)
    add_table_options(parser)
    add_json_option(parser)
    parser.set_defaults(run=_run)


def _run(chosen: argparse.Namespace) -> None:
    """Read the file, mend the table, print what that is worth, and write the files.

    Raises:
        ValueError: for a file that cannot be read, or a table that cannot be mended.
    """
    check_writable(chosen.json, read=[chosen.file])
    table = read_table([chosen.file], chosen)
    if chosen.out:
        if chosen.out.resolve() == chosen.file.resolve().parent and chosen.file.name in _WRITTEN:
            raise ValueError(
                f"A result is written beside the file that is read; got {chosen.file}, which "
                f"--out {chosen.out} would overwrite. Name another folder."
            )
        make_folder(chosen.out)
    result = mend(table, seed=chosen.seed, progress=NoteLines())
    written = _write(result, chosen.out) if chosen.out else []

    def aloud() -> None:
        print(result)
        for path in written:
            print(f"written: {path}")

    write_json_text(result.to_json, chosen.json, aloud)


def _write(result: MendResult, folder: Path) -> list[Path]:
    written = [result.save(folder / "mend.html")]
    for name, make in result.files().items():
        written.append(folder / name)
        written[-1].write_bytes(make())
    return written
