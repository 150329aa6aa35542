"""Mending q: its draws weighed by a score learned beside it, judged on rows that it never saw.

reweighting     weights by the score within x, its temperature, and what they gain
judging         nats with their interval, effective draws, relabelling's verdict after the mend
ranks           each parameter's ranks and intervals made right by themselves
unused_inputs   columns of x that q ignores
function        weights of new draws, in NumPy alone
function_file   mend.py: the same as one file beside mend.npz
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from validation_core.mending.judging import effective_share, mean_nats, verdict_pvalue
from validation_core.mending.ranks import (
    calibrated_intervals,
    outside_share,
    rank_gain,
    slot_ranks,
)
from validation_core.mending.result import Mended
from validation_core.mending.reweighting import reweight, weighed_table
from validation_core.mending.unused_inputs import unused_inputs
from validation_core.types import PosteriorTable

__all__ = ["Mended", "mend_table"]

_LEARNING = 0.7  # of the time


def mend_table(
    table: PosteriorTable, seed: int, report: Callable[[float], None] = lambda done: None
) -> Mended:
    """Mend a table, and judge what that is worth.

    Args:
        table: theta (N, D), x (N, M), q (N, K, D), from 50 rows and 8 draws on.
        seed: of the fifths, the trees and the labellings.
        report: called with the fraction done.
    """
    weighed = weighed_table(table)
    mended = reweight(weighed, seed, lambda done: report(_LEARNING * done))
    judged = [split.judge for split in mended.splits]
    as_it_is = np.zeros_like(mended.log_weight)
    u = slot_ranks(weighed)
    k, d = table.q.shape[1:]
    before = verdict_pvalue(weighed, as_it_is, judged, seed)
    report(0.85)
    return Mended(
        rows=len(table),
        draws=mended.log_weight.shape[1] - 1,
        gain=mean_nats(mended.gain),
        by_ranks=mean_nats(rank_gain(u, mended.splits)),
        effective=effective_share(mended.log_weight),
        before=before,
        after=verdict_pvalue(weighed, mended.log_weight, judged, seed),
        outside=outside_share(table),
        outside_expected=min(1.0, 2 * d / (k + 1)),
        intervals=calibrated_intervals(table, seed),
        unused=unused_inputs(table, u, seed),
        log_weight=mended.log_weight,
        row_gain=mended.gain,
        function=mended.function.arrays(),
    )
