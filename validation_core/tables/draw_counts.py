"""Draws of q whose number differs from row to row, padded with NaN: the shortest row's is kept."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from validation_core.tables.draw_order import draws_at, kept_columns
from validation_core.types import Array, Integers

FEWEST = 10
"""Draws that a row must have to be kept where draws are cut to the shortest, if most have more
than twice as many."""
_SHARE = 0.1  # of rows: fewer that end early are failures, and are left out


class CutDraws(NamedTuple):
    """Draws (N, K, D) after the cut; rows with too few still hold NaN."""

    q: Array
    columns: Integers | None = None
    """Those (N, K') of each row's draws that are left; None where all are."""
    notes: tuple[str, ...] = ()


def cut_to_shortest(q: Array) -> CutDraws:
    """Cut draws (N, K, D) that NaN pads at the end of K to as many as the shortest row has, picked
    at random.

    Rows with fewer than 10, or half as many as most rows have, are not counted: they keep their
    NaN, and are left out as others are.
    A row's number of draws must not depend on what they are, as it does not where a sampler is
    stopped by time or thinned: the draws that are left are then draws of q.
    """
    if len(q) == 0 or np.isfinite(q[:, -1]).all():
        return CutDraws(q)
    gaps = np.isnan(q)
    gap = np.asarray(gaps.all(axis=2))
    if (gap != gaps.any(axis=2)).any() or (gap[:, :-1] & ~gap[:, 1:]).any():
        return CutDraws(q)
    counts = (~gap).sum(axis=1)
    enough = counts >= max(1, min(FEWEST, math.ceil(np.median(counts) / 2)))
    padded = enough & (counts < q.shape[1])
    if padded.sum() <= _SHARE * len(q):
        return CutDraws(q)
    shortest, most = int(counts[enough].min()), int(counts.max())
    columns = kept_columns(counts, q.shape[1], shortest)
    note = (
        f"Rows have {shortest:,} to {most:,} draws of q, NaN after them: {shortest:,} of each are "
        f"kept, picked at random."
        if shortest < most
        else f"Rows have {most:,} draws of q, NaN after them."
    )
    return CutDraws(draws_at(q, columns), columns, (note,))
