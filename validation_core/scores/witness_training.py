"""The witness as an ensemble: its members in order of cost, stacked on what they predict of
held-out folds.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import ClassVar, NamedTuple

import numpy as np

from validation_core.keys import Arrays
from validation_core.learn import perceptron
from validation_core.learn.stored_network import StoredNetwork
from validation_core.provenance import Stopwatch
from validation_core.rng import stream
from validation_core.scores.boosting import fit_boosted_trees, predict_trees
from validation_core.scores.witness_network import fit_network, predict_network
from validation_core.scores.witness_ridge import (
    fit_kernel_ridge,
    fit_linear_ridge,
    fit_neighbours,
    fit_quadratic_ridge,
    predict_kernel,
    predict_linear,
    predict_neighbours,
    predict_quadratic,
)
from validation_core.scores.witness_rows import (
    MemberArrays,
    MemberFit,
    WitnessRegression,
    WitnessRows,
    build_regression,
    robust_scaling,
    standardise_rows,
    summarise_members,
)
from validation_core.study import Report
from validation_core.types import Array, Float

_PULL = 0.1  # ridge of the stacking: alike members share a weight that noise would give to one
_LEAST = 0.02  # a smaller share of the ensemble is not worth the time of its predictions
_ALWAYS = 2  # members fitted whatever the time


class EnsembleMember(NamedTuple):
    """Fit of one member, and its predictions from stored arrays."""

    fit: Callable[[WitnessRegression, np.random.Generator], MemberFit]
    predict: Callable[[MemberArrays, Float], Float]


MEMBERS: Mapping[str, EnsembleMember] = {
    "linear": EnsembleMember(fit_linear_ridge, predict_linear),
    "quadratic": EnsembleMember(fit_quadratic_ridge, predict_quadratic),
    "neighbours": EnsembleMember(fit_neighbours, predict_neighbours),
    "kernel": EnsembleMember(fit_kernel_ridge, predict_kernel),
    "trees": EnsembleMember(fit_boosted_trees, predict_trees),
    "network": EnsembleMember(fit_network, predict_network),
}
"""The members, cheapest first."""


@dataclass(frozen=True, eq=False)
class TrainedEnsemble(StoredNetwork):
    """Members as plain arrays, their weights (of sum 1) and held-out R²."""

    hoisted: ClassVar[str] = "members"

    members: Mapping[str, MemberArrays]
    """Arrays of those that have a weight."""
    spreads: Mapping[str, float]
    """Standard deviation of their held-out predictions: weights are of members of spread 1."""
    weights: Mapping[str, float]
    """Share of each member that was fitted, of sum 1."""
    r2: Mapping[str, float]
    """Held-out R2 of each, and of `ensemble`."""
    shift: Array  # (D + M,)
    scale: Array  # (D + M,)
    seconds: float = 0.0
    device: str = "cpu"

    @property
    def summary(self) -> Mapping[str, float]:
        """Held-out R2 of the ensemble; `weight NAME` and `r2 NAME` of each member."""
        return summarise_members(self.weights, self.r2)

    def at(self, beta: float = 0.0) -> _WeightedMembers:
        """The witness. A mixture has no initial parameters to go back to: beta changes nothing."""
        del beta
        return _WeightedMembers(self)

    @classmethod
    def read(cls, arrays: Arrays, **given: object) -> TrainedEnsemble:
        """Ensemble from the output of `arrays`, in the order of fitting: it fixes float sums."""
        trained = super().read(arrays, **given)
        members = {name: trained.members[name] for name in MEMBERS if name in trained.members}
        weights = {name: trained.weights[name] for name in MEMBERS if name in trained.weights}
        return replace(trained, members=members, weights=weights)


@dataclass(frozen=True, eq=False)
class _WeightedMembers:
    """The weighted sum of the members' predictions: high where a row looks like p."""

    trained: TrainedEnsemble

    def __call__(self, theta: Array, x: Array) -> Array:
        z = standardise_rows(theta, x, self.trained.shift, self.trained.scale)
        out = np.zeros(len(z))
        for name, arrays in self.trained.members.items():
            share = self.trained.weights[name] / self.trained.spreads[name]
            out += share * MEMBERS[name].predict(arrays, z)
        return out


def train_ensemble(
    rows: WitnessRows, seconds: float, seed: int, report: Report | None = None
) -> TrainedEnsemble:
    """Fit the members, none begun after `seconds` but the ridges, and stack them.

    At a budget that all members keep to the result depends on the rows and the seed alone.
    """
    watch, began = Stopwatch(), time.perf_counter()
    shift, scale = robust_scaling(rows)
    regression = build_regression(rows, shift, scale, stream(seed, "folds"))
    fits: dict[str, MemberFit] = {}
    for i, (name, member) in enumerate(MEMBERS.items()):
        if i >= _ALWAYS and time.perf_counter() - began >= seconds:
            break
        fits[name] = member.fit(regression, stream(seed, "member", name))
        if report:
            report((i + 1) / len(MEMBERS), {f"r2 {name}": fits[name].r2})
    weights = stacking_weights(regression, {name: fit.held for name, fit in fits.items()})
    chosen = [name for name in fits if weights[name] > 0]
    spreads = {name: regression.spread(fits[name].held) or 1.0 for name in chosen}
    predictions = np.sum([weights[n] / spreads[n] * fits[n].held for n in chosen], axis=0)
    r2 = {name: fit.r2 for name, fit in fits.items()}
    return TrainedEnsemble(
        {name: fits[name].arrays for name in chosen},
        spreads,
        weights,
        {**r2, "ensemble": regression.r2(predictions)},
        shift,
        scale,
        watch.seconds,
        _device(fits),
    )


def stacking_weights(problem: WitnessRegression, held: Mapping[str, Float]) -> dict[str, float]:
    """Weights (of sum 1) of members brought to spread 1, none of them negative.

    Breiman (1996): least squares on held-out predictions, of which none may count against another.
    Where no member points the right way, the one that errs least is the witness.
    """
    names = list(held)
    spreads = np.array([problem.spread(held[name]) for name in names])
    # A constant member is a column of zeros, which gets no weight.
    columns = np.stack(list(held.values()), axis=1) / np.where(spreads > 0, spreads, np.inf)
    weights = _least_squares(columns, problem)
    if weights.any():
        weights = _least_squares(np.where(weights < _LEAST * weights.sum(), 0.0, columns), problem)
    else:
        weights[int(np.argmax([problem.r2(held[name]) for name in names]))] = 1.0
    return dict(zip(names, map(float, weights / weights.sum()), strict=True))


def _least_squares(columns: Float, problem: WitnessRegression) -> Float:
    """Ridge regression of the labels on the columns, with coefficients that are not negative."""
    from scipy.optimize import nnls  # 20 MB that most diagnoses do without

    root = np.sqrt(problem.weight)
    centred = columns - problem.weight @ columns
    rows = np.concatenate([centred * root[:, None], np.sqrt(_PULL) * np.eye(columns.shape[1])])
    labels = np.concatenate([problem.y * root, np.zeros(columns.shape[1])])
    weights: Float = nnls(rows, labels)[0]
    return weights


def _device(fits: Mapping[str, MemberFit]) -> str:
    return perceptron.pick_device() if "network" in fits else "cpu"
