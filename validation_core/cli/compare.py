"""`compare FILE FILE...`: which of several posteriors of the same simulations is nearer."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path

from validation_core import ComparisonResult, Store
from validation_core.cli import tell
from validation_core.cli.options import (
    _json_option,
    _Lines,
    _put,
    _table,
    _table_options,
    _writable,
)
from validation_core.diagnosis.questions.posteriors import number
from validation_core.front.compare import compared


def add(parser: argparse.ArgumentParser) -> None:
    """Its arguments."""
    option = parser.add_argument
    option("files", type=Path, nargs="+", metavar="FILE", help="tables of the same simulations")
    option("--seed", type=int, default=0)
    _table_options(parser)
    _json_option(parser)
    parser.set_defaults(run=_run)


def _run(chosen: argparse.Namespace) -> None:
    """Read the files, score each row, and print the differences from the first file.

    Raises:
        ValueError: for fewer than two files, files that cannot be read, or other simulations.
    """
    if len(chosen.files) < 2:
        raise ValueError(
            f"A comparison needs at least two tables; got {len(chosen.files)}. Name another file."
        )
    _writable(chosen.json)
    tables = [_table(path, chosen) for path in chosen.files]
    result = compared(_labels(chosen.files), tables, 0, chosen.seed, Store.usual(), _Begun())
    _put(result.to_json, chosen.json, lambda: _read_aloud(result))


class _Begun(_Lines):
    """A line for each piece of work before it runs."""

    def begin(self, label: str) -> None:
        tell(label)


def _labels(files: Sequence[Path]) -> list[str]:
    """File names, with their folders where names alone are the same."""
    names = [path.name for path in files]
    return names if len(set(names)) == len(names) else [str(path) for path in files]


def _read_aloud(result: ComparisonResult) -> None:
    for sentence in result.sentences:
        print(sentence)
    print()
    labels = result.labels
    for measure in result.measures:
        print(f"{measure.title}: {measure.about}")
        for i, label in enumerate(labels):
            less = f"   less {labels[0]}: {number(measure.differences[i])}" if i else ""
            print(f"  {label:<32} {number(measure.values[i])}{less}")
