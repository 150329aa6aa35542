"""Uniformity of the truth's ranks among q's draws, and their distance over gamma."""

from collections.abc import Mapping, Sequence

import streamlit as st

from pages.colt.controls import ColtChoice, owner, slider
from pages.colt.data import Located, maps
from pages.ui import jobs, live
from pages.ui.services import services
from validation_core.localization import MapTask
from validation_core.panels.colt import power
from validation_core.scores.trained_scores import Simulated
from validation_core.sweep import costs
from validation_core.text import rough_duration_text


def ranks(chosen: ColtChoice, located: Located) -> None:
    """Histogram and ECDF of the ranks under gamma, and their distance along it."""
    several = len(located.gammas) > 1
    payload = live.once(
        ("ranks", located.key, chosen.alpha),
        lambda: power.ranks(
            located.maps,
            chosen.alpha,
            located.gammas,
            chosen.start_among(located.gammas),
            [chosen.benchmark.is_exact(gamma) for gamma in located.gammas],
        ),
    )
    key = f"ranks-{owner(chosen.benchmark)}-{several}"
    live.chart(payload, key=key, url=slider(located.gammas), save_as="Ranks in the ball")
    n = len(located.maps[0].u_quote)
    st.caption(
        "A rank is the share of q's draws at the same x that lie nearer to the centre than "
        f"the true value. {n} simulations, used for nothing else. If q were correct: level "
        "bars, and the line inside the grey band in 95 of 100 samples."
    )


def distances(
    series: Mapping[str, Sequence[MapTask]], gammas: Sequence[float], *, key: str, label: str
) -> None:
    """Distance of the ranks from uniform at every gamma with a stored map."""
    done = {
        name: [(gamma_of(task), maps(task.key, task)) for task in tasks if _done(task)]
        for name, tasks in series.items()
    }
    curves = {name: power.distance_curve(pairs) for name, pairs in done.items() if pairs}
    if curves:
        points = sum(map(len, series.values()))
        live.chart(
            power.distances(curves, gammas, points=points, label=label), key=key, save_as=label
        )


def gamma_of(task: MapTask) -> float:
    """The gamma of a map of a benchmark."""
    source = task.training.source
    assert isinstance(source, Simulated)
    return source.gamma


def _done(task: MapTask) -> bool:
    return task.done(services().store)


def train_more(tasks: Sequence[MapTask], label: str, key: str, what: str = "gamma") -> None:
    """A button for missing maps, and their progress."""
    missing = [task for task in tasks if not _done(task)]
    if not missing:
        return
    state = jobs.latest(missing)
    if state is None:
        which = f"the other {len(missing)}" if len(missing) < len(tasks) else f"all {len(missing)}"
        st.button(
            f"Train {which}: {what}, {rough_duration_text(costs.maps(missing))}",
            key=f"train-{key}",
            icon=":material/model_training:",
            on_click=jobs.starting(missing, label),
        )
    jobs.panel(state, follow=True)
