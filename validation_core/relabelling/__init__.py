"""One exact verdict from many statistics: relabelling within x, and every claim's adjusted p.

pools       truth and draws at each x, ranked together
magnitudes  how far from the others, and how near to them, a slot lies
places      functions of x along which features are summed
battery     features of a slot, all statistics of a labelling, the observed one among others
named       which kinds of error are there by themselves

The level is split, so that it is exact for any learner. Write L = (L_A, L_B) for which slots play
the truth in the half A of the rows that scores are learned on and in the rest, B. If q is right, L
is uniform and independent over rows, given the slots.

1. U, the largest of all statistics that learn nothing, is a function of L and the slots: its rank
   among those of relabelled L is uniform, so that P(p_U <= a) <= a.
2. A learned score is a function g of L_A. Given L_A, the slots and so g, L_B is still uniform.
3. V_g, the largest statistic of learned scores over B, is then a function of L_B: its rank among
   those of relabelled L_B, with g held, is uniform, so that P(p_V <= a | L_A) <= a for every g.
4. So P(p_U <= .8 a or p_V <= .2 a) <= .8 a + .2 a = a, however U, V and g depend on one
   another, whatever was learned, and for the first look (p_U alone) and the whole one together.
5. Within each part p-values step down (Westfall, Young). Where all claims of one part are
   rejected, the other has the whole level (Holm).
6. Learning jointly over all of L with g held, as if g were fixed, has no such bound below 2 a.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields
from functools import partial
from typing import NamedTuple, get_args

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri, ndtri_exp

from validation_core.relabelling import battery
from validation_core.relabelling.battery import (
    ALL,
    EVERYWHERE,
    LEARNED,
    WHITENED,
    Battery,
    Block,
    CalibratedTest,
    Cell,
    Family,
    Kind,
)
from validation_core.relabelling.magnitudes import FAR, Support
from validation_core.relabelling.named import own_pvalues
from validation_core.relabelling.places import (
    XCoordinates,
    XFunctions,
    affordable,
    coordinates,
    functions_of_x,
)
from validation_core.relabelling.pools import (
    Pools,
    SlotRanks,
    halves,
    in_units,
    known_at,
    max_players,
    mid_ranks,
    players,
    ranked_columns,
    slotted,
)
from validation_core.rng import stream
from validation_core.types import Array, PosteriorTable

MOST = 50
"""Largest number of tested parameters; of more, rows set aside for learning select them."""
RELABELINGS = 999
UNLEARNED = 0.8
"""Share of the level that statistics which learn nothing have, where scores can be learned."""
_FINER = 5  # times the relabelings for learned scores, whose share of the level is smaller
FEWEST = 5
"""Rows of a table, at least."""
_NEAR, _LEAST_NEAR = 0.1, 20  # share of the rows that are near an observation; at least so many
_RANKED_AT_ONCE = 50  # parameters

Rows = NDArray[np.int64]
_FAMILIES, _KINDS = get_args(Family), get_args(Kind)
_OF = (ALL, "norm", "log_q", "log_ratio", *LEARNED, WHITENED)
_ALONG = ("x", "component", "mean", "products", "balls", "near", "everywhere")
_NONE = -1  # in the codes of cells
_COINCIDE = -13.0  # log distance in robust sds below which two slots are equal


@dataclass(frozen=True)
class XScope:
    """Scope of a cell over x."""

    kind: str
    """x: a column; component: a principal component of x; mean: q's mean of a parameter; products
    of two coordinates; balls; near: the rows nearest to the observation; everywhere: all
    coordinates together."""
    which: int = _NONE
    """The column, component or parameter, from 0."""


@dataclass(frozen=True)
class Claim:
    """Claim of a cell whose p is small."""

    family: Family
    kind: Kind
    of: str
    """theta, norm, log_q, log_ratio or a learned score."""
    which: tuple[int, ...]
    """Parameters, from 0; empty for all of them together."""
    along: XScope | None
    """None: over all x."""


@dataclass(frozen=True, eq=False)
class OmnibusResult:
    """All tested cells, and one p-value that is exact for any learner."""

    claims: tuple[Claim, ...]
    """(C,)."""
    z: Array
    """(C,) the largest standardised statistic of each."""
    adjusted: Array
    """(C,) p, adjusted over all claims and for the share of the level that they have."""
    own: Array
    """(C,) p of each under its own null, adjusted likewise (see `named`); 1 where not asked."""
    evidence: Array
    """(C,) comparable -log p, by which claims are ordered."""
    offset: Array
    """(C,) factors that turn z into evidence."""
    numbers: Array
    """(C, 5) numbers in sentences about magnitudes, NaN elsewhere (see `Outliers`, `Spacing`,
    `Support`)."""
    null: Array
    """(B,) the largest evidence of each labelling, without learned scores."""
    learned_null: Array
    """(B',) the same with learned scores alone; (0,) without any."""
    share: float = 1.0
    """Share of the level for claims without learned scores."""

    @classmethod
    def of(
        cls,
        tested: CalibratedTest,
        own: Array,
        claims: tuple[Claim, ...],
        *,
        share: float,
        numbers: Array | None = None,
    ) -> OmnibusResult:
        """Result of one part of the statistics, at its share of the level."""
        adjusted, own = (np.minimum(1.0, p / share) for p in (tested.adjusted, own))
        more = np.log(share)
        return cls(
            claims,
            tested.z,
            adjusted,
            own,
            tested.evidence + more,
            tested.scale.offset - more,
            np.full((len(claims), _NUMBERS), np.nan) if numbers is None else numbers,
            tested.null + more,
            np.zeros(0),
            share,
        )

    def beside(self, learned: OmnibusResult) -> OmnibusResult:
        """Result with learned scores: where one part is rejected whole, the other has all."""
        parts = (self, learned)
        adjusted = [
            np.minimum(part.adjusted, np.maximum(other.adjusted.max(), part.adjusted * part.share))
            for part, other in (parts, parts[::-1])
        ]

        def both(name: str) -> Array:
            return np.concatenate([getattr(part, name) for part in parts])

        return OmnibusResult(
            claims=(*self.claims, *learned.claims),
            z=both("z"),
            adjusted=np.concatenate(adjusted),
            own=both("own"),
            evidence=both("evidence"),
            offset=both("offset"),
            numbers=both("numbers"),
            null=self.null,
            learned_null=learned.null,
            share=self.share,
        )

    @property
    def pvalue(self) -> float:
        """Of everything together: at most the level in so many tables, whatever was learned."""
        return float(self.adjusted.min())

    @property
    def relabelings(self) -> int:
        """Number of relabelings, B."""
        return len(self.null)

    @property
    def families(self) -> Mapping[Family, float]:
        """Adjusted p of each family, the smallest first; among equal ones the clearest."""
        names = dict.fromkeys(claim.family for claim in self.claims)
        lead = {name: self.first(partial(_belongs, name)) for name in names}
        order = sorted(names, key=lambda name: self._order(lead[name]))
        return {name: float(self.adjusted[lead[name]]) for name in order}

    def first(self, wanted: Callable[[Claim], bool] = lambda claim: True) -> int | None:
        """Index of the clearest of some claims; None where there are none."""
        some = [i for i, claim in enumerate(self.claims) if wanted(claim)]
        return min(some, key=self._order) if some else None

    def p(self, wanted: Callable[[Claim], bool] = lambda claim: True) -> float:
        """The smallest adjusted p of some claims; 1 where there are none."""
        at = self.first(wanted)
        return 1.0 if at is None else float(self.adjusted[at])

    def _order(self, at: int | None) -> tuple[float, bool, float]:
        """The smallest p first; among equal ones those of a parameter, then the clearest."""
        if at is None:
            return 2.0, False, 0.0
        several = self.claims[at].family in battery.SUMS
        return float(self.adjusted[at]), several, -float(self.evidence[at])

    def critical(self, alpha: float, family: Family) -> float:
        """The |z| at which a family is found at this level; inf without the family."""
        at = next((i for i, claim in enumerate(self.claims) if claim.family == family), None)
        if at is None:
            return float("inf")
        learned = family in LEARNED_FAMILIES
        null, share = (self.learned_null, 1 - self.share) if learned else (self.null, self.share)
        # The largest evidence that more than alpha of all labellings, this one among them, reach.
        count = int(np.floor(alpha * share * (len(null) + 1)))
        if count < 1:
            return float("inf")
        least = float(np.sort(null)[::-1][count - 1])
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
        kept = {name: np.asarray(getattr(self, name)) for name in _STORED}
        return {"claims": np.array(rows, np.float64).reshape(-1, 7), **kept}

    @classmethod
    def read(cls, arrays: Mapping[str, Array]) -> OmnibusResult:
        """Result from the output of `arrays`."""
        claims = []
        for family, kind, of, a, b, along, at in arrays["claims"].astype(int):
            which = tuple(int(index) for index in (a, b) if index != _NONE)
            where = None if along == _NONE else XScope(_ALONG[along], int(at))
            claims.append(Claim(_FAMILIES[family], _KINDS[kind], _OF[of], which, where))
        share = float(arrays["share"])
        kept = {name: arrays[name] for name in _STORED if name != "share"}
        return cls(claims=tuple(claims), share=share, **kept)


_STORED = tuple(field.name for field in fields(OmnibusResult) if field.name != "claims")
LEARNED_FAMILIES: tuple[Family, ...] = ("learned", "learned_over_x")
"""Families of scores learned on half of the rows and tested on the others."""
_NUMBERS = 5


def _belongs(family: Family, claim: Claim) -> bool:
    return claim.family == family


def _along(cell: Cell, at: XCoordinates | None) -> XScope | None:
    if cell.along is None or at is None:
        return None if cell.family != "observation" else XScope("near")
    if cell.along < 0:
        return XScope({-1: "products", -2: "balls", EVERYWHERE: "everywhere"}[cell.along])
    return XScope(at.kinds[cell.along], at.which[cell.along])


class LearnedScore(NamedTuple):
    """A learned score, evaluated on rows held out from its training."""

    name: str
    """One of `battery.LEARNED`; of densities that came with the table log_q, log_ratio."""
    rows: Rows
    """(n,) of the table."""
    values: Array
    """(n, J + 1): of the truth, then of the draws in `columns`; rows with a NaN are left out."""
    ratio: bool
    """Whether it estimates log p / q, up to a function of x."""


class TableStatistics(NamedTuple):
    """All statistics of a table, and their functions of x."""

    battery: Battery
    coordinates: XCoordinates
    parameters: Rows
    """Tested parameters."""
    places: XFunctions | None
    """Functions of x that they look along."""
    scores: tuple[SlotRanks, ...]
    """Of all slots, without learned scores."""

    def beside(self, learned: Sequence[LearnedScore]) -> Battery:
        """The statistics of learned scores alone, of the same slots and over the same places."""
        pools = self.battery.pools
        blocks = [block for score in learned for block in _scored(score, pools)]
        return battery.assembled(pools, blocks, self.places)

    def claims(self, cells: Sequence[Cell]) -> tuple[Claim, ...]:
        """Claims of these cells."""
        return tuple(
            Claim(cell.family, cell.kind, cell.of, cell.which, _along(cell, self.coordinates))
            for cell in cells
        )

    def numbers(self) -> Array:
        """(C, 5) numbers quoted by sentences about magnitudes."""
        every = self.battery
        block = every.parts[0].block
        at = every.pools.observed[block.rows] + every.pools.first[block.rows]
        by_parameter = {
            score.which: score.magnitude for score in self.scores if score.magnitude is not None
        }
        out = np.full((len(every.cells), _NUMBERS), np.nan)
        for cell, row in zip(every.cells, out, strict=True):
            if cell.family == "outliers":
                row[:4] = _outliers(block, cell, at)
            elif cell.family == "spacing":
                row[:4] = _spacing(by_parameter[cell.which[0]].gap, at)
            elif cell.family == "support" and every.support is not None:
                row[:] = every.support.outside(block.parameters.index(cell.which[0]), at)
        return out


def _outliers(block: Block, cell: Cell, at: Rows) -> tuple[float, float, float, float]:
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


def _spacing(gap: Array, at: Rows) -> tuple[float, float, float, float]:
    """Shares of true values and of all slots that coincide with another one, and the typical
    distance of either to the nearest other one, in q's robust sds."""
    pair = (gap[at].astype(np.float64), gap.astype(np.float64))
    tied = [float((one < _COINCIDE).mean()) for one in pair]
    apart = [float(np.exp(np.median(one))) for one in pair]
    return tied[0], tied[1], apart[0], apart[1]


def playing_draws(n: int, k: int, d: int) -> Rows:
    """Draws (J,) of k that may play the truth, of a table of n rows and d parameters."""
    among = ranked_columns(n, k, min(d, MOST))
    return among[players(len(among), max_players(n))]


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
    share: float = 1.0,
    first: OmnibusResult | None = None,
    report: Callable[[float], None] = lambda done: None,
) -> OmnibusResult:
    """The exact test of a table by relabelling within x.

    Args:
        table: theta (N, D), x (N, M), q (N, K, D).
        seed: fixes the labellings and the centres of balls.
        relabelings: B; no p is below 1 / (B + 1) at its share of the level.
        learned: scores learned on other rows.
        densities: log_q, log_q_draws and, with log_joint, log_joint_draws, the log ratio.
        groups: (N,) the same for rows that share one set of draws; None where none do.
        training: rows that choose the parameters to look at, where there are more than MOST.
        near: rows nearest to the observation in question.
        over_x: whether features are tested over x.
        share: of the level, for statistics without learning: UNLEARNED where learned scores
            may follow, as it always is beside them.
        first: the result without learned scores, where it is known.
        report: called with the fraction done.
    """
    asked = statistics_of(
        table,
        seed,
        relabelings=relabelings,
        densities=densities,
        groups=groups,
        training=training,
        near=near,
        over_x=over_x,
    )
    if groups is not None and learned and _own(groups) is not None:
        raise ValueError(
            f"A learned score needs rows with draws of their own; got {learned[0].name} and rows "
            "that share theirs. Leave the scores or the groups out."
        )
    if first is None:
        half = partial(_part_done, report, 0.0, 0.5 if learned else 1.0)
        share = UNLEARNED if learned else share
        first = _unlearned(asked, table, seed, relabelings, groups, share, half)
    if not learned:
        return first
    rest = partial(_part_done, report, 0.5, 1.0)
    return first.beside(_learned(asked, learned, seed, _FINER * (relabelings + 1) - 1, rest))


def _part_done(report: Callable[[float], None], low: float, high: float, done: float) -> None:
    report(low + (high - low) * done)


def _unlearned(
    asked: TableStatistics,
    table: PosteriorTable,
    seed: int,
    relabelings: int,
    groups: Rows | None,
    share: float,
    report: Callable[[float], None],
) -> OmnibusResult:
    """Statistics without learning, over all rows."""
    tested = battery.calibrated(
        asked.battery, relabelings, stream(seed, "omnibus", "labellings"), report
    )

    def values() -> tuple[Array, Array] | None:
        if _own(groups) is not None:
            return None
        rows = asked.battery.parts[0].block.rows
        n, k, _ = table.q.shape
        among = ranked_columns(n, k, len(asked.parameters))
        return (
            table.theta[np.ix_(rows, asked.parameters)],
            table.q[np.ix_(rows, among, asked.parameters)],
        )

    own = own_pvalues(
        asked.battery, tested, asked.scores, values, stream(seed, "omnibus", "own nulls")
    )
    claims = asked.claims(asked.battery.cells)
    return OmnibusResult.of(tested, own, claims, share=share, numbers=asked.numbers())


def _learned(
    asked: TableStatistics,
    learned: Sequence[LearnedScore],
    seed: int,
    relabelings: int,
    report: Callable[[float], None],
) -> OmnibusResult:
    """Learned scores alone, over their held-out rows."""
    every = asked.beside(learned)
    tested = battery.calibrated(
        every, relabelings, stream(seed, "omnibus", "learned labellings"), report
    )
    own = own_pvalues(
        every, tested, (), lambda: None, stream(seed, "omnibus", "learned own nulls")
    )
    return OmnibusResult.of(tested, own, asked.claims(every.cells), share=1 - UNLEARNED)


def statistics_of(
    table: PosteriorTable,
    seed: int,
    *,
    relabelings: int = RELABELINGS,
    densities: Mapping[str, Array] | None = None,
    groups: Rows | None = None,
    training: Rows | None = None,
    near: Rows | None = None,
    over_x: bool = True,
    truths: bool = True,
) -> TableStatistics:
    """All statistics without learning; without `truths`, of tables made of q's draws alone."""
    n, d = table.theta.shape
    parameters, rows, groups = np.arange(d), np.arange(n), _own(groups)
    if d > MOST:
        training = _half(n, seed) if training is None else training
        parameters, rows = _chosen(table, training, groups), np.setdiff1d(rows, training)
    read = slotted(table, parameters, groups, truths=truths, rows=rows)
    known = (
        _known(densities or {}, playing_draws(n, table.q.shape[1], d)) if groups is None else []
    )
    blocks = [battery.feature_block(read.pools, rows, read.scores)]
    for score in known:
        blocks += _scored(score, read.pools)
    if near is not None:
        blocks.append(battery.features_near(read.pools, np.intersect1d(near, rows), read.scores))
    at = coordinates(in_units(table.x), read.mean, read.spread)
    where, axes = _places(at, blocks, relabelings, seed) if over_x else (None, at)
    every = battery.assembled(read.pools, blocks, where, _support(read.pools, rows, read.scores))
    return TableStatistics(every, axes, parameters, where, read.scores)


def _support(pools: Pools, rows: Rows, scores: Sequence[SlotRanks]) -> Support:
    """The values of every parameter's slots, those of the tested rows' pools apart."""
    first, size, pool = pools.distinct
    used = np.zeros(len(first), bool)
    used[pool[rows]] = True
    tested = np.repeat(used, size)
    values = [score.magnitude.value for score in scores if score.magnitude is not None]
    return Support.of(np.stack(values, axis=1), tested, len(rows))


def _own(groups: Rows | None) -> Rows | None:
    """Groups of rows that share draws; None where every row has draws of its own."""
    return None if groups is None or len(np.unique(groups)) == len(groups) else groups


def _scored(one: LearnedScore, pools: Pools) -> list[Block]:
    """The block of a score, at the rows where it is known of every slot."""
    known = ~np.isnan(one.values).any(axis=1)
    rows = one.rows[known]
    if len(rows) < FEWEST:
        return []
    score = known_at(one.name, pools, rows, one.values[known], ratio=one.ratio)
    return [battery.feature_block(pools, rows, [score])]


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
    read = np.arange(k) if groups is None else halves(k)[0]
    read = read[players(len(read))]
    off = np.zeros(d)
    for first in range(0, d, _RANKED_AT_ONCE):
        part = slice(first, first + _RANKED_AT_ONCE)
        among = table.q[rows[:, None], read, part]
        values = np.concatenate([table.theta[rows, None, part], among], axis=1)
        u = mid_ranks(np.ascontiguousarray(values.transpose(2, 0, 1)), np.array([0]))[..., 0]
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
