"""Figures 1 to 3: estimates with intervals, along iterations or M."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from validation_core.statistics.divergence import HEAVY, tail_shape
from validation_core.symmetric_divergence.runs import (
    MS,
    Plan,
    Terms,
    TermSummary,
    importance_sample_size,
    summarise_terms,
)
from validation_core.types import Array

PlanTerms = Mapping[tuple[int, int], Terms]


@dataclass(frozen=True, eq=False)
class DivergenceCurve:
    """One line of a panel, with P positions along x."""

    name: str
    """The algorithm's name in the registry, which fixes its colour."""
    label: str
    x: Array
    """Iterations or M (P,)."""
    found: TermSummary
    """(P,) each, in nats; NaN where there is no estimate."""
    done: NDArray[np.bool_]
    """Positions with a finished run (P,)."""
    failures: NDArray[np.int64]
    """Data sets without q (P,)."""
    k: int

    @property
    def gap(self) -> NDArray[np.bool_]:
        """Positions with a run but no estimate (P,)."""
        return np.asarray(self.done & ~np.isfinite(self.found.mean))


def curves_along_iterations(plan: Plan, found: PlanTerms, model: int) -> list[DivergenceCurve]:
    """Curves of Figure 1: each inference of a model, tested with its own M."""
    curves = []
    for j, inference in enumerate(plan.inferences):
        terms = found[model, j]
        d = terms.d[:, MS.index(importance_sample_size(inference))]
        curves.append(
            DivergenceCurve(
                inference.name,
                inference.label,
                np.array(plan.iterations, float),
                summarise_terms(d),
                terms.done,
                terms.failures,
                plan.datasets,
            )
        )
    return curves


def along_m(
    plan: Plan, found: PlanTerms, model: int, iterations: int, ms: Sequence[int] = MS
) -> list[DivergenceCurve]:
    """Curves of Figure 2: each inference of a model, tested with every M of `ms`."""
    at = plan.iterations.index(iterations)
    return [
        _weighted(inference.name, inference.label, found[model, j], at, plan.datasets, ms)
        for j, inference in enumerate(plan.inferences)
    ]


def curves_trained_with_m(
    plan: Plan, found: PlanTerms, model: int, iterations: int
) -> list[DivergenceCurve]:
    """Curves of Figure 3: VI trained with M or with 1, and tested with M."""
    at = plan.iterations.index(iterations)
    ms = [importance_sample_size(inference) for inference in plan.inferences]
    order = np.argsort(ms)
    several = [found[model, int(j)] for j in order]
    d = np.stack([t.d[at, MS.index(ms[j])] for j, t in zip(order, several, strict=True)])
    curves = [
        DivergenceCurve(
            "iwvi",
            "VI trained with M",
            np.sort(ms).astype(float),
            summarise_terms(d),
            np.array([t.done[at] for t in several]),
            np.array([t.failures[at] for t in several]),
            plan.datasets,
        )
    ]
    if 1 in ms:
        terms = found[model, ms.index(1)]
        label = "VI trained with M = 1, weighted with M"
        curves.append(_weighted("vi", label, terms, at, plan.datasets, sorted(ms)))
    return curves


def _weighted(
    name: str, label: str, terms: Terms, at: int, k: int, ms: Sequence[int]
) -> DivergenceCurve:
    places = [MS.index(m) for m in ms]
    return DivergenceCurve(
        name,
        label,
        np.array(ms, float),
        summarise_terms(terms.d[at, places]),
        np.repeat(terms.done[at], len(ms)),
        np.repeat(terms.failures[at], len(ms)),
        k,
    )


Row = dict[str, Any]


def rows(plan: Plan, found: PlanTerms, ms: Sequence[int] | None = None) -> list[Row]:
    """Table of a plan's finished runs, in the order of the plan.

    Args:
        plan: the requested runs.
        found: terms of the finished ones.
        ms: M of the importance sampling, a row each; by default each inference's own M.

    Returns:
        Estimates in nats, None where a data set has no q; `k` data sets, `failures` of them
        without q; `heavy` where the `tail` of the terms is one of infinite variance.
    """
    records = []
    for (i, j), terms in sorted(found.items()):
        model, inference = plan.models[i], plan.inferences[j]
        numbers = summarise_terms(terms.d)
        for at, iterations in enumerate(plan.iterations):
            for m in ms or (importance_sample_size(inference),) if terms.done[at] else ():
                got = [float(values[at, MS.index(m)]) for values in numbers]
                got.append(tail_shape(np.abs(terms.d[at, MS.index(m)])))
                skl, low, high, *median, largest, sd, tail = (v if v == v else None for v in got)
                records.append(
                    {
                        "model": model.name,
                        "model_label": model.label,
                        "inference": inference.name,
                        "inference_label": inference.label,
                        "iterations": iterations,
                        "trained_m": importance_sample_size(inference),
                        "m": m,
                        "skl": skl,
                        "ci_low": low,
                        "ci_high": high,
                        "median": median[0],
                        "median_low": median[1],
                        "median_high": median[2],
                        "largest": largest,
                        "sd": sd,
                        "tail": tail,
                        "heavy": tail is not None and tail > HEAVY,
                        "k": plan.datasets,
                        "failures": int(terms.failures[at]),
                        "seed": plan.seed,
                        "seconds": float(terms.seconds[at]),
                    }
                )
    return records


def figure_rows(
    number: int, plan: Plan, found: PlanTerms, ms: Sequence[int] | None = None
) -> list[Row]:
    """The rows behind one of the paper's figures, with `ms` as M on the axis."""
    if number == 1:
        return rows(plan, found)
    if number == 2:
        return [row for row in rows(plan, found, ms or MS) if row["iterations"] in plan.picked]
    weighted = rows(
        plan, found, sorted({importance_sample_size(inference) for inference in plan.inferences})
    )
    last = [row for row in weighted if row["iterations"] == plan.iterations[-1]]
    return [row for row in last if row["trained_m"] in (1, row["m"])]
