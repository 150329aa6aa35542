"""Train an estimator on a task whose posterior is known, watch it learn, and diagnose it."""

from collections.abc import Mapping
from dataclasses import replace

import streamlit as st

from pages.train import controls, learning_curve, mended, scoreboard, takeaway, verdict
from pages.ui import address, jobs, live
from pages.ui.services import services, stored
from validation_core import keys
from validation_core.engine import JobState
from validation_core.explorers.training import pictures
from validation_core.explorers.training.film import WATCHED, FilmStudy, decoded, filmed_task
from validation_core.text import rough_duration_text

_READ = (
    "p, blue, is the exact posterior; q, orange, what the estimator has learnt from simulations "
    "alone. If q were the exact posterior, its loss would lie on the blue line, its nats on 0, "
    "and its draws on p's. The pictures above move with the epoch: losses, the distance KL(p‖q) "
    "in nats, coverage, and q at the x that is pressed in the map. What follows is of the network "
    "that is kept, of epoch {kept:,}{why}."
)


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
    why = ", where its held-out loss is lowest" if study.recipe.patience else ", the last"
    read = _READ.format(kept=kept, why=why)
    st.caption(read + f" {study.simulator.quasi}" * bool(study.simulator.quasi))


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
