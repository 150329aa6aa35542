"""Which test finds an estimator's error first, over simulations of training and of testing."""

import streamlit as st

from pages.ui import address, live
from pages.ui.services import services
from validation_core.explorers.training import scoreboard, scoreboard_panels
from validation_core.explorers.training.film import FilmStudy
from validation_core.explorers.training.scoreboard import Scoreboard


@address.fragment
def show(study: FilmStudy) -> None:
    """The scoreboard of this task and estimator, as far as it has been run."""
    board = _board(study)
    if board is None:
        return
    shown = [column for column in scoreboard.columns(board, services().store) if column.most]
    if not shown:
        return
    st.subheader("Which test finds it first?", anchor=False)
    key = ("scoreboard", board.benchmark.key, *(f"{one.gamma:g}:{one.most}" for one in shown))
    live.chart(
        live.once(key, lambda: scoreboard_panels.payload(board, shown)),
        key=f"scoreboard-{board.benchmark.key[:12]}",
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
