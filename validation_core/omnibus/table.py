"""The test of a table: its scores, the functions of x, and all labellings."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri

from validation_core.omnibus import battery, features, slots
from validation_core.omnibus.battery import Battery
from validation_core.omnibus.coordinates import Coordinates, coordinates
from validation_core.omnibus.features import Block
from validation_core.omnibus.places import Places, affordable, places
from validation_core.omnibus.result import Omnibus
from validation_core.omnibus.slots import Pools
from validation_core.rng import stream
from validation_core.types import Array, PosteriorTable

MOST = 50
"""Parameters that are looked at; of more, those that the rows set aside for learning point at."""
RELABELINGS = 999
FEWEST = 5
"""Rows of a table, at least."""
_NEAR, _LEAST_NEAR = 0.1, 20  # share of the rows that are near an observation; at least so many
_RANKED_AT_ONCE = 50  # parameters

Rows = NDArray[np.int64]


class Learned(NamedTuple):
    """A score of some rows that it did not learn from."""

    name: str
    """One of `features.LEARNED`; of densities that came with the table log_q, log_ratio."""
    rows: Rows
    """(n,) of the table."""
    values: Array
    """(n, J + 1): of the truth, then of the draws in `columns`; rows with a NaN are left out."""
    ratio: bool
    """Whether it estimates log p / q, up to a function of x."""


class Asked(NamedTuple):
    """All statistics of a table, and where over x they look."""

    battery: Battery
    coordinates: Coordinates
    parameters: Rows
    """Those that are looked at."""
    places: Places | None
    """Functions of x that they look along."""

    def beside(self, learned: Sequence[Learned]) -> Battery:
        """The statistics of learned scores alone, of the same slots and over the same places."""
        pools = self.battery.pools
        blocks = [block for score in learned for block in _scored(score, pools)]
        return battery.battery(pools, blocks, self.places)


def columns(n: int, k: int, d: int) -> Rows:
    """Draws (J,) of k that may play the truth, of a table of n rows and d parameters."""
    among = slots.ranked(n, k, min(d, MOST))
    return among[slots.players(len(among), slots.able(n))]


def relabelled(
    table: PosteriorTable,
    seed: int,
    *,
    relabelings: int = RELABELINGS,
    learned: Sequence[Learned] = (),
    densities: Mapping[str, Array] | None = None,
    groups: Rows | None = None,
    training: Rows | None = None,
    near: Rows | None = None,
    over_x: bool = True,
    report: Callable[[float], None] = lambda done: None,
) -> Omnibus:
    """The exact test of a table by relabelling within x.

    Args:
        table: theta (N, D), x (N, M), q (N, K, D).
        seed: fixes the labellings and the centres of balls.
        relabelings: B; no p is below 1 / (B + 1).
        learned: scores learned on other rows.
        densities: log_q, log_q_draws and, with log_joint, log_joint_draws, the log ratio.
        groups: (N,) the same for rows that share one set of draws; None where none do.
        training: rows that choose the parameters to look at, where there are more than MOST.
        near: rows nearest to the observation that is asked about.
        over_x: whether features are looked at over x.
        report: told the fraction done.
    """
    statistics = statistics_of(
        table,
        seed,
        relabelings=relabelings,
        learned=learned,
        densities=densities,
        groups=groups,
        training=training,
        near=near,
        over_x=over_x,
    )
    tested = battery.calibrated(
        statistics.battery, relabelings, stream(seed, "omnibus", "labellings"), report
    )
    return Omnibus.of(tested, statistics.battery.cells, statistics.coordinates)


def statistics_of(
    table: PosteriorTable,
    seed: int,
    *,
    relabelings: int = RELABELINGS,
    learned: Sequence[Learned] = (),
    densities: Mapping[str, Array] | None = None,
    groups: Rows | None = None,
    training: Rows | None = None,
    near: Rows | None = None,
    over_x: bool = True,
    truths: bool = True,
) -> Asked:
    """What `relabelled` looks at; without `truths`, that of tables made of q's draws alone."""
    n, d = table.theta.shape
    parameters, rows, groups = np.arange(d), np.arange(n), _own(groups)
    if d > MOST:
        training = _half(n, seed) if training is None else training
        parameters, rows = _chosen(table, training, groups), np.setdiff1d(rows, training)
    if groups is not None and learned:
        raise ValueError(
            f"A learned score needs rows with draws of their own; got {learned[0].name} and rows "
            "that share theirs. Leave the scores or the groups out."
        )
    read = slots.slotted(table, parameters, groups, truths=truths, rows=rows)
    known = _known(densities or {}, columns(n, table.q.shape[1], d)) if groups is None else []
    blocks = [features.block(read.pools, rows, read.scores)]
    for score in (*learned, *known):
        blocks += _scored(score, read.pools)
    if near is not None:
        blocks.append(features.near(read.pools, np.intersect1d(near, rows), read.scores))
    at = coordinates(slots.in_units(table.x), read.mean, read.spread)
    where, axes = _places(at, blocks, relabelings, seed) if over_x else (None, at)
    return Asked(battery.battery(read.pools, blocks, where), axes, parameters, where)


def _own(groups: Rows | None) -> Rows | None:
    """Groups of rows that share draws; None where every row has draws of its own."""
    return None if groups is None or len(np.unique(groups)) == len(groups) else groups


def _scored(one: Learned, pools: Pools) -> list[Block]:
    """The block of a score, at the rows where it is known of every slot."""
    known = ~np.isnan(one.values).any(axis=1)
    rows = one.rows[known]
    if len(rows) < FEWEST:
        return []
    score = slots.of_rows(one.name, pools, rows, one.values[known], ratio=one.ratio)
    return [features.block(pools, rows, [score])]


def nearest(far: Array) -> Rows:
    """The rows near an observation, from the distances (N,) of all."""
    count = min(len(far), max(_LEAST_NEAR, round(_NEAR * len(far))))
    return np.sort(np.argsort(far, kind="stable")[:count])


def _half(n: int, seed: int) -> Rows:
    return np.sort(stream(seed, "omnibus", "parameters").permutation(n)[: n // 2])


def _chosen(table: PosteriorTable, rows: Rows, groups: Rows | None) -> Rows:
    """Parameters whose truths, at some rows, are farthest from ranks of a right q.

    Draws that rows share are halved: those that are looked at here are not among the slots.
    """
    k, d = table.q.shape[1:]
    read = np.arange(k) if groups is None else slots.halves(k)[0]
    read = read[slots.players(len(read))]
    off = np.zeros(d)
    for first in range(0, d, _RANKED_AT_ONCE):
        part = slice(first, first + _RANKED_AT_ONCE)
        among = table.q[rows[:, None], read, part]
        values = np.concatenate([table.theta[rows, None, part], among], axis=1)
        u = slots.mid_ranks(np.ascontiguousarray(values.transpose(2, 0, 1)), np.array([0]))[..., 0]
        wide = ndtri(np.clip(np.abs(2 * u - 1), 1e-6, 1 - 1e-6))
        off[part] = np.maximum(np.abs(ndtri(u).mean(1)), np.abs(wide.mean(1)))
    return np.sort(np.argsort(-off, kind="stable")[:MOST])


def _known(densities: Mapping[str, Array], among: Rows) -> list[Learned]:
    """Scores from log densities that came with the table; NaN where they are not known."""
    if not {"log_q", "log_q_draws"} <= densities.keys():
        return []
    rows = np.arange(len(densities["log_q"]))
    log_q = _slots(densities, "log_q", among)
    scores = [Learned("log_q", rows, log_q, ratio=False)]
    if {"log_joint", "log_joint_draws"} <= densities.keys():
        with np.errstate(invalid="ignore"):
            ratio = _slots(densities, "log_joint", among) - log_q
        scores.append(Learned("log_ratio", rows, ratio, ratio=False))
    return scores


def _slots(densities: Mapping[str, Array], name: str, among: Rows) -> Array:
    truth, draws = densities[name], densities[f"{name}_draws"]
    return np.concatenate([truth[:, None], draws[:, among]], axis=1).astype(np.float64)


def _places(
    at: Coordinates, blocks: Sequence[Block], relabelings: int, seed: int
) -> tuple[Places, Coordinates]:
    """Functions of x that can be paid for, and the coordinates that they look along."""
    n, count = at.values.shape
    features_over = sum(block.over * len(block.rows) for block in blocks) / max(n, 1)
    each, some = affordable(n, count, round(features_over), relabelings)
    subset = np.unique(np.round(np.linspace(0, count - 1, some)).astype(int))
    at = at._replace(
        values=at.values[:, subset],
        kinds=tuple(at.kinds[i] for i in subset),
        which=tuple(at.which[i] for i in subset),
    )
    return places(at.values, stream(seed, "omnibus", "centres"), each), at
