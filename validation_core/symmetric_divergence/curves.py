"""Figures 1 to 3: estimates with intervals, along iterations or M."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from validation_core.bayes.variational import Variational
from validation_core.drawing.style import algorithm_style
from validation_core.statistics.pareto_tail import HEAVY, tail_shape
from validation_core.symmetric_divergence.lines import BARE_M, m_style
from validation_core.symmetric_divergence.runs import (
    MS,
    Plan,
    Terms,
    TermSummary,
    importance_sample_size,
    summarise_terms,
)
from validation_core.types import Array, Integers, MethodStyle

PlanTerms = Mapping[tuple[int, int], Terms]


@dataclass(frozen=True, eq=False)
class DivergenceCurve:
    """One line of a panel, with P positions along x."""

    label: str
    look: MethodStyle
    x: Array
    """Iterations or M (P,)."""
    found: TermSummary
    """(P,) each, in nats; NaN where there is no estimate."""
    done: NDArray[np.bool_]
    """Positions with a finished run (P,)."""
    failures: Integers
    """Data sets without q (P,)."""
    k: int
    bare: bool = False
    """Whether it is drawn by its medians alone."""

    @property
    def gap(self) -> NDArray[np.bool_]:
        """Positions with a run but no estimate (P,)."""
        return np.asarray(self.done & ~np.isfinite(self.found.mean))


class FamilyTerms(NamedTuple):
    """Terms of a family under every M of MS, after each of I numbers of iterations."""

    d: Array
    """(I, len(MS), K), in nats; NaN where there is no run or no q."""
    done: NDArray[np.bool_]
    """Whether there is a run (I, len(MS))."""
    failures: Integers
    """Data sets without q (I, len(MS))."""


class CurveFamily(NamedTuple):
    """The q of one inference, or of VI trained anew for each M, under every M."""

    label: str
    look: MethodStyle
    places: tuple[int | None, ...]
    """The inference behind each of MS, by its place in the plan; None for an M that none has."""

    def terms(self, plan: Plan, found: PlanTerms, model: int) -> FamilyTerms:
        """Its terms on one model."""
        shape = len(plan.iterations), len(MS)
        d = np.full((*shape, plan.datasets), np.nan)
        done, failures = np.zeros(shape, bool), np.zeros(shape, np.int64)
        for at, place in enumerate(self.places):
            if place is not None:
                of = found[model, place]
                d[:, at], done[:, at], failures[:, at] = of.d[:, at], of.done, of.failures
        return FamilyTerms(d, done, failures)

    @property
    def ms(self) -> tuple[int, ...]:
        """The M that it has."""
        return tuple(m for m, place in zip(MS, self.places, strict=True) if place is not None)


def weighted(plan: Plan, place: int) -> CurveFamily:
    """An inference's q as importance sampling weighs it, with every M."""
    inference = plan.inferences[place]
    return CurveFamily(inference.label, algorithm_style(inference.name), (place,) * len(MS))


def trained_with_each(plan: Plan) -> CurveFamily:
    """VI trained with each M of a plan, and tested with the same."""
    places = {
        importance_sample_size(inference): place
        for place, inference in enumerate(plan.inferences)
        if isinstance(inference, Variational)
    }
    return CurveFamily("IWVI", algorithm_style("iwvi"), tuple(map(places.get, MS)))


def curves_along_iterations(plan: Plan, found: PlanTerms, model: int) -> list[DivergenceCurve]:
    """Curves of Figure 1: each inference of a model, tested with its own M."""
    curves = []
    for j, inference in enumerate(plan.inferences):
        terms = found[model, j]
        curves.append(
            DivergenceCurve(
                inference.label,
                algorithm_style(inference.name),
                np.array(plan.iterations, float),
                summarise_terms(terms.d[:, MS.index(importance_sample_size(inference))]),
                terms.done,
                terms.failures,
                plan.datasets,
            )
        )
    return curves


def curves_for_each_m(
    plan: Plan, found: PlanTerms, model: int, family: CurveFamily, ms: Sequence[int] = MS
) -> list[DivergenceCurve]:
    """Curves of Figures 2 and 3, along iterations: one for each M of a family."""
    terms = family.terms(plan, found, model)
    return [
        DivergenceCurve(
            f"M = {m}",
            m_style(m),
            np.array(plan.iterations, float),
            summarise_terms(terms.d[:, at]),
            terms.done[:, at],
            terms.failures[:, at],
            plan.datasets,
            bare=m in BARE_M,
        )
        for m, at in ((m, MS.index(m)) for m in ms if m in family.ms)
    ]


def curves_along_m(
    plan: Plan, found: PlanTerms, model: int, families: Sequence[CurveFamily], ms: Sequence[int]
) -> list[DivergenceCurve]:
    """Curves along M after the last iterations: one for each family."""
    curves = []
    for family in families:
        there = [m for m in ms if m in family.ms]
        at, terms = [MS.index(m) for m in there], family.terms(plan, found, model)
        curves.append(
            DivergenceCurve(
                family.label,
                family.look,
                np.array(there, float),
                summarise_terms(terms.d[-1, at]),
                terms.done[-1, at],
                terms.failures[-1, at],
                plan.datasets,
            )
        )
    return curves


CurveRow = dict[str, Any]


def rows(plan: Plan, found: PlanTerms, ms: Sequence[int] | None = None) -> list[CurveRow]:
    """Table of a plan's finished runs, in the order of the plan.

    Args:
        plan: the requested runs.
        found: terms of the finished ones.
        ms: M of the importance sampling, a row each; by default each inference's own M.

    Returns:
        Estimates in nats, None where a data set has no q; `k` data sets, `failures` of them
        without q; `heavy` where the `tail` of the terms is one of infinite variance, `dominated`
        where the largest of them is most of the mean.
    """
    records = []
    for (i, j), terms in sorted(found.items()):
        model, inference = plan.models[i], plan.inferences[j]
        numbers = summarise_terms(terms.d)
        for at, iterations in enumerate(plan.iterations):
            for m in ms or (importance_sample_size(inference),) if terms.done[at] else ():
                got = [float(values[at, MS.index(m)]) for values in numbers]
                got.append(tail_shape(np.abs(terms.d[at, MS.index(m)])))
                skl, low, high, *median, largest, sd, carried, tail = (
                    v if v == v else None for v in got
                )
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
                        "carried": carried,
                        "dominated": bool(numbers.dominated[at, MS.index(m)]),
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
) -> list[CurveRow]:
    """The rows behind one of the paper's figures, with `ms` as M of Figure 2."""
    if number == 1:
        return rows(plan, found)
    if number == 2:
        return rows(plan, found, ms or MS)
    own = sorted({importance_sample_size(inference) for inference in plan.inferences})
    return [row for row in rows(plan, found, own) if row["trained_m"] in (1, row["m"])]
