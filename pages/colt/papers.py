"""The paper's tables and figures as reproduced here, beside the printed numbers."""

from collections.abc import Callable, Sequence
from functools import cache

import pandas as pd
import streamlit as st

from pages.colt.data import cells, maps
from pages.colt.ranks import distances, gamma_of, train_more
from pages.ui import jobs, live
from pages.ui.services import services
from validation_core import PowerCell, Spiral, statistics
from validation_core.panels.colt.power import UNTRAINED, gallery
from validation_core.sweep import colt_paper, costs
from validation_core.sweep.colt_paper import Model, PublishedPlace, PublishedRate
from validation_core.sweep.progress import missing
from validation_core.text import interval_text, rough_duration_text

_TABLES: dict[str, tuple[str, Callable[[], list[PublishedPlace]], str]] = {
    "table3": (
        "Table 3: power where q ignores x",
        colt_paper.blind_prior_tasks,
        "The blind prior at four dimensions of (x, θ)",
    ),
    "table4": (
        "Table 4: rejections where q is p",
        colt_paper.type_one_tasks,
        "Type I error at the level of 5%",
    ),
    "tree": (
        "Section 4.2: power on the tree",
        colt_paper.tree_tasks,
        "Blur of q by alpha; 1000 simulations with 100 draws each",
    ),
}


_DENOISERS: dict[Model, str] = {"diffusion": "trained denoiser", "ideal": "ideal denoiser"}


def tables() -> None:
    """Figures, then tables; each with a button for missing results."""
    st.subheader("Figure 5: the ball on the tree, for growing blur alpha", anchor=False)
    _tree()
    st.subheader("Figure 4d: the spiral, by the reverse steps left out", anchor=False)
    _spiral()
    for key, (title, _, words) in _TABLES.items():
        st.subheader(title, anchor=False)
        _table(key, _places(key), words)


@cache
def _places(key: str) -> Sequence[PublishedPlace]:
    """Of one table; the same at every run, so that keys of thousands of tasks are known."""
    return _TABLES[key][1]()


def _tree() -> None:
    tasks = colt_paper.tree_maps()
    done = [task for task in tasks if task.done(services().store)]
    if done:
        payload = live.once(
            ("gallery", *(task.key for task in done)),
            lambda: gallery([(gamma_of(task), maps(task.key, task)) for task in done]),
        )
        live.chart(payload, key="fig5")
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


def _table(key: str, compared: Sequence[PublishedPlace], words: str) -> None:
    store = services().store
    sweeps = [comparison.sweep for comparison in compared]
    left = [task for sweep in sweeps for task in missing(sweep, store)]
    st.table(table(compared))
    st.caption(
        f"{words}. Share of {colt_paper.TRIALS} tables on which a test rejects q, with its 95% "
        "Wilson interval and one trained network; in parentheses the published share, for "
        "CoLT mlp that of the paper's CoLT Full. C2ST learns from one more table of the same "
        "size."
    )
    if not left:
        return
    state = jobs.latest(left)
    if state is None:
        st.button(
            f"Run what is missing, {rough_duration_text(costs.remaining(sweeps, store))}",
            key=f"run-{key}",
            icon=":material/play_arrow:",
            on_click=jobs.starting(left, _TABLES[key][0]),
        )
    jobs.panel(state, follow=True)


def table(compared: Sequence[PublishedPlace]) -> pd.DataFrame:
    """Methods by places: the result here, where it has run, beside the paper's number."""
    rows: dict[str, dict[str, str]] = {}
    for comparison in compared:
        sweep = comparison.sweep
        measured = {cell.label: cell for cell in cells(sweep)}
        printed = {each.label: each for each in comparison.published}
        untrained = sweep.betas == (1.0,)
        for method in sweep.methods:
            label = UNTRAINED if untrained and method.localizes else method.label
            here = _rate(measured[label]) if label in measured else "–"
            paper = f" ({_printed(printed[label])})" if label in printed else ""
            rows.setdefault(label, {})[comparison.place] = here + paper
    order = sorted(rows, key=lambda label: (label == UNTRAINED, not label.startswith("CoLT")))
    frame = pd.DataFrame.from_dict({label: rows[label] for label in order}, orient="index")
    frame.index.name = "Test"
    return frame


def _rate(cell: PowerCell) -> str:
    low, high = statistics.wilson(cell.rejections, cell.trials)
    return interval_text((cell.rate, float(low), float(high)))


def _printed(published: PublishedRate) -> str:
    if isinstance(published.value, tuple):
        return f"{published.value[0]:g} to {published.value[1]:g}"
    return f"{published.value:g}"
