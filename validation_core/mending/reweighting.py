"""Weights for q's draws by the score within x, learned, tempered and judged on different rows.

The score sees each slot among the others at its x and learns log p - log q up to a function of x;
its exponential over the row's sum is the chance that a slot is the true value. Rows are cut into
fifths: the score learns on three, its temperature is fitted on a fourth, and it is judged on the
last; each fifth is judged once. So every row of the table has weights that were learned without
it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import NamedTuple

import numpy as np
from scipy.special import logsumexp

from validation_core import sampling
from validation_core.mending.function import MendFunction, MendPart
from validation_core.rng import stream
from validation_core.scores.slots import Slots
from validation_core.statistics.slots import multiclass_contributions
from validation_core.tables.draw_order import draws_at, random_columns
from validation_core.tables.repeats import are_in_order
from validation_core.types import Float, Integers, PosteriorTable

FOLDS = 5
_ROWS = 3000  # that a score learns from, at most
_LEARNT = 15  # draws of a row that it learns from: more tell little (measured)
_TEMPERED = 64  # draws of a row that its temperature is fitted on
WEIGHED = 400
"""Draws of a row that are weighed among one another, at most: any, picked at random."""
_HOTTEST = 4.0  # times the learned score
_FLAT = 1e-6


class Split(NamedTuple):
    """Rows that learn, that fit the temperature, and that judge."""

    learn: Integers
    temper: Integers
    judge: Integers


class Reweighting(NamedTuple):
    """Log weights of every slot, by scores that did not see its row, and what they gain."""

    log_weight: Float
    """(N, K + 1) of the truth and of the draws, normalised over the row's slots."""
    gain: Float
    """(N,) log of the truth's chance times K + 1, in nats."""
    splits: tuple[Split, ...]
    function: MendFunction
    """What mends new draws: the scores of all fifths, averaged."""


def weighed_columns(table: PosteriorTable) -> Integers | None:
    """Columns (N, K') of the draws of each row that are weighed; None for all as they are.

    The same for the same table. They are in no order, since a score learns from the first few.
    """
    n, k, _ = table.q.shape
    if k <= WEIGHED and not are_in_order(table.q):
        return None
    return random_columns(n, k, min(k, WEIGHED), stream(0, "mend", "weighed"))


def weighed_table(table: PosteriorTable) -> PosteriorTable:
    """A table with those of its draws that are weighed."""
    columns = weighed_columns(table)
    if columns is None:
        return table
    return PosteriorTable(table.theta, table.x, draws_at(table.q, columns))


def split_rows(n: int, rng: np.random.Generator) -> tuple[Split, ...]:
    """Splits of n rows: each row judges once, tempers once and learns in all others."""
    part = np.array_split(rng.permutation(n), FOLDS)

    def split(i: int) -> Split:
        temper = (i + 1) % FOLDS
        learn = [rows for at, rows in enumerate(part) if at not in (i, temper)]
        return Split(np.concatenate(learn), part[temper], part[i])

    return tuple(map(split, range(FOLDS)))


def temperature(scores: Float) -> float:
    """The factor of scores (n, S), the truth's first, that makes the truth's chance largest."""
    from scipy.optimize import minimize_scalar  # 20 MB that most diagnoses do without

    if float(np.ptp(scores, axis=1).max(initial=0.0)) < _FLAT:
        return 0.0
    found = minimize_scalar(
        lambda factor: -float(multiclass_contributions(factor * scores)[:, 0].mean()),
        bounds=(0.0, _HOTTEST),
        method="bounded",
    )
    factor = float(found.x)
    gained = float(multiclass_contributions(factor * scores)[:, 0].mean())
    return factor if gained > 0 else 0.0


def reweight(table: PosteriorTable, seed: int, report: Callable[[float], None]) -> Reweighting:
    """Learn, temper and judge weights of a table's draws.

    Args:
        table: theta (N, D), x (N, M), q (N, K, D), of draws that are weighed (`weighed_table`).
        seed: of the fifths, and of the trees.
        report: called with the fraction done.
    """
    from validation_core.scores.slots_training import train_slots  # torch

    n, k, _ = table.q.shape
    splits = split_rows(n, stream(seed, "mend", "rows"))
    log_weight = np.empty((n, k + 1))
    parts: list[MendPart] = []
    for i, split in enumerate(splits):
        recipe = _recipe(len(split.learn), k)
        trained = train_slots(sampling.take(table, split.learn[: recipe.n]), recipe, seed + i)
        few = replace(trained, scored=min(_TEMPERED, k)).at()
        tempered = few.table(sampling.take(table, split.temper[:_ROWS]))
        factor = temperature(np.concatenate([tempered.truth[0][:, None], tempered.draws[0]], 1))
        part = MendPart(trained.frame, trained.forest, trained.network, factor * trained.weights)
        log_weight[split.judge] = part.log_ratios(sampling.take(table, split.judge))
        parts.append(part)
        report((i + 1) / len(splits))
    log_weight -= logsumexp(log_weight, axis=1, keepdims=True)
    gain = log_weight[:, 0] + np.log(k + 1)
    return Reweighting(
        log_weight, gain, splits, MendFunction(tuple(parts), k, table.theta.shape[1])
    )


def _recipe(learn: int, draws: int) -> Slots:
    """Finer trees than the verdict's: what they miss is not mended, and a temperature follows."""
    rows = min(learn, _ROWS)
    return Slots(
        n=rows,
        k=draws,
        m=min(draws, _LEARNT),
        scored=draws,
        whole=draws + 1,
        context=draws + 1,
        leaf=5,
        cuts=16,
    )
