"""Estimators of a posterior that learn from simulated pairs, by name. To add one, write its file
and add a line here."""

from validation_core import keys
from validation_core.estimators.base import Estimator, TrainedEstimator
from validation_core.estimators.diffusion_posterior import DiffusionPosterior
from validation_core.estimators.ensemble import FlowEnsemble
from validation_core.estimators.flow_matching import FlowMatching
from validation_core.estimators.flows import MaskedAutoregressiveFlow, NeuralSplineFlow
from validation_core.estimators.marginals import ProductOfMarginals

__all__ = [
    "ESTIMATORS",
    "DiffusionPosterior",
    "Estimator",
    "FlowEnsemble",
    "FlowMatching",
    "MaskedAutoregressiveFlow",
    "NeuralSplineFlow",
    "ProductOfMarginals",
    "TrainedEstimator",
]

ESTIMATORS: dict[str, type[Estimator]] = keys.by_name(
    MaskedAutoregressiveFlow,
    NeuralSplineFlow,
    DiffusionPosterior,
    FlowMatching,
    FlowEnsemble,
    ProductOfMarginals,
)
