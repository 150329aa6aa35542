"""`compare FILE FILE...`: which of several posteriors of the same simulations is nearer."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path

from validation_core import ComparisonResult, Store, Table
from validation_core.api.compare import compared
from validation_core.cli.options import (
    NoteLines,
    add_json_option,
    add_table_options,
    check_writable,
    corrections_asked,
    parse_file,
    parse_seed,
    read_corrected,
    write_json_text,
)
from validation_core.cli.process import tell
from validation_core.diagnosis.comparison import number


def add(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the command."""
    option = parser.add_argument
    option(
        "files", type=parse_file, nargs="+", metavar="FILE", help="tables of the same simulations"
    )
    option("--seed", type=parse_seed, default=0)
    add_table_options(parser)
    add_json_option(parser)
    parser.set_defaults(run=_run)


def _run(chosen: argparse.Namespace) -> None:
    """Read the files, score each row, and print the differences from the first file.

    Raises:
        ValueError: for fewer than two files, unreadable ones, or different simulations.
    """
    if len(chosen.files) < 2:
        raise ValueError(
            f"A comparison needs at least two tables; got {len(chosen.files)}. Name another file."
        )
    check_writable(chosen.json, read=chosen.files)
    tables = _read_tables(chosen)
    result = compared(_labels(chosen.files), tables, 0, chosen.seed, Store.usual(), _StartLines())
    write_json_text(result.to_json, chosen.json, lambda: _print_comparison(result))


def _read_tables(chosen: argparse.Namespace) -> list[Table]:
    """The tables, each with those corrections that it needs: a file has mistakes of its own.

    Raises:
        ValueError: for files that cannot be read, or a correction that none of them needs.
    """
    asked = corrections_asked(chosen)
    tables = [read_corrected([path], chosen, ()) for path in chosen.files]
    found = [{one.name for one in table.mistakes} for table in tables]
    elsewhere = set[str]().union(*found)
    wanted = [[name for name in asked if name in own or name not in elsewhere] for own in found]
    tables = [
        read_corrected([path], chosen, names) if names else table
        for table, path, names in zip(tables, chosen.files, wanted, strict=True)
    ]
    return [table.as_meant() for table in tables] if chosen.as_saved else tables


class _StartLines(NoteLines):
    """Prints a line for each piece of work before it runs."""

    def begin(self, label: str) -> None:
        tell(label)


def _labels(files: Sequence[Path]) -> list[str]:
    """File names, with folders where names alone are equal."""
    names = [path.name for path in files]
    return names if len(set(names)) == len(names) else [str(path) for path in files]


def _print_comparison(result: ComparisonResult) -> None:
    for sentence in result.sentences:
        print(sentence)
    print()
    labels = result.labels
    for measure in result.measures:
        print(f"{measure.title}: {measure.about}")
        for i, label in enumerate(labels):
            less = f"   less {labels[0]}: {number(measure.differences[i])}" if i else ""
            print(f"  {label:<32} {number(measure.values[i])}{less}")
