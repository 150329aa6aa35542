"""One exact verdict from many statistics: relabelling within x, and every claim's adjusted p.

slots     truth and draws at each x, ranked together
places    functions of x along which features are summed
battery   features of a slot's ranks, all statistics of a labelling, the observed one among others

Exact for scores fixed beforehand; for scores learnt on some of its rows see `methods.Omnibus`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import NamedTuple, get_args

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri, ndtri_exp

from validation_core.omnibus import battery
from validation_core.omnibus import places as slots
from validation_core.omnibus.battery import (
    LEARNED,
    Battery,
    Family,
    Kind,
    _Block,
    _Cell,
    _OmnibusTest,
)
from validation_core.omnibus.places import (
    XCoordinates,
    _affordable,
    _Pools,
    _XFunctions,
    coordinates,
    places,
)
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
_FAMILIES, _KINDS = get_args(Family), get_args(Kind)
_OF = ("theta", "norm", "log_q", "log_ratio", *LEARNED)
_ALONG = ("x", "component", "mean", "products", "balls", "near")
_NONE = -1  # in the codes of cells


@dataclass(frozen=True)
class _Along:
    """Where over x a cell looks."""

    kind: str
    """x: a column; component: a principal component of x; mean: q's mean of a parameter; products
    of two coordinates; balls; near: the rows nearest to the observation."""
    which: int = _NONE
    """The column, component or parameter, from 0."""


@dataclass(frozen=True)
class Claim:
    """What a cell claims where its p is small."""

    family: Family
    kind: Kind
    of: str
    """theta, norm, log_q, log_ratio or a learned score."""
    which: tuple[int, ...]
    """Parameters, from 0; empty for all of them together."""
    along: _Along | None
    """None: over all x."""


@dataclass(frozen=True, eq=False)
class OmnibusResult:
    """Everything that was looked at, and one exact p-value."""

    claims: tuple[Claim, ...]
    """(C,)."""
    z: Array
    """(C,) the largest standardised statistic of each."""
    adjusted: Array
    """(C,) p, adjusted over all claims by stepping down (Westfall, Young)."""
    evidence: Array
    """(C,) comparable -log p, by which claims are ordered."""
    null: Array
    """(B,) the largest evidence of each labelling."""
    offset: Array
    """(C,) what turns z into evidence."""

    @classmethod
    def of(
        cls, tested: _OmnibusTest, cells: tuple[_Cell, ...], at: XCoordinates | None
    ) -> OmnibusResult:
        """The test of these cells, the places of which are along these coordinates."""
        claims = tuple(
            Claim(cell.family, cell.kind, cell.of, cell.which, _along(cell, at)) for cell in cells
        )
        return cls(
            claims, tested.z, tested.adjusted, tested.evidence, tested.null, tested.scale.offset
        )

    @property
    def pvalue(self) -> float:
        """Of everything together: exact."""
        return float(self.adjusted.min())

    @property
    def relabelings(self) -> int:
        """B."""
        return len(self.null)

    @property
    def families(self) -> Mapping[Family, float]:
        """Adjusted p of each family, the smallest first; among equal ones the clearest."""
        names = dict.fromkeys(claim.family for claim in self.claims)
        lead = {name: self.first(partial(_belongs, name)) for name in names}
        order = sorted(names, key=lambda name: self._order(lead[name]))
        return {name: float(self.adjusted[lead[name]]) for name in order}

    def first(self, wanted: Callable[[Claim], bool] = lambda claim: True) -> int | None:
        """The place of the clearest claim of some; None where there is none of them."""
        some = [i for i, claim in enumerate(self.claims) if wanted(claim)]
        return min(some, key=self._order) if some else None

    def p(self, wanted: Callable[[Claim], bool] = lambda claim: True) -> float:
        """The smallest adjusted p of some claims; 1 where there is none of them."""
        at = self.first(wanted)
        return 1.0 if at is None else float(self.adjusted[at])

    def _order(self, at: int | None) -> tuple[float, float]:
        return (2.0, 0.0) if at is None else (float(self.adjusted[at]), -float(self.evidence[at]))

    def critical(self, alpha: float, family: Family) -> float:
        """The |z| at which a family is found at this level; inf without the family."""
        at = next((i for i, claim in enumerate(self.claims) if claim.family == family), None)
        if at is None:
            return float("inf")
        # The largest evidence that more than alpha of all labellings, this one among them, reach.
        count = int(np.floor(alpha * (len(self.null) + 1)))
        if count < 1:
            return float("inf")
        least = float(np.sort(self.null)[::-1][count - 1])
        return float(-ndtri_exp(min(-least - np.log(2) - self.offset[at], -1e-12)))

    def arrays(self) -> dict[str, Array]:
        """Everything to store, by flat names."""
        rows = [
            (
                _FAMILIES.index(claim.family),
                _KINDS.index(claim.kind),
                _OF.index(claim.of),
                *(*claim.which, _NONE, _NONE)[:2],
                *(
                    (_ALONG.index(claim.along.kind), claim.along.which)
                    if claim.along
                    else (_NONE, _NONE)
                ),
            )
            for claim in self.claims
        ]
        return {
            "claims": np.array(rows, np.float64).reshape(-1, 7),
            "z": self.z,
            "adjusted": self.adjusted,
            "evidence": self.evidence,
            "null": self.null,
            "offset": self.offset,
        }

    @classmethod
    def read(cls, arrays: Mapping[str, Array]) -> OmnibusResult:
        """What `arrays` gave."""
        claims = []
        for family, kind, of, a, b, along, at in arrays["claims"].astype(int):
            which = tuple(int(index) for index in (a, b) if index != _NONE)
            where = None if along == _NONE else _Along(_ALONG[along], int(at))
            claims.append(Claim(_FAMILIES[family], _KINDS[kind], _OF[of], which, where))
        rest = (arrays[name] for name in ("z", "adjusted", "evidence", "null", "offset"))
        return cls(tuple(claims), *rest)


def _belongs(family: Family, claim: Claim) -> bool:
    return claim.family == family


def _along(cell: _Cell, at: XCoordinates | None) -> _Along | None:
    if cell.along is None or at is None:
        return None if cell.family != "observation" else _Along("near")
    if cell.along < 0:
        return _Along("products" if cell.along == -1 else "balls")
    return _Along(at.kinds[cell.along], at.which[cell.along])


class LearnedScore(NamedTuple):
    """A score of some rows that it did not learn from."""

    name: str
    """One of `battery.LEARNED`; of densities that came with the table log_q, log_ratio."""
    rows: Rows
    """(n,) of the table."""
    values: Array
    """(n, J + 1): of the truth, then of the draws in `columns`; rows with a NaN are left out."""
    ratio: bool
    """Whether it estimates log p / q, up to a function of x."""


class TableStatistics(NamedTuple):
    """All statistics of a table, and where over x they look."""

    battery: Battery
    coordinates: XCoordinates
    parameters: Rows
    """Those that are looked at."""
    places: _XFunctions | None
    """Functions of x that they look along."""

    def beside(self, learned: Sequence[LearnedScore]) -> Battery:
        """The statistics of learned scores alone, of the same slots and over the same places."""
        pools = self.battery.pools
        blocks = [block for score in learned for block in _scored(score, pools)]
        return battery._battery(pools, blocks, self.places)


def columns(n: int, k: int, d: int) -> Rows:
    """Draws (J,) of k that may play the truth, of a table of n rows and d parameters."""
    among = slots._ranked(n, k, min(d, MOST))
    return among[slots._players(len(among), slots._able(n))]


def relabelled(
    table: PosteriorTable,
    seed: int,
    *,
    relabelings: int = RELABELINGS,
    learned: Sequence[LearnedScore] = (),
    densities: Mapping[str, Array] | None = None,
    groups: Rows | None = None,
    training: Rows | None = None,
    near: Rows | None = None,
    over_x: bool = True,
    report: Callable[[float], None] = lambda done: None,
) -> OmnibusResult:
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
    tested = battery._calibrated(
        statistics.battery, relabelings, stream(seed, "omnibus", "labellings"), report
    )
    return OmnibusResult.of(tested, statistics.battery.cells, statistics.coordinates)


def statistics_of(
    table: PosteriorTable,
    seed: int,
    *,
    relabelings: int = RELABELINGS,
    learned: Sequence[LearnedScore] = (),
    densities: Mapping[str, Array] | None = None,
    groups: Rows | None = None,
    training: Rows | None = None,
    near: Rows | None = None,
    over_x: bool = True,
    truths: bool = True,
) -> TableStatistics:
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
    read = slots._slotted(table, parameters, groups, truths=truths, rows=rows)
    known = _known(densities or {}, columns(n, table.q.shape[1], d)) if groups is None else []
    blocks = [battery.block(read.pools, rows, read.scores)]
    for score in (*learned, *known):
        blocks += _scored(score, read.pools)
    if near is not None:
        blocks.append(battery._near(read.pools, np.intersect1d(near, rows), read.scores))
    at = coordinates(slots._in_units(table.x), read.mean, read.spread)
    where, axes = _places(at, blocks, relabelings, seed) if over_x else (None, at)
    return TableStatistics(battery._battery(read.pools, blocks, where), axes, parameters, where)


def _own(groups: Rows | None) -> Rows | None:
    """Groups of rows that share draws; None where every row has draws of its own."""
    return None if groups is None or len(np.unique(groups)) == len(groups) else groups


def _scored(one: LearnedScore, pools: _Pools) -> list[_Block]:
    """The block of a score, at the rows where it is known of every slot."""
    known = ~np.isnan(one.values).any(axis=1)
    rows = one.rows[known]
    if len(rows) < FEWEST:
        return []
    score = slots._of_rows(one.name, pools, rows, one.values[known], ratio=one.ratio)
    return [battery.block(pools, rows, [score])]


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
    read = np.arange(k) if groups is None else slots._halves(k)[0]
    read = read[slots._players(len(read))]
    off = np.zeros(d)
    for first in range(0, d, _RANKED_AT_ONCE):
        part = slice(first, first + _RANKED_AT_ONCE)
        among = table.q[rows[:, None], read, part]
        values = np.concatenate([table.theta[rows, None, part], among], axis=1)
        u = slots._mid_ranks(np.ascontiguousarray(values.transpose(2, 0, 1)), np.array([0]))[
            ..., 0
        ]
        wide = ndtri(np.clip(np.abs(2 * u - 1), 1e-6, 1 - 1e-6))
        off[part] = np.maximum(np.abs(ndtri(u).mean(1)), np.abs(wide.mean(1)))
    return np.sort(np.argsort(-off, kind="stable")[:MOST])


def _known(densities: Mapping[str, Array], among: Rows) -> list[LearnedScore]:
    """Scores from log densities that came with the table; NaN where they are not known."""
    if not {"log_q", "log_q_draws"} <= densities.keys():
        return []
    rows = np.arange(len(densities["log_q"]))
    log_q = _slots(densities, "log_q", among)
    scores = [LearnedScore("log_q", rows, log_q, ratio=False)]
    if {"log_joint", "log_joint_draws"} <= densities.keys():
        with np.errstate(invalid="ignore"):
            ratio = _slots(densities, "log_joint", among) - log_q
        scores.append(LearnedScore("log_ratio", rows, ratio, ratio=False))
    return scores


def _slots(densities: Mapping[str, Array], name: str, among: Rows) -> Array:
    truth, draws = densities[name], densities[f"{name}_draws"]
    return np.concatenate([truth[:, None], draws[:, among]], axis=1).astype(np.float64)


def _places(
    at: XCoordinates, blocks: Sequence[_Block], relabelings: int, seed: int
) -> tuple[_XFunctions, XCoordinates]:
    """Functions of x that can be paid for, and the coordinates that they look along."""
    n, count = at.values.shape
    features_over = sum(block.over * len(block.rows) for block in blocks) / max(n, 1)
    each, some = _affordable(n, count, round(features_over), relabelings)
    subset = np.unique(np.round(np.linspace(0, count - 1, some)).astype(int))
    at = at._replace(
        values=at.values[:, subset],
        kinds=tuple(at.kinds[i] for i in subset),
        which=tuple(at.which[i] for i in subset),
    )
    return places(at.values, stream(seed, "omnibus", "centres"), each), at
