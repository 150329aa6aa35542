"""The statistics that relabelling looks at in a table, and the numbers that its claims quote."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from validation_core.pieces import slices
from validation_core.relabelling.battery import Battery, Cell, assemble, assemble_over_x
from validation_core.relabelling.families import EVERYWHERE, OWN
from validation_core.relabelling.features import Block, feature_block, features_near, over_x_block
from validation_core.relabelling.magnitudes import FAR, Support
from validation_core.relabelling.normal_scores import MOST, largest_misfits, misfit
from validation_core.relabelling.norms import WHITENED, norms
from validation_core.relabelling.places import (
    ASIDE,
    XCoordinates,
    XFunctions,
    affordable,
    coordinates,
    functions_of_x,
    moments,
)
from validation_core.relabelling.pools import (
    Pools,
    PoolSizes,
    SlotRanks,
    halves,
    in_units,
    max_players,
    mid_ranks,
    players,
    pool_sizes,
    pooled_scores,
    ranked_columns,
    score_at_rows,
)
from validation_core.relabelling.result import NUMBERS_QUOTED, Claim, XScope
from validation_core.rng import stream
from validation_core.types import Array, Integers, PosteriorTable

RELABELINGS = 999
FEWEST = 5
"""Rows of a table, at least."""
_NEAR, _LEAST_NEAR = 0.1, 20  # share of the rows that are near an observation; at least so many
_RANKED_AT_ONCE = 50  # parameters
_COINCIDE = -13.0  # log distance in robust sds below which two slots are equal


def _x_scope(cell: Cell, at: XCoordinates | None) -> XScope | None:
    if cell.along is None or at is None:
        return None if cell.family != "observation" else XScope("near")
    if cell.along < 0:
        return XScope({-1: "products", -2: "balls", EVERYWHERE: "everywhere"}[cell.along])
    return XScope(at.kinds[cell.along], at.which[cell.along])


class LearnedScore(NamedTuple):
    """A learned score, evaluated on rows held out from its training."""

    name: str
    """One of `families.LEARNED`; of densities that came with the table log_q, log_ratio,
    normal_ratio and log_w; of own quantities own."""
    rows: Integers
    """(n,) of the table."""
    values: Array
    """(n, J + 1): of the truth, then of the draws in `columns`; rows with a NaN are left out."""
    ratio: bool
    """Whether it estimates log p / q, up to a function of x."""
    which: int = -1
    """Number of an own quantity."""


class TableStatistics(NamedTuple):
    """All statistics of a table, and their functions of x."""

    battery: Battery
    coordinates: XCoordinates
    parameters: Integers
    """Tested parameters."""
    places: XFunctions | None
    """Functions of x that they look along."""
    scores: tuple[SlotRanks, ...]
    """Scores of all slots, learned ones left out."""
    quantities: tuple[tuple[Array, Array], ...] = ()
    """A user's own quantities at the truths (N,) and at the draws (N, K)."""
    known: tuple[LearnedScore, ...] = ()
    """Scores of densities and own quantities."""

    def with_learned(self, learned: Sequence[LearnedScore]) -> Battery:
        """The statistics of learned scores alone, of the same slots and over the same places."""
        pools = self.battery.pools
        blocks = [block for score in learned for block in _score_blocks(score, pools)]
        return assemble(pools, blocks, self.places)

    def with_means_apart(
        self,
        table: PosteriorTable,
        seed: int,
        groups: Integers | None = None,
        learned: Sequence[LearnedScore] | None = None,
    ) -> Battery | None:
        """The statistics over x, of `learned` alone where given, along q's means of the first
        draws and with ranks among the others; None where no q's means are looked along.

        A truth is part of its pool's mean: where q is wrong alike at every x its rank depends on
        that mean, but not on the mean of draws that are no slots.
        """
        at, where, (n, k, d) = self.coordinates, self.places, table.q.shape
        if where is None or "mean" not in at.kinds:
            return None
        aside = max(1, min(ASIDE, k // 4))
        columns = [column for column, kind in enumerate(at.kinds) if kind == "mean"]
        drawn = table.q[:, :aside, [at.which[column] for column in columns]]
        values = at.values.copy()
        values[:, columns] = moments(in_units(drawn))[0]
        rows = self.battery.parts[0].block.rows
        read = pooled_scores(
            table, self.parameters, unshared_groups(groups), rows=rows, aside=aside
        )
        blocks = [] if learned is not None else [over_x_block(read.pools, rows, read.scores)]
        slots = np.append(True, playing_draws(n, k, d) >= aside)
        for score in self.known if learned is None else learned:
            blocks += _score_blocks(score, read.pools, over_x_block, slots)
        centres = stream(seed, "omnibus", "centres")
        return assemble_over_x(read.pools, blocks, functions_of_x(values, centres, where.blocks))

    def claims(self, cells: Sequence[Cell]) -> tuple[Claim, ...]:
        """Claims of these cells."""
        return tuple(
            Claim(cell.family, cell.kind, cell.of, cell.which, _x_scope(cell, self.coordinates))
            for cell in cells
        )

    def numbers(self) -> Array:
        """(C, 5) numbers quoted by sentences about magnitudes and own quantities."""
        every = self.battery
        block = every.parts[0].block
        at = every.pools.observed[block.rows] + every.pools.first[block.rows]
        by_parameter = {
            score.which: score.magnitude for score in self.scores if score.magnitude is not None
        }
        out = np.full((len(every.cells), NUMBERS_QUOTED), np.nan)
        for cell, row in zip(every.cells, out, strict=True):
            if cell.family == "outliers":
                row[:4] = _outliers(block, cell, at)
            elif cell.family == "spacing":
                row[:4] = _spacing(by_parameter[cell.which[0]].gap, at)
            elif cell.family == "own":
                row[:] = _ranks_of_truths(*self.quantities[cell.which[0]])
            elif cell.family == "support" and every.support is not None:
                row[:] = every.support.outside(block.parameters.index(cell.which[0]), at)
        return out


def _outliers(block: Block, cell: Cell, at: Integers) -> tuple[float, float, float, float]:
    """The most significant bound, true values beyond it, their expected number, and the total."""
    found = []
    columns = [
        i for i, feature in enumerate(block.features)
        if feature.counts and feature.which == cell.which
    ]  # fmt: skip
    for bound, column in zip(FAR, columns, strict=True):
        expected = float(block.mean[:, column].sum(dtype=np.float64))
        count = float(block.others[at, column - block.over].sum(dtype=np.float64)) + expected
        found.append((bound, round(count), expected, len(at)))
    return max(found, key=lambda one: abs(one[1] - one[2]) / np.sqrt(one[2] + 1))


def _spacing(gap: Array, at: Integers) -> tuple[float, float, float, float]:
    """Shares of true values and of all slots that coincide with another one, and the typical
    distance of either to the nearest other one, in q's robust sds."""
    pair = (gap[at].astype(np.float64), gap.astype(np.float64))
    tied = [float((one < _COINCIDE).mean()) for one in pair]
    apart = [float(np.exp(np.median(one))) for one in pair]
    return tied[0], tied[1], apart[0], apart[1]


def _ranks_of_truths(truth: Array, draws: Array) -> tuple[float, float, float, float, float]:
    """Of an own quantity's true values among all draws: the mean of their ranks u in (0, 1), the
    spread of u about the middle as a multiple of a correct q's, the number of rows; and the z of
    the mean and of the spread."""
    slots = np.concatenate([truth[:, None], draws], axis=1)
    off = mid_ranks(slots[~np.isnan(slots).any(axis=1)]).astype(np.float64) - 0.5
    squares = np.square(off)
    expected = squares.mean(axis=1)
    z = [
        float((one[:, 0] - one.mean(axis=1)).sum() / max(np.sqrt(one.var(axis=1).sum()), 1e-9))
        for one in (off, squares)
    ]
    spread = float(squares[:, 0].sum() / max(expected.sum(), 1e-9))
    return 0.5 + float(off[:, 0].mean()), spread, float(len(off)), z[0], z[1]


def playing_draws(n: int, k: int, d: int) -> Integers:
    """Draws (J,) of k that may play the truth, of a table of n rows and d parameters."""
    among = ranked_columns(n, k, min(d, MOST))
    return among[players(len(among), max_players(n))]


def statistics_of(
    table: PosteriorTable,
    seed: int,
    *,
    relabelings: int = RELABELINGS,
    densities: Mapping[str, Array] | None = None,
    quantities: Sequence[tuple[Array, Array]] = (),
    groups: Integers | None = None,
    training: Integers | None = None,
    near: Integers | None = None,
    over_x: bool = True,
    truths: bool = True,
    bounds: Array | None = None,
) -> TableStatistics:
    """All statistics without learning; without `truths`, of tables made of q's draws alone.

    `bounds` (D, 2) are those of the prior, infinite where they are not known.
    """
    n, d = table.theta.shape
    parameters, groups = np.arange(d), unshared_groups(groups)
    choosing = _rows_that_choose(n, d, seed, training)
    rows = np.setdiff1d(np.arange(n), choosing)
    if d > MOST:
        parameters = _most_misfitting(table, choosing, groups)
    read = pooled_scores(table, parameters, groups, truths=truths, rows=rows)
    known: list[LearnedScore] = []
    if groups is None:
        among = playing_draws(n, table.q.shape[1], d)
        known = _density_scores(densities or {}, among)
        known += _normal_ratio(densities or {}, table, among)
        known += _own_scores(quantities, among)
    blocks = [feature_block(read.pools, rows, read.scores)]
    for score in known:
        blocks += _score_blocks(score, read.pools)
    if near is not None:
        blocks.append(features_near(read.pools, np.intersect1d(near, rows), read.scores))
    at = coordinates(in_units(table.x), read.mean, read.spread)
    at = at._replace(
        which=tuple(
            int(parameters[which]) if kind == "mean" else which
            for kind, which in zip(at.kinds, at.which, strict=True)
        )
    )
    looked = over_x and table.x.shape[1] > 0
    where, axes = _affordable_functions(at, blocks, relabelings, seed) if looked else (None, at)
    ends = None if bounds is None else bounds[parameters]
    every = assemble(read.pools, blocks, where, _support(read.pools, rows, read.scores, ends))
    own = tuple(quantities) if groups is None else ()
    return TableStatistics(every, axes, parameters, where, read.scores, own, tuple(known))


def _support(
    pools: Pools, rows: Integers, scores: Sequence[SlotRanks], bounds: Array | None
) -> Support:
    """The values of every parameter's slots, those of the tested rows' pools apart."""
    first, size, pool = pools.distinct
    used = np.zeros(len(first), bool)
    used[pool[rows]] = True
    tested = np.repeat(used, size)
    values = [score.magnitude.value for score in scores if score.magnitude is not None]
    return Support.of(np.stack(values, axis=1), tested, len(rows), bounds)


def unshared_groups(groups: Integers | None) -> Integers | None:
    """Groups of rows that share draws; None where every row has draws of its own."""
    return None if groups is None or len(np.unique(groups)) == len(groups) else groups


def _score_blocks(
    one: LearnedScore,
    pools: Pools,
    block: Callable[[Pools, Integers, Sequence[SlotRanks]], Block] = feature_block,
    slots: NDArray[np.bool_] | None = None,
) -> list[Block]:
    """The block of a score, at the rows where it is known of every slot.

    Args:
        one: the score.
        pools: of the table.
        block: its features.
        slots: those of the score that are in the pools; None for all.
    """
    known = ~np.isnan(one.values).any(axis=1)
    rows = one.rows[known]
    if len(rows) < FEWEST:
        return []
    values = one.values[known] if slots is None else one.values[known][:, slots]
    score = score_at_rows(one.name, pools, rows, values, which=one.which, ratio=one.ratio)
    return [block(pools, rows, [score])]


def nearest(far: Array) -> Integers:
    """The rows near an observation, from the distances (N,) of all."""
    count = min(len(far), max(_LEAST_NEAR, round(_NEAR * len(far))))
    return np.sort(np.argsort(far, kind="stable")[:count])


def relabelled_pools(
    n: int,
    k: int,
    d: int,
    seed: int,
    *,
    groups: Integers | None = None,
    training: Integers | None = None,
) -> PoolSizes:
    """Sizes of the pools of the rows that are tested, of a table of n rows, k draws and d
    parameters; seed, groups and training as in `statistics_of`."""
    tested = np.ones(n, bool)
    tested[_rows_that_choose(n, d, seed, training)] = False
    return pool_sizes(k, tested, unshared_groups(groups))


def _rows_that_choose(n: int, d: int, seed: int, training: Integers | None) -> Integers:
    """Rows that choose the parameters to look at; none where all d are looked at."""
    if d <= MOST:
        return np.arange(0)
    if training is not None:
        return training
    return np.sort(stream(seed, "omnibus", "parameters").permutation(n)[: n // 2])


def _most_misfitting(table: PosteriorTable, rows: Integers, groups: Integers | None) -> Integers:
    """Parameters whose truths, at some rows, are farthest from ranks of a right q.

    Draws that rows share are halved: those that are looked at here are not among the slots.
    """
    k, d = table.q.shape[1:]
    read = np.arange(k) if groups is None else halves(k)[0]
    read = read[players(len(read))]
    off = np.zeros(d)
    for part in slices(d, _RANKED_AT_ONCE):
        among = table.q[rows[:, None], read, part]
        values = np.concatenate([table.theta[rows, None, part], among], axis=1)
        u = mid_ranks(np.ascontiguousarray(values.transpose(2, 0, 1)), np.array([0]))[..., 0]
        # Half a slot from the middle at least: the middle slot is no outlier of the widths.
        off[part] = misfit(u, edge=0.5 / (1 + len(read)))
    return largest_misfits(off)


def _density_scores(densities: Mapping[str, Array], among: Integers) -> list[LearnedScore]:
    """Scores from log densities that came with the table; NaN where they are not known."""
    if {"log_w", "log_w_draws"} <= densities.keys():
        log_w = _density_slots(densities, "log_w", among)
        return [LearnedScore("log_w", np.arange(len(log_w)), log_w, ratio=False)]
    if not {"log_q", "log_q_draws"} <= densities.keys():
        return []
    rows = np.arange(len(densities["log_q"]))
    log_q = _density_slots(densities, "log_q", among)
    scores = [LearnedScore("log_q", rows, log_q, ratio=False)]
    if {"log_joint", "log_joint_draws"} <= densities.keys():
        with np.errstate(invalid="ignore"):
            ratio = _density_slots(densities, "log_joint", among) - log_q
        scores.append(LearnedScore("log_ratio", rows, ratio, ratio=False))
    return scores


def _normal_ratio(
    densities: Mapping[str, Array], table: PosteriorTable, among: Integers
) -> list[LearnedScore]:
    """log p - log q where q's density is not known: that of the normal law of the row's slots.

    It treats the slots of a row alike, so that relabelling stays exact whatever law q has. Where q
    is about normal at each x it is nearly the most powerful of all scores (Neyman, Pearson), while
    ranks of log p alone see little: most of its variance is that of a correct q.
    """
    stems = ("log_joint", "log_likelihood")
    both = [stem for stem in stems if {stem, f"{stem}_draws"} <= densities.keys()]
    n, _, d = table.q.shape
    if not both or {"log_q", "log_q_draws"} <= densities.keys() or d > WHITENED:
        return []
    values = np.concatenate([table.theta[:, None], table.q[:, among]], axis=1)
    log_p = _density_slots(densities, both[0], among)
    return [LearnedScore("normal_ratio", np.arange(n), log_p + norms(values) / 2, ratio=True)]


def _own_scores(quantities: Sequence[tuple[Array, Array]], among: Integers) -> list[LearnedScore]:
    """Scores from a user's own quantities; NaN where they are not known."""
    return [
        LearnedScore(OWN, np.arange(len(truth)), _slots(truth, draws, among), False, number)
        for number, (truth, draws) in enumerate(quantities)
    ]


def _density_slots(densities: Mapping[str, Array], name: str, among: Integers) -> Array:
    return _slots(densities[name], densities[f"{name}_draws"], among)


def _slots(truth: Array, draws: Array, among: Integers) -> Array:
    return np.concatenate([truth[:, None], draws[:, among]], axis=1).astype(np.float64)


def _affordable_functions(
    at: XCoordinates, blocks: Sequence[Block], relabelings: int, seed: int
) -> tuple[XFunctions, XCoordinates]:
    """Affordable functions of x, and their coordinates."""
    n, count = at.values.shape
    features_over = sum(block.over * len(block.rows) for block in blocks) / max(n, 1)
    each, some = affordable(n, count, round(features_over), relabelings)
    subset = np.unique(np.round(np.linspace(0, count - 1, some)).astype(int))
    at = at._replace(
        values=at.values[:, subset],
        kinds=tuple(at.kinds[i] for i in subset),
        which=tuple(at.which[i] for i in subset),
    )
    return functions_of_x(at.values, stream(seed, "omnibus", "centres"), each), at
