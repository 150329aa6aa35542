"""Numbers that the papers print, read from their texts once, for every page beside its own.

Bansal, Chen, Scott, Conformal C2ST (arXiv 2507.17026) and Chen, Bansal, Scott, CoLT. Domke's
paper prints none: its results are figures.
"""

from validation_core.published.colt import BLIND_PRIOR, CURVATURE, TREE, TYPE_ONE
from validation_core.published.conformal import LENSING_BETA, LENSING_GAMMA
from validation_core.published.printed import (
    PAPERS,
    PaperName,
    PrintedNumber,
    PrintedPlace,
    PrintedTable,
)

TABLES = (LENSING_GAMMA, LENSING_BETA, BLIND_PRIOR, TYPE_ONE, TREE, CURVATURE)

__all__ = [
    "BLIND_PRIOR",
    "CURVATURE",
    "LENSING_BETA",
    "LENSING_GAMMA",
    "PAPERS",
    "TABLES",
    "TREE",
    "TYPE_ONE",
    "PaperName",
    "PrintedNumber",
    "PrintedPlace",
    "PrintedTable",
]
