"""Pure statistics on the last axis, over any leading axes: ranks, uniformity, differences.

Nothing here depends on how a score was made.
"""

from validation_core.statistics.accuracy import c2st
from validation_core.statistics.coverage import atc, bootstrap_band
from validation_core.statistics.differences import auc, multiple
from validation_core.statistics.histograms import bins, histogram, histogram_band
from validation_core.statistics.intervals import (
    binomial_bounds,
    clopper_pearson,
    dkw,
    higher_rate_pvalue,
    holm,
    total_variation_bounds,
    wilson,
)
from validation_core.statistics.localization import ball_mass, kolmogorov
from validation_core.statistics.ranks import (
    NormalLaw,
    PooledLaw,
    conformal_ranks,
    count,
    randomised_ranks,
)
from validation_core.statistics.uniformity import (
    GRID,
    Uniformity,
    anderson_darling,
    cramer_von_mises,
    ecdf_band,
    ecdf_difference,
    ks,
)

__all__ = [
    "GRID",
    "NormalLaw",
    "PooledLaw",
    "Uniformity",
    "anderson_darling",
    "atc",
    "auc",
    "ball_mass",
    "binomial_bounds",
    "bins",
    "bootstrap_band",
    "c2st",
    "clopper_pearson",
    "conformal_ranks",
    "count",
    "cramer_von_mises",
    "dkw",
    "ecdf_band",
    "ecdf_difference",
    "higher_rate_pvalue",
    "histogram",
    "histogram_band",
    "holm",
    "kolmogorov",
    "ks",
    "multiple",
    "randomised_ranks",
    "total_variation_bounds",
    "wilson",
]
