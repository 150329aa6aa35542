"""One exact verdict from many statistics: relabelling within x.

slots     truth and draws at each x, ranked together
features  functions of a slot's ranks: place, width, tails, pairs, learned scores
places    functions of x along which features are summed
battery   all statistics of a labelling, and the observed one among others
table     the test of a table
result    every claim with its adjusted p

Exact for scores fixed beforehand; for scores learnt on some of its rows see `methods.Omnibus`.
"""

from validation_core.omnibus.result import Along, Claim, Omnibus
from validation_core.omnibus.table import Learned, columns, nearest, relabelled

__all__ = ["Along", "Claim", "Learned", "Omnibus", "columns", "nearest", "relabelled"]
