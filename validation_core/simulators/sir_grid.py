"""The posterior of an epidemic's rates at given counts, on a grid that is fine where it lies.

The course of infected people is solved once at 240 x 240 rates, five sds of the prior on either
side, and splined. The log likelihood of counts c is linear in them, sum c logit(share) + 1000
log(1 - share), and so is its spline, whose values on a grid of any fineness are two products of
matrices. At each x the grid is refined twice, where the posterior lies: nodes sixty nats below
the best of the coarse one leave nothing out, as neighbours differ by a few sds at most. The
trapezoidal rule converges faster than any power there; it is refined until half of the nodes
give the same sum.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache

import numpy as np
from scipy.interpolate import BSpline, make_interp_spline
from scipy.sparse import csr_array

from validation_core.pieces import slices
from validation_core.shared_arrays import read_only
from validation_core.simulators.epidemic_curve import infected_share
from validation_core.types import Array

MEDIANS, SPREADS = np.log([0.4, 0.125]), np.array([0.5, 0.2])
"""Of the log-normal prior of the infection and recovery rate, a day."""
ASKED = 1_000
"""People among whom infected ones are counted."""
_NODES, _WIDEST, _DEGREE = 240, 5.0, 5
_COARSE_DEPTH, _DEPTH = 60.0, 25.0  # nats below the best node
_FIRST, _SECOND = 60, 160  # nodes across the posterior, at least
_FINEST = 128  # nodes of the grid between two of the table
_TOLERANCE = 1e-5  # nats
_ROWS = 64  # of x whose coarse grids are computed together


@dataclass(frozen=True, eq=False)
class GridDensity:
    """The posterior at one x: its density at the nodes of a grid."""

    axes: tuple[Array, Array]
    """Log infection rate and log recovery rate, evenly spaced."""
    density: Array
    """(a, b), up to a factor."""
    log_evidence: float
    """Log of the integral of prior times likelihood, which leaves out the counts' coefficients."""

    def draw(self, n: int, rng: np.random.Generator) -> Array:
        """Draw theta (n, 2) from the density, linear between nodes.

        That density mixes a triangle about each node, with its value as weight.
        """
        total = np.cumsum(self.density.ravel())
        at = np.searchsorted(total, rng.random(n) * total[-1], side="right")
        nodes = np.unravel_index(at, self.density.shape)
        off = rng.random((n, 2)) - rng.random((n, 2))
        return np.stack(
            [axis[i] + (axis[1] - axis[0]) * off[:, j]
             for j, (axis, i) in enumerate(zip(self.axes, nodes, strict=True))],
            axis=1,
        )  # fmt: skip


def densities(counts: Array) -> Iterator[GridDensity]:
    """The posterior at each row of counts (n, 10), in order."""
    table = _table()
    for rows in slices(len(counts), _ROWS):
        weights = np.column_stack([counts[rows], np.full(len(counts[rows]), ASKED)])
        coarse = np.tensordot(weights, table.values, 1)
        for side, shape in enumerate(((-1, 1), (1, -1))):
            coarse += _log_prior(side, 1).reshape(shape)
        for weight, values in zip(weights, coarse, strict=True):
            yield table.density(weight, values)


@dataclass(frozen=True, eq=False)
class _Table:
    """The course of epidemics at the nodes of the coarse grid, and its spline."""

    values: Array
    """(11, 240, 240): logit of the infected share on ten days, and the sum of log(1 - share)."""
    coefficients: Array
    """(240, 240, 11) of the tensor product of splines."""

    def density(self, weight: Array, coarse: Array) -> GridDensity:
        """The posterior at counts, of which `weight` holds 1000 as well.

        Args:
            weight: (11,).
            coarse: log of prior times likelihood at the nodes.
        """
        box = _box(coarse, (0, 0), (1, 1), 1, _COARSE_DEPTH)
        finer = (_fineness(box[0], _FIRST), _fineness(box[1], _FIRST))
        log, origin = self._log_joint(weight, box, finer)
        box = _box(log, origin, finer, 1, _DEPTH)
        finer = (_fineness(box[0], _SECOND), _fineness(box[1], _SECOND))
        while True:
            log, origin = self._log_joint(weight, box, finer)
            top = float(log.max())
            density = np.exp(log - top)
            whole, half = density.sum(), 4 * density[::2, ::2].sum()
            if abs(math.log(whole / half)) < _TOLERANCE or max(finer) >= _FINEST:
                break
            finer = (2 * finer[0], 2 * finer[1])
        axes = [_axis(side, finer[side])[origin[side] :][: log.shape[side]] for side in (0, 1)]
        steps = [axis[1] - axis[0] for axis in axes]
        evidence = top + math.log(whole * steps[0] * steps[1])
        return GridDensity((axes[0], axes[1]), density, evidence)

    def _log_joint(
        self, weight: Array, box: tuple[slice, slice], finer: tuple[int, int]
    ) -> tuple[Array, tuple[int, int]]:
        """Log of prior times likelihood on a grid `finer` times as fine, over cells of the table.

        Returns:
            the values, and the numbers of the first nodes.
        """
        few = [slice(max(0, part.start - _DEGREE), part.stop + _DEGREE) for part in box]
        spline = self.coefficients[few[0], few[1]] @ weight
        fine = [
            slice(part.start * times, (part.stop - 1) * times + 1)
            for part, times in zip(box, finer, strict=True)
        ]
        left, right = (
            _basis(side, finer[side])[fine[side], few[side]].toarray() for side in (0, 1)
        )
        log = left @ spline @ right.T
        log += _log_prior(0, finer[0])[fine[0], None]
        log += _log_prior(1, finer[1])[fine[1]]
        return log, (fine[0].start, fine[1].start)


@cache
def _table() -> _Table:
    """Solve and spline the course of epidemics, once in a process: some seconds."""
    rates = np.stack(np.meshgrid(_axis(0, 1), _axis(1, 1), indexing="ij"), axis=-1)
    share = infected_share(np.exp(rates.reshape(-1, 2))).T.reshape(-1, _NODES, _NODES)
    log_other = np.log1p(-share)
    values = np.concatenate([np.log(share) - log_other, log_other.sum(0, keepdims=True)])
    along = make_interp_spline(_axis(0, 1), values, _DEGREE, axis=1).c  # (240, 11, 240)
    both = make_interp_spline(_axis(1, 1), along, _DEGREE, axis=2).c  # (240, 240, 11)
    return _Table(values, np.ascontiguousarray(both.swapaxes(0, 1)))


@cache
@read_only
def _axis(side: int, finer: int) -> Array:
    """Nodes of theta's coordinate: those of the table, and finer - 1 between neighbours."""
    z = np.linspace(-_WIDEST, _WIDEST, (_NODES - 1) * finer + 1)
    return MEDIANS[side] + SPREADS[side] * z


@cache
def _basis(side: int, finer: int) -> csr_array:
    """Splines at the nodes of an axis: (nodes, 240)."""
    nodes = _axis(side, 1)
    knots = make_interp_spline(nodes, nodes, _DEGREE).t
    at = np.clip(_axis(side, finer), nodes[0], nodes[-1])
    return BSpline.design_matrix(at, knots, _DEGREE)


@cache
@read_only
def _log_prior(side: int, finer: int) -> Array:
    """At the nodes of an axis, normalised."""
    z = (_axis(side, finer) - MEDIANS[side]) / SPREADS[side]
    return np.asarray(-(z**2) / 2 - math.log(math.sqrt(2 * math.pi) * SPREADS[side]))


def _box(
    log: Array, origin: tuple[int, int], finer: tuple[int, int], margin: int, depth: float
) -> tuple[slice, slice]:
    """Nodes of the table that enclose all values at most `depth` below the best."""
    near = log > log.max() - depth
    found = []
    for side in (0, 1):
        at = np.flatnonzero(near.any(axis=1 - side)) + origin[side]
        first = max(0, at[0] // finer[side] - margin)
        last = min(_NODES - 1, -(-at[-1] // finer[side]) + margin)
        found.append(slice(first, last + 1))
    return found[0], found[1]


def _fineness(part: slice, nodes: int) -> int:
    """A power of two that gives so many nodes over cells of the table, at least."""
    cells = part.stop - 1 - part.start
    return min(_FINEST, 2 ** max(0, math.ceil(math.log2(nodes / cells))))
