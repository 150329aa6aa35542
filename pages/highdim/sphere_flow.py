"""Sphere flow: a difference that no picture of 100 dimensions shows, and that every test finds."""

import streamlit as st

from pages.highdim.waiting import ready
from pages.ui import jobs, live
from pages.ui.forms import form
from pages.ui.services import services, stored
from validation_core.benchmarks import SphereFlow
from validation_core.explorers.highdim.sphere_flow import pictures
from validation_core.explorers.highdim.sphere_flow.study import SphereStudy, other_tests
from validation_core.sweep import costs
from validation_core.sweep.plan import Sweep
from validation_core.sweep.progress import collect, missing_of_all
from validation_core.text import rough_duration_text

_OTHERS = "Run Figure 5's other tests"


def show() -> None:
    """The sphere, the direction that q moves, and the power of tests: of three against its law."""
    pictures = st.container()
    with st.container(horizontal=True, width="content"):
        benchmark = form(SphereFlow, "sphere")
    with pictures:
        _show(SphereStudy(benchmark=benchmark))


def _show(study: SphereStudy) -> None:
    if not ready(study):
        return
    sweep = other_tests()
    others = collect(sweep, services().store).cells if sweep.benchmark == study.benchmark else ()
    payload = live.once(
        ("sphere flow", study.key, *((c.label, c.gamma, c.trials, c.rejections) for c in others)),
        lambda: pictures.payload(study, stored(study.key, study), others),
    )
    live.chart(payload, key="sphere-live", url=("gamma", "beta"), save_as="Sphere flow")
    st.caption(
        "p is a normalizing flow, q the same flow with the mean of its base moved by gamma "
        "along one direction of 100. Their log ratio is known, so the exact power is known. "
        "In the paper (Appendix C) the noise, the shift's direction and the seed are not "
        "given: the curves are ours, the law is the paper's."
    )
    if sweep.benchmark == study.benchmark:
        _offer_others(sweep)


def _offer_others(sweep: Sweep) -> None:
    """A button that runs the tests which read no given score, and their progress."""
    store = services().store
    left = missing_of_all((sweep,), store)
    if not left:
        return
    state = jobs.latest(left)
    if state is None:
        st.button(
            f"{_OTHERS}: {rough_duration_text(costs.remaining((sweep,), store))}",
            icon=":material/play_arrow:",
            on_click=jobs.starting(left, _OTHERS),
        )
    jobs.panel(state, follow=True)
