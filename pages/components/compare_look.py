"""One test opened up: the figures behind a single point of a curve."""

import numpy as np
import streamlit as st

from pages.components import charts, jobs
from pages.components.compare_controls import Chosen
from pages.components.services import services
from validation_core.diagnosis import Record, equals
from validation_core.figures import outcomes
from validation_core.figures.diagnosis import pictures
from validation_core.looks import Look, LookTask, look
from validation_core.types import Budget, Method, Outcome


def one_test(chosen: Chosen) -> None:
    """A method and a place; the test is run when asked for."""
    st.subheader("Inside one test", anchor=False)
    sweep, axis = chosen.sweep, chosen.axis
    labels = [method.label for method in sweep.methods]
    places = {getattr(place, axis): place for place in sweep.places}
    left, right = st.columns(2)
    label = left.selectbox("Test", labels, key=f"look-{'-'.join(labels)}")
    values = list(places)
    at = right.select_slider(
        chosen.axis_label.capitalize(), values, values[len(values) // 2],
        key=f"look-at-{axis}-{values[-1]}", format_func="{:g}".format, disabled=len(values) == 1,
    ) if len(values) > 1 else values[0]  # fmt: skip
    method = next(method for method in sweep.methods if method.label == label)
    task = look(sweep, method, places[at])
    found = _look(task)
    if found is not None:
        _figures(method, found, sweep.design.alpha)
        return
    state = jobs.latest([task])
    if state is None:
        st.button(
            "Open one test", key="run-look", icon=":material/frame_inspect:",
            on_click=lambda: jobs.ensure([task], task.label, start=True, again=True),
        )  # fmt: skip
    jobs.panel(state)


def _look(task: LookTask) -> Look | None:
    return task.load(services().store) if task.done(services().store) else None


def _figures(method: Method, found: Look, alpha: float) -> None:
    st.markdown(
        f"Statistic {found.statistic:.4g}, p {equals(found.pvalue)}, from "
        f"{found.draws_p:,} draws of p and {found.draws_q:,} of q in {found.seconds:.2g} s."
    )
    outcome = Outcome(
        np.float64(found.statistic), np.float64(found.pvalue),
        Budget(found.draws_p, found.draws_q), found.arrays, found.effect,
    )  # fmt: skip
    record = Record.ran(method, outcome, found.seconds, {}, {"theta_q": found.theta})
    drawn = [*pictures(record, alpha=alpha), *outcomes.learned(method.name, found.learned)]
    for row in range(0, len(drawn), 2):
        for column, one in zip(st.columns(2), drawn[row : row + 2], strict=False):
            key = f"look-{method.name}-{one.title}"
            charts.captioned(column, one.title, one.figure, key, one.caption)
