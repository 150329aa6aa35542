"""Bayesian models whose posterior is inferred, and the inference: the models by name."""

from validation_core.bayes.heart_transplants import HeartTransplants
from validation_core.bayes.model import Model

__all__ = ["MODELS", "HeartTransplants", "Model"]

MODELS: dict[str, type[Model]] = {kind.name: kind for kind in (HeartTransplants,)}
