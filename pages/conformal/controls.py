"""The workbench's rail: which benchmark, which classifier, which test."""

from dataclasses import dataclass

import streamlit as st

from pages.ui import forms
from validation_core import Gaussian
from validation_core.benchmarks.gaussian import DIMENSIONS
from validation_core.models import Simulated, Training
from validation_core.scores.classifier import PRESETS, Preset
from validation_core.sweep.conformal_explorer import BETAS, COARSE_BETAS, PAPER_M, GridTask

SIZES = (100, 200, 500, 1000, 2000)
LEVELS = (0.01, 0.05, 0.1)
_DIMS = {f"({x}, {theta})": (x, theta) for x, theta in DIMENSIONS}


@dataclass(frozen=True)
class ConformalChoice:
    """What the rail says."""

    benchmark: Gaussian
    gamma: float
    preset: Preset
    seed: int
    m: int
    n: int
    alpha: float

    def grid(self, gamma: float | None = None, betas: tuple[float, ...] = BETAS) -> GridTask:
        """Scores at every beta, at this gamma or another."""
        at = Simulated(benchmark=self.benchmark, gamma=self.gamma if gamma is None else gamma)
        training = Training(source=at, recipe=PRESETS[self.preset], seed=self.seed)
        return GridTask(training=training, betas=betas)

    def coarse(self) -> GridTask:
        """Scores at a few betas of the present gamma: there first."""
        return self.grid(betas=COARSE_BETAS)

    def grids(self) -> list[GridTask]:
        """Scores at every gamma of the benchmark, the present one first."""
        near = sorted(self.benchmark.gammas, key=lambda gamma: abs(gamma - self.gamma))
        return [self.grid(gamma) for gamma in near]


def choose() -> ConformalChoice:
    """Draw the rail in the sidebar. Every setting stands in the address, to be shared."""
    with st.sidebar:
        name = forms.perturbation()
        dims = st.selectbox("Dimensions of (x, θ)", list(_DIMS), key="dims", bind="query-params")
        dim_x, dim_theta = _DIMS[dims]
        benchmark = Gaussian(perturbation=name, dim_x=dim_x, dim_theta=dim_theta)
        gamma = _gamma(benchmark)
        m = st.select_slider(
            "Calibration draws, m",
            PAPER_M,
            50,
            key="m",
            bind="query-params",
            help="Uniform(m) ranks each draw of q among m fresh draws of p.",
        )
        n = st.select_slider("Test points, n", SIZES, 1000, key="n", bind="query-params")
        alpha = st.select_slider(
            "Level", LEVELS, 0.05, key="level", bind="query-params", format_func="{:.0%}".format
        )
        preset = st.segmented_control(
            "Training",
            list(PRESETS),
            default="interactive",
            required=True,
            key="preset",
            bind="query-params",
            help=_presets(),
        )
        seed = st.number_input("Seed", 0, 9999, 0, key="seed", bind="query-params")
    return ConformalChoice(benchmark, float(gamma), preset, int(seed), m, n, alpha)


def _gamma(benchmark: Gaussian) -> float:
    grid = benchmark.gammas
    if len(grid) == 1:
        st.caption(benchmark.summary.capitalize() + ".")
        return grid[0]
    return st.select_slider(
        "Strength, gamma",
        grid,
        grid[len(grid) // 2],
        key=f"gamma_{benchmark.perturbation}",
        bind="query-params",
        help=benchmark.summary.capitalize() + ".",
        format_func="{:g}".format,
    )


def _presets() -> str:
    return ". ".join(
        f"{name.capitalize()}: {recipe.epochs} epochs from learning rate {recipe.lr:g}"
        for name, recipe in PRESETS.items()
    )
