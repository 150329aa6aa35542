"""Covariates of the two regressions: the user's real ones where they are given, or a stand-in.

A model names its covariates by their digest, so that its key stays a plain string; the numbers are
lent to the process that simulates from it. Without a digest it has a stand-in: random numbers of
the same raw shape, from a seed that never changes.
"""

from validation_core.bayes.designs.files import openml, read
from validation_core.bayes.designs.matrices import OPTION, label, lend, lent, matrix, stand_in
from validation_core.bayes.designs.shapes import SHAPES, Shape, checked

__all__ = [
    "OPTION",
    "SHAPES",
    "Shape",
    "checked",
    "label",
    "lend",
    "lent",
    "matrix",
    "openml",
    "read",
    "stand_in",
]
