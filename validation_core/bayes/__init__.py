"""Bayesian models, by name, and the inference of their posteriors."""

from functools import cache

import numpy as np

from validation_core import keys
from validation_core.bayes.glm_binomial import GLMBinomial
from validation_core.bayes.heart_transplants import HeartTransplants
from validation_core.bayes.hospitals import Hospitals
from validation_core.bayes.model import Model
from validation_core.bayes.regressions import Concrete, Ionosphere

__all__ = ["MODELS", "GLMBinomial", "HeartTransplants", "Hospitals", "Model", "closed"]

MODELS: dict[str, type[Model]] = keys.by_name(
    GLMBinomial, HeartTransplants, Hospitals, Ionosphere, Concrete
)


@cache
def closed(name: str) -> bool:
    """Whether a model's posterior has a closed form, whatever its covariates."""
    model = MODELS[name]()
    return model.exact(np.zeros((1, model.dims[1]))) is not None
