"""Digits: a trained generator as q, its steps left out one by one."""

import streamlit as st

from pages.highdim.waiting import ready
from pages.ui import address, live
from pages.ui.forms import segmented
from pages.ui.services import services, stored
from validation_core.benchmarks.digits import Truth
from validation_core.explorers.highdim.digits import pictures
from validation_core.explorers.highdim.digits.study import DigitsStudy, sweeps
from validation_core.sweep.progress import collect

TRUTHS: dict[Truth, str] = {
    "handwritten": "handwritten digits",
    "generated": "the generator with all steps",
}
_URL = "gamma", "beta"


def show() -> None:
    """Draws of p and q, those with extreme scores, a map of the score, and power."""
    for name in _URL:
        address.owned(name, "digits")
    pictures = st.container()
    truth = segmented("p draws", TRUTHS, "truth")
    with pictures:
        _show(DigitsStudy.of(truth))


def _show(study: DigitsStudy) -> None:
    if not ready(study, study.trainings):
        return
    payload = live.once(("digits", study.key), lambda: pictures.payload(study, stored(study)))
    live.chart(payload, key="digits-live", url=_URL, save_as="Digits")
    st.caption(
        "5,000 digits of MNIST, 14 × 14; q is a diffusion trained on them with their labels. The "
        "paper asks the same of generators of CIFAR-10. The classifier is a small head on a "
        "filter bank, which has seen no other image."
    )
    _further()


def _further() -> None:
    """Two tests that train their own scores."""
    cells = [cell for sweep in sweeps() for cell in collect(sweep, services().store).cells]
    if not cells:
        return
    with st.expander("CoLT and discriminative calibration", type="compact"):
        st.table(pictures.rejection_rows(cells))
        design = sweeps()[0].design
        st.caption(
            f"p draws with all steps. {design.trials} trials, each a table of {design.n:,} "
            f"labels with {design.k} draws of q; both learn from as many."
        )
