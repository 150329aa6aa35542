"""Estimators of a posterior that learn from simulated pairs, by name. To add one, write its file
and add a line here."""

from validation_core import keys
from validation_core.estimators.base import Estimator, TrainedEstimator
from validation_core.estimators.flows import MaskedAutoregressiveFlow, NeuralSplineFlow

__all__ = [
    "ESTIMATORS",
    "Estimator",
    "MaskedAutoregressiveFlow",
    "NeuralSplineFlow",
    "TrainedEstimator",
]

ESTIMATORS: dict[str, type[Estimator]] = keys.by_name(MaskedAutoregressiveFlow, NeuralSplineFlow)
