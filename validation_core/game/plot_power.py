"""Power of the test behind each plot against a defect of the round's size."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np

from validation_core import statistics
from validation_core.game.plots import PLOTS, Plot, simulate_plots
from validation_core.game.rounds import Round
from validation_core.types import Array

REPEATS = 40
"""Other rounds with the same defect that are simulated."""
LEVEL = 0.05
_FIRST = 1_000_000  # seeds that no game has


@dataclass(frozen=True, eq=False)
class PlotPower:
    """Power of each plot's test over other rounds with this defect at this size."""

    found: Mapping[Plot, int]
    """Rounds of REPEATS whose p-value is at most 5%."""
    means: Mapping[Plot, Array]
    """The plot's numbers, mean over those rounds."""

    def interval(self, plot: Plot) -> tuple[float, float]:
        """Exact 95% interval of a plot's power."""
        low, high = statistics.clopper_pearson(self.found[plot], REPEATS)
        return float(low), float(high)


def estimate_plot_power(hidden: Round) -> PlotPower:
    """Estimate the power of each plot's test, by simulating other rounds with the same defect."""
    rounds = [simulate_plots(replace(hidden, seed=_FIRST + i, number=1)) for i in range(REPEATS)]
    return PlotPower(
        found={plot: sum(one.pvalues[plot] <= LEVEL for one in rounds) for plot in PLOTS},
        means={plot: np.mean([one.numbers[plot] for one in rounds], axis=0) for plot in PLOTS},
    )
