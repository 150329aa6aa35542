"""A null for each kind of error by itself, under which the other errors stay.

The verdict's null is that q is right. A q that is too narrow at every x makes every contrast over
x vary more than that null allows, and two independent biases make a product of two parameters:
then q is rejected, not "at every x alike" and not "independent". So each kind of claim is
tested once more, on a table from which the errors of other kinds are removed:

    over x           the rows' features permuted among the x; q's means from draws of their own
    place            the width removed
    width            the bias removed
    shape, pairs     both removed
    magnitudes       both removed

Removed in two ways, in normal scores of the ranks, and in the parameter's own units with ranks
anew (magnitudes in the latter alone); a claim is named where neither explains it. Bias and width
are those that leave the mean and the width statistic at 0, the same at every x. They are
estimates: in the parameter's units, those that leave these statistics up to two of their standard
errors away are removed too, and a claim is named where none of all these explains it. A shift of
a uniform law that is removed a little too far puts true values beyond the ends of q's draws,
which looks like a wrong shape.

Where true values equal draws of q, as those of a discrete or clipped parameter do, no bias can be
removed without breaking these ties: nothing is named of how far or how near such values lie.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import accumulate, pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr

from validation_core.relabelling.battery import Battery
from validation_core.relabelling.calibration import CalibratedTest
from validation_core.relabelling.families import StatisticKind
from validation_core.relabelling.magnitudes import Magnitudes, centres, magnitudes_beside
from validation_core.relabelling.normal_scores import EDGE, normal_scores, width_scores
from validation_core.relabelling.pools import SlotRanks
from validation_core.statistics.permutation import step_down
from validation_core.statistics.ranks import midranks_among
from validation_core.types import Array, Integers

ASKED = 0.2
"""Adjusted p up to which a claim's own null is asked: no claim is named at a higher level."""
_REMOVED: dict[StatisticKind, int] = {
    "mean": 0, "width": 1, "shape": 2, "pair": 2, "far": 2, "gap": 2, "range": 2
}  # fmt: skip
"""What is removed from the tables that test each kind of claim: width, bias, or either."""
_OFF = (-2.0, -1.0, 0.0, 1.0, 2.0)
"""Standard errors by which the bias, or the width, that is removed lies off its estimate."""
_OFF_WIDTH = (-2.0, 0.0, 2.0)
"""Those of the width beside each bias."""
_TABLES = (1, 1, 1, len(_OFF), len(_OFF), len(_OFF) * len(_OFF_WIDTH))
"""Numbers of tables without width, bias, or either: in normal scores, then in own units."""
_PLACES = tuple(slice(*ends) for ends in pairwise(accumulate(_TABLES, initial=0)))
_BY_SCORES, _BY_VALUES = _PLACES[:3], _PLACES[3:]
_MAGNITUDES: tuple[StatisticKind, ...] = ("far", "gap", "range")
_TIED = 0.01  # share of true values that equal a draw at their x: from there on they repeat
_NAMED_ALONE = ("norm", "densities", "learned", "observation", "own", "weights")
"""Families whose claims say no more than that q is wrong by this measure. Of an own quantity f
that is its own null: if q's draws have the law of f that true values have at each x, f's slots are
exchangeable, whatever else is wrong, and its statistics read no others."""
_OVER_X = ("over_x", "together_over_x", "learned_over_x", "own_over_x")
_PERMUTATIONS = 399  # of rows among the x: each costs as much as a relabelling over x
_WIDE = np.log(20.0)
_FARTHEST = 50.0  # robust sds
_HALVINGS = 16


def own_pvalues(
    battery: Battery,
    tested: CalibratedTest,
    scores: Sequence[SlotRanks],
    values: Callable[[], tuple[Array, Array] | None],
    apart: Callable[[], Battery | None],
    rng: np.random.Generator,
) -> Array:
    """p (C,) of each claim under its own null, stepping down within its kind; 0 where none is
    asked: the claim says no more than that q is wrong, or its family's p is above ASKED, or draws
    lie outside the prior's own bounds, which no error of another kind excuses.

    Args:
        battery: its statistics.
        tested: the observed labelling among others.
        scores: of all slots.
        values: gives true values (n, D) and draws (n, P, D) of the tested rows in the parameters
            that are looked at; None where rows share their draws.
        apart: gives the statistics over x along q's means of draws that are no slots; None where
            no q's means are looked along.
        rng: permutes rows.
    """
    families = [cell.family for cell in battery.cells]
    own = np.zeros(len(families))
    asked = {family for family, p in zip(families, tested.adjusted, strict=True) if p <= ASKED}
    over = np.flatnonzero(np.isin(families, _OVER_X))
    if asked & set(_OVER_X):
        own[over] = _pvalues_over_x(apart() or battery, tested, over, rng)
    others = asked - set(_OVER_X) - set(_NAMED_ALONE)
    if others:
        drawn = values()
        tied = _tied_parameters(battery, drawn)
        without = tested.scale.minus_log_p(
            tested.scale.normal(_statistics_without_errors(battery, scores, drawn))
        )
        by_itself = np.isin(families, (*_OVER_X, *_NAMED_ALONE))
        kinds = np.array([cell.kind for cell in battery.cells])
        for kind in {cell.kind for cell in battery.cells if cell.family in others} - {"bounds"}:
            at = np.flatnonzero((kinds == kind) & ~by_itself)
            own[at] = _pvalues_of_kind(kind, tested, at, without)
        for place, cell in enumerate(battery.cells):
            if cell.kind in ("far", "gap") and tied.intersection(cell.which):
                own[place] = 1.0
    return own


def _pvalues_over_x(
    battery: Battery, tested: CalibratedTest, over: Integers, rng: np.random.Generator
) -> Array:
    """p of claims over x against rows permuted among the x."""
    b, n = min(len(tested.nulls), _PERMUTATIONS), len(battery.pools.size)
    minus_log_p = np.empty((1 + b, len(over)), np.float32)
    for part in battery.pieces(1 + b):
        shuffled = rng.random((part.stop - part.start, n), np.float32)
        orders = shuffled.argsort(axis=1).astype(np.int32)
        if part.start == 0:  # the observed order comes first
            orders[0] = np.arange(n)
        z = np.zeros((len(orders), len(tested.z)), np.float32)
        z[:, over] = battery.over_x_permuted(orders)
        minus_log_p[part] = tested.scale.minus_log_p(tested.scale.normal(z))[:, over]
    return step_down(minus_log_p[0], minus_log_p[1:])


def _pvalues_of_kind(
    kind: StatisticKind, tested: CalibratedTest, at: Integers, without: NDArray[np.float32]
) -> Array:
    """p of all claims of a kind where other errors are removed, in whichever way leaves less:
    from the -log p (T, C) of the tables without them."""
    removed = _REMOVED[kind]
    ways = [*([] if kind in _MAGNITUDES else without[_BY_SCORES[removed]])]
    ways += [*without[_BY_VALUES[removed]]]
    least = [step_down(way[at], tested.nulls[:, at]) for way in ways]
    return np.asarray(np.maximum.reduce(least)) if least else np.ones(len(at))


def _tied_parameters(battery: Battery, values: tuple[Array, Array] | None) -> set[int]:
    """Parameters whose true values equal draws at their x, from true values (n, D) and draws."""
    if values is None:
        return set()
    truth, draws = values
    shares = (draws == truth[:, None]).any(axis=1).mean(axis=0)
    parameters = battery.parts[0].block.parameters
    return {int(parameters[j]) for j in np.flatnonzero(shares > _TIED)}


def _statistics_without_errors(
    battery: Battery, scores: Sequence[SlotRanks], values: tuple[Array, Array] | None
) -> NDArray[np.float32]:
    """Statistics (T, C) of truths without width, bias, and either; by scores, then values.

    Of the first block alone: no other's claims are asked.
    """
    rows = battery.parts[0].block.rows
    at = battery.pools.observed[rows] + battery.pools.first[rows]
    tables = (_BY_SCORES if values is None else _BY_VALUES)[-1].stop
    truths = []
    for column, score in enumerate(scores):
        own = score.select(np.broadcast_to(at, (tables, len(at))))
        if score.of == "theta":
            drawn = None if values is None else (values[0][:, column], values[1][..., column])
            own = _without_errors(own, drawn)
        truths.append(own)
    alone = replace(battery, parts=battery.parts[:1])
    found = alone.statistics_of_truths(truths)
    first = len(battery.parts[0].cells)
    z = np.zeros((len(found), len(battery.cells)), np.float32)
    z[:, :first] = found[:, :first]
    last = found.shape[1] - first
    z[:, len(battery.cells) - last :] = found[:, first:]
    return z


def _without_errors(own: SlotRanks, drawn: tuple[Array, Array] | None) -> SlotRanks:
    """A parameter's truths (T, n) freed of width, of bias, and of either."""
    by_scores = _moved_by_scores(own.u[0])
    if drawn is None or own.magnitude is None:
        return replace(own, u=by_scores)
    truth, draws = drawn
    moved = _moved_by_values(truth, draws)
    u = midranks_among(moved, draws).astype(np.float32)
    there = magnitudes_beside(np.sort(draws, axis=1), moved.T)
    magnitude = Magnitudes(*(
        np.concatenate([seen[: len(by_scores)], anew])
        for seen, anew in zip(own.magnitude, there, strict=True)
    ))  # fmt: skip
    return replace(own, u=np.concatenate([by_scores, u]), magnitude=magnitude)


def _moved_by_scores(u: Array) -> Array:
    """Ranks (3, n) from ranks (n,): without width, without bias, without either."""
    z = normal_scores(np.clip(u, EDGE, 1 - EDGE)).astype(np.float64)
    bias, sd = z.mean(), max(float(z.std()), EDGE)
    freed = ndtr(np.stack([z / sd, z - bias, (z - bias) / sd]))
    return np.clip(freed, EDGE, 1 - EDGE).astype(np.float32)


def _moved_by_values(truth: Array, draws: Array) -> Array:
    """True values (n,) moved and scaled about the median of draws (n, P): a row for each table."""
    centre, spread = (part[:, 0] for part in centres(draws))
    with np.errstate(over="ignore", invalid="ignore"):
        off = np.clip(np.nan_to_num((truth - centre) / spread), -_FARTHEST, _FARTHEST)

    def ranks(moved: Array) -> Array:
        return midranks_among(centre + moved * spread, draws)

    root_n = np.sqrt(len(truth))

    def place(bias: float) -> float:
        return float(normal_scores(ranks(off - bias)).mean())

    bias = _Estimate.of(place, _FARTHEST, 1 / root_n)
    uniform = width_scores((np.arange(draws.shape[1] + 1) + 0.5) / (draws.shape[1] + 1))

    def width(log: float) -> float:
        wide = width_scores(ranks((off - bias.value) / np.exp(log)))
        return float(wide.mean() - uniform.mean())

    log = _Estimate.of(width, _WIDE, float(uniform.std()) / root_n)
    moved = [off / np.exp(log.at(away)) for away in _OFF]
    moved += [off - bias.at(away) for away in _OFF]
    moved += [
        (off - bias.at(away)) / np.exp(log.at(wider)) for away in _OFF for wider in _OFF_WIDTH
    ]
    return np.asarray(centre + np.stack(moved) * spread)


class _Estimate(NamedTuple):
    """Where a falling statistic is 0, and the standard error of that place."""

    value: float
    error: float

    @classmethod
    def of(cls, falling: Callable[[float], float], far: float, error: float) -> _Estimate:
        """The root between -far and far of a statistic with this standard error.

        Its slope is that of a secant across two standard errors; where it is flat, nothing is
        known of the place but the root.
        """
        root = _root(falling, -far, far)
        if error == 0:  # the width's among two draws, all of whose ranks are as far out
            return cls(root, 0.0)
        slope = (falling(root - error) - falling(root + error)) / (2 * error)
        return cls(root, min(error / slope, far) if slope > 0 else 0.0)

    def at(self, errors: float) -> float:
        """The place so many standard errors away."""
        return self.value + errors * self.error


def _root(falling: Callable[[float], float], low: float, high: float) -> float:
    """The root of a falling function, by halving."""
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        low, high = (middle, high) if falling(middle) > 0 else (low, middle)
    return (low + high) / 2
