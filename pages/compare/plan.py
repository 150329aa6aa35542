"""The cost of a comparison before it is run: draws of every method, time and memory."""

from collections.abc import Sequence

import pandas as pd
import streamlit as st

from pages.compare.controls import CompareChoice
from pages.ui import jobs
from pages.ui.services import services
from validation_core.scores.trained_scores import TrainTask
from validation_core.sweep import costs
from validation_core.sweep.plan import Batch
from validation_core.sweep.progress import Progress
from validation_core.text import count_text, rough_duration_text


def _budgets(chosen: CompareChoice, progress: Progress) -> pd.DataFrame:
    """Draws and time of one test, a row for each method."""
    design = chosen.sweep.design
    rows = []
    for method in chosen.sweep.methods:
        budget, cost = method.budget(design.n, design.k), costs.of(chosen.sweep, method, progress)
        rows.append(
            {
                "Test": method.label,
                "Draws from p": budget.p,
                "Draws from q": budget.q,
                "Seconds a test": cost.trial,
                "Training, s": cost.training,
                "Trials run": progress.done[method.label] / progress.wanted[method.label],
            }
        )
    return pd.DataFrame(rows)


def table(chosen: CompareChoice, progress: Progress) -> None:
    """The budget table: draws in one test, measured seconds where trials have run."""
    column = st.column_config
    st.dataframe(
        _budgets(chosen, progress),
        hide_index=True,
        height="content",
        column_config={
            "Draws from p": column.NumberColumn(format="localized"),
            "Draws from q": column.NumberColumn(format="localized"),
            "Seconds a test": column.NumberColumn(format="%.3f"),
            "Training, s": column.NumberColumn(format="%.1f"),
            "Trials run": column.ProgressColumn(format="percent", min_value=0, max_value=1),
        },
    )
    st.caption(
        "Draws that one test uses up. Methods with their own "
        "network train it on as many extra draws as one test uses, once per gamma. Seconds are a "
        "core's: measured where trials have run, estimated for this machine before."
    )


def run_button(
    chosen: CompareChoice, left: Sequence[TrainTask | Batch], progress: Progress
) -> None:
    """The button that starts the missing trials, with their number and cost."""
    workers = services().engine.slots
    guess = costs.estimate(chosen.sweep, left, workers, progress)
    design = chosen.sweep.design
    st.button(
        f"Run {design.trials} trials a point",
        key="run-compare",
        type="primary",
        icon=":material/play_arrow:",
        on_click=start,
        args=(chosen, left),
    )
    said = "Not all computed yet" if progress.cells else "Not computed yet"
    st.caption(
        f"{said}: {rough_duration_text(guess.seconds)} with {count_text(workers, 'worker')} and "
        f"about {guess.memory / 1e9:.1f} GB of memory. "
        "A first picture from ten trials comes first; what is done is kept."
    )


def start(chosen: CompareChoice, left: Sequence[TrainTask | Batch]) -> None:
    """Submit the missing tasks."""
    jobs.ensure(left, chosen.sweep.label, start=True, again=True)
