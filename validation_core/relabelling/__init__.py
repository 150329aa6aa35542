"""One exact verdict from many statistics: relabelling within x, and every claim's adjusted p.

pools       truth and draws at each x, ranked together
magnitudes  how far from the others, and how near to them, a slot lies
places      functions of x along which features are summed
features    functions of a slot's ranks and magnitudes
battery     all statistics of a labelling
calibration the observed labelling among others
own_nulls   kinds of error that are there by themselves

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
from functools import partial

import numpy as np

from validation_core.relabelling.calibration import CalibratedTest, calibrated
from validation_core.relabelling.own_nulls import own_pvalues
from validation_core.relabelling.pools import ranked_columns
from validation_core.relabelling.result import OmnibusResult
from validation_core.relabelling.table_statistics import (
    RELABELINGS,
    LearnedScore,
    TableStatistics,
    statistics_of,
    unshared_groups,
)
from validation_core.rng import stream
from validation_core.types import Array, Integers, PosteriorTable

UNLEARNED = 0.8
"""Share of the level that statistics which learn nothing have, where scores can be learned."""
_FINER = 5  # times the relabelings for learned scores, whose share of the level is smaller


def relabelled(
    table: PosteriorTable,
    seed: int,
    *,
    relabelings: int = RELABELINGS,
    learned: Sequence[LearnedScore] = (),
    densities: Mapping[str, Array] | None = None,
    quantities: Sequence[tuple[Array, Array]] = (),
    groups: Integers | None = None,
    training: Integers | None = None,
    near: Integers | None = None,
    over_x: bool = True,
    bounds: Array | None = None,
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
        densities: log_q, log_q_draws and, with log_joint, log_joint_draws, the log ratio; the
            latter pair, or that of log_likelihood, alone.
        quantities: a user's own, at the truths (N,) and at the draws (N, K), NaN where unknown.
        groups: (N,) the same for rows that share one set of draws; None where none do.
        training: rows that choose the parameters to look at, where there are more than MOST.
        near: rows nearest to the observation in question.
        over_x: whether features are tested over x.
        bounds: (D, 2) of the prior, infinite where they are not known; None for none.
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
        quantities=quantities,
        groups=groups,
        training=training,
        near=near,
        over_x=over_x,
        bounds=bounds,
    )
    if groups is not None and learned and unshared_groups(groups) is not None:
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
    finer = _FINER * (relabelings + 1) - 1
    return first.with_learned(_learned(asked, table, learned, seed, finer, rest))


def exact_test(
    table: PosteriorTable, seed: int, *, relabelings: int = RELABELINGS, over_x: bool = True
) -> CalibratedTest:
    """The test of `relabelled` without learned scores, and no own nulls of its claims.

    Args:
        table: theta (N, D), x (N, M), q (N, K, D).
        seed: fixes the labellings and the centres of balls.
        relabelings: B.
        over_x: whether features are tested over x.
    """
    asked = statistics_of(table, seed, relabelings=relabelings, over_x=over_x)
    return _calibrated(asked, relabelings, seed, lambda done: None)


def _calibrated(
    asked: TableStatistics, relabelings: int, seed: int, report: Callable[[float], None]
) -> CalibratedTest:
    return calibrated(asked.battery, relabelings, stream(seed, "omnibus", "labellings"), report)


def _part_done(report: Callable[[float], None], low: float, high: float, done: float) -> None:
    report(low + (high - low) * done)


def _unlearned(
    asked: TableStatistics,
    table: PosteriorTable,
    seed: int,
    relabelings: int,
    groups: Integers | None,
    share: float,
    report: Callable[[float], None],
) -> OmnibusResult:
    """Statistics without learning, over all rows."""
    tested = _calibrated(asked, relabelings, seed, report)

    def values() -> tuple[Array, Array] | None:
        if unshared_groups(groups) is not None:
            return None
        rows = asked.battery.parts[0].block.rows
        n, k, _ = table.q.shape
        among = ranked_columns(n, k, len(asked.parameters))
        return (
            table.theta[np.ix_(rows, asked.parameters)],
            table.q[np.ix_(rows, among, asked.parameters)],
        )

    own = own_pvalues(
        asked.battery,
        tested,
        asked.scores,
        values,
        partial(asked.with_means_apart, table, seed, groups),
        stream(seed, "omnibus", "own nulls"),
    )
    claims = asked.claims(asked.battery.cells)
    return OmnibusResult.of(tested, own, claims, share=share, numbers=asked.numbers())


def _learned(
    asked: TableStatistics,
    table: PosteriorTable,
    learned: Sequence[LearnedScore],
    seed: int,
    relabelings: int,
    report: Callable[[float], None],
) -> OmnibusResult:
    """Learned scores alone, over their held-out rows."""
    every = asked.with_learned(learned)
    tested = calibrated(every, relabelings, stream(seed, "omnibus", "learned labellings"), report)
    own = own_pvalues(
        every,
        tested,
        (),
        lambda: None,
        partial(asked.with_means_apart, table, seed, learned=learned),
        stream(seed, "omnibus", "learned own nulls"),
    )
    return OmnibusResult.of(tested, own, asked.claims(every.cells), share=1 - UNLEARNED)
