"""`diagnose --stream`: evidence against q while its rows come, from a pipe, a file or a folder."""

from __future__ import annotations

import argparse
import sys
import time
import zipfile
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, BinaryIO

from validation_core import StreamResult, watch
from validation_core.cli.options import check_writable, parse_seconds, read_table, write_json_text
from validation_core.cli.process import tell
from validation_core.diagnosis.outcome import EXIT_CODES
from validation_core.diagnosis.stream.rows import row_of_line, rows_of_file
from validation_core.tables import Upload
from validation_core.text import equals, number_text

WAIT = 10.0
"""Seconds without a new row after which a growing file has ended, where nobody says."""
_LINES = (".jsonl", ".ndjson")
_LONGEST = 1 << 27  # bytes of a line
_LOOK = 0.2  # seconds between two looks at a file
_TOLD = 5.0  # seconds between two lines of progress
_WITHOUT = ("method", "budget", "card", "datatree", "markdown", "junit", "figure")
_OF_TABLES = (
    "order", "map", "circular", "logarithms", "bounds", "discrete", "correct", "missing",
    "max_rank",
)  # fmt: skip

Row = Mapping[str, Any] | Upload


def add_stream_options(parser: argparse.ArgumentParser) -> None:
    """Add --stream and --wait."""
    group = parser.add_argument_group(
        "stream",
        "FILE is then - (lines of JSON on standard input), a .jsonl or .ndjson file that may "
        "still grow, a folder to which .npz files are added, or a table's file, read row by row. "
        'A line is an object: {"theta": [...], "x": [...], "theta_q": [[...], ...]}.',
    )
    group.add_argument(
        "--stream",
        action="store_true",
        help="evidence against q while rows come, valid at every moment; ends once q is found "
        "wrong",
    )
    group.add_argument(
        "--wait",
        type=parse_seconds,
        default=WAIT,
        metavar="SECONDS",
        help=f"end where a file or folder has not grown for so long; default {WAIT:g}",
    )


def run_stream(chosen: argparse.Namespace) -> int:
    """Read rows until q is found wrong or none comes, print what they say, return the exit code.

    Raises:
        ValueError: for rows that cannot be read, none at all, or options that a stream has not.
    """
    unused = [name for name in _WITHOUT if getattr(chosen, name)]
    if unused := unused + ["questions"] * (chosen.questions != "usual"):
        raise ValueError(
            f"A stream is one test of rows as they come; got --{', --'.join(unused)}. Leave these "
            "out, or leave --stream out for a diagnosis of a whole table."
        )
    if len(chosen.files) != 1:
        raise ValueError(
            f"A stream is one file, one folder or -; got {len(chosen.files)}. Name one."
        )
    _check_reading(chosen)
    check_writable(chosen.json, chosen.report, read=chosen.files)
    state: StreamResult | None = None

    def decided() -> bool:
        return state is not None and state.decided

    told = time.monotonic()
    for state in watch(_rows(chosen, decided), alpha=chosen.alpha, seed=chosen.seed):
        if str(chosen.files[0]) == "-" and state.decided:
            break
        if time.monotonic() - told > _TOLD:
            told = time.monotonic()
            tell(f"{state.n:,} rows: evidence {number_text(state.evalue, 2)} to 1")
    if state is None:
        raise ValueError(_nothing(chosen.files[0], chosen.wait))
    if chosen.report:
        chosen.report.write_text(state.document(), encoding="utf-8")
    last = state
    write_json_text(last.to_json, chosen.json, lambda: _print(last))
    if last.decided:
        return EXIT_CODES["problem"] if chosen.fail_on != "never" else 0
    return EXIT_CODES["too little power"] if chosen.fail_on == "power" else 0


def _nothing(place: Path, wait: float) -> str:
    """The refusal of a stream without rows."""
    if str(place) == "-":
        return (
            "A stream has rows; got none on standard input. Look at what writes it: a line of "
            "JSON for each row."
        )
    what = f"no .npz file in {place}" if place.is_dir() else f"none from {place}"
    return (
        f"A stream has rows; got {what} in {wait:g} s. Wait longer by --wait SECONDS, or name "
        f"the file that grows."
    )


def _check_reading(chosen: argparse.Namespace) -> None:
    """Refuse options of reading a table's file where rows are read one by one.

    Raises:
        ValueError: for any of them.
    """
    place: Path = chosen.files[0]
    if str(place) != "-" and place.suffix not in _LINES and not place.is_dir():
        return
    if unread := [name for name in _OF_TABLES if getattr(chosen, name) not in (None, [])]:
        options = ", --".join(name.replace("_", "-") for name in unread)
        raise ValueError(
            f"Rows of a stream are read as they are; got --{options}. Leave these out and write "
            f"the rows so, or name a table's file."
        )


def _print(state: StreamResult) -> None:
    for sentence in state.sentences:
        print(sentence)
    print(f"p {equals(state.pvalue)}, now {number_text(state.evalue, 2)} to 1 against q")


def _rows(chosen: argparse.Namespace, decided: Callable[[], bool]) -> Iterator[Row]:
    """Rows from the place that is named; what is there is read whole, also once it is decided."""
    place: Path = chosen.files[0]
    if str(place) == "-":
        yield from _lines(iter(lambda: _line(sys.stdin.buffer), b""))
    elif place.suffix in _LINES:
        yield from _lines(_grown_lines(place, chosen.wait, decided))
    elif place.is_dir():
        for path in _new_files(place, chosen.wait, decided):
            yield rows_of_file(path)
    else:
        yield read_table(chosen.files, chosen).upload


def _lines(lines: Iterator[bytes]) -> Iterator[Row]:
    for number, line in enumerate(lines, 1):
        if line.strip():
            yield row_of_line(line, number)


def _line(source: BinaryIO) -> bytes:
    """The next line, empty at the end.

    Raises:
        ValueError: for one that is too long for memory.
    """
    line = source.readline(_LONGEST)
    if len(line) == _LONGEST:
        raise ValueError(
            f"A line of a stream has less than {_LONGEST >> 20} MB; got a longer one. Save fewer "
            "draws in each row."
        )
    return line


def _grown_lines(path: Path, wait: float, decided: Callable[[], bool]) -> Iterator[bytes]:
    """Whole lines of a file that grows, until it has not for a while, or all is decided."""
    if not path.is_file():
        raise ValueError(
            f"A stream's file must be there, if only empty; got {path}. Start what writes it, or "
            "check the path."
        )
    with path.open("rb") as source:
        quiet, part = time.monotonic(), b""
        while True:
            line = _line(source)
            part += line
            if line.endswith(b"\n"):
                yield part
                quiet, part = time.monotonic(), b""
            elif not line:
                if decided() or time.monotonic() - quiet > wait:
                    break
                time.sleep(_LOOK)
            else:
                quiet = time.monotonic()
        if part and not decided():  # a last line without its end
            yield part


def _new_files(folder: Path, wait: float, decided: Callable[[], bool]) -> Iterator[Path]:
    """Files of a folder in the order of their names, once each and once they are whole."""
    seen: set[Path] = set()
    quiet = time.monotonic()
    while True:
        new = [path for path in sorted(folder.glob("*.npz")) if path not in seen]
        for path in new:
            if not zipfile.is_zipfile(path):
                break  # its writer has not ended, and its turn comes before later ones'
            seen.add(path)
            yield path
            quiet = time.monotonic()
        if decided() or time.monotonic() - quiet > wait:
            return
        time.sleep(_LOOK)
