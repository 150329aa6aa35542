"""One test opened up: the figures behind a single point of a curve."""

import streamlit as st

from pages.compare.controls import CompareChoice
from pages.ui import charts, figure_files, jobs
from pages.ui.forms import choice
from pages.ui.services import services
from validation_core.methods.base import Method
from validation_core.panels.record import trial_figures
from validation_core.sweep.trial_detail import TrialDetail, TrialStudy, first_trial
from validation_core.text import number_text, said_equals


def one_test(chosen: CompareChoice) -> None:
    """A method and a place; the test is run when asked for."""
    st.subheader("Inside one test", anchor=False)
    sweep, axis = chosen.sweep, chosen.axis
    labels = [method.label for method in sweep.methods]
    places = {getattr(place, axis): place for place in sweep.places}
    left, right = st.columns(2)
    with left:
        label = choice("Test", labels, "look-test")
    values = list(places)
    at = values[0]
    if len(values) > 1:
        with right:
            at = choice(
                chosen.axis_label.capitalize(),
                values,
                f"look-{axis}",
                first=values[len(values) // 2],
                words="{:g}".format,
                draw=st.select_slider,
            )
    method = next(method for method in sweep.methods if method.label == label)
    task = first_trial(sweep, method, places[at])
    stored_look = _look(task)
    if stored_look is not None:
        _figures(method, stored_look, sweep.design.alpha)
        return
    jobs.offer(task, "Open one test", key="run-look", icon=":material/frame_inspect:")


def _look(task: TrialStudy) -> TrialDetail | None:
    return task.load(services().store) if task.done(services().store) else None


def _figures(method: Method, trial: TrialDetail, alpha: float) -> None:
    st.markdown(
        f"Statistic {number_text(trial.statistic, 4)}, p-value {said_equals(trial.pvalue)}, from "
        f"{trial.draws_p:,} draws of p and {trial.draws_q:,} of q in {trial.seconds:.2g} s."
    )
    drawings = trial_figures(method, trial, alpha=alpha)
    for row in range(0, len(drawings), 2):
        for column, drawing in zip(st.columns(2), drawings[row : row + 2], strict=False):
            key = f"look-{method.name}-{drawing.title}"
            charts.captioned(column, drawing.title, drawing.picture, key, drawing.caption)
    figure_files.offer(drawings, f"look-{method.name}")
