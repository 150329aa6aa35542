"""Where the simulators come from."""

from validation_core.types import Paper

LUECKMANN = Paper(
    "Lueckmann, Boelts, Greenberg, Goncalves, Macke",
    2021,
    "Benchmarking simulation-based inference",
    "Appendix T",
)
