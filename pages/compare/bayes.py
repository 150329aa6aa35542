"""Which Bayesian model, and what infers it: the rail's part of the benchmark `bayes_model`."""

from dataclasses import replace
from typing import get_args

import streamlit as st

from pages.divergence.controls import FALCONS, INFERENCES, covariates
from validation_core import ALGORITHMS, MODELS, BayesModel
from validation_core.bayes import closed, designs
from validation_core.benchmarks.bayes_model import InferenceName, ModelName


def choose() -> BayesModel:
    """Widgets of the model and the inference; every setting stands in the address."""
    models: tuple[ModelName, ...] = get_args(ModelName)
    model = st.selectbox(
        "Model",
        models,
        models.index("heart_transplants"),
        key="bayes-model",
        bind="query-params",
        format_func=lambda name: MODELS[name].title,
        help="A prior and a likelihood that simulate parameters and data.",
    )
    inferences: tuple[InferenceName, ...] = get_args(InferenceName)
    names = [name for name in inferences if name != "exact" or closed(model)]
    inference = st.selectbox(
        "Inference",
        names,
        key=f"bayes-inference-{model}",
        bind="query-params",
        format_func=lambda name: ALGORITHMS[name].label,
        help=f"What makes q, at every x anew. {INFERENCES} It shows each test's level.",
    )
    chosen = BayesModel(model=model, inference=inference)
    if inference == "iwvi":
        weighed = st.number_input(
            "Draws weighed, M",
            2,
            100,
            10,
            key="bayes-m",
            bind="query-params",
            help="In each of the groups that training weighs.",
        )
        chosen = replace(chosen, m=weighed)
    if model in designs.SHAPES:
        chosen = replace(chosen, design=covariates())
    if model == "glm_binomial":
        data = st.selectbox(
            "Years and pairs",
            list(FALCONS),
            key="bayes-data",
            bind="query-params",
            format_func=lambda name: FALCONS[name],
        )
        chosen = replace(chosen, data=data)
    return chosen
