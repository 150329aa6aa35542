"""Figures 1 to 3 of Domke (2021): the symmetric divergence over simulations, a panel per model.

The axis of the divergence is logarithmic. Intervals are formed before that: what is below the
axis' foot, 0 and negative values included, is drawn at the foot, and the pointer tells the number
itself.
"""

from validation_core.figures.divergence.paper import (
    LOWEST,
    Subplot,
    against_iterations,
    against_m,
    drawn,
    trained_with_m,
)

__all__ = ["LOWEST", "Subplot", "against_iterations", "against_m", "drawn", "trained_with_m"]
