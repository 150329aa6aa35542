"""The ensemble: its members in order of cost, stacked on what they predict of held-out folds."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from validation_core.keys import part
from validation_core.rng import stream
from validation_core.scores.witness import neighbours, problem, ridge, trees
from validation_core.scores.witness.member import Fit, Told
from validation_core.scores.witness.problem import Problem, Rows
from validation_core.types import Array

if TYPE_CHECKING:
    from validation_core.training import Report

Float = NDArray[np.float64]

_PULL = 0.1  # ridge of the stacking: alike members share a weight that noise would give to one
_LEAST = 0.02  # a smaller share of the ensemble is not worth the time of its predictions
_ALWAYS = 2  # members fitted whatever the time


class Member(NamedTuple):
    """How one member is fitted, and what it predicts from its stored arrays."""

    fit: Callable[[Problem, np.random.Generator], Fit]
    predict: Callable[[Mapping[str, Array], Float], Float]


def _network(problem: Problem, rng: np.random.Generator) -> Fit:
    from validation_core.scores.witness import network  # torch, only where it is used

    return network.network(problem, rng)


def _predict_network(arrays: Mapping[str, Array], z: Float) -> Float:
    from validation_core.scores.witness import network

    return network.predict_network(arrays, z)


MEMBERS: Mapping[str, Member] = {
    "linear": Member(ridge.linear, ridge.predict_linear),
    "quadratic": Member(ridge.quadratic, ridge.predict_quadratic),
    "neighbours": Member(neighbours.neighbours, neighbours.predict_neighbours),
    "kernel": Member(ridge.kernel, ridge.predict_kernel),
    "trees": Member(trees.trees, trees.predict_trees),
    "network": Member(_network, _predict_network),
}
"""The members, cheapest first."""


@dataclass(frozen=True, eq=False)
class TrainedEnsemble:
    """Members as plain arrays, their weights (of sum 1) and what each explains held out."""

    members: Mapping[str, Mapping[str, Array]]
    """Arrays of those that have a weight."""
    spreads: Mapping[str, float]
    """Standard deviation of their held-out predictions: weights are of members of spread 1."""
    told: Told
    shift: Array  # (D + M,)
    scale: Array  # (D + M,)
    seconds: float = 0.0
    device: str = "cpu"

    @property
    def summary(self) -> Mapping[str, float]:
        """Held-out R2 of the ensemble; `weight NAME` and `r2 NAME` of each member."""
        return self.told.summary

    def at(self, beta: float = 0.0) -> Weighted:
        """The witness. A mixture has no initial parameters to go back to: beta changes nothing."""
        del beta
        return Weighted(self)

    def arrays(self) -> dict[str, Array]:
        """Everything to store, by flat names."""
        named = {f"{m}.{n}": a for m, own in self.members.items() for n, a in own.items()}
        spreads = {f"spreads.{n}": np.array([v]) for n, v in self.spreads.items()}
        return {**named, **spreads, **self.told.arrays(), "shift": self.shift, "scale": self.scale}

    @classmethod
    def read(cls, arrays: Mapping[str, Array], seconds: float, device: str) -> TrainedEnsemble:
        """What `arrays` gave."""
        told = Told.read(arrays)
        # In the order of fitting: sums of floats depend on theirs.
        members = {n: part(arrays, n) for n in MEMBERS if told.weights.get(n, 0.0) > 0}
        ordered = {n: told.weights[n] for n in MEMBERS if n in told.weights}
        spreads = {n: float(v[0]) for n, v in part(arrays, "spreads").items()}
        return cls(
            members,
            spreads,
            Told(ordered, told.r2),
            arrays["shift"],
            arrays["scale"],
            seconds,
            device,
        )


@dataclass(frozen=True, eq=False)
class Weighted:
    """The weighted sum of the members' predictions: high where a row looks like p."""

    trained: TrainedEnsemble

    def __call__(self, theta: Array, x: Array) -> Array:
        z = problem.scaled(theta, x, self.trained.shift, self.trained.scale)
        out = np.zeros(len(z))
        for name, arrays in self.trained.members.items():
            share = self.trained.told.weights[name] / self.trained.spreads[name]
            out += share * MEMBERS[name].predict(arrays, z)
        return out


def learn(rows: Rows, seconds: float, seed: int, report: Report | None = None) -> TrainedEnsemble:
    """Fit the members, none begun after `seconds` but the ridges, and stack them.

    At a budget that all members keep to the result depends on the rows and the seed alone.
    """
    start = time.perf_counter()
    shift, scale = problem.scaling(rows)
    asked = problem.problem(rows, shift, scale, stream(seed, "folds"))
    fits: dict[str, Fit] = {}
    for i, (name, member) in enumerate(MEMBERS.items()):
        if i >= _ALWAYS and time.perf_counter() - start >= seconds:
            break
        fits[name] = member.fit(asked, stream(seed, "member", name))
        if report:
            report((i + 1) / len(MEMBERS), {f"r2 {name}": fits[name].r2})
    weights = stacked(asked, {name: fit.held for name, fit in fits.items()})
    chosen = [name for name in fits if weights[name] > 0]
    spreads = {name: asked.spread(fits[name].held) or 1.0 for name in chosen}
    held = np.sum([weights[n] / spreads[n] * fits[n].held for n in chosen], axis=0)
    r2 = {name: fit.r2 for name, fit in fits.items()}
    return TrainedEnsemble(
        {name: fits[name].arrays for name in chosen}, spreads,
        Told(weights, {**r2, "ensemble": asked.r2(held)}),
        shift, scale, time.perf_counter() - start, _device(fits),
    )  # fmt: skip


def stacked(problem: Problem, held: Mapping[str, Float]) -> dict[str, float]:
    """Weights (of sum 1) of members brought to spread 1, none of them negative.

    Breiman (1996): least squares on held-out predictions, of which none may count against another.
    Where no member points the right way, the one that errs least is the witness.
    """
    names = list(held)
    spreads = np.array([problem.spread(held[name]) for name in names])
    # A member that says nothing is a column of zeros, which gets no weight.
    columns = np.stack(list(held.values()), axis=1) / np.where(spreads > 0, spreads, np.inf)
    found = _least_squares(columns, problem)
    if found.any():
        found = _least_squares(np.where(found < _LEAST * found.sum(), 0.0, columns), problem)
    else:
        found[int(np.argmax([problem.r2(held[name]) for name in names]))] = 1.0
    return dict(zip(names, map(float, found / found.sum()), strict=True))


def _least_squares(columns: Float, problem: Problem) -> Float:
    """Ridge regression of the labels on the columns, with coefficients that are not negative."""
    from scipy.optimize import nnls  # 20 MB that most diagnoses do without

    root = np.sqrt(problem.weight)
    centred = columns - problem.weight @ columns
    rows = np.concatenate([centred * root[:, None], np.sqrt(_PULL) * np.eye(columns.shape[1])])
    labels = np.concatenate([problem.y * root, np.zeros(columns.shape[1])])
    weights: Float = nnls(rows, labels)[0]
    return weights


def _device(fits: Mapping[str, Fit]) -> str:
    if "network" not in fits:
        return "cpu"
    from validation_core import nets

    return nets.pick_device()
