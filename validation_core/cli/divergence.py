"""`divergence`: Figures 1 to 3 of Domke (2021), the symmetric divergence over simulations."""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from itertools import groupby
from json import loads
from typing import Any

from validation_core import ALGORITHMS, MODELS, Store
from validation_core.api.divergence import FIGURES, TITLE, estimate, plans
from validation_core.api.names import entry
from validation_core.api.option_texts import parse_fields, parse_specification
from validation_core.api.result import Rows
from validation_core.bayes import Model
from validation_core.bayes.algorithms import with_options
from validation_core.bayes.inference import Inference
from validation_core.cli.options import (
    ProgressLines,
    add_json_option,
    check_writable,
    parse_integers,
    parse_path,
    parse_seed,
    write_json_text,
)
from validation_core.report.document import sheet
from validation_core.symmetric_divergence import GRID, MS
from validation_core.symmetric_divergence.curves import CurveRow
from validation_core.symmetric_divergence.nats_text import without_rounding

_WIDTHS = (12, 5, 11, 26, 12, 12)  # names of the columns of the printed table


def add(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the command."""
    option = parser.add_argument
    option(
        "--figure",
        type=parse_integers,
        default=FIGURES,
        metavar="1,2,3",
        help="of the paper; all three",
    )
    option(
        "--model",
        action="append",
        metavar="NAME[:field=value,...]",
        help=f"{', '.join(MODELS)}; all five. The last two have real covariates, random ones with "
        f"design=stand-in",
    )
    option(
        "--inference",
        action="append",
        metavar="NAME[:field=value,...]",
        help="of Figures 1 and 2: laplace, adjusted_laplace, vi, iwvi, renyi, chi or exact; by "
        "default the paper's, the first four for Figure 1 and adjusted_laplace for Figure 2",
    )
    option(
        "--iterations",
        type=parse_integers,
        default=GRID,
        metavar="10,30,...",
        help=",".join(map(str, GRID)),
    )
    option("--datasets", type=int, default=100, metavar="K", help="simulated for each model; 100")
    option(
        "--m",
        type=parse_integers,
        metavar="1,2,...",
        help=f"of {', '.join(map(str, MS))}: draws that Figure 2 weighs and that Figure 3 trains "
        f"with",
    )
    option("--seed", type=parse_seed, default=0)
    option("--engine", default="local", metavar="local|serial|dask:ADDRESS[,local]")
    add_json_option(parser)
    option(
        "--html",
        type=parse_path(".html"),
        metavar="PATH.html",
        help="the figures in one file, for offline",
    )
    parser.set_defaults(run=_run)


def _run(chosen: argparse.Namespace) -> None:
    """Run the missing runs, print the numbers, write the figures.

    Raises:
        ValueError: for invalid options, or when a run fails; results of the others are printed and
            written first.
    """
    check_writable(chosen.html, chosen.json)
    wanted = plans(
        chosen.figure,
        [_model(text) for text in chosen.model or MODELS],
        [_inference(text) for text in chosen.inference or ()],
        chosen.iterations,
        chosen.m,
        datasets=chosen.datasets,
        seed=chosen.seed,
    )
    result, problem = estimate(wanted, chosen.m, Store.usual(), ProgressLines(), chosen.engine)
    rows = {number: result.of_figure(number) for number in result.plans}
    if chosen.html:
        page = sheet(
            TITLE, result.sentences, result.figures(), _tables(rows), loads(result.to_json())
        )
        chosen.html.write_text(page, encoding="utf-8")
    write_json_text(result.to_json, chosen.json, lambda: _print(rows))
    if problem:
        raise ValueError(problem)


def _model(text: str) -> Model:
    name, _, options = text.partition(":")
    return parse_specification(entry(MODELS, name, "model"), options.split(",") if options else [])


def _inference(text: str) -> Inference:
    name, _, options = text.partition(":")
    kind = type(entry(ALGORITHMS, name, "inference"))
    return with_options(name, **parse_fields(kind, options.split(",") if options else []))


def _tables(told: Mapping[int, Rows]) -> dict[str, list[CurveRow]]:
    columns = {
        "Model": "model_label",
        "Algorithm": "inference_label",
        "Iterations": "iterations",
        "M": "m",
        "SKL, nats": "skl",
        "95% from": "ci_low",
        "to": "ci_high",
        "Median d": "median",
        "median from": "median_low",
        "median to": "median_high",
        "Largest d": "largest",
        "its share": "carried",
        "Data sets": "k",
        "without q": "failures",
        "Seconds": "seconds",
    }
    return {
        f"Numbers of Figure {number}": [
            {name: _settled(row[key]) for name, key in columns.items()} for row in of
        ]
        for number, of in told.items()
    }


def _settled(value: Any) -> Any:
    return without_rounding(value) if isinstance(value, float) else value


def _print(told: Mapping[int, Rows]) -> None:
    """A table for each figure, narrow enough for a terminal of 80 columns."""
    for number, of in told.items():
        about = f"symmetric divergence in nats, {of[0]['k']} data sets" if of else "nothing ran"
        print(f"Figure {number}: {about}")
        for labels, rows in groupby(of, lambda row: (row["model_label"], row["inference_label"])):
            print(f"\n  {', '.join(labels)}")
            print(_line("iterations", "M", "SKL", "95% interval", "median d", "largest d"))
            for row in rows:
                print(_numbers(row))
        if any(row["dominated"] for row in of):
            print("\n  * most of SKL, the mean, is the largest d: one data set's")
        print()


def _numbers(row: Mapping[str, Any]) -> str:
    at = f"{row['iterations']:,}", str(row["m"])
    if row["skl"] is None:
        why = f"no q on {row['failures']} of {row['k']} data sets" * bool(row["failures"])
        return _line(*at) + f"   {why or 'no finite estimate'}"
    names = ("skl", "ci_low", "ci_high", "median", "largest")
    skl, low, high, median, largest = (f"{without_rounding(row[name]):.4g}" for name in names)
    cells = skl, f"[{low}, {high}]", median, largest
    return _line(*at, *cells) + " *" * row["dominated"]


def _line(*cells: str) -> str:
    return "".join(cell.rjust(width) for cell, width in zip(cells, _WIDTHS, strict=False))
