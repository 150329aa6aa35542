"""Overview: what the tool answers, six doors, the methods and the benchmarks."""

from dataclasses import fields
from itertools import product
from typing import Literal, get_args, get_origin, get_type_hints

import pandas as pd
import streamlit as st

from validation_core import BENCHMARKS, METHODS
from validation_core.methods.base import Method
from validation_core.types import Benchmark, Paper

DOORS = {
    "weak/page.py": (
        "Learn",
        "Weak classifiers",
        ":material/school:",
        "Move a decision boundary and watch one test fall silent while others keep their power.",
    ),
    "conformal/page.py": (
        "Explore",
        "Conformal C2ST",
        ":material/tune:",
        "Perturb a known posterior, train a classifier, degrade it, and compare the tests.",
    ),
    "colt/page.py": (
        "Locate",
        "CoLT",
        ":material/target:",
        "Train a localizer and see the ball to which q gives the wrong mass, at every x.",
    ),
    "divergence/page.py": (
        "Measure",
        "Symmetric divergence",
        ":material/balance:",
        "Simulate from five Bayesian models and see how many nats an inference is off.",
    ),
    "compare/page.py": (
        "Compare",
        "Compare methods",
        ":material/stacked_line_chart:",
        "Run every test on the same trials: who sees it, how often, and at what price.",
    ),
    "diagnose/page.py": (
        "Diagnose",
        "My posterior",
        ":material/troubleshoot:",
        "Upload draws of your own estimator and get a verdict, with how sure it is.",
    ),
}


def _doors() -> None:
    """A column for each reason to be here, three to a row."""
    entries = list(DOORS.items())
    for row in (entries[:3], entries[3:]):
        for column, (page, (verb, title, icon, words)) in zip(
            st.columns(3, gap="large"), row, strict=True
        ):
            with column:
                st.subheader(verb, anchor=False)
                st.markdown(words)
                st.page_link(page, label=title, icon=icon)


def _methods() -> pd.DataFrame:
    """The registered methods as a table."""
    return pd.DataFrame(
        {
            "Method": kind.title,
            "What it asks": kind.summary,
            "Statistic": kind.statistic,
            "Source": _short(kind.paper),
        }
        for kind in METHODS.values()
    )


def _short(paper: Paper) -> str:
    """Authors and year; from four authors on the first stands for all."""
    names = paper.authors.split(", ")
    return f"{names[0] + ' et al.' if len(names) > 3 else paper.authors} ({paper.year})"


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
            "Source": _short(benchmark.paper),
        }
        for kind in BENCHMARKS.values()
        for benchmark in _variants(kind)
    )


st.title("Is a learned posterior right?", anchor=False)
st.markdown(
    "NPT Lab tests whether draws of an estimator $q(\\theta \\mid x)$ could have come from the "
    "true posterior $p(\\theta \\mid x)$, and where they cannot, shows where and how. Every test "
    "here does one thing: **it scores a reference draw and the estimator's draws with the same "
    "function, fixed beforehand, and asks whether the scores look alike.**"
)
_doors()
st.subheader("Methods", anchor=False)
st.table(_methods().set_index("Method"))
st.subheader("Benchmarks", anchor=False)
st.table(_benchmarks().set_index("Benchmark"))
st.caption(
    "A benchmark is a posterior known exactly and an estimator wrong by a known amount γ, so that "
    "level and power can be counted. Bayesian models are the other way round: data are simulated "
    "from them, and γ iterations of an inference make q."
)
kinds: tuple[type[Method] | type[Benchmark], ...] = (*METHODS.values(), *BENCHMARKS.values())
papers = {str(kind.paper._replace(where="")) for kind in kinds}
st.subheader("Papers", anchor=False)
st.markdown("\n".join(f"- {paper}" for paper in sorted(papers)))
