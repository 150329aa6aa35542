"""Simulators whose posterior is known at every x, by name. To add one, write its file and a line.

Estimators learn from their pairs; what an estimator gets wrong is then known in nats.
"""

from validation_core import keys
from validation_core.simulators.base import Simulator
from validation_core.simulators.gaussian_linear import GaussianLinear
from validation_core.simulators.gaussian_linear_uniform import GaussianLinearUniform
from validation_core.simulators.gaussian_mixture import GaussianMixture
from validation_core.simulators.sir import SIR
from validation_core.simulators.two_moons import TwoMoons

__all__ = [
    "SIMULATORS",
    "SIR",
    "GaussianLinear",
    "GaussianLinearUniform",
    "GaussianMixture",
    "Simulator",
    "TwoMoons",
]

SIMULATORS: dict[str, type[Simulator]] = keys.by_name(
    TwoMoons, GaussianLinear, GaussianLinearUniform, GaussianMixture, SIR
)
