"""Are the truth's ranks among q's draws uniform? And how does their distance grow with gamma?"""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
import streamlit as st
from scipy.stats import kstwo

from pages.components import colt_costs as costs
from pages.components import jobs, live
from pages.components.colt_controls import Chosen
from pages.components.colt_data import maps
from pages.components.services import services
from validation_core import statistics
from validation_core.diagnosis import equals
from validation_core.figures import style
from validation_core.figures.ranks import histogram_band
from validation_core.maps import Maps, MapTask
from validation_core.types import Array

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
    at, low, high = (float(value) for value in _found.distance)
    p = equals(float(_found.pvalue))
    said = "are not uniform" if _found.pvalue <= alpha else "give no evidence against q"
    headline = (
        f"The truth's ranks {said} at level {alpha:.0%} (KS p {p}): their distance from uniform "
        f"is {at:.3f} [{low:.3f}, {high:.3f}]."
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
            live.vline(u, color=COLOR, dash="4 3", width=1.2),
            live.line(_POINTS, difference, color=COLOR),
            live.points([u], [inside - u], low=[float(found.inside_low) - u],
                        high=[float(found.inside_high) - u], color=COLOR, size=8),
            live.note(u + 0.015, -0.9 * reach, f"the ball, u = {u:.2f}", color=COLOR)
            if u < 0.7 else
            live.note(u - 0.015, -0.9 * reach, f"the ball, u = {u:.2f}", color=COLOR,
                      anchor="end"),
        ],
        title="The truth's mass less q's, ball by ball",
        x=live.axis((0, 1), "q's mass in the ball, u"),
        y=live.axis((-reach, reach), "p's mass in it, less u"),
    )  # fmt: skip


def _over_gamma(chosen: Chosen) -> None:
    """Distances at every gamma whose map is there, and a button for the others."""
    st.subheader("Distance against gamma", anchor=False)
    tasks = chosen.maps()
    distances({"": tasks}, chosen.benchmark.gammas, key="distances", now=chosen.gamma)
    train_more(tasks, f"Train the other gammas, {chosen.benchmark.label}", "more", "every gamma")


_LOOKS = ((COLOR, "", "circle"), (style.OBSERVED, "7 5", "square"))


def distances(
    series: Mapping[str, Sequence[MapTask]], gammas: Sequence[float], *, key: str,
    label: str = "strength gamma", now: float | None = None,
) -> None:  # fmt: skip
    """The distance of the ranks from uniform at every gamma of which the store holds the map."""
    drawn = {name: measured(tasks) for name, tasks in series.items()}
    drawn = {name: found for name, found in drawn.items() if found is not None}
    if not drawn:
        return
    n = max(found.n for found in drawn.values())
    room = 0.03 * (max(gammas) - min(gammas)) or 0.5
    chance = float(kstwo.isf(0.05, n))
    marks = [live.band([min(gammas) - room, max(gammas) + room], [0, 0], [chance, chance])]
    if now is not None:
        marks.append(live.vline(now, width=1))
    for (name, found), (color, dash, symbol) in zip(drawn.items(), _LOOKS, strict=False):
        marks += [
            live.line(found.gamma, found.distance, color=color, dash=dash, label=name),
            live.points(found.gamma, found.distance, low=found.low, high=found.high, color=color,
                        size=7, symbol=symbol),
        ]  # fmt: skip
    top = max(float(found.high.max()) for found in drawn.values())
    count = sum(len(found.gamma) for found in drawn.values())
    panel = live.panel(
        marks, height=260, margin=128 if any(drawn) else 0,
        x=live.axis((min(gammas) - room, max(gammas) + room), label, ticks=gammas,
                    shown=[f"{value:g}" for value in gammas]),
        y=live.axis((0, 1.08 * max(top, chance)), "KS distance of the ranks"),
        caption=f"{count} of {sum(map(len, series.values()))} points are trained, a localizer for "
        f"each, judged on {n} fresh simulations, with 95% intervals. Were q right, points would "
        "lie in the grey band in 19 of 20 samples.",
    )  # fmt: skip
    live.chart(live.payload(sliders=[], panels=[panel], columns=1), key=key)


class Measured(NamedTuple):
    """Distances with their 95% intervals along gamma: (G,) each."""

    gamma: Array
    distance: Array
    low: Array
    high: Array
    n: int
    """Fresh simulations behind each."""


def measured(tasks: Sequence[MapTask]) -> Measured | None:
    """What the store holds of these tasks, or None."""
    done = sorted(
        (task for task in tasks if task.done(services().store)),
        key=lambda task: task.training.source.gamma,
    )
    if not done:
        return None
    found = [maps(task.key, task) for task in done]
    at = np.array([task.training.source.gamma for task in done])
    return Measured(at, *np.stack([one.distance for one in found]).T, n=len(found[0].u_quote))


def train_more(tasks: Sequence[MapTask], label: str, key: str, what: str = "gamma") -> None:
    """A button for the maps that are missing, and how far they are."""
    missing = [task for task in tasks if not task.done(services().store)]
    if not missing:
        return
    state = jobs.latest(missing)
    if state is None:
        which = f"the other {len(missing)}" if len(missing) < len(tasks) else f"all {len(missing)}"
        st.button(
            f"Train {which}: {what}, {costs.about(costs.maps(missing))}",
            key=f"train-{key}", icon=":material/model_training:",
            on_click=lambda: jobs.ensure(missing, label, start=True, again=True),
        )  # fmt: skip
    jobs.panel(state, follow=True)
