"""Numbers behind the curves of the Symmetric divergence page: a mean for every slider position."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from validation_core.bayes.inference import Inference
from validation_core.figures import live, style
from validation_core.simulations import MS, Plan, Summary, Terms, summary, tested
from validation_core.types import Array

PREFIXES = (10, 25, 50, 100, 200)
"""First data sets that are averaged, up to those that were simulated."""


class SummaryCurve(NamedTuple):
    """One curve at every position of two sliders, A and P values, along X places."""

    label: str
    color: str
    dash: str
    symbol: str
    numbers: Summary
    """Of shape (A, P, X), in nats; NaN where there is no run, or a data set without q."""
    lost: NDArray[np.int64]
    """Data sets without q (A, P, X)."""
    done: NDArray[np.bool_]
    """Where there is a run (A, X)."""
    first: tuple[int, ...]
    """Data sets averaged (P,)."""

    @property
    def carried(self) -> Array:
        """Share of the sum over data sets that its largest term makes up (A, P, X)."""
        count = np.array(self.first)[:, None]
        with np.errstate(invalid="ignore", divide="ignore"):
            return np.where(self.numbers.mean > 0, self.numbers.largest / self.numbers.mean, 0) / (
                count
            )


Panels = Sequence[Sequence[SummaryCurve]]
"""A panel for each model."""


def prefixes(datasets: int) -> tuple[int, ...]:
    """Numbers of data sets to average over."""
    return (*(k for k in PREFIXES if k < datasets), datasets)


def look(inference: Inference) -> tuple[str, str, str]:
    """Colour, dash and symbol; a variant has its algorithm's colour."""
    name = inference.name.removesuffix("_clipped")
    color, dash, symbol = live.look(style.algorithm_style(name))
    return (color, dash, symbol) if name == inference.name else (color, "1 3", "ring")


def along_iterations(plan: Plan, terms: Mapping[tuple[int, int], Terms]) -> Panels:
    """Over M and K: (len(MS), P, I). No inference is tested with less M than it was made for."""

    def line(inference: Inference, of: Terms) -> SummaryCurve:
        own = [max(m, tested(inference)) for m in MS]
        numbers, lost = _over_prefixes(of.d[:, [MS.index(m) for m in own]], of.done)
        return SummaryCurve(
            inference.label,
            *look(inference),
            Summary(*(v.transpose(2, 0, 1) for v in numbers)),
            lost.transpose(2, 0, 1),
            np.broadcast_to(of.done, (len(MS), len(of.done))),
            prefixes(plan.datasets),
        )

    return _each(plan, terms, line)


def along_m(plan: Plan, terms: Mapping[tuple[int, int], Terms]) -> Panels:
    """Over iterations and K: (I, P, len(MS))."""

    def line(inference: Inference, of: Terms) -> SummaryCurve:
        numbers, lost = _over_prefixes(of.d, of.done)
        done = np.repeat(of.done[:, None], len(MS), 1)
        return SummaryCurve(
            inference.label,
            *look(inference),
            *_by_iterations(numbers, lost),
            done,
            prefixes(plan.datasets),
        )

    return _each(plan, terms, line)


def along_training(plan: Plan, terms: Mapping[tuple[int, int], Terms]) -> Panels:
    """IWVI trained with M and tested with the same, and VI that is only weighted: (I, P, X)."""
    ms = [MS.index(tested(inference)) for inference in plan.inferences]
    first = prefixes(plan.datasets)
    panels = []
    for i in range(len(plan.models)):
        row = [terms[i, j] for j in range(len(plan.inferences))]
        d = np.stack([of.d[:, m] for of, m in zip(row, ms, strict=True)], 1)  # (I, X, K)
        done = np.stack([of.done for of in row], 1)
        iwvi = _over_prefixes(d, done)
        vi = _over_prefixes(row[0].d[:, ms], row[0].done)
        once = np.repeat(row[0].done[:, None], len(ms), 1)
        panels.append(
            [
                SummaryCurve(
                    label,
                    *live.look(style.algorithm_style(name)),
                    *_by_iterations(*of),
                    ran,
                    first,
                )
                for label, name, of, ran in (
                    ("trained IWVI", "iwvi", iwvi, done),
                    ("weighted VI", "vi", vi, once),
                )
            ]
        )
    return panels


def _each(
    plan: Plan,
    terms: Mapping[tuple[int, int], Terms],
    line: Callable[[Inference, Terms], SummaryCurve],
) -> Panels:
    return [
        [line(inference, terms[i, j]) for j, inference in enumerate(plan.inferences)]
        for i in range(len(plan.models))
    ]


def _by_iterations(numbers: Summary, lost: NDArray[np.int64]) -> tuple[Summary, NDArray[np.int64]]:
    """From (P, I, X) to (I, P, X)."""
    return Summary(*(value.swapaxes(0, 1) for value in numbers)), lost.swapaxes(0, 1)


def _over_prefixes(d: Array, done: NDArray[np.bool_]) -> tuple[Summary, NDArray[np.int64]]:
    """Summaries (P, I, X) of d (I, X, K) over its first data sets, and those without q."""
    first = prefixes(d.shape[-1])
    summaries = [summary(d[..., :k]) for k in first]
    gone = np.stack([np.isnan(d[..., :k]).sum(-1) for k in first])
    there = done if done.ndim == 2 else done[:, None]
    return Summary(*map(np.stack, zip(*summaries, strict=True))), np.where(there, gone, 0)
