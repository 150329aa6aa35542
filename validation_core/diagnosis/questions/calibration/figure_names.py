"""Titles of the figures of calibration, and the names by which the field asks for them."""

from __future__ import annotations

from collections.abc import Mapping

COVERAGE = "True coverage of nominal intervals"
CONTRACTION = "Contraction and z-score"
RECOVERY = "Recovery of the true values"
RANKS_OF_ALL = "Ranks of all parameters"
USUAL_NAMES: Mapping[str, str] = {
    "recovery": RECOVERY,
    "ecdf": RANKS_OF_ALL,
    "coverage": COVERAGE,
    "contraction": CONTRACTION,
}
"""Titles by the usual name, as `figure("recovery")` and `--figure recovery=r.svg` take it."""
