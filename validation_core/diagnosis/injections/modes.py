"""A defect between q's modes: draws of one group play the truth more often than they should."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from validation_core.types import Array

_GROUP = 0.05  # of a row's draws, that are a group
_GAP = 3.0  # times the groups' width, between two groups far apart


@dataclass(frozen=True)
class ModeDirection:
    """g = 1 for draws of one group and -1 for those of the other, of rows that have two."""

    sign: float = 1.0

    def of(self, z: Array) -> Array:
        """g (n, K) of standardised draws (n, K, D); 0 in rows without two groups far apart.

        Groups are parted at the widest gap of any parameter that leaves 5% of the draws on either
        side, where that is three times as wide as the groups.
        """
        n, k, d = z.shape
        least = max(2, round(_GROUP * k))
        out = np.zeros((n, k))
        if k < 2 * least + 1:
            return out
        ordered = np.sort(z, axis=1)
        gaps = np.diff(ordered[:, least - 1 : k - least + 1], axis=1)  # (n, G, D)
        place = gaps.argmax(axis=1)  # (n, D)
        for i in range(n):
            j = int(np.argmax(gaps[i, place[i], np.arange(d)]))
            cut = least + int(place[i, j])
            groups = ordered[i, :cut, j], ordered[i, cut:, j]
            width = max(float(np.std(group)) for group in groups)
            if gaps[i, place[i, j], j] > _GAP * width:
                out[i] = np.where(z[i, :, j] >= groups[1][0], self.sign, -self.sign)
        return out
