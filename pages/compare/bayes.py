"""Which Bayesian model, and what infers it: the rail's part of the benchmark `bayes_model`."""

from typing import Any

import streamlit as st

from pages.divergence import covariates
from pages.divergence.controls import FALCONS, INFERENCES
from validation_core.bayes import MODELS, closed
from validation_core.bayes.inference import ALGORITHMS
from validation_core.benchmarks import BayesModel


def choose() -> BayesModel:
    """Widgets of the model and the inference; every setting stands in the address."""
    model: Any = st.selectbox(
        "Model",
        list(MODELS),
        list(MODELS).index("heart_transplants"),
        key="bayes-model",
        bind="query-params",
        format_func=lambda name: MODELS[name].title,
        help="A prior and a likelihood that simulate parameters and data.",
    )
    names = [name for name in ALGORITHMS if name != "exact" or closed(model)]
    inference: Any = st.selectbox(
        "Inference",
        names,
        key=f"bayes-inference-{model}",
        bind="query-params",
        format_func=lambda name: ALGORITHMS[name].label,
        help=f"What makes q, at every x anew. {INFERENCES} It shows each test's level.",
    )
    more: dict[str, Any] = {}
    if inference == "iwvi":
        more["m"] = st.number_input(
            "Draws weighed, M",
            2,
            100,
            10,
            key="bayes-m",
            bind="query-params",
            help="In each of the groups that training weighs.",
        )
    if model in covariates.NAMES:
        more["design"] = covariates.choose(model)
    if model == "glm_binomial":
        more["data"] = st.selectbox(
            "Years and pairs",
            list(FALCONS),
            key="bayes-data",
            bind="query-params",
            format_func=lambda name: FALCONS[name],
        )
    return BayesModel(model=model, inference=inference, **more)
