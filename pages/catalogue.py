"""Catalogue of methods and benchmarks, with their options, gamma and papers."""

from dataclasses import fields
from itertools import product
from typing import Literal, get_args, get_origin, get_type_hints

import pandas as pd
import streamlit as st

from pages.playground import strip
from validation_core import BENCHMARKS, METHODS
from validation_core.explorers.playground.study import named
from validation_core.methods.base import Method
from validation_core.types import Benchmark


def _methods() -> pd.DataFrame:
    """The registered methods as a table."""
    return pd.DataFrame(
        {
            "Method": kind.title,
            "What it asks": kind.summary,
            "Statistic": kind.statistic,
            "Source": kind.paper.short,
        }
        for kind in METHODS.values()
    )


def _variants(kind: type[Benchmark]) -> list[Benchmark]:
    """One of each kind that a benchmark's choices (a perturbation) allow, those listed apart."""
    hints = get_type_hints(kind)
    kinds = {
        field.name: get_args(hints[field.name])
        for field in fields(kind)
        if get_origin(hints[field.name]) is Literal and field.metadata.get("listed", True)
    }
    return [kind(**dict(zip(kinds, chosen, strict=True))) for chosen in product(*kinds.values())]


def _strengths(benchmark: Benchmark) -> str:
    """The range of gamma, where there is one."""
    low, high = min(benchmark.gammas), max(benchmark.gammas)
    return "none" if low == high else f"{low:g} to {high:g}"


def _benchmarks() -> pd.DataFrame:
    """The registered benchmarks as a table."""
    return pd.DataFrame(
        {
            "Benchmark": benchmark.label,
            "What γ does": benchmark.summary,
            "γ": _strengths(benchmark),
            "Source": benchmark.paper.short,
        }
        for kind in BENCHMARKS.values()
        for benchmark in _variants(kind)
    )


st.title("Methods and benchmarks", anchor=False)
st.markdown(
    "Nearly every test here does one thing: **it scores a reference draw and the estimator's "
    "draws with the same function, fixed beforehand, and asks whether the scores look alike.**"
)
st.subheader("Methods", anchor=False)
st.table(_methods().set_index("Method"))
st.subheader("Benchmarks", anchor=False)
name = strip.choose()
st.page_link(
    "playground/page.py",
    label=f"{named()[name].label}: watch every test look at it",
    icon=":material/play_circle:",
    query_params={strip.URL: name},
)
st.page_link(
    "highdim/page.py",
    label="Images, gravitational lenses, digits and a sphere of 100 dimensions: who still sees it",
    icon=":material/photo_library:",
)
st.page_link(
    "train/page.py",
    label="An estimator that learns: which test finds its error first",
    icon=":material/model_training:",
)
st.table(_benchmarks().set_index("Benchmark"))
st.caption(
    "A benchmark is a posterior known exactly and an estimator wrong by a known amount γ, so that "
    "level and power can be counted. Bayesian models are the other way round: data are simulated "
    "from them, and γ iterations of an inference make q. A trained estimator learns q from γ "
    "simulations of a task whose posterior is known; how wrong it is is measured, in nats."
)
kinds: tuple[type[Method] | type[Benchmark], ...] = (*METHODS.values(), *BENCHMARKS.values())
papers = {str(kind.paper._replace(where="")) for kind in kinds}
st.subheader("Papers", anchor=False)
st.markdown("\n".join(f"- {paper}" for paper in sorted(papers)))
