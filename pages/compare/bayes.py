"""Controls of the benchmark `bayes_model`: the model and its inference."""

from dataclasses import replace
from typing import get_args

from pages.divergence.controls import FALCONS, INFERENCES, choose_covariates
from pages.ui import forms
from validation_core import ALGORITHMS, MODELS, BayesModel
from validation_core.bayes import closed, covariates
from validation_core.benchmarks.bayes_model import InferenceName, ModelName


def choose() -> BayesModel:
    """Widgets of the model and the inference; every setting stands in the address."""
    models: tuple[ModelName, ...] = get_args(ModelName)
    model = forms.choice(
        "Model",
        models,
        "bayes-model",
        first="heart_transplants",
        words=lambda name: MODELS[name].title,
        help="A prior and a likelihood that simulate parameters and data.",
    )
    inferences: tuple[InferenceName, ...] = get_args(InferenceName)
    names = [name for name in inferences if name != "exact" or closed(model)]
    inference = forms.choice(
        "Inference",
        names,
        f"bayes-inference-{model}",
        words=lambda name: ALGORITHMS[name].label,
        help=f"How q is made, anew at every x. {INFERENCES} It shows each test's level.",
    )
    chosen = BayesModel(model=model, inference=inference)
    if inference == "iwvi":
        weighed = forms.number(
            "Draws weighed, M",
            2,
            100,
            10,
            "bayes-m",
            help="In each of the groups that training weighs.",
        )
        chosen = replace(chosen, m=weighed)
    if model in covariates.SHAPES:
        chosen = replace(chosen, design=choose_covariates())
    if model == "glm_binomial":
        data = forms.choice(
            "Years and pairs", list(FALCONS), "bayes-data", words=FALCONS.__getitem__
        )
        chosen = replace(chosen, data=data)
    return chosen
