"""Playground: pick a benchmark, move gamma and beta, and watch every picture follow."""

from collections.abc import Sequence

import streamlit as st

from pages.playground import bricks, new_samples, strip
from pages.ui import address, jobs, live, share
from pages.ui.forms import segmented
from pages.ui.services import services, stored
from validation_core import Boundary, Gaussian, Trained
from validation_core.explorers.conformal.study import Learned
from validation_core.explorers.playground import pictures
from validation_core.explorers.playground.study import PlaygroundStudy, named
from validation_core.explorers.training.nats import nats_line
from validation_core.panels.gamma_scale import GammaScale
from validation_core.types import Benchmark

VIEWS = {"pictures": "Pictures", "trials": "p-values over trials"}


@address.fragment
def _pictures(name: str, study: PlaygroundStudy, view: str) -> None:
    results = stored(study)
    if view == "trials":
        gamma, beta = bricks.bricks(name, study, results)
        _onwards(study.benchmark, gamma, beta)
        return
    key = f"playground-{name}"
    numbers, seen = new_samples.window(study, results, live.released(key, default=(0,))[-1])
    payload = live.once(
        ("playground", study.key, numbers.start, numbers.stop),
        lambda: pictures.payload(study, seen, numbers.start),
    )
    gamma, beta, _, sample = live.chart(payload, key=key, url=("gamma", "beta", "x"))
    new_samples.look_ahead(study, numbers, sample)
    _onwards(study.benchmark, gamma, beta)


def _onwards(benchmark: Benchmark, gamma: float, beta: float) -> None:
    """Links to other pages with the present settings."""
    with st.container(horizontal=True, vertical_alignment="center", gap="medium"):
        if isinstance(benchmark, Boundary):
            st.page_link("weak/page.py", label="Open in the workbench", icon=":material/school:")
        elif isinstance(benchmark, Gaussian) and not benchmark.curved:
            st.page_link(
                "conformal/page.py",
                label="Open in the workbench",
                icon=":material/tune:",
                query_params={
                    "perturbation": benchmark.perturbation,
                    "gamma": _beside(gamma, Learned(benchmark=benchmark).gammas),
                    "beta": f"{beta:g}",
                },
            )
        elif isinstance(benchmark, Trained):
            st.page_link(
                "train/page.py",
                label="Watch it learn",
                icon=":material/model_training:",
                query_params={
                    "task": benchmark.task,
                    "estimator": benchmark.estimator,
                    "simulations": f"{gamma:.0f}",
                },
            )
        else:
            chosen = {"benchmark": benchmark.name, "gamma": _beside(gamma, benchmark.gammas)}
            if isinstance(benchmark, Gaussian):
                chosen |= {"perturbation": benchmark.perturbation, "curved": "true"}
            st.page_link(
                "colt/page.py",
                label="Open in the workbench",
                icon=":material/target:",
                query_params=chosen,
            )
        st.page_link(
            "diagnose/page.py", label="Diagnose your own posterior", icon=":material/troubleshoot:"
        )
        share.copy_link()


def _beside(gamma: float, gammas: Sequence[float]) -> str:
    """The nearest place of another page's slider, which has its own; a wrong q stays wrong."""
    alike = [place for place in gammas if (place == 0) == (gamma == 0)]
    return f"{min(alike or gammas, key=lambda place: abs(place - gamma)):.6g}"


def _about(study: PlaygroundStudy) -> str:
    """What the pictures show, and what to do: drag the benchmark's own slider, if it has one."""
    estimate, drag = "an estimate q, wrong by γ", ", drag γ"
    if len(study.gammas) == 1:
        estimate, drag = "a wrong estimate q", ""
    elif isinstance(study.benchmark, Trained):
        slider = GammaScale.of(study.benchmark).slider
        estimate, drag = "an estimate q, learnt from simulations", f", drag {slider}"
    nats = nats_line(study.benchmark, study.gammas, services().store)
    about = (
        f"Blue: draws of the true posterior p. Orange: draws of {estimate}. "
        f"Pick one of {len(strip.shown())} benchmarks{drag}: who notices?"
    )
    return f"{about} {nats}".strip()


live.one_screen(1.9)
with st.container(gap="xsmall"):
    with st.container(
        horizontal=True, horizontal_alignment="distribute", vertical_alignment="center"
    ):
        st.title("Is a learned posterior right?", anchor=False, width="content")
        view = segmented("View", VIEWS, "view", label_visibility="collapsed")
    about = st.container(key="about")
    jobs.notices()
    name = strip.choose()
study = PlaygroundStudy(benchmark=named()[name])
about.caption(_about(study))
if study.done(services().store):
    _pictures(name, study, view)
else:
    jobs.panel(jobs.ensure([study], study.label, start=True))
