"""Figures 1 to 3 of Domke (2021): the symmetric divergence over simulations, a panel per model.

Points are medians over data sets and rings are means: `lines` says how they are drawn, here and
in the browser.
"""

from validation_core.figures.divergence.paper import (
    Subplot,
    against_iterations,
    against_m,
    drawn,
    trained_with_m,
)

__all__ = ["Subplot", "against_iterations", "against_m", "drawn", "trained_with_m"]
