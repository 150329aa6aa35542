"""Windows of x in which features are summed: stretches of coordinates, discs of two columns."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from validation_core.types import Array, Integers

_BLOCKS = 20  # of equally many rows that a coordinate is cut into
_FEWEST = 10  # rows that a stretch, and what is outside it, have at least
_SHARE = 0.05  # of all rows, at least
_CENTRES = 48
_DISCS = (0.08, 0.16, 0.3)  # shares of all rows that discs hold
_PER_BLOCK = 5


class ScanWindows(NamedTuple):
    """W stretches of each of C coordinates, as sums of blocks; and V discs, one coordinate more.

    The last stretch of every coordinate is all of x.
    """

    blocks: NDArray[np.float32]
    """(n, C G) 1 where a row is in a block."""
    edges: Array
    """(C, G + 1); -inf and inf at the ends."""
    first: Integers
    """(W,) blocks `first` to `last` - 1 are a stretch."""
    last: Integers
    counts: Array
    """(C, W) rows in each."""
    discs: NDArray[np.float32]
    """(n, V) 1 where a row is in a disc; (n, 0) unless x has two columns."""
    centres: Array
    """(V, 2)."""
    radii: Array
    """(V,) in units of `scale`."""
    scale: Array
    """(2,)."""
    range: Array
    """(2, 2) the least and the largest of both columns of the plane."""

    @property
    def least(self) -> float:
        """Rows a stretch has at least."""
        return max(_FEWEST, _SHARE * len(self.blocks))

    def sums(self, values: NDArray[np.float32]) -> list[Array]:
        """Sums of values (R, n) over every stretch: (R, C, W), and over discs (R, 1, V)."""
        c = len(self.edges)
        by_block = (values @ self.blocks).reshape(len(values), c, -1)
        below = np.zeros((len(values), c, by_block.shape[2] + 1), np.float32)
        np.cumsum(by_block, axis=2, out=below[:, :, 1:])
        sums = [below[:, :, self.last] - below[:, :, self.first]]
        if self.discs.shape[1]:
            sums.append((values @ self.discs)[:, None])
        return sums

    def sizes(self) -> list[Array]:
        """Rows in each, as `sums` has them: (C, W), (1, V)."""
        sizes = [self.counts]
        return [*sizes, self.discs.sum(0)[None]] if self.discs.shape[1] else sizes


def build_scan_windows(
    values: Array, rng: np.random.Generator, plane: Array | None = None
) -> ScanWindows:
    """The stretches along coordinates (n, C), and discs over a plane (n, 2).

    Equal values stay together: a coordinate of few values has fewer blocks with rows in them.
    """
    n, c = values.shape
    g = max(2, min(_BLOCKS, n // _PER_BLOCK))
    edges = np.full((c, g + 1), np.inf)
    edges[:, 0] = -np.inf
    blocks = np.zeros((n, c, g), np.float32)
    for coordinate in range(c):
        ordered = np.sort(values[:, coordinate])
        inner = ordered[np.round(np.arange(1, g) * n / g).astype(int)]
        inner = np.where(inner > ordered[0], inner, -np.inf)  # nothing lies below the smallest
        edges[coordinate, 1:-1] = inner
        at = np.searchsorted(inner, values[:, coordinate], side="right")
        blocks[np.arange(n), coordinate, at] = 1
    first, last = np.triu_indices(g + 1, 1)
    whole = (first == 0) & (last == g)
    first, last = np.append(first[~whole], 0), np.append(last[~whole], g)
    below = np.zeros((c, g + 1))
    below[:, 1:] = blocks.sum(0, dtype=np.float64).cumsum(1)
    return ScanWindows(
        blocks.reshape(n, c * g),
        edges,
        first,
        last,
        below[:, last] - below[:, first],
        *_discs(plane, n, rng),
    )


def _discs(
    plane: Array | None, n: int, rng: np.random.Generator
) -> tuple[NDArray[np.float32], Array, Array, Array, Array]:
    if plane is None or n < 2 * _FEWEST:
        nothing = np.zeros((n, 0), np.float32), np.zeros((0, 2)), np.zeros(0)
        return *nothing, np.ones(2), np.zeros((2, 2))
    scale = plane.std(0)
    z = plane / scale
    centres = z[rng.permutation(len(z))[:_CENTRES]]
    far = np.sqrt(np.square(z[:, None] - centres).sum(2))  # (n, V)
    ordered = np.sort(far, axis=0)
    reach = np.concatenate([ordered[round(share * (len(z) - 1))] for share in _DISCS])
    inside = np.tile(far, (1, len(_DISCS))) <= reach
    around = np.tile(centres * scale, (len(_DISCS), 1))
    ends = np.stack([plane.min(0), plane.max(0)])
    return inside.astype(np.float32), around, reach, scale, ends
