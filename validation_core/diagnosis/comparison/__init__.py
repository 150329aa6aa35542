"""Several posteriors of the same simulations side by side: checkpoints, architectures, methods.

Every measure is made of one number a row, so that two tables of the same simulations are compared
row by row: what an observation adds to both cancels.
"""

from validation_core.diagnosis.comparison.comparable import (
    MOST_ON_PAGE,
    address_entry,
    left_out,
    one_text,
    same_text,
    unlike,
    warnings,
)
from validation_core.diagnosis.comparison.differences import (
    RANKED,
    Measure,
    measures,
    methods,
    parameters,
)
from validation_core.diagnosis.comparison.nearest import Ranking, ranking, rejections
from validation_core.diagnosis.comparison.proper_scores import RowScores, row_scores, studies
from validation_core.diagnosis.comparison.words import describe, headline, number, right_text

__all__ = [
    "MOST_ON_PAGE",
    "RANKED",
    "Measure",
    "Ranking",
    "RowScores",
    "address_entry",
    "describe",
    "headline",
    "left_out",
    "measures",
    "methods",
    "number",
    "one_text",
    "parameters",
    "ranking",
    "rejections",
    "right_text",
    "row_scores",
    "same_text",
    "studies",
    "unlike",
    "warnings",
]
