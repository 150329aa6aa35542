"""Scores without learning: quantities that SBC ranks, and known log ratios.

Products and the norm are measured from the mean, and in the standard deviation, of the K + 1
points at one x: the truth and q's draws together. So they detect errors inside a posterior
rather than where it lies, and no unit or origin of a parameter changes a rank. Truth and draws
enter both numbers alike, hence stay exchangeable given x if q is right, and ranks stay exact;
from q's draws alone, the truth would lie too far out. One draw per x tells nothing by them: both
points then lie equally far from their mean.

References:
    Simulation-based calibration checking for Bayesian computation: the choice of test quantities
    shapes sensitivity, Modrak, Moon, Kim, Buerkner, Huurre, Faltejskova, Gelman, Vehtari (2023).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from validation_core.pieces import slices
from validation_core.types import Array, LogDensity, PosteriorTable, TableScores

if TYPE_CHECKING:
    from validation_core.tables.own_quantities import OwnQuantity

LOG_Q = "log_q"
"""The quantity that needs more than draws."""
OWN = "own"
"""The kind of quantities that come with a table: they are ranked unasked, where they are there."""
NUMBERS_AT_ONCE = 1 << 20  # scored at once
MOST_NUMBERS = 1 << 28  # scores of one table: a GiB of float32


@dataclass(frozen=True, eq=False)
class _SlotPoints:
    """The truth, first, and q's draws at each x: theta (n, 1 + K, D), x (n, M)."""

    theta: Array
    x: Array
    log_q: LogDensity | None = None

    @cached_property
    def parameters(self) -> Array:
        """One parameter after the other: (D, n, 1 + K)."""
        return np.ascontiguousarray(np.moveaxis(self.theta, -1, 0))

    @cached_property
    def standard(self) -> NDArray[np.float64]:
        """Parameters from their mean at each x, in their sd there: (D, n, 1 + K)."""
        raw = self.parameters.astype(np.float64)
        if not np.isfinite(raw).all():
            raise ValueError(
                "products and norms are measured from the mean of true value and draws; got "
                "infinite or missing numbers; leave them out or rank marginals only"
            )
        # By its size first: squares of heavy tails overflow.
        raw /= np.abs(raw).max(axis=-1, keepdims=True, initial=np.finfo(np.float64).tiny)
        raw -= raw.mean(axis=-1, keepdims=True)
        spread = np.sqrt(np.square(raw).mean(axis=-1, keepdims=True))
        return raw / np.where(spread > 0, spread, 1.0)

    def densities(self) -> Array:
        """log q of every point: (1, n, 1 + K)."""
        assert self.log_q is not None
        n, points, d = self.theta.shape
        log_densities = np.asarray(
            self.log_q(self.theta.reshape(-1, d), np.repeat(self.x, points, axis=0))
        )
        if log_densities.shape != (n * points,):
            raise ValueError(
                f"log q gives one number for each row of theta and x; got shape "
                f"{log_densities.shape} for {n * points} rows; return (n,)"
            )
        return log_densities.reshape(1, n, points)


class _Quantity(NamedTuple):
    """One or several functions of (theta, x) under one name."""

    help: str
    labels: Callable[[Sequence[str]], list[str]]
    """Names of its quantities from those of the parameters."""
    of: Callable[[_SlotPoints], Array]
    """Its quantities (S, n, 1 + K) of truth and draws, which must enter them alike."""
    rows: bool = False
    """Whether the value of a row is independent of the other rows at its x."""


def _norm(at: _SlotPoints) -> Array:
    total = np.zeros(at.standard.shape[1:])
    for coordinate in at.standard:  # in one order for truth and draws, so that equal points tie
        total += coordinate * coordinate
    return total[None]


def _products(at: _SlotPoints) -> Array:
    pairs = combinations(at.standard, 2)
    products = [first * other for first, other in pairs]
    return np.stack(products) if products else np.empty((0, *at.standard.shape[1:]))


QUANTITIES: Mapping[str, _Quantity] = {
    "marginals": _Quantity("each parameter", list, lambda at: at.parameters, rows=True),
    "squared_norm": _Quantity(
        "squared distance from the centre at each x, in standard deviations",
        lambda names: ["|theta|²"],
        _norm,
    ),
    "products": _Quantity(
        "each pair of parameters, from their centre at each x, multiplied",
        lambda names: [f"{a} × {b}" for a, b in combinations(names, 2)],
        _products,
    ),
    LOG_Q: _Quantity(
        "the estimator's own log density, where it has one",
        lambda names: ["log q"],
        _SlotPoints.densities,
        rows=True,
    ),
}


def kinds_of(places: Array) -> list[str]:
    """Kinds of quantities by their places in the registry, which that of a table's own follows."""
    kinds = [*QUANTITIES, OWN]
    return [kinds[int(place)] for place in places]


def ranked_quantities(own: Mapping[str, OwnQuantity]) -> dict[str, OwnQuantity]:
    """Those of a table's own quantities that are known at every row, by name."""
    return {name: one for name, one in own.items() if one.complete}


def chosen(text: str) -> tuple[str, ...]:
    """The names joined by + in a text, each once and in the registry's order.

    Raises:
        ValueError: for a name that is not in the registry, or none.
    """
    names = [name.strip() for name in text.split("+")]
    if unknown := [name for name in names if name not in QUANTITIES]:
        raise ValueError(
            f"Test quantities are {', '.join(QUANTITIES)}, joined by +; got {unknown[0]!r} in "
            f"{text!r}. Choose some of them."
        )
    return tuple(name for name in QUANTITIES if name in names)


def labels(names: Sequence[str], parameters: Sequence[str]) -> list[str]:
    """Labels of the quantities of these names: (S,), in the order of their scores."""
    return [label for name in names for label in QUANTITIES[name].labels(parameters)]


def parameters_of(names: Sequence[str], count: int) -> int | None:
    """How many parameters have `count` quantities of these names; None where no number has."""
    dimensions = range(1, count + 2)
    return next((d for d in dimensions if len(labels(names, [""] * d)) == count), None)


@dataclass(frozen=True)
class Quantities:
    """The chosen test quantities as one score; log_q where it is among them."""

    names: tuple[str, ...] = ("marginals",)
    log_q: LogDensity | None = None

    def __call__(self, theta: Array, x: Array) -> Array:
        """Scores (S, n) of rows, for quantities that a row has by itself.

        Raises:
            ValueError: where one is measured among the points at the same x.
        """
        if tied := [name for name in self.names if not QUANTITIES[name].rows]:
            raise ValueError(
                f"{tied[0]} is measured among the true value and q's draws at one x; got rows "
                "by themselves; score a table (scores.apply)"
            )
        at = _SlotPoints(theta[:, None], x, self.log_q)
        return np.concatenate([QUANTITIES[name].of(at)[..., 0] for name in self.names])

    def table(self, draws: PosteriorTable) -> TableScores:
        """Scores truth (S, n) and draws (S, n, K).

        Marginals by themselves are views: ranks are counted as fast where the table lies.

        Raises:
            ValueError: where there is nothing to rank, more than fits, or a number that is not
                finite under a product or a norm.
        """
        if self.names == ("marginals",):
            return TableScores(draws.theta.T, np.moveaxis(draws.q, -1, 0))
        n, k, d = draws.q.shape
        count = len(labels(self.names, [""] * d))
        _fits(count, n, k, d)
        kind = np.result_type(draws.theta, draws.q, np.float32)
        truth, scored = np.empty((count, n), kind), np.empty((count, n, k), kind)
        step = max(1, NUMBERS_AT_ONCE // ((k + 1) * (count + d + draws.x.shape[1])))
        for part in slices(n, step):
            together = np.concatenate([draws.theta[part, None], draws.q[part]], axis=1)
            at = _SlotPoints(together, draws.x[part], self.log_q)
            quantities = np.concatenate([QUANTITIES[name].of(at) for name in self.names])
            truth[:, part], scored[:, part] = quantities[..., 0], quantities[..., 1:]
        return TableScores(truth, scored)


def _fits(count: int, n: int, k: int, d: int) -> None:
    if count == 0:
        raise ValueError(
            f"a product has two parameters; got D = {d}; add marginals to the test quantities"
        )
    if count * n * k > MOST_NUMBERS:
        raise ValueError(
            f"scores of a table are at most {MOST_NUMBERS:.1e}; got {count} quantities of {n} "
            f"times {k} draws; leave out the products, or bring fewer draws"
        )
