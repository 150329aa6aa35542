"""The paper's tables and figures as run here, beside what it printed."""

from collections.abc import Callable, Sequence

import numpy as np
import pandas as pd
import streamlit as st

from pages.components import jobs, live
from pages.components.colt_data import cells, maps
from pages.components.colt_power import UNTRAINED, named
from pages.components.colt_ranks import distances, train_more
from pages.components.colt_theta import picture
from pages.components.services import services
from validation_core import papers, statistics
from validation_core.benchmarks import Spiral
from validation_core.maps import MapTask
from validation_core.papers import Compared, Published
from validation_core.tasks import PowerTask
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
    train_more(tasks, "Figure 5, the ball on the tree", "fig5")


@st.cache_resource(show_spinner=False, max_entries=8)
def _gallery(keys: tuple[str, ...], _tasks: Sequence[MapTask]) -> live.Payload:
    # The panels follow a slider; one with a single value stands still.
    still = live.slider("x", [0], label="")
    return live.payload(sliders=[still], panels=[_leaf(task) for task in _tasks], columns=3)


def _leaf(task: MapTask) -> dict:
    """One tree, at the x that shows the upper one, with its ball."""
    found = maps(task.key, task)
    at = int(np.argmax(found.x_at[:, 0] >= 0))
    one = {name: getattr(found, name)[at : at + 1] for name in
           ("x_at", "centre", "radius", "q", "q_inside", "truth", "truth_inside", "field",
            "difference") if len(getattr(found, name))}  # fmt: skip
    share = float(found.truth_inside[at].mean())
    panel = picture(found._replace(**one))
    cloud = np.concatenate([one["q"][0], one["truth"][0]])
    low, high = np.quantile(cloud, [0.005, 0.995], axis=0) + np.array([[-0.06], [0.06]])
    return {
        **panel, "legend": [], "x": live.axis((low[0], high[0]), "θ₁"),
        "y": live.axis((low[1], high[1]), "θ₂"),
        "title": f"alpha = {task.training.source.gamma:g}: q {float(found.u_star):.0%}, "
        f"truth {share:.0%}",
    }  # fmt: skip


_SECONDS = {"identity": 0.4, "residual": 3.0, "mlp": 3.0, "fourier": 2.0}


def _estimate(tasks: Sequence[PowerTask]) -> str:
    return jobs.seconds(60)


def _spiral() -> None:
    tasks = papers.spiral_maps()
    distances(tasks, None, Spiral().gammas, key="fig4d", label="reverse steps left out")
    train_more(tasks, "Figure 4d, the spiral", "fig4d")


def _table(key: str, compared: list[Compared], words: str) -> None:
    store = services().store
    missing = [one.task for one in compared if not one.task.done(store)]
    st.table(table(compared))
    st.caption(
        f"{words}. Each entry: here, with its 95% Wilson interval over {papers.TRIALS} tables and "
        "one trained network | as published. C2ST learns here from a table of the same size."
    )
    if not missing:
        return
    state = jobs.latest(missing)
    if state is None:
        st.button(
            f"Run the {len(missing)} parts that are missing, about {_estimate(missing)}",
            key=f"run-{key}", icon=":material/play_arrow:",
            on_click=lambda: jobs.ensure(missing, _TABLES[key][0], start=True, again=True),
        )  # fmt: skip
    jobs.panel(state, follow=True)


def table(compared: Sequence[Compared]) -> pd.DataFrame:
    """Methods by places: what was found here, where it has been run, beside the paper's number."""
    rows: dict[str, dict[str, str]] = {}
    for one in compared:
        found = {cell.label: cell for cell in named(cells(one.task.key, one.task), one.task)}
        printed = {each.label: each for each in one.published}
        labels = [UNTRAINED if one.task.beta == 1 and m.reads == "localizer" else m.label
                  for m in one.task.methods]  # fmt: skip
        for label in labels:
            here = "–" if label not in found else _rate(found[label])
            entry = f"{here} | {_printed(printed.get(label))}"
            rows.setdefault(label, {})[one.place] = entry
    frame = pd.DataFrame.from_dict(rows, orient="index")
    frame.index.name = "Test"
    return frame


def _rate(cell: PowerCell) -> str:
    low, high = statistics.wilson(cell.rejections, cell.trials)
    return f"{cell.rate:.3f} [{float(low):.2f}, {float(high):.2f}]"


def _printed(one: Published | None) -> str:
    if one is None:
        return "–"
    if isinstance(one.value, tuple):
        return f"{one.value[0]:g} to {one.value[1]:g}"
    return f"{one.value:g}"
