"""Train an estimator on a task whose posterior is known, watch it learn, and diagnose it."""

import math
from collections.abc import Mapping
from dataclasses import replace

import streamlit as st

from pages.train import controls, learning_curve, mended, scoreboard, takeaway, verdict
from pages.ui import address, jobs, live
from pages.ui.services import services, stored
from validation_core import keys
from validation_core.engine import JobState
from validation_core.explorers.training import pictures
from validation_core.explorers.training.film import WATCHED, Film, FilmStudy, decoded, filmed_task
from validation_core.text import rough_duration_text


@address.fragment
def _film(study: FilmStudy) -> None:
    """The pictures under the slider over epochs."""
    film = stored(study)
    kept = study.kept_epoch(film)
    payload = live.once(
        ("training film", study.key),
        lambda: pictures.payload(film, study.simulator, kept, sweep=True),
    )
    live.chart(payload, key=f"film-{study.key[:12]}", url=("epoch", "x"), save_as="Training")
    st.caption(_how_to_read(study, film))


def _how_to_read(study: FilmStudy, film: Film) -> str:
    """What the pictures show, what an exact q would look like, and of which epoch what is."""
    on_floor = "its loss would lie on the blue line, " if math.isfinite(film.floor) else ""
    why = ", where its held-out loss is lowest" if study.recipe.patience else ", the last"
    kept = f"the network that is kept, of epoch {study.kept_epoch(film):,}{why}"
    epochs = (
        f"All is of {kept}; q is drawn at the x that is pressed in the map."
        if study.still
        else "The pictures above move with the epoch: losses, the distance KL(p‖q) in nats, "
        f"coverage, and q at the x that is pressed in the map. What follows is of {kept}."
    )
    said = (
        "p, blue, is the exact posterior; q, orange, what the estimator has learnt from "
        f"simulations alone. If q were the exact posterior, {on_floor}its nats would be 0 and its "
        f"draws like p's. {epochs} {study.simulator.quasi}"
    )
    return said.strip()


def _learning(study: FilmStudy) -> None:
    """A button with its price, or the film so far."""
    state = jobs.only("train", [study], study.label) if study.still else jobs.latest([study])
    if state is None:
        price = rough_duration_text(study.seconds)
        st.button(
            f"Train, {price}",
            key="train",
            type="primary",
            icon=":material/model_training:",
            on_click=_train,
            args=(study,),
        )
        st.caption(
            f"{study.simulator.title}: {study.simulator.summary}. "
            f"{study.recipe.title}: {study.recipe.help}."
        )
        _task(study)

    def draw(state: JobState) -> None:
        film = state.live.get("film")
        if isinstance(film, Mapping):
            live.chart(
                pictures.learning_payload(decoded(film), study.simulator), key="film-so-far"
            )

    jobs.panel(state, draw=draw)


def _task(study: FilmStudy) -> None:
    """The exact posterior that it is to learn."""
    simulator, seed = study.simulator, study.seed
    payload = live.once(
        ("task", keys.key(simulator), seed),
        lambda: pictures.task_payload(filmed_task(simulator, seed), simulator),
    )
    live.chart(payload, key="task-picture", url=("x",), save_as="Task")
    if simulator.quasi:
        st.caption(simulator.quasi)


def _train(study: FilmStudy) -> None:
    """Train it, and diagnose it once it is trained."""
    st.session_state["trained-here"] = study.training.key
    jobs.ensure([study], study.label, start=True, again=True)


def _available(study: FilmStudy) -> FilmStudy:
    """The film where there is one; of a network without a film, its last frame."""
    store, many = services().store, study.recipe.simulations > WATCHED
    if study.done(store) or not (many and store.has("models", study.training.key)):
        return study
    return replace(study, still=True)


live.one_screen(1.7)
with st.container(horizontal=True, horizontal_alignment="distribute", vertical_alignment="bottom"):
    st.title("Watch an estimator learn", anchor=False, width="content")
    controls.examples()
jobs.notices()
study = _available(controls.choose())
if study.done(services().store):
    _film(study)
    trained_here = st.session_state.get("trained-here") == study.training.key
    verdict.show(study, begin=trained_here)
    mended.show(study)
    learning_curve.show(study)
    scoreboard.show(study)
    takeaway.show(study)
else:
    _learning(study)
    learning_curve.show(study)
    scoreboard.show(study)
