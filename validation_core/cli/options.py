"""Parse options, such as methods and benchmarks from `NAME:field=value`, and print results."""

from __future__ import annotations

import argparse
import json
import math
import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import validation_core as npt
from validation_core.api.option_texts import parse_specification
from validation_core.api.result import check_not_read
from validation_core.cli.process import tell
from validation_core.tables.chosen import merge_pairs

if TYPE_CHECKING:
    from validation_core.engine import Task
    from validation_core.methods.base import Method
    from validation_core.types import Benchmark


def add_json_option(parser: argparse.ArgumentParser) -> None:
    """Add --json to a command."""
    parser.add_argument(
        "--json", metavar="PATH|-", help="write JSON to a file or, with -, print it"
    )


def parse_file(text: str) -> Path:
    """A type of argparse: the path of a file or folder to read."""
    if not text:
        raise argparse.ArgumentTypeError("a file has a name; got an empty one; try table.npz")
    return Path(text)


def parse_path(*endings: str) -> Callable[[str], Path]:
    """A type of argparse: a path that has one of these endings, or none, as a pipe."""

    def parse(text: str) -> Path:
        path = Path(text)
        if text in ("", "-"):
            raise argparse.ArgumentTypeError(
                f"this is written into a file of a name; got {text!r}; try result{endings[0]}"
            )
        if path.suffix and path.suffix.lower() not in endings:
            raise argparse.ArgumentTypeError(
                f"this is written as {' or '.join(endings)}; got {text!r}; try "
                f"{path.with_suffix(endings[0]).name}"
            )
        return path

    return parse


def add_table_options(parser: argparse.ArgumentParser) -> None:
    """Add the options for reading a table's file: --order, --map and what a user knows of it."""
    option = parser.add_argument
    option(
        "--order",
        choices=("NKD", "KND", "DKN", "DNK"),
        help="axes of theta_q, where N = K leaves it open; D first: all axes are reversed, as "
        "MATLAB, Julia and R store them",
    )
    option(
        "--map",
        action="append",
        type=_pairs,
        default=[],
        metavar="theta=NAME[,x=NAME+NAME...]",
        help="which array is which, where their names are not understood; + joins the columns of "
        "several; of a long table its columns: sim=NAME,draw=NAME,theta=NAME+NAME,theta_q=...",
    )
    option(
        "--circular",
        type=_circular,
        metavar="NAME[=PERIOD][,...]|none",
        help="parameters that are angles; recognised by default",
    )
    option(
        "--logarithms",
        type=_names,
        metavar="NAME[,NAME...]|none",
        help="positive parameters read by their logarithm; by default those over decades",
    )
    option(
        "--bounds",
        action="append",
        type=_bounds,
        default=[],
        metavar="NAME=LOW:HIGH[,...]",
        help="the prior's bounds: draws of q outside are tested as such; inf for none",
    )
    option(
        "--discrete",
        type=_names,
        metavar="NAME[,NAME...]|none",
        help="parameters that are counts or classes, such as the number of a model: that each "
        "value is as frequent as q says is tested too",
    )
    option(
        "--correct",
        action="append",
        type=_names,
        default=[],
        metavar="NAME[,NAME...]",
        help="mistakes of the file to correct, where a diagnosis says so: rows, columns, scale, "
        "one_row (of each theta), thin or thin=M (every M-th draw)",
    )
    option(
        "--as-saved",
        action="store_true",
        help="test draws whose rows, columns or scales look mistaken: they are meant so",
    )
    option(
        "--missing",
        choices=("mask", "drop"),
        help="NaN in x: mask, a missing value; drop, a failed simulation; padding is recognised",
    )
    option("--max-rank", type=int, metavar="K", help="draws that ranks without draws are among")


def _circular(text: str) -> tuple[str, ...] | dict[str, float]:
    """Names of angles, or NAME=PERIOD pairs, for argparse."""
    if "=" not in text:
        return _names(text)
    pairs = [part.partition("=") for part in text.split(",")]
    if not all(equals and math.isfinite(_number(period)) for _, equals, period in pairs):
        raise argparse.ArgumentTypeError(
            f"either every angle has a period or none has; got {text!r}; try phi=24,psi=360"
        )
    return {name: _number(period) for name, _, period in pairs}


def _bounds(text: str) -> dict[str, tuple[float, float]]:
    """Comma-separated NAME=LOW:HIGH, for argparse."""
    found = {}
    for part in text.split(","):
        name, _, ends = part.rpartition("=")
        low, high = (_number(end) for end in ends.partition(":")[::2])
        if not name or math.isnan(low) or math.isnan(high):
            raise argparse.ArgumentTypeError(
                f"bounds are NAME=LOW:HIGH; got {part!r}; try theta_1=0:1 or theta_1=0:inf"
            )
        found[name] = (low, high)
    return found


def _names(text: str) -> tuple[str, ...]:
    """Comma-separated names; `none` is the empty list."""
    return () if text == "none" else tuple(name for name in text.split(",") if name)


def _pairs(text: str) -> list[tuple[str, str]]:
    """Comma-separated ROLE=NAME pairs, for argparse."""
    pairs = [part.partition("=") for part in text.split(",")]
    if not all(role and name for role, _, name in pairs):
        raise argparse.ArgumentTypeError(
            f"an array is named as ROLE=NAME; got {text!r}; try theta=params"
        )
    return [(role, name) for role, _, name in pairs]


def read_table(paths: Sequence[Path], chosen: argparse.Namespace) -> npt.Table:
    """The table in the files or folders that a command names, corrected or meant as it asks.

    Raises:
        ValueError: for files that cannot be read, whatever their reader raises.
    """
    table = read_corrected(paths, chosen, corrections_asked(chosen))
    return table.as_meant() if chosen.as_saved else table


def corrections_asked(chosen: argparse.Namespace) -> list[str]:
    """Names of the corrections that a command asks for."""
    return [name for names in chosen.correct for name in names]


def read_corrected(
    paths: Sequence[Path], chosen: argparse.Namespace, corrections: Sequence[str]
) -> npt.Table:
    """The table in files or folders, with these corrections alone; its mistakes are still said.

    Raises:
        ValueError: for files that cannot be read, whatever their reader raises.
    """
    if Path("-") in paths:
        raise ValueError(
            "A table is read from a file; got -, which stands for the lines of --stream. Name "
            "/dev/stdin for a table on standard input."
        )
    arrays = merge_pairs(pair for pairs in chosen.map for pair in pairs)
    try:
        return npt.read(
            paths,
            order=chosen.order,
            arrays=arrays,
            circular=chosen.circular,
            logarithms=chosen.logarithms,
            bounds={name: ends for pairs in chosen.bounds for name, ends in pairs.items()} or None,
            discrete=chosen.discrete,
            corrections=corrections,
            missing=chosen.missing,
            max_rank=chosen.max_rank,
        )
    except (ValueError, OSError, MemoryError):
        raise  # its message is for the user
    except Exception as error:
        raise ValueError(
            f"A table is read from its file's numbers and names; got "
            f"{', '.join(map(str, paths))}, where that fails ({type(error).__name__}). Save it "
            f"again, with names of plain characters."
        ) from error


def parse_level(text: str) -> float:
    """A level in (0, 1), for argparse."""
    value = _number(text)
    if not 0 < value < 1:
        raise argparse.ArgumentTypeError(f"a level lies between 0 and 1; got {text}; try 0.05")
    return value


def parse_seed(text: str) -> int:
    """A seed, for argparse."""
    if not text.isdecimal():
        raise argparse.ArgumentTypeError(
            f"a seed is a whole number, 0 or more; got {text!r}; try 0"
        )
    return int(text)


def parse_seconds(text: str) -> float:
    """A time limit in seconds, for argparse."""
    value = _number(text)
    if not 0 <= value < math.inf:
        raise argparse.ArgumentTypeError(
            f"a time is a number of seconds, 0 or more; got {text!r}; try 60"
        )
    return value


def _number(text: str) -> float:
    """A number; NaN, which is outside every range, for any other text."""
    try:
        return float(text)
    except ValueError:
        return math.nan


def parse_grid(text: str) -> tuple[float, ...]:
    """Comma-separated numbers, for argparse."""
    try:
        grid = tuple(float(part) for part in text.split(","))
    except ValueError:
        grid = ()
    if not grid or not all(map(math.isfinite, grid)):
        raise argparse.ArgumentTypeError(
            f"a grid is finite numbers with commas between; got {text!r}; try 0,0.1,0.2"
        )
    return grid


def parse_integers(text: str) -> tuple[int, ...]:
    """Comma-separated integers, for argparse."""
    try:
        return tuple(int(part) for part in text.split(","))
    except ValueError:
        raise argparse.ArgumentTypeError(
            f"these are whole numbers with commas between; got {text!r}; try 10,30,100"
        ) from None


def check_writable(*paths: Path | str | None, read: Sequence[Path] = ()) -> None:
    """Refuse, before anything runs, files that could not be written afterwards.

    Args:
        paths: None and `-` are no files.
        read: files that the command reads, which are not to be overwritten.

    Raises:
        ValueError: for a missing folder, a path that is no file, one file named twice, or one
            that is read.
    """
    files = [Path(path) for path in paths if path not in (None, "", "-")]
    for path in files:
        check_not_read(path, read)
    for path in files:
        if not path.parent.is_dir():
            raise ValueError(
                f"A result is written into a folder that exists; got {path}. Make {path.parent} "
                f"first."
            )
        there = path.exists()
        if there and not path.is_file() and not path.is_dir():
            continue  # closing a pipe here would end it for its reader
        try:
            path.open("ab").close()
        except OSError as error:
            raise ValueError(
                f"A result is written into a file; got {path}: {error.strerror}. Name a file "
                f"that can be written."
            ) from error
        if not there:
            path.unlink()
    if len({path.resolve() for path in files}) < len(files):
        raise ValueError(
            f"Each result has a file of its own; got {', '.join(map(str, files))}. Name another."
        )


def make_folder(path: Path) -> None:
    """Make a folder for results, and those that it lies in, before anything runs.

    Raises:
        ValueError: where there can be none.
    """
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise ValueError(
            f"Results are written into a folder; got {path}: {error.strerror}. Name a folder that "
            f"can be made."
        ) from error
    if not os.access(path, os.W_OK):
        raise ValueError(
            f"Results are written into a folder; got {path}, which cannot be written. Name "
            f"another."
        )


def parse_methods(texts: Sequence[str] | None) -> list[Method]:
    """Methods from texts NAME[:field=value,...].

    Raises:
        ValueError: for an unknown name or option, or two equal methods.
    """
    from validation_core.api.names import parse_method

    selected = [parse_method(text) for text in texts or ()]
    labels = [method.label for method in selected]
    if len(set(labels)) < len(labels):
        raise ValueError(f"Each method is tested once; got {labels}. Leave out the repeated one.")
    return selected


def parse_benchmark(name: str, options: Sequence[str]) -> Benchmark:
    """A benchmark by name, with `field=value` options.

    Raises:
        ValueError: for an unknown name or option.
    """
    from validation_core.api.names import benchmark_kind

    return parse_specification(benchmark_kind(name), options)


def write_json(value: object, where: str | None, aloud: Callable[[], None]) -> None:
    """Write JSON to standard output or a file; print words unless JSON is printed."""
    write_json_text(lambda: json.dumps(value, indent=1, allow_nan=False), where, aloud)


def write_json_text(text: Callable[[], str], where: str | None, aloud: Callable[[], None]) -> None:
    """As `write_json`, for JSON text."""
    if where == "-":
        print(text())
        return
    if where:
        Path(where).write_text(text(), encoding="utf-8")
    aloud()


class NoteLines:
    """Prints messages for the user on standard error, without progress."""

    every = 5.0

    def note(self, text: str) -> None:
        """Print one line."""
        tell(text)

    def begin(self, label: str) -> None: ...
    def progress(self, done: int, part: float, total: int, seconds: float) -> None: ...
    def end(self, task: Task, seconds: float, store: npt.Store) -> None: ...
    def late(self, task: Task) -> None: ...
    def left_out(self, question: str) -> None: ...


class ProgressLines(NoteLines):
    """Prints a line of progress from time to time."""

    def progress(self, done: int, part: float, total: int, seconds: float) -> None:
        """Print the pieces done; running ones do not count."""
        tell(f"{seconds:6.1f} s  {done} of {total} done")
