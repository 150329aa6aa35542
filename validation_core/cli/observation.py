"""`observation FILE`: what can be said of q at one's own data."""

from __future__ import annotations

import argparse
from typing import Any

from validation_core import ObservationResult, Store, observation
from validation_core.cli.options import (
    NoteLines,
    add_json_option,
    add_table_options,
    check_writable,
    parse_file,
    parse_integers,
    parse_level,
    parse_path,
    parse_seed,
    read_table,
    write_json_text,
)
from validation_core.tables.observed import BESIDE, read_observation


def add(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the command."""
    option = parser.add_argument
    option(
        "file", type=parse_file, metavar="FILE", help="the table: theta, x, theta_q, perhaps x_o"
    )
    option(
        "--row",
        type=parse_integers,
        default=(),
        metavar="I[,I...]",
        help="look at these rows of the file, counted from 0, in place of its x_o",
    )
    option(
        "--observed",
        type=parse_file,
        metavar="FILE",
        help=f"a file with x_o (M,) or (J, M), and any of {', '.join(BESIDE[1:])}",
    )
    option("--quick", action="store_true", help="without L-C2ST and CoLT, which are trained first")
    option("--alpha", type=parse_level, default=0.05, help="level of each answer by itself")
    option("--seed", type=parse_seed, default=0)
    option(
        "--report",
        type=parse_path(".html"),
        metavar="PATH.html",
        help="write the answers as an HTML file",
    )
    add_table_options(parser)
    add_json_option(parser)
    parser.set_defaults(run=_run)


def _run(chosen: argparse.Namespace) -> None:
    """Read the table, look at the observation, and print the answers, the worst first.

    Raises:
        ValueError: for a file that cannot be read, or an observation that does not fit.
    """
    read = [chosen.file, *([chosen.observed] if chosen.observed else [])]
    check_writable(chosen.json, chosen.report, read=read)
    given: dict[str, Any] = {}
    if chosen.observed:
        given |= read_observation(chosen.observed)
    if chosen.row and "x_o" in given:
        raise ValueError(
            f"Observations are rows or x_o; got --row and x_o in {chosen.observed}. Leave one out."
        )
    result = observation(
        read_table([chosen.file], chosen),
        **given,
        rows=chosen.row,
        local=not chosen.quick,
        alpha=chosen.alpha,
        seed=chosen.seed,
        store=Store.usual(),
        progress=NoteLines(),
    )
    if chosen.report:
        chosen.report.write_text(result.document(), encoding="utf-8")
    write_json_text(result.to_json, chosen.json, lambda: _print_answers(result))


def _print_answers(result: ObservationResult) -> None:
    for text in result.notes:
        print(f"  {text}")
    for answer in result.answers:
        print(f"{answer.title} {answer.state.capitalize()}.")
        for sentence in answer.sentences:
            print(f"  {sentence}")
        print(f"  {answer.cannot}\n")
    for reason in result.left_out.values():
        print(f"Left out: {reason}")
