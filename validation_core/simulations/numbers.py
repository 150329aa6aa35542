"""The numbers of a plan as rows of plain values: what tables, CSV and JSON hold."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from validation_core.simulations.collect import summary
from validation_core.simulations.curves import PlanTerms
from validation_core.simulations.plan import Plan, tested
from validation_core.simulations.runs import MS
from validation_core.statistics.divergence import HEAVY, tail_shape

Row = dict[str, Any]


def rows(plan: Plan, found: PlanTerms, ms: Sequence[int] | None = None) -> list[Row]:
    """A row for each run that there is, in the order of the plan.

    Args:
        plan: what was asked for.
        found: what has run of it.
        ms: M of the importance sampling, a row each; by default the M that each inference was
            made for.

    Returns:
        Estimates in nats, None where a data set has no q; `k` data sets, `failures` of them
        without q; `heavy` where the `tail` of the terms is one of infinite variance.
    """
    records = []
    for (i, j), terms in sorted(found.items()):
        model, inference = plan.models[i], plan.inferences[j]
        numbers = summary(terms.d)
        for at, iterations in enumerate(plan.iterations):
            for m in ms or (tested(inference),) if terms.done[at] else ():
                got = [float(values[at, MS.index(m)]) for values in numbers]
                got.append(tail_shape(np.abs(terms.d[at, MS.index(m)])))
                skl, low, high, median, largest, sd, tail = (v if v == v else None for v in got)
                records.append(
                    {
                        "model": model.name,
                        "model_label": model.label,
                        "inference": inference.name,
                        "inference_label": inference.label,
                        "iterations": iterations,
                        "trained_m": tested(inference),
                        "m": m,
                        "skl": skl,
                        "ci_low": low,
                        "ci_high": high,
                        "median": median,
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
    """What one of the paper's figures shows of its plan, M on the axis being `ms`."""
    if number == 1:
        return rows(plan, found)
    if number == 2:
        return [row for row in rows(plan, found, ms or MS) if row["iterations"] in plan.picked]
    weighted = rows(plan, found, sorted({tested(inference) for inference in plan.inferences}))
    last = [row for row in weighted if row["iterations"] == plan.iterations[-1]]
    return [row for row in last if row["trained_m"] in (1, row["m"])]
