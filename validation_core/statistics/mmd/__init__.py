"""MMD-FUSE: how far two samples are apart under twenty kernels, in one number and its null.

Kernels and their bandwidths come from the pooled points, whoever they belong to, so that
relabelling the points gives the exact null; no part of the sample is set aside for them.

References:
    MMD-FUSE, Biggs, Schrab & Gretton (2023): its statistic with normalised kernels.
"""

from validation_core.statistics.mmd.distances import (
    BANDWIDTHS,
    LARGEST,
    Distances,
    distances,
    standardised,
)
from validation_core.statistics.mmd.fuse import (
    MEMORY,
    Kernels,
    Scaling,
    fused,
    kernels,
    pvalues,
    relabelings,
)

__all__ = [
    "BANDWIDTHS",
    "LARGEST",
    "MEMORY",
    "Distances",
    "Kernels",
    "Scaling",
    "distances",
    "fused",
    "kernels",
    "pvalues",
    "relabelings",
    "standardised",
]
