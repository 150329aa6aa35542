"""The paper's tables and figures as reproduced here, beside the printed numbers."""

import streamlit as st

from pages.colt.data import maps
from pages.colt.ranks import distances, gamma_of, train_more
from pages.papers.numbers import show_sheet
from pages.ui import forms, jobs, live
from pages.ui.services import services
from pages.ui.trials import trials_read
from validation_core import Spiral
from validation_core.explorers.papers.beside import CountedTable, colt_tables
from validation_core.panels.colt.power import gallery
from validation_core.sweep import colt_paper, costs
from validation_core.sweep.colt_paper import Model
from validation_core.sweep.progress import missing
from validation_core.text import rough_duration_text
from validation_core.types import Preset

_DENOISERS: dict[Model, str] = {"diffusion": "trained denoiser", "ideal": "ideal denoiser"}


_PRESETS: dict[Preset, str] = {"interactive": "Interactive", "paper": "Paper"}


def tables() -> None:
    """Tables, then figures; each with a button for missing results."""
    preset = forms.segmented(
        "Training of the localizers",
        _PRESETS,
        "tables",
        help="Interactive: seconds each. Paper: steps and rate of its Table 2, minutes each.",
    )
    for table in colt_tables(preset):
        _table(table)
    st.subheader("Figure 5: the ball on the tree, for growing blur alpha", anchor=False)
    _tree()
    st.subheader("Figure 4d: the spiral, by the reverse steps left out", anchor=False)
    _spiral()


def _tree() -> None:
    tasks = colt_paper.tree_maps()
    done = [task for task in tasks if task.done(services().store)]
    if done:
        payload = live.once(
            ("gallery", *(task.key for task in done)),
            lambda: gallery([(gamma_of(task), maps(task.key, task)) for task in done]),
        )
        live.chart(payload, key="fig5", save_as="The ball on the tree")
        st.caption(
            "q blurs the tree by 1 + alpha times as much as p. Orange: q's draws, filled "
            "inside the ball of the mass named above each picture; blue: p's. If q were "
            "correct, each ball would hold as large a share of p's draws as of q's."
        )
    train_more(tasks, "Figure 5, the ball on the tree", "fig5", "every alpha")


def _spiral() -> None:
    series = {title: colt_paper.spiral_maps(model) for model, title in _DENOISERS.items()}
    distances(series, Spiral().gammas, key="fig4d", label="reverse steps left out")
    for model, tasks in zip(_DENOISERS, series.values(), strict=True):
        train_more(
            tasks,
            f"Figure 4d, {_DENOISERS[model]}",
            f"fig4d-{model}",
            f"every step, {_DENOISERS[model]}",
        )


def _table(table: CountedTable) -> None:
    """The printed numbers beside ours, and a button for those that have not run."""
    store = services().store
    show_sheet(table.sheet(store, trials_read()))
    left = [task for sweep in table.sweeps() for task in missing(sweep, store)]
    if not left:
        return
    state = jobs.latest(left)
    if state is None:
        st.button(
            f"Run what is missing, {rough_duration_text(costs.remaining(table.sweeps(), store))}",
            key=f"run-{table.table.where}",
            icon=":material/play_arrow:",
            on_click=jobs.starting(left, f"{table.table.where}: {table.table.title}"),
        )
    jobs.panel(state, follow=True)
