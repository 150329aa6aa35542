"""The terms d_k of one divergence, and the null of their mean under random signs."""

import streamlit as st

from pages.ui import address, live
from validation_core.symmetric_divergence import (
    InferenceRun,
    RunResult,
    importance_sample_size,
    one_run,
)
from validation_core.symmetric_divergence.terms import FLIPS, TermSpread, spread


@address.fragment
def show(run: InferenceRun, result: RunResult | None) -> None:
    """Histogram of d, and its null, under a slider over M."""
    st.subheader("The terms behind the mean", anchor=False)
    st.markdown(
        "Each simulated data set gives one term d, how far the log weight log p − log q of "
        "the true parameters is above that of q's draw; the symmetric divergence is their "
        "mean. With M > 1, q's draws are first weighed by p / q (importance sampling), M to a "
        "side."
    )
    if result is None:
        st.caption("The terms appear here once this run is done.")
        return
    terms = _spread(run.key, result, run.seed)
    _left_out(result, terms)
    if terms is None:
        return
    live.chart(
        live.once(("terms", run.key), lambda: one_run.terms_payload(terms)),
        key="terms",
        default=(float(importance_sample_size(run.inference)),),
        url=("weighed",),
    )
    st.caption(
        f"The {len(terms.places)} terms are on an axis that is linear near 0 and logarithmic "
        f"beyond, so that none is cut off. Their mean is shown again among {FLIPS:,} means of "
        "the same terms with random signs, in sds of these. If q were correct, every term "
        "would be 0. The test asks less: whether terms fall as often below 0 as above, as they "
        "would if z and z~ could swap places. Then the red line among these means would be a draw "
        "of the grey histogram."
    )


def _left_out(result: RunResult, terms: TermSpread | None) -> None:
    """A sentence on data sets without a term."""
    k = len(result.ok)
    without = int((~result.ok).sum())
    if terms is None:
        lost = f": inference gave no q on {without} of {k}" if without else ""
        st.info(f"Fewer than two data sets have a finite term{lost}. There is no mean to draw.")
        return
    if without:
        st.warning(
            f"Inference gave no q on {without} of {k} data sets, and these are left out. What "
            "remains may be the easier ones: its mean is no estimate of the divergence over all "
            "data sets, though the test keeps its level.",
            icon=":material/warning:",
        )
    if terms.infinite:
        st.warning(
            f"A log density is not finite on {terms.infinite} further data sets, which are left "
            "out: the divergence over all of them has no finite estimate.",
            icon=":material/warning:",
        )


@st.cache_resource(show_spinner=False, max_entries=64)
def _spread(key: str, _found: RunResult, seed: int) -> TermSpread | None:
    return spread(_found, seed)
