"""The algorithms of inference, by name."""

from __future__ import annotations

from validation_core import keys
from validation_core.bayes import closed
from validation_core.bayes.inference import ExactPosterior, Inference
from validation_core.bayes.laplace import Laplace
from validation_core.bayes.model import Model
from validation_core.bayes.variational import Variational


def possible(model: Model, inference: Inference) -> bool:
    """Whether an inference applies to a model: the exact one needs a closed-form posterior."""
    return not isinstance(inference, ExactPosterior) or closed(model.name)


ALGORITHMS: dict[str, Inference] = keys.by_name(
    Laplace(), Laplace(adjusted=True), Variational(), Variational(m=10), ExactPosterior()
)
