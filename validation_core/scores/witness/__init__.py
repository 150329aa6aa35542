"""The witness of the AutoML two-sample test: a regression of "from p or from q" on (theta, x)."""

from validation_core.scores.witness.problem import FEWEST, Rows
from validation_core.scores.witness.recipe import NAMES, Engine, Witness

__all__ = ["FEWEST", "NAMES", "Engine", "Rows", "Witness"]
