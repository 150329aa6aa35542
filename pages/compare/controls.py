"""Controls of the Compare page: a figure to reproduce, or the user's own comparison."""

from dataclasses import dataclass, replace
from functools import cache

import streamlit as st

from pages.compare import bayes
from pages.ui import forms
from pages.ui.forms import segmented
from pages.ui.once import same
from pages.ui.services import services
from validation_core import BENCHMARKS, METHODS, BayesModel, Gaussian, keys
from validation_core.benchmarks.gaussian import DIMENSIONS
from validation_core.methods.base import Method
from validation_core.panels import power
from validation_core.panels.gamma_scale import GammaScale
from validation_core.scores import trained_scores
from validation_core.scores.classifier import HIDDEN_SHAPE, PRESETS
from validation_core.sweep import presets
from validation_core.sweep.plan import Sweep
from validation_core.sweep.presets import BETAS, Comparison
from validation_core.sweep.progress import begun
from validation_core.sweep.trials import TrialDesign
from validation_core.types import Benchmark

TRIALS = (20, 50, 100, 200, 500, 1000)
N, K = (100, 200, 500, 1000, 2000), (10, 20, 50, 100, 200, 500)
OWN = "own"
_FIRST = ("c2st", "multiple", "uniform", "sbc", "tarp")
_DIMS = ((1, 1), (2, 2), *DIMENSIONS)
_VARIANTS = 4


@dataclass(frozen=True)
class CompareChoice:
    """Settings of the controls."""

    sweep: Sweep
    comparison: Comparison | None
    """The figure or demonstration, if it is one; None for one's own."""
    problems: tuple[str, ...] = ()
    """Options that a method refuses, in words."""

    @property
    def axis(self) -> str:
        """Name of the variable on the axis."""
        return power.along(self.sweep)

    @property
    def axis_label(self) -> str:
        """Label of the axis."""
        return power.axis_label(self.sweep)

    def at(self, value: float) -> str:
        """A place on it, after "at"."""
        return power.place_text(self.sweep, value)


def choose() -> CompareChoice:
    """Draw the controls in the sidebar. The address holds every setting, for sharing."""
    known = _known()
    with st.sidebar:
        name = forms.choice(
            "Start from",
            [*known, OWN],
            "comparison",
            words=_title,
            mark=_not_run,
            help="A figure of a paper with its sizes and budgets, a demonstration of why tests "
            "disagree, or your own choice of everything.",
        )
        comparison = known.get(name)
        problems: list[str] = []
        sweep = comparison.sweep if comparison else _own(problems)
        trials = forms.choice(
            "Trials",
            TRIALS,
            f"trials-{name}",
            first=sweep.design.trials,
            draw=st.select_slider,
            help="Tests of fresh draws at every place of every curve.",
        )
        networks = forms.networks(
            "Networks", f"networks-{name}", sweep.networks, trained="at every place"
        )
        alpha = forms.level()
    design = replace(sweep.design, trials=trials, alpha=alpha)
    wanted = same(replace(sweep, design=design, networks=networks))
    return CompareChoice(wanted, comparison, tuple(problems))


@cache
def _known() -> dict[str, Comparison]:
    """Comparisons by name; kept, with the tasks that each has worked out."""
    return keys.by_name(*presets.everything())


def _title(name: str) -> str:
    """A comparison's title."""
    return _known()[name].title if name in _known() else "A comparison of my own"


def _not_run(name: str) -> str:
    """That a comparison opens without a curve."""
    known = _known()
    return "" if name not in known or begun(known[name].sweep, services().store) else "not yet run"


def take(name: str) -> None:
    """Set the controls to this comparison at the next run."""
    st.session_state["comparison"] = name


def _own(problems: list[str]) -> Sweep:
    on = _benchmark()
    gammas, betas = _grid(on)
    kinds = forms.several(
        "Methods", list(METHODS), "methods", first=_FIRST, words=lambda name: METHODS[name].title
    )
    n = forms.choice("Simulations a test, n", N, "n", first=1000, draw=st.select_slider)
    k = forms.choice(
        "Draws of q at each x",
        K,
        "k",
        first=200,
        draw=st.select_slider,
        help="Of the tests that read tables: SBC, TARP, CoLT, within x.",
    )
    with st.expander("Options of the methods"):
        methods = tuple(
            method
            for name in kinds
            for method in _variants(name, problems)
            if _readable(method, on, gammas, problems)
        )
    with st.expander("Networks"):
        preset = segmented(
            "Training",
            {name: name for name in PRESETS},
            "preset",
            first="interactive",
            help=_trainings(),
        )
        seed = forms.seed()
    return Sweep(
        benchmark=on,
        methods=methods,
        gammas=gammas,
        betas=betas,
        recipe=trained_scores.classifier_of(on, PRESETS[preset]),
        design=TrialDesign(n=n, k=k, seed=seed),
        seed=seed,
    )


def _grid(on: Benchmark) -> tuple[tuple[float, ...], tuple[float, ...]]:
    """Several gammas at one beta, or several betas at one gamma."""
    axes = {"gamma": on.axis if on.counts_iterations else "gamma", "beta": "beta"}
    if segmented("Along", axes, "along") == "beta":
        return (_gamma(on),), _some("Betas", BETAS, "betas")
    words = on.axis.capitalize() if on.counts_iterations else "Gammas"
    gammas = _some(words, on.gammas, f"gammas-{_name(on)}")
    beta = forms.choice(
        "Degradation, beta",
        BETAS,
        "beta",
        first=0.0,
        words="{:g}".format,
        draw=st.select_slider,
        help="How far networks are moved back to their random start.",
    )
    return gammas, (beta,)


def _trainings() -> str:
    few, many, full = (PRESETS[name] for name in ("interactive", "many", "paper"))
    return (
        f"One classifier for each gamma. Interactive: {few.train:,} + {few.train:,} draws, "
        f"{few.epochs} epochs. Many: {many.train:,} + {many.train:,} draws, as the page Conformal "
        f"C2ST learns from over all gammas. Paper: {full.train:,} + {full.train:,} draws, "
        f"{full.epochs:,} epochs from learning rate {full.lr:g}. {HIDDEN_SHAPE}"
    )


def _some(label: str, grid: tuple[float, ...], key: str) -> tuple[float, ...]:
    """Some values of a grid; all of it where none is left."""
    if len(grid) == 1:
        return grid
    chosen = forms.several(label, grid, key, first=grid, words="{:g}".format)
    return tuple(value for value in grid if value in chosen) or grid


def _variants(name: str, problems: list[str]) -> list[Method]:
    """A method once, or with several sets of options."""
    st.markdown(f"**{METHODS[name].title}**")
    variants: dict[str, Method] = {}
    count = forms.number(
        "Variants",
        1,
        _VARIANTS,
        1,
        f"variants-{name}",
        help="The same test with other options beside it.",
    )
    for i in range(count):
        suffix = f"-{i + 1}" if i else ""
        try:
            method = forms.form(METHODS[name], f"option-{name}{suffix}")
        except ValueError as error:
            problems.append(f"{METHODS[name].title}: {error}")
            continue
        if method.label in variants and variants[method.label] != method:
            problems.append(
                f"{METHODS[name].title}: two variants have the same name, {method.label}; "
                "change an option that the name shows."
            )
            continue
        variants[method.label] = method
    return list(variants.values())


def _readable(
    method: Method, on: Benchmark, gammas: tuple[float, ...], problems: list[str]
) -> bool:
    """Whether the benchmark knows the ratio that a method may read; asked before anything runs."""
    if not method.is_fixed:
        return True
    try:
        method.score_on(on, gammas[-1])
    except ValueError as error:
        problems.append(str(error))
        return False
    return True


def _benchmark() -> Benchmark:
    kind = forms.choice(
        "Benchmark", list(BENCHMARKS), "benchmark", words=lambda name: BENCHMARKS[name].title
    )
    if kind == BayesModel.name:
        return bayes.choose()
    if kind != Gaussian.name:
        return forms.form(BENCHMARKS[kind], f"benchmark-{kind}")
    name = forms.perturbation()
    dim_x, dim_theta = forms.choice("Dimensions of (x, θ)", _DIMS, "dims", first=(3, 3))
    curved = forms.flag("Curved", "curved", draw=st.checkbox)
    return Gaussian(perturbation=name, dim_x=dim_x, dim_theta=dim_theta, curved=curved)


def _name(on: Benchmark) -> str:
    """A benchmark's name for keys: its grid of gammas goes with it."""
    grid = getattr(on, "perturbation", "") or getattr(on, "along", "")
    return "-".join(part for part in (on.name, grid) if part)


def _gamma(on: Benchmark) -> float:
    grid = on.gammas
    if len(grid) == 1:
        return grid[0]
    return forms.choice(
        GammaScale.of(on).slider,
        grid,
        f"gamma-{_name(on)}",
        first=grid[len(grid) // 2],
        words="{:g}".format,
        draw=st.select_slider,
    )
