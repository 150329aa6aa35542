"""The algorithms of inference, by name."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, cast

from validation_core import keys
from validation_core.bayes import closed
from validation_core.bayes.inference import ExactPosterior, Inference
from validation_core.bayes.laplace import Laplace
from validation_core.bayes.model import Model
from validation_core.bayes.variational import Variational, trained_with


def possible(model: Model, inference: Inference) -> bool:
    """Whether an inference applies to a model: the exact one needs a closed-form posterior."""
    return not isinstance(inference, ExactPosterior) or closed(model.name)


def with_options(name: str, **options: Any) -> Inference:
    """The algorithm of that name with other options: another M brings its usual draws of a step.

    Raises:
        ValueError: for an option's value that it cannot have.
    """
    usual: Any = ALGORITHMS[name]
    if isinstance(usual, Variational) and "m" in options:
        usual = trained_with(options["m"])
    return cast("Inference", replace(usual, **options))


_WEIGHED = 50  # draws of a step that are weighed by w^(1 - alpha)
ALGORITHMS: dict[str, Inference] = keys.by_name(
    Laplace(),
    Laplace(adjusted=True),
    Variational(),
    trained_with(10),
    Variational(alpha=0.5, samples=_WEIGHED),
    Variational(alpha=-1.0, samples=_WEIGHED),
    ExactPosterior(),
)
