"""Equal rows, equal scores: what a matrix product rounds depends on a row's place in its batch.

A rank compares the truth's score with those of q's draws. Where draws repeat (point masses,
rounded or binary parameters), a score that differs in its last bit by where a row was computed
breaks ties by place, and the truth always stands in the same one.
"""

from __future__ import annotations

import numpy as np

from validation_core.hashing import hashed
from validation_core.types import Array

_SALT = np.array([0x5EED], np.uint64)
_NUMBERS = 1 << 22  # hashed at a time


def shared(inputs: Array, scores: Array) -> Array:
    """Scores (..., n, J) of inputs (n, J, C), those of equal inputs of one row made one.

    The first of them, which is the truth's where that comes first.
    """
    n, j, c = inputs.shape
    out = scores
    step = max(1, _NUMBERS // max(1, j * c))
    for first in range(0, n, step):
        part = slice(first, min(first + step, n))
        words = hashed(inputs[part].reshape(-1, c), _SALT).reshape(-1, j)
        ordered = np.sort(words, axis=1)
        repeats = np.flatnonzero((ordered[:, 1:] == ordered[:, :-1]).any(axis=1))
        if not len(repeats):
            continue
        if out is scores:
            out = scores.copy()
        source = _first_equal(words[repeats])
        rows = out[..., first + repeats, :]
        source = np.broadcast_to(source, rows.shape)
        out[..., first + repeats, :] = np.take_along_axis(rows, source, axis=-1)
    return out


def _first_equal(words: np.ndarray) -> np.ndarray:
    """For each word (r, J) the place of the first in its row that equals it: (r, J)."""
    order = np.argsort(words, axis=1, kind="stable")
    ordered = np.take_along_axis(words, order, axis=1)
    places = np.broadcast_to(np.arange(words.shape[1]), words.shape)
    new = np.ones(words.shape, dtype=bool)
    new[:, 1:] = ordered[:, 1:] != ordered[:, :-1]
    start = np.maximum.accumulate(np.where(new, places, 0), axis=1)
    found = np.empty_like(order)
    np.put_along_axis(found, order, np.take_along_axis(order, start, axis=1), axis=1)
    return found
