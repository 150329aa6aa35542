"""Are the truth's ranks among q's draws uniform? And how does their distance grow with gamma?"""

import numpy as np
import streamlit as st
from scipy.stats import kstwo

from pages.components import jobs, live
from pages.components.colt_controls import Chosen
from pages.components.colt_data import maps
from pages.components.services import services
from validation_core import statistics
from validation_core.diagnosis import equals
from validation_core.figures import style
from validation_core.figures.ranks import histogram_band
from validation_core.maps import Maps, MapTask

BINS = 20
_POINTS = np.linspace(0, 1, 101)
COLOR = style.method_style("colt").color


def ranks(chosen: Chosen, found: Maps) -> None:
    """Histogram and ECDF of the ranks, then the distance at every gamma that is trained."""
    drawn = chart(chosen.map().key, found, chosen.alpha)
    live.chart(drawn, key="ranks")
    n = len(found.u_quote)
    st.caption(
        f"A rank is the share of q's draws at the same x that lie nearer to the centre than the "
        f"truth does. {n} simulations that shaped nothing. Were q right, ranks would be flat and "
        "the line would stay inside the grey band, which it leaves anywhere in 5% of samples."
    )
    if len(chosen.benchmark.gammas) > 1:
        _over_gamma(chosen)


@st.cache_resource(show_spinner=False, max_entries=32)
def chart(key: str, _found: Maps, alpha: float) -> live.Payload:
    """Both pictures of the ranks; keyed by the task's key."""
    low, high = float(_found.distance[1]), float(_found.distance[2])
    said = "are not uniform" if _found.pvalue <= alpha else "give no evidence against q"
    headline = (
        f"The truth's ranks {said} at level {alpha:.0%} (KS p {equals(float(_found.pvalue))}): "
        f"they are {float(_found.distance[0]):.3f} [{low:.3f}, {high:.3f}] away."
    )
    return live.payload(
        sliders=[], headline=headline, panels=[_histogram(_found), _difference(_found)]
    )


def _histogram(found: Maps) -> dict:
    n = len(found.u_quote)
    counts, edges = np.histogram(found.u_quote, BINS, (0, 1))
    low, high = histogram_band(n, BINS)
    return live.panel(
        [
            live.band([0, 1], [low, low], [high, high]),
            live.bars(edges, counts, color=COLOR),
            live.hline(n / BINS, label="if q = p"),
            _place(found),
        ],
        title="Ranks of the truth among q's draws",
        x=live.axis((0, 1), "rank U: low where the truth lies near the centre"),
        y=live.axis((0, 1.12 * max(counts.max(), high)), "simulations"),
    )


def _difference(found: Maps) -> dict:
    difference = statistics.ecdf_difference(found.u_quote, _POINTS)
    low, high = statistics.ecdf_band(len(found.u_quote), 0.95, _POINTS)
    reach = 1.15 * max(np.abs(difference).max(), high.max(), -low.min())
    u, inside = float(found.u_star), float(found.inside)
    return live.panel(
        [
            live.band(_POINTS, low, high),
            live.hline(0),
            _place(found),
            live.line(_POINTS, difference, color=COLOR),
            live.points([u], [inside - u], low=[float(found.inside_low) - u],
                        high=[float(found.inside_high) - u], color=COLOR, size=8),
        ],
        title="The truth's mass less q's, ball by ball",
        x=live.axis((0, 1), "q's mass in the ball, u"),
        y=live.axis((-reach, reach), "p's mass in it, less u"),
    )  # fmt: skip


def _place(found: Maps) -> dict:
    at = float(found.u_star)
    return live.vline(at, color=COLOR, dash="4 3", width=1.2, label="the ball, u*")


def _over_gamma(chosen: Chosen) -> None:
    """Distances at every gamma whose map is there, and a button for the others."""
    st.subheader("Distance against gamma", anchor=False)
    tasks = chosen.maps()
    distances(tasks, chosen.gamma, chosen.benchmark.gammas, key="distances")
    train_more(tasks, f"Train the other gammas, {chosen.benchmark.label}", "more")


def distances(
    tasks: list[MapTask], gamma: float | None, gammas: tuple[float, ...], *, key: str,
    label: str = "strength gamma",
) -> None:  # fmt: skip
    """The distance of the ranks from uniform at every gamma of which the store holds the map."""
    store = services().store
    done = [task for task in tasks if task.done(store)]
    if not done:
        return
    at = np.array([task.training.source.gamma for task in done])
    order = np.argsort(at)
    found = np.stack([maps(task.key, task).distance for task in done])[order]  # (gammas, 3)
    at = at[order]
    n = len(maps(done[0].key, done[0]).u_quote)
    room = 0.03 * (max(gammas) - min(gammas)) or 0.5
    chance = float(kstwo.isf(0.05, n))
    marks = [live.band([min(gammas) - room, max(gammas) + room], [0, 0], [chance, chance])]
    if gamma is not None:
        marks.append(live.vline(gamma, width=1))
    marks += [
        live.line(at, found[:, 0], color=COLOR),
        live.points(at, found[:, 0], low=found[:, 1], high=found[:, 2], color=COLOR, size=7),
    ]
    panel = live.panel(
        marks, height=260,
        x=live.axis((min(gammas) - room, max(gammas) + room), label, ticks=gammas,
                    shown=[f"{value:g}" for value in gammas]),
        y=live.axis((0, 1.08 * max(found[:, 2].max(), chance)), "KS distance of the ranks"),
        caption=f"{len(done)} of {len(gammas)} values are trained, a localizer for each, judged "
        f"on {n} fresh simulations, with 95% intervals. Were q right, points would lie in the "
        "grey band in 19 of 20 samples.",
    )  # fmt: skip
    live.chart(live.payload(sliders=[], panels=[panel], columns=1), key=key)


def train_more(tasks: list[MapTask], label: str, key: str) -> None:
    """A button for the maps that are missing, and how far they are."""
    missing = [task for task in tasks if not task.done(services().store)]
    if not missing:
        return
    state = jobs.latest(missing)
    if state is None:
        st.button(
            f"Train the other {len(missing)}" if len(missing) < len(tasks) else "Train them",
            key=f"train-{key}", icon=":material/model_training:",
            on_click=lambda: jobs.ensure(missing, label, start=True, again=True),
        )  # fmt: skip
    jobs.panel(state, follow=True)
