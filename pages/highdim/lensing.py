"""Gravitational lensing: galaxies and maps over gamma, and Table 2 as reproduced here."""

import streamlit as st

from pages.highdim.waiting import ready
from pages.papers.numbers import show_sheet
from pages.ui import address, forms, jobs, live
from pages.ui.once import same
from pages.ui.services import services, stored
from pages.ui.trials import trials_read
from validation_core.benchmarks.lens import Lens
from validation_core.benchmarks.lensing import Lensing
from validation_core.drawing.live import Payload
from validation_core.engine import JobState
from validation_core.explorers.highdim.lensing import pictures
from validation_core.explorers.highdim.lensing import table as lensing_table
from validation_core.explorers.highdim.lensing.study import LensingStudy
from validation_core.explorers.highdim.lensing.table import sweeps
from validation_core.explorers.papers.beside import LENSING_TABLES
from validation_core.sweep import costs
from validation_core.sweep.plan import Sweep
from validation_core.sweep.presets import NETWORKS
from validation_core.sweep.progress import Progress, collect, missing
from validation_core.text import rough_duration_text

_TABLE = "Run Table 2"
_LENSES: dict[Lens, str] = {"isothermal": "Isothermal", "affine": "Affine"}


def show() -> None:
    """The whole view."""
    address.owned("gamma", "lensing")
    pictures = st.container()
    lens_column, networks_column = st.columns(2)
    with lens_column:
        lens = forms.segmented(
            "Lens",
            _LENSES,
            "lens",
            help="Isothermal: a galaxy's mass bends light as nature does. Affine: a warp "
            "like the paper's, which prints no numbers of it.",
        )
    with networks_column:
        networks = forms.networks(
            "Networks", "lensing-networks", NETWORKS, trained="at each gamma"
        )
    study = LensingStudy(benchmark=Lensing(lens=lens))
    with pictures:
        gamma = _pictures(study)
    _power(study.benchmark, networks, gamma)


def _pictures(study: LensingStudy) -> float | None:
    """Draw images and maps; returns their gamma."""
    if not ready(study, study.trainings):
        return None
    payload = live.once(("lensing", study.key), lambda: pictures.payload(stored(study)))
    gamma, _ = live.chart(payload, key="lensing", url=("gamma", "galaxy"), save_as="Lensing")
    st.caption(
        "A network reconstructs a galaxy behind a gravitational lens: 256 pixels of source from "
        "256 of image. The true posterior is known. q's diffusion mixes in the score of a lens at "
        f"a wrong angle. {lensing_table.how_to_read(study)}"
    )
    return gamma


def _power(benchmark: Lensing, networks: int, gamma: float | None) -> None:
    """Rejection rates of all tests, with the numbers."""
    st.subheader("Which tests see it?", anchor=False)
    halves = tuple(same(sweep) for sweep in sweeps(benchmark, networks))
    progress = [collect(sweep, services().store, trials_read(), beside=halves) for sweep in halves]
    if any(each.cells for each in progress):
        st.markdown(lensing_table.answer(halves, progress))
        live.chart(
            _rates(halves, progress, gamma), key="lensing-rates", save_as="Power on lensing"
        )
        if benchmark.lens == "isothermal":  # of which the tables are counted
            with st.expander("The numbers, beside the paper's"):
                for printed in LENSING_TABLES:
                    show_sheet(printed.sheet(services().store, trials_read()))
    _missing(halves)


def _rates(halves: tuple[Sweep, ...], progress: list[Progress], gamma: float | None) -> Payload:
    counts = tuple(tuple(each.done.items()) for each in progress)
    key = ("lensing rates", tuple(sweep.key for sweep in halves), counts, gamma)
    return live.once(key, lambda: lensing_table.rates(halves, progress, gamma))


def _missing(halves: tuple[Sweep, ...]) -> None:
    """The missing trials, with a button to run them."""
    tasks = (task for sweep in halves for task in missing(sweep, services().store, beside=halves))
    left = list(dict.fromkeys(tasks))  # both halves want some of them
    if not left:
        return
    state: JobState | None = jobs.latest(left)
    if state is not None and state.active:
        jobs.panel(state, follow=True)
    else:
        st.button(
            f"{_TABLE}, {rough_duration_text(costs.remaining(halves, services().store))}",
            icon=":material/play_arrow:",
            on_click=jobs.starting(left, _TABLE),
        )
