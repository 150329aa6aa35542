"""Controls of the Symmetric divergence page: models with data, inference, iterations."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal, NamedTuple

import streamlit as st

from pages.ui import forms
from pages.ui.forms import segmented
from pages.ui.once import same
from validation_core import ALGORITHMS, MODELS
from validation_core.bayes import GLMBinomial, HeartTransplants, Model, covariates
from validation_core.bayes.algorithms import with_options
from validation_core.bayes.inference import Inference
from validation_core.bayes.variational import Variational
from validation_core.symmetric_divergence import FOUR, GRID, MOST, Plan
from validation_core.symmetric_divergence.runs import trained

DATASETS = (25, 50, 100, 200)
OWN_M = (2, 5, 10, 20)
_SHORT = {"iwvi": "IWVI"}
_UNSETTLED = (GLMBinomial, HeartTransplants)  # medians still fall threefold from 10,000 to 30,000
Falcons = Literal["peregrine", "book"]
FALCONS: dict[Falcons, str] = {"peregrine": "Real counts", "book": "The book's simulation"}


DESIGNS: dict[covariates.Design, str] = {"real": "Real", "stand-in": "Stand-in"}
INFERENCES = (
    "Laplace: a normal about the posterior's mode. Adjusted Laplace: one Newton step on from "
    "where the search for it stopped. VI: the normal with the smallest KL(q‖p). IWVI, "
    "importance-weighted VI: a normal made to be good once M of its draws are weighed by p / q. "
    "Rényi and χ² VI: divergences other than KL(q‖p), under which q covers more of the posterior. "
    "Exact: the posterior itself, where it has a closed form."
)
"""The algorithms that make q, for a reader who meets them first."""


@dataclass(frozen=True)
class DivergenceChoice:
    """Settings of the controls: always with a model and an inference."""

    plan: Plan
    each_m: Plan
    """The same, IWVI for every M that it is trained with."""


def choose() -> DivergenceChoice | None:
    """Draw the rail in the sidebar; None where nothing is left to draw.

    Every setting stands in the address, to be shared.
    """
    with st.sidebar:
        names = forms.several(
            "Models",
            list(MODELS),
            "models",
            first=list(MODELS),
            words=lambda name: MODELS[name].title,
            help="Priors and likelihoods that simulate parameters and data.",
        )
        known = [name for name in FOUR if name in ALGORITHMS]
        algorithms = forms.several(
            "Inference",
            list(ALGORITHMS),
            "inference",
            first=known,
            words=lambda name: _SHORT.get(name, ALGORITHMS[name].label),
            help="What makes q from the data alone. " + INFERENCES,
        )
        most = forms.choice(
            "Iterations, up to",
            MOST,
            "iterations",
            first=MOST[-1],
            words="{:,}".format,
            draw=st.select_slider,
            help="Step sizes are the paper's. Laplace settles within thousands of steps on "
            "hospitals, ionosphere and most data of concrete, on the other two models within tens "
            "of thousands. VI and IWVI take longest: on those two they have not settled at "
            f"{MOST[-1]:,}. Each number of iterations is a run of its own.",
        )
        datasets = forms.choice(
            "Simulated data sets, K",
            DATASETS,
            "datasets",
            first=100,
            draw=st.select_slider,
            help="A term of the divergence comes from each; all runs share the first ones.",
        )
        seldom = _more(names, algorithms)
    models = tuple(_model(name, seldom) for name in names)
    if not models or not algorithms:
        return None
    grid = tuple(n for n in GRID if n <= most)
    inferences = tuple(_inference(name, seldom.m) for name in algorithms)
    plan = Plan(
        models=models, inferences=inferences, iterations=grid, datasets=datasets, seed=seldom.seed
    )
    plain = [ALGORITHMS[name] for name in algorithms if name != "iwvi"]
    several = dict.fromkeys([*plain, *(trained() if "iwvi" in algorithms else ())])
    return DivergenceChoice(same(plan), same(replace(plan, inferences=tuple(several))))


def unfinished(plan: Plan) -> str:
    """A hint where VI is not as far as the slider lets it go, or not settled even there; empty
    otherwise."""
    last, most = plan.iterations[-1], MOST[-1]
    if not any(isinstance(inference, Variational) for inference in plan.inferences):
        return ""
    if last == most:
        slow = [model.title for model in plan.models if isinstance(model, _UNSETTLED)]
        if not slow:
            return ""
        return (
            f" At the paper's step sizes VI has not converged after {last:,} iterations on "
            f"{' and '.join(slow)}, with importance weights or without."
        )
    return (
        f" At the paper's step sizes VI has not converged after {last:,} iterations: the "
        f"sidebar allows up to {most:,}."
    )


def _inference(name: str, m: int) -> Inference:
    return with_options(name, m=m) if name == "iwvi" else ALGORITHMS[name]


class _AdvancedSettings(NamedTuple):
    """Advanced settings."""

    m: int
    seed: int
    falcons: Falcons
    design: covariates.Design


def _more(names: list[str], algorithms: list[str]) -> _AdvancedSettings:
    with st.expander("More"):
        m, falcons, design = 10, next(iter(FALCONS)), next(iter(DESIGNS))
        if "iwvi" in algorithms:
            m = forms.choice(
                "IWVI trains with M",
                OWN_M,
                "own-m",
                first=10,
                draw=st.select_slider,
                help="Draws in its bound. It is tested with as many, or more.",
            )
        if GLMBinomial in [MODELS[name] for name in names]:
            falcons = segmented("Years and pairs of falcons", FALCONS, "falcons")
        if any(name in covariates.SHAPES for name in names):
            design = choose_covariates()
        seed = forms.seed()
    return _AdvancedSettings(m, seed, falcons, design)


def choose_covariates() -> covariates.Design:
    """Choose the covariates of the two regressions."""
    return segmented(
        "Covariates of the regressions",
        DESIGNS,
        "design",
        help="Ionosphere (Sigillito and others 1989) and Concrete (Yeh 1998) have those of the "
        "UCI repository, CC BY 4.0; labels and strengths are simulated. A stand-in is random "
        "numbers of the same shape.",
    )


def _model(name: str, seldom: _AdvancedSettings) -> Model:
    if name in covariates.SHAPES:
        return replace(MODELS[name](), design=seldom.design)
    kind = MODELS[name]
    return GLMBinomial(data=seldom.falcons) if kind is GLMBinomial else kind()
