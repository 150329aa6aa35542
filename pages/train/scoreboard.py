"""Which test finds an estimator's error first, over simulations of training and of testing."""

import streamlit as st

from pages.ui import address, live
from pages.ui.services import services
from validation_core.estimators import ESTIMATORS
from validation_core.explorers.training import scoreboard, scoreboard_panels
from validation_core.explorers.training.film import FilmStudy
from validation_core.explorers.training.scoreboard import Scoreboard
from validation_core.text import list_text

USUAL = "Of estimators with their usual options, not those of the network above."
"""What stands over results that the network above has no part in."""


@address.fragment
def show(study: FilmStudy) -> None:
    """The scoreboard of this task and estimator, as far as it has been run."""
    st.subheader("Which test finds it first?", anchor=False)
    board = _board(study)
    columns = [] if board is None else scoreboard.columns(board, services().store)
    shown = [column for column in columns if column.most]
    if board is None or not shown:
        counted = [board.benchmark for board in scoreboard.shipped()]
        estimators = dict.fromkeys(ESTIMATORS[one.estimator].title for one in counted)
        tasks = dict.fromkeys(one.simulator.title for one in counted)
        st.caption(
            f"Not counted for {study.recipe.title} on {study.simulator.title}. Counted were "
            f"{list_text(list(estimators))} on {list_text(list(tasks))}, with their usual options."
        )
        return
    if not study.usual:
        st.caption(USUAL)
    at = float(study.recipe.simulations)
    run = (f"{one.gamma:g}:{one.most}" for one in shown)
    live.chart(
        live.once(
            ("scoreboard", board.benchmark.key, at, *run),
            lambda: scoreboard_panels.payload(board, shown, at),
        ),
        key=f"scoreboard-{board.benchmark.key[:12]}-{at:g}",
        url=("trained-on",),
        save_as="Which test finds it first",
    )


def _board(study: FilmStudy) -> Scoreboard | None:
    """The scoreboard that ships of this task and estimator, or None."""
    for board in scoreboard.shipped():
        benchmark = board.benchmark
        if benchmark.estimator == study.recipe.name and benchmark.simulator == study.simulator:
            return board
    return None
