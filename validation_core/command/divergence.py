"""`divergence`: Figures 1 to 3 of Domke (2021), the symmetric divergence over simulations."""

from __future__ import annotations

import argparse
import dataclasses
from collections.abc import Mapping, Sequence
from itertools import groupby
from pathlib import Path
from typing import Any, cast

from validation_core.bayes import MODELS, Model, closed, designs
from validation_core.bayes.inference import ALGORITHMS, Inference, possible
from validation_core.command.engines import run_on_engine
from validation_core.command.options import (
    build,
    entry,
    json_option,
    put,
    values,
    whole,
    writable,
)
from validation_core.figures.divergence import drawn
from validation_core.models import keep_covariates
from validation_core.report import versions
from validation_core.report.numbers import dumps
from validation_core.report.sheet import sheet
from validation_core.simulations import GRID, MS, Plan, collect, figure, missing
from validation_core.simulations.numbers import Row, figure_rows
from validation_core.simulations.plan import trained
from validation_core.store import Store

_TITLE = "Symmetric divergence over simulations"
_FIGURES = (1, 2, 3)
_REAL = ("ionosphere", "concrete")
_WIDTHS = (12, 5, 11, 26, 12, 12)  # of the columns of a table in words


def add(parser: argparse.ArgumentParser) -> None:
    """Its arguments."""
    option = parser.add_argument
    option(
        "--figure", type=whole, default=_FIGURES, metavar="1,2,3", help="of the paper; all three"
    )
    option(
        "--model", action="append", metavar="NAME[:field=value,...]",
        help=f"{', '.join(MODELS)}; all five",
    )  # fmt: skip
    option(
        "--inference", action="append", metavar="NAME[:field=value,...]",
        help="of Figures 1 and 2: laplace, adjusted_laplace, vi, iwvi, which are run unasked, or "
        "exact",
    )  # fmt: skip
    option(
        "--iterations", type=whole, default=GRID, metavar="10,30,...",
        help=f"{','.join(map(str, GRID))}; Figure 2 shows the middle and the last of them, "
        f"Figure 3 the last",
    )  # fmt: skip
    option("--datasets", type=int, default=100, metavar="K", help="simulated for each model; 100")
    option(
        "--m", type=whole, metavar="1,2,...",
        help=f"of {', '.join(map(str, MS))}: draws that Figure 2 weighs and that Figure 3 trains "
        f"with",
    )  # fmt: skip
    option("--seed", type=int, default=0)
    for name in _REAL:
        about = "file of the UCI repository with the covariates; a stand-in without it"
        option(f"--{name}", type=Path, metavar="PATH", help=about)
    option("--openml", action="store_true", help="ask OpenML for covariates that have no file")
    option("--engine", default="local", metavar="local|serial|dask:ADDRESS[,local]")
    json_option(parser)
    option("--html", type=Path, metavar="PATH.html", help="the figures in one file, for offline")
    parser.set_defaults(run=run)


def run(chosen: argparse.Namespace) -> None:
    """Run what is missing, print the numbers, write the figures.

    Raises:
        ValueError: for options that cannot be used, or when a run fails; what the others found is
            printed and written first.
    """
    writable(chosen.html, chosen.json)
    store = Store()
    plans = _plans(chosen, store)
    left = dict.fromkeys(run for plan in plans.values() for run in missing(plan, store))
    state = run_on_engine(tuple(left), store, chosen.engine, _TITLE)
    found = {number: collect(plan, store) for number, plan in plans.items()}
    told = {
        number: figure_rows(number, plan, found[number], chosen.m)
        for number, plan in plans.items()
    }
    if chosen.html:
        figures = [
            one for number, plan in plans.items()
            for one in drawn(number, plan, found[number], chosen.m)
        ]  # fmt: skip
        page = sheet(_TITLE, _lead(plans), figures, _tables(told), _json(chosen, told))
        chosen.html.write_text(page, encoding="utf-8")
    put(lambda: dumps(_json(chosen, told)), chosen.json, lambda: _print(told))
    if state.state != "done":
        raise ValueError(state.message)


def _plans(chosen: argparse.Namespace, store: Store) -> dict[int, Plan]:
    """What each figure needs, by its number.

    Raises:
        ValueError: for options that cannot be used.
    """
    if not set(chosen.figure) <= set(_FIGURES):
        raise ValueError(
            f"Figures are 1, 2 and 3; got {', '.join(map(str, chosen.figure))}. Choose of them."
        )
    ms = chosen.m or ()
    if set(ms) - set(MS) or len(set(ms)) < len(ms):
        raise ValueError(
            f"M is some of {', '.join(map(str, MS))}, each once; got {', '.join(map(str, ms))}. "
            f"Choose of them."
        )
    models = _models(chosen, store)
    inferences = [_inference(text) for text in chosen.inference or ()]
    for model in models:
        if lacking := [one for one in inferences if not possible(model, one)]:
            raise ValueError(
                f"{lacking[0].label} needs a closed form, which {model.title} has not. Choose by "
                f"--model of {', '.join(filter(closed, MODELS))}, or leave it out."
            )
    iterations = tuple(sorted(chosen.iterations))
    wanted = {
        number: (iterations[-1:], trained(chosen.m) if chosen.m else ())
        if number == 3 else (iterations, inferences)
        for number in sorted(set(chosen.figure))
    }  # fmt: skip
    return {
        number: figure(number, models, of, along, datasets=chosen.datasets, seed=chosen.seed)
        for number, (along, of) in wanted.items()
    }


def _models(chosen: argparse.Namespace, store: Store) -> list[Model]:
    made = []
    for text in chosen.model or MODELS:
        name, _, options = text.partition(":")
        model = build(entry(MODELS, name, "model"), options.split(",") if options else [])
        made.append(_with_covariates(model, chosen, store))
    for name in _REAL:
        if getattr(chosen, name) and name not in {model.name for model in made}:
            raise ValueError(
                f"--{name} gives the covariates of a model that is asked for; got no {name} among "
                f"the models. Add --model {name}, or leave the file out."
            )
    return made


def _with_covariates(model: Model, chosen: argparse.Namespace, store: Store) -> Model:
    """The model with the user's covariates, where they were given."""
    if model.name not in _REAL:
        return model
    path = getattr(chosen, model.name)
    if path is None and not chosen.openml:
        return model
    try:
        raw = designs.read(path) if path else designs.openml(model.name)
    except OSError as error:
        raise ValueError(
            f"--{model.name} names a file that can be read; got {path}: {error.strerror}. Give "
            f"the path of the UCI file."
        ) from error
    digest = keep_covariates(store, model.name, raw)
    return cast("Model", dataclasses.replace(cast("Any", model), design=digest))


def _inference(text: str) -> Inference:
    name, _, options = text.partition(":")
    usual: Any = entry(ALGORITHMS, name, "inference")
    return cast(
        "Inference",
        dataclasses.replace(usual, **values(type(usual), options.split(",") if options else [])),
    )


def _json(chosen: argparse.Namespace, told: Mapping[int, Sequence[Row]]) -> dict[str, Any]:
    return {
        "datasets": chosen.datasets, "seed": chosen.seed,
        "figures": {str(number): list(of) for number, of in told.items()},
        "versions": versions.versions(),
    }  # fmt: skip


def _lead(plans: Mapping[int, Plan]) -> list[str]:
    """What the file is about, in paragraphs."""
    plan = next(iter(plans.values()))
    standing = [model.label for model in plan.models if "stand-in" in model.label]
    said = [
        f"KL(p‖q) + KL(q‖p) between the true posterior p and an inferred q, in nats, averaged "
        f"over data simulated from each model ({plan.datasets} data sets, the same ones for every "
        f"algorithm). It is 0 if q is p at every one of them."
    ]
    if standing:
        said.append(
            f"Covariates are a stand-in, random numbers of the shape of the real ones: "
            f"{', '.join(standing)}."
        )
    return said


def _tables(told: Mapping[int, Sequence[Row]]) -> dict[str, list[Row]]:
    columns = {
        "Model": "model_label", "Algorithm": "inference_label", "Iterations": "iterations",
        "M": "m", "SKL, nats": "skl", "95% from": "ci_low", "to": "ci_high", "Median d": "median",
        "Largest d": "largest", "Data sets": "k", "without q": "failures", "Seconds": "seconds",
    }  # fmt: skip
    return {
        f"Numbers of Figure {number}": [
            {name: row[key] for name, key in columns.items()} for row in of
        ]
        for number, of in told.items()
    }


def _print(told: Mapping[int, Sequence[Row]]) -> None:
    """A table for each figure, narrow enough for a terminal of 80 columns."""
    for number, of in told.items():
        about = f"symmetric divergence in nats, {of[0]['k']} data sets" if of else "nothing ran"
        print(f"Figure {number}: {about}")
        for labels, rows in groupby(of, lambda row: (row["model_label"], row["inference_label"])):
            print(f"\n  {', '.join(labels)}")
            print(_line("iterations", "M", "SKL", "95% interval", "median d", "largest d"))
            for row in rows:
                print(_numbers(row))
        print()


def _numbers(row: Row) -> str:
    at = f"{row['iterations']:,}", str(row["m"])
    if row["skl"] is None:
        why = f"no q on {row['failures']} of {row['k']} data sets" * bool(row["failures"])
        return _line(*at) + f"   {why or 'no finite estimate'}"
    between = f"[{row['ci_low']:.4g}, {row['ci_high']:.4g}]"
    return _line(
        *at, f"{row['skl']:.4g}", between, f"{row['median']:.4g}", f"{row['largest']:.4g}"
    )


def _line(*cells: str) -> str:
    return "".join(cell.rjust(width) for cell, width in zip(cells, _WIDTHS, strict=False))
