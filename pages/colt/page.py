"""CoLT: the ball with the wrong mass under q, at every gamma and x, and its training."""

from contextlib import nullcontext

import streamlit as st

from pages.colt import film, papers, power, ranks, theory
from pages.colt import maps as colt_maps
from pages.colt.controls import ColtChoice, choose, choose_gamma, owner, slider
from pages.colt.data import LocalizerMaps, at_every_gamma, at_one_gamma
from pages.ui import address, jobs, live
from pages.ui.forms import segmented
from pages.ui.services import services
from validation_core import Trained
from validation_core.engine import JobState, Task
from validation_core.explorers.training.nats import nats_line
from validation_core.panels.colt import theta
from validation_core.scores import trained_scores
from validation_core.scores.trained_scores import Simulated, TrainTask
from validation_core.sweep import costs
from validation_core.text import rough_duration_text

VIEWS = {name: name for name in ("Where", "Ranks", "Training", "Power", "Theory", "Papers")}


def _located(chosen: ColtChoice, *, each: bool) -> LocalizerMaps | None:
    """The ball at every gamma, by one localizer, or at one gamma by its own.

    None while it learns: meanwhile there are the draws.
    """
    if each or chosen.colt.preset == "paper":
        return _of_one_gamma(chosen, choose_gamma(chosen))
    study = chosen.study
    located = at_every_gamma(study)
    if located is None:
        networks = _untrained(chosen, chosen.gammas)
        tasks: list[Task] = [*networks, study]
        if networks:
            state = _asked_for(tasks, study.label, "Train the estimators and their localizer")
        else:
            state = jobs.only("colt", tasks, study.label)
            _draws(chosen, chosen.gammas, learning=state is not None)
        jobs.panel(state)
    else:
        jobs.only("colt", [], "")
    return located


def _untrained(chosen: ColtChoice, gammas: tuple[float, ...]) -> list[TrainTask]:
    """Trainings of the estimators behind a benchmark, one for each gamma, that the store lacks."""
    sources = (Simulated(benchmark=chosen.benchmark, gamma=gamma) for gamma in gammas)
    if not isinstance(chosen.benchmark, Trained):
        return []
    tasks = (
        TrainTask(trainings=(training,))
        for source in sources
        for training in trained_scores.networks_behind(source)
    )
    return [task for task in tasks if not task.done(services().store)]


def _asked_for(tasks: list[Task], label: str, button: str) -> JobState | None:
    """The job of tasks that take minutes, started by a button."""
    state = jobs.latest(tasks)
    if state is None:
        seconds = costs.trainings(tasks)
        st.button(
            f"{button}, {rough_duration_text(seconds)}",
            key="train",
            type="primary",
            icon=":material/model_training:",
            on_click=jobs.starting(tasks, label),
        )
    return state


def _of_one_gamma(chosen: ColtChoice, at: float) -> LocalizerMaps | None:
    """Its own localizer; the paper's, which takes minutes, is asked for."""
    task = chosen.map(at)
    if task.done(services().store):
        jobs.only("colt", [], "")
        return at_one_gamma(task.key, task, at)
    networks = _untrained(chosen, (at,))
    tasks: list[Task] = [*networks, task]
    label = f"Train and map {chosen.benchmark.label}"
    if chosen.colt.preset == "paper":
        state = _asked_for(tasks, label, "Train the paper's localizer")
    elif networks:
        state = _asked_for(tasks, label, "Train the estimator and a localizer")
    else:
        state = jobs.only("colt", tasks, label)
    _draws(chosen, (at,), learning=state is not None)
    jobs.panel(state, draw=film.course)
    return None


def _draws(chosen: ColtChoice, gammas: tuple[float, ...], *, learning: bool) -> None:
    """Figures that need no training."""
    benchmark = chosen.benchmark
    behind = (Simulated(benchmark=benchmark, gamma=gamma) for gamma in gammas)
    if any(trained_scores.networks_behind(source) for source in behind):
        return
    payload = live.once(
        ("before", benchmark.key, gammas),
        lambda: theta.draws_payload(benchmark, gammas, chosen.start_among(gammas)),
    )
    key = f"before-{owner(benchmark)}-{len(gammas)}"
    live.chart(payload, key=key, url=slider(gammas))
    st.caption(
        "Draws of p and of q at the same x"
        + (
            ": no test has looked at them yet. A localizer is learning where q puts too much or "
            "too little mass."
            if learning
            else "."
        )
    )


def _theta(chosen: ColtChoice, view: str) -> None:
    """The ball, or its training; in two dimensions there is no choice of axes."""
    d = chosen.benchmark.dims[0]
    above = st.container() if d == 2 else nullcontext()
    with above:
        located = _located(chosen, each=view == "Training")
    if located is None:
        return
    sight = colt_maps.directions(d)
    with above:
        if view == "Training":
            film.show_training(chosen, located.gammas[0], located.maps[0], sight)
        else:
            colt_maps.show_where(chosen, located, sight)


@address.fragment
def _results(chosen: ColtChoice) -> None:
    """The chosen view."""
    with st.container(
        horizontal=True, horizontal_alignment="distribute", vertical_alignment="center"
    ):
        view = segmented("View", VIEWS, "view", label_visibility="collapsed")
        if view != "Papers":  # whose tables and figures have benchmarks of their own
            nats = nats_line(chosen.benchmark, chosen.gammas, services().store)
            about = f"{chosen.benchmark.label}: {chosen.benchmark.summary}."
            st.caption(f"{about} {nats}".strip(), width="content")
    address.owned("gamma", owner(chosen.benchmark))
    if view == "Power":
        power.show_power(chosen)
    elif view == "Theory":
        theory.show_theory(chosen)
    elif view == "Papers":
        papers.show_papers()
    elif view != "Ranks":
        _theta(chosen, view)
    elif located := _located(chosen, each=False):
        ranks.ranks(chosen, located)


live.one_screen(1.7)
st.title("Where does q put its mass wrongly?", anchor=False)
jobs.notices()
chosen = choose()
_results(chosen)
