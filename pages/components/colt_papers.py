"""The paper's tables and figures as run here, beside what it printed."""

from collections.abc import Callable, Sequence

import numpy as np
import pandas as pd
import streamlit as st

from pages.components import colt_costs as costs
from pages.components import jobs, live
from pages.components.colt_data import cells, maps
from pages.components.colt_power import UNTRAINED, named
from pages.components.colt_ranks import distances, train_more
from pages.components.colt_theta import Sight, picture
from pages.components.services import services
from validation_core import papers, statistics
from validation_core.benchmarks import Spiral
from validation_core.maps import MapTask
from validation_core.papers import Compared, Model, Published
from validation_core.types import PowerCell

_TABLES: dict[str, tuple[str, Callable[[], list[Compared]], str]] = {
    "table3": (
        "Table 3: power where q ignores x", papers.blind_prior_tasks,
        "The blind prior at four dimensions of (x, θ)",
    ),
    "table4": (
        "Table 4: rejections where q is p", papers.type_one_tasks,
        "Type I error at the level of 5%",
    ),
    "tree": (
        "Section 4.2: power on the tree", papers.tree_tasks,
        "Blur of q by alpha; 1000 simulations with 100 draws each",
    ),
}  # fmt: skip


_DENOISERS: dict[Model, str] = {"diffusion": "trained denoiser", "ideal": "ideal denoiser"}


def tables() -> None:
    """Figures first, then the tables; each with a button for what is missing."""
    st.subheader("Figure 5: the ball on the tree, for growing blur alpha", anchor=False)
    _tree()
    st.subheader("Figure 4d: the spiral, by the reverse steps left out", anchor=False)
    _spiral()
    for key, (title, tasks, words) in _TABLES.items():
        st.subheader(title, anchor=False)
        _table(key, tasks(), words)


def _tree() -> None:
    tasks = papers.tree_maps()
    done = [task for task in tasks if task.done(services().store)]
    if done:
        live.chart(_gallery(tuple(task.key for task in done), done), key="fig5")
        st.caption(
            "q blurs the tree by 1 + alpha times as much as p. Orange: q's draws, filled in the "
            "ball of the mass named above each; blue: the truth's. Were q right, the truth's "
            "share would be q's."
        )
    train_more(tasks, "Figure 5, the ball on the tree", "fig5", "every alpha")


@st.cache_resource(show_spinner=False, max_entries=8)
def _gallery(keys: tuple[str, ...], _tasks: Sequence[MapTask]) -> live.Payload:
    return live.payload(sliders=[], panels=[_leaf(task) for task in _tasks], columns=2)


def _leaf(task: MapTask) -> dict:
    """One tree, at an x that shows the upper one, with its ball."""
    found = maps(task.key, task)
    at = int(np.argmax(found.x_at[:, 0] >= 0))
    panel = picture(found, Sight())
    cloud = np.concatenate([found.q[at], found.truth[at]])
    low, high = np.quantile(cloud, [0.005, 0.995], axis=0) + np.array([[-0.06], [0.06]])
    share = float(found.truth_inside[at].mean())
    return {
        **panel, "marks": [_still(mark, at) for mark in panel["marks"]], "legend": [],
        "x": live.axis((low[0], high[0]), "θ₁"), "y": live.axis((low[1], high[1]), "θ₂"),
        "title": f"alpha = {task.training.source.gamma:g}: q {float(found.u_star):.0%}, "
        f"truth {share:.0%}",
    }  # fmt: skip


def _still(mark: dict, at: int) -> dict:
    """A mark where the slider stood at one of its values."""
    chosen = {n: v.values[at] if isinstance(v, live.Over) else v for n, v in mark.items()}
    return {**chosen, "label": ""}


def _spiral() -> None:
    series = {title: papers.spiral_maps(model) for model, title in _DENOISERS.items()}
    distances(series, Spiral().gammas, key="fig4d", label="reverse steps left out")
    for model, tasks in zip(_DENOISERS, series.values(), strict=True):
        train_more(tasks, f"Figure 4d, {_DENOISERS[model]}", f"fig4d-{model}",
                   f"every step, {_DENOISERS[model]}")  # fmt: skip


def _table(key: str, compared: list[Compared], words: str) -> None:
    store = services().store
    missing = [one.task for one in compared if not one.task.done(store)]
    st.table(table(compared))
    st.caption(
        f"{words}. Share of {papers.TRIALS} tables on which a test rejects q, with its 95% Wilson "
        "interval and one trained network; in parentheses as published, where CoLT mlp stands "
        "beside the paper's CoLT Full. C2ST learns from one more table of the same size."
    )
    if not missing:
        return
    state = jobs.latest(missing)
    if state is None:
        st.button(
            f"Run what is missing, {costs.about(costs.power(missing))}",
            key=f"run-{key}", icon=":material/play_arrow:",
            on_click=lambda: jobs.ensure(missing, _TABLES[key][0], start=True, again=True),
        )  # fmt: skip
    jobs.panel(state, follow=True)


def table(compared: Sequence[Compared]) -> pd.DataFrame:
    """Methods by places: what was found here, where it has been run, beside the paper's number."""
    rows: dict[str, dict[str, str]] = {}
    for one in compared:
        run = cells(one.task.key, one.task) if one.task.done(services().store) else []
        found = {cell.label: cell for cell in named(run, one.task)}
        printed = {each.label: each for each in one.published}
        untrained = one.task.beta == 1
        for method in one.task.methods:
            label = UNTRAINED if untrained and method.reads == "localizer" else method.label
            here = _rate(found[label]) if label in found else "–"
            paper = f" ({_printed(printed[label])})" if label in printed else ""
            rows.setdefault(label, {})[one.place] = here + paper
    order = sorted(rows, key=lambda label: (label == UNTRAINED, not label.startswith("CoLT")))
    frame = pd.DataFrame.from_dict({label: rows[label] for label in order}, orient="index")
    frame.index.name = "Test"
    return frame


def _rate(cell: PowerCell) -> str:
    low, high = statistics.wilson(cell.rejections, cell.trials)
    return f"{cell.rate:.2f} [{float(low):.2f}, {float(high):.2f}]"


def _printed(one: Published) -> str:
    if isinstance(one.value, tuple):
        return f"{one.value[0]:g} to {one.value[1]:g}"
    return f"{one.value:g}"
