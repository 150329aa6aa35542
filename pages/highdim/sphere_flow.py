"""Sphere flow: a difference that no picture of 100 dimensions shows, and that every test finds."""

import streamlit as st

from pages.highdim.waiting import ready
from pages.ui import address, live
from pages.ui.forms import form
from pages.ui.once import same
from pages.ui.services import services, stored
from pages.ui.trials import offer_missing, trials_read
from validation_core.benchmarks import SphereFlow
from validation_core.explorers.highdim.sphere_flow import pictures
from validation_core.explorers.highdim.sphere_flow.study import SphereStudy, other_tests
from validation_core.sweep.progress import collect

_URL = "gamma", "beta"


def show() -> None:
    """The sphere, the direction that q moves, and the power of tests: of three against its law."""
    for name in _URL:
        address.owned(name, "sphere")
    pictures = st.container()
    with st.container(horizontal=True, width="content"):
        benchmark = form(SphereFlow, "sphere")
    with pictures:
        _show(SphereStudy(benchmark=benchmark))


def _show(study: SphereStudy) -> None:
    if not ready(study):
        return
    sweep = same(other_tests())
    theirs = sweep.benchmark == study.benchmark
    others = collect(sweep, services().store, trials_read()).cells if theirs else ()
    payload = live.once(
        ("sphere flow", study.key, *((c.label, c.gamma, c.trials, c.rejections) for c in others)),
        lambda: pictures.payload(study, stored(study), others),
    )
    live.chart(payload, key="sphere-live", url=_URL, save_as="Sphere flow")
    st.caption(
        "p is a normalizing flow, q the same flow with the mean of its base moved by gamma "
        "along one direction of 100. Their log ratio is known, so the exact power is known. "
        "In the paper (Appendix C) the noise, the shift's direction and the seed are not "
        "given: the curves are ours, the law is the paper's."
    )
    if theirs:
        offer_missing("Figure 5's other tests", (sweep,), "Figure 5, other tests")
