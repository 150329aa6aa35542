"""Controls of the workbench: benchmark, classifier and test."""

from dataclasses import dataclass

import streamlit as st

from pages.ui import forms
from validation_core import Gaussian
from validation_core.benchmarks.gaussian import DIMENSIONS
from validation_core.explorers.conformal import power_study
from validation_core.explorers.conformal.power_study import ConformalPower
from validation_core.explorers.conformal.study import PAPER_M, RECIPE, ConformalStudy, Learned
from validation_core.explorers.conformal.theory_study import ConformalTheoryStudy
from validation_core.scores.classifier import HIDDEN_SHAPE, PRESETS
from validation_core.sweep.presets import NETWORKS

SIZES = (100, 200, 500, 1000, 2000)
RECIPES = {"interactive": RECIPE, "few": PRESETS["interactive"], "paper": PRESETS["paper"]}
"""One network for all gammas in a second; one for each: on few draws, as on the page Compare, or
by the paper's schedule, in minutes."""


@dataclass(frozen=True)
class ConformalChoice:
    """Settings of the controls."""

    study: ConformalStudy
    alpha: float
    networks: int
    """Behind the curves of power; the first is that of all else."""

    @property
    def learned(self) -> Learned:
        """The networks."""
        return self.study.learned

    @property
    def theory(self) -> ConformalTheoryStudy:
        """Both sides of the paper's inequalities, at every gamma and beta."""
        return ConformalTheoryStudy(learned=self.learned)

    def powers(self, *, over_m: bool) -> tuple[ConformalPower, ...]:
        """Trials over gamma and beta with each network; over every m where that curve is shown."""
        first = (
            power_study.over_m(self.learned, self.study.n)
            if over_m
            else ConformalPower(learned=self.learned, n=self.study.n, ms=(self.study.m,))
        )
        return first.by_network(self.networks)


def choose() -> ConformalChoice:
    """Draw the controls in the sidebar. The address holds every setting, for sharing."""
    with st.sidebar:
        name = forms.perturbation()
        dim_x, dim_theta = forms.choice("Dimensions of (x, θ)", DIMENSIONS, "dims")
        benchmark = Gaussian(perturbation=name, dim_x=dim_x, dim_theta=dim_theta)
        m = forms.choice(
            "Calibration draws, m",
            PAPER_M,
            "m",
            first=50,
            draw=st.select_slider,
            help="Uniform(m) ranks each draw of q among m fresh draws of p.",
        )
        n = forms.choice("Test points, n", SIZES, "n", first=1000, draw=st.select_slider)
        alpha = forms.level()
        preset = forms.segmented(
            "Training", {name: name for name in RECIPES}, "preset", help=_presets()
        )
        seed = forms.seed()
        networks = forms.networks(
            "Networks, for power",
            "networks",
            NETWORKS,
            trained="for all gammas" if preset == "interactive" else "for each gamma",
        )
    learned = Learned(
        benchmark=benchmark, recipe=RECIPES[preset], each=preset != "interactive", seed=seed
    )
    return ConformalChoice(ConformalStudy(learned=learned, n=n, m=m), alpha, networks)


def _presets() -> str:
    small, few, full = (RECIPES[name] for name in ("interactive", "few", "paper"))
    return (
        f"Interactive: one network for all gammas, {small.train:,} + {small.train:,} draws, "
        f"{small.epochs} epochs. Few: one for each gamma, {few.train:,} + {few.train:,} draws, "
        f"{few.epochs} epochs, as the page Compare opens. Paper: the same draws, "
        f"{full.epochs:,} epochs from learning rate {full.lr:g}. {HIDDEN_SHAPE}"
    )
