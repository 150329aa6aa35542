"""`power`: rejections of methods on a benchmark over gamma and beta."""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from dataclasses import fields
from typing import Any

from validation_core import Store
from validation_core.api.power import SweepOptions, count, published
from validation_core.cli.options import (
    ProgressLines,
    add_json_option,
    check_writable,
    parse_benchmark,
    parse_grid,
    parse_level,
    parse_methods,
    parse_seed,
    write_json_text,
)
from validation_core.sweep.plan import Sweep


def add(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the command."""
    option = parser.add_argument
    option("--comparison", metavar="NAME", help="a paper's figure or a demonstration, by name")
    option("--benchmark", metavar="NAME")
    option("--set", action="append", default=[], metavar="field=value", help="benchmark's options")
    option("--method", action="append", metavar="NAME[:field=value,...]")
    option("--gamma", type=parse_grid, metavar="0,0.1,0.2")
    option(
        "--beta",
        type=parse_grid,
        default=(0.0,),
        metavar="0,0.5",
        help="how far networks are moved back to their random start",
    )
    option("--trials", type=int, help="200, or a comparison's own")
    option("--n", type=int, default=1000, help="test points of a trial")
    option("--k", type=int, default=100, help="draws of q at each x, for tables")
    option("--alpha", type=parse_level, default=0.05)
    option("--seed", type=parse_seed, default=0)
    option("--networks", type=int, help="trained at each gamma, 1, or a comparison's own")
    option("--preset", default="interactive", help="how classifiers are trained")
    option("--protocol", choices=("pooled", "fresh"), default="pooled")
    option("--engine", default="local", metavar="local|serial|dask:ADDRESS[,local]")
    add_json_option(parser)
    parser.set_defaults(run=_run)


def _run(chosen: argparse.Namespace) -> None:
    """Train the missing networks, count rejections, and print them.

    Raises:
        ValueError: for invalid options, or when a method fails; results of the others are printed
            first.
    """
    check_writable(chosen.json)
    wanted = chosen_sweep(chosen)
    result, problem = count(wanted, Store.usual(), ProgressLines(), chosen.engine)
    if result.cells or not problem:
        write_json_text(result.to_json, chosen.json, lambda: _print_cells(result.rows()))
    if problem:
        raise ValueError(problem)


def chosen_sweep(chosen: argparse.Namespace) -> Sweep:
    """The sweep that the arguments describe.

    Raises:
        ValueError: for invalid options.
    """
    own = SweepOptions(
        **{field.name: getattr(chosen, field.name) for field in fields(SweepOptions)}
    )
    return _known(chosen, own) if chosen.comparison else _own(chosen, own)


def _known(chosen: argparse.Namespace, own: SweepOptions) -> Sweep:
    named = [name for name in ("benchmark", "set", "method", "gamma") if getattr(chosen, name)]
    beside = [f"--{name}" for name in (*named, *own.changed)]
    return published(chosen.comparison, beside, chosen.trials, chosen.alpha, chosen.networks)


def _own(chosen: argparse.Namespace, own: SweepOptions) -> Sweep:
    needed = {"--benchmark": chosen.benchmark, "--method": chosen.method, "--gamma": chosen.gamma}
    lacking = [name for name, value in needed.items() if not value]
    if lacking:
        raise ValueError(
            f"A power needs {', '.join(needed)}, or --comparison; got no {', '.join(lacking)}. "
            "Name what is missing."
        )
    return own.sweep(
        parse_benchmark(chosen.benchmark, chosen.set),
        parse_methods(chosen.method),
        chosen.gamma,
        chosen.trials,
        chosen.alpha,
        chosen.networks,
    )


def _print_cells(cells: Sequence[Mapping[str, Any]]) -> None:
    width = max((len(cell["label"]) for cell in cells), default=0)
    for cell in cells:
        print(
            f"{cell['label']:<{width}} gamma {cell['gamma']:<6g} beta {cell['beta']:<6g} power "
            f"{cell['rate']:.3f} [{cell['low']:.3f}, {cell['high']:.3f}], "
            f"{cell['trials']} trials, {cell['protocol']}{_mean(cell)}"
        )


def _mean(cell: Mapping[str, Any]) -> str:
    """Mean and central 90% interval of the statistic over trials, where stored."""
    if cell["statistic"] is None:
        return ""
    low, high = cell["statistic_low"], cell["statistic_high"]
    return f", statistic {cell['statistic']:.3g} [{low:.3g}, {high:.3g}]"
