"""The lines of Figures 1 to 3: estimates with intervals, along iterations or along M."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from validation_core.simulations.collect import Summary, Terms, summary
from validation_core.simulations.plan import Plan, tested
from validation_core.simulations.runs import MS
from validation_core.types import Array

PlanTerms = Mapping[tuple[int, int], Terms]


@dataclass(frozen=True, eq=False)
class DivergenceCurve:
    """One line of a panel, with P places along x."""

    name: str
    """The algorithm, as the registry calls it: its look."""
    label: str
    x: Array
    """Iterations or M (P,)."""
    found: Summary
    """(P,) each, in nats; NaN where there is no estimate."""
    done: NDArray[np.bool_]
    """Where there is a run (P,)."""
    failures: NDArray[np.int64]
    """Data sets without q (P,)."""
    k: int

    @property
    def gap(self) -> NDArray[np.bool_]:
        """Where there is a run, but no estimate (P,)."""
        return np.asarray(self.done & ~np.isfinite(self.found.mean))


def along_iterations(plan: Plan, found: PlanTerms, model: int) -> list[DivergenceCurve]:
    """Figure 1: each inference of a model, tested with the M that it was made for."""
    curves = []
    for j, inference in enumerate(plan.inferences):
        terms = found[model, j]
        d = terms.d[:, MS.index(tested(inference))]
        curves.append(
            DivergenceCurve(
                inference.name,
                inference.label,
                np.array(plan.iterations, float),
                summary(d),
                terms.done,
                terms.failures,
                plan.datasets,
            )
        )
    return curves


def along_m(
    plan: Plan, found: PlanTerms, model: int, iterations: int, ms: Sequence[int] = MS
) -> list[DivergenceCurve]:
    """Figure 2: each inference of a model after so many iterations, its draws weighted with M."""
    at = plan.iterations.index(iterations)
    return [
        _weighted(inference.name, inference.label, found[model, j], at, plan.datasets, ms)
        for j, inference in enumerate(plan.inferences)
    ]


def trained_with_m(plan: Plan, found: PlanTerms, model: int, iterations: int) -> list[DivergenceCurve]:
    """Figure 3: VI trained with each M and tested with the same, beside VI that is trained with
    M = 1 and weighted with M.
    """
    at = plan.iterations.index(iterations)
    ms = [tested(inference) for inference in plan.inferences]
    order = np.argsort(ms)
    several = [found[model, int(j)] for j in order]
    d = np.stack([t.d[at, MS.index(ms[j])] for j, t in zip(order, several, strict=True)])
    curves = [
        DivergenceCurve(
            "iwvi",
            "VI trained with M",
            np.sort(ms).astype(float),
            summary(d),
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


def _weighted(name: str, label: str, terms: Terms, at: int, k: int, ms: Sequence[int]) -> DivergenceCurve:
    places = [MS.index(m) for m in ms]
    return DivergenceCurve(
        name,
        label,
        np.array(ms, float),
        summary(terms.d[at, places]),
        np.repeat(terms.done[at], len(ms)),
        np.repeat(terms.failures[at], len(ms)),
        k,
    )
