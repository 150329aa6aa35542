"""If q had no density: the divergence as a classifier sees it, beside the exact one."""

import streamlit as st

from pages.ui import jobs, live
from pages.ui.services import services
from validation_core.symmetric_divergence import InferenceRun, meaning
from validation_core.symmetric_divergence.learned import (
    DRAWS,
    TESTED,
    ClassifierDivergence,
    DivergenceComparison,
)
from validation_core.symmetric_divergence.nats_text import format_number, with_unit


def show(run: InferenceRun) -> None:
    """A button, then both divergences and their terms."""
    st.subheader("If q had no density", anchor=False)
    st.markdown(
        "Many estimators give draws and no density. A classifier that learns to tell true "
        "values from q's draws estimates log p − log q by its logit. Its divergence is an "
        "**estimate**, usually below the true one, since it misses what the classifier misses; a "
        "badly calibrated classifier can also exceed it."
    )
    task = ClassifierDivergence(of=run)
    if reason := task.obstacle:
        st.info(jobs.plain(reason), icon=":material/info:")
        return
    comparison = task.load(services().store) if task.done(services().store) else None
    if comparison is not None:
        _figures(task.key, comparison)
        return
    jobs.offer(
        task,
        "Estimate it by a classifier",
        key="run-learned",
        icon=":material/model_training:",
        about=f"Trains on {task.rows:,} simulations with {DRAWS} draws of q each, and tests on "
        f"{TESTED:,} new ones. The estimate appears here, next to the exact value.",
    )


def _figures(key: str, comparison: DivergenceComparison) -> None:
    st.markdown(
        f"The classifier's **estimate** is {meaning.in_words(comparison.estimate)}; the exact "
        f"densities give {meaning.in_words(comparison.exact)}. Its AUC is "
        f"{comparison.auc.estimate:.3f}; the log ratio itself, the best score that there is, has "
        f"{comparison.auc_exact.estimate:.3f}."
    )
    if comparison.estimate.high < comparison.exact.low / 2:
        st.markdown(
            "The classifier overlooks most of it: from draws alone, an estimate near 0 is no "
            "evidence that q is correct."
        )
    if comparison.exact.heavy:
        st.markdown(
            "The exact terms have a heavy tail: a few dominate the mean, and its interval is "
            f"too narrow. Their median is {format_number(comparison.exact.median)}, their largest "
            f"{with_unit(comparison.exact.largest)}."
        )
    live.chart(
        live.once(("learned", key), lambda: meaning.learned_payload(comparison)),
        key="learned",
        save_as="Learned divergence",
    )
    st.caption(
        "Intervals are 95%. Term by term, each point is one simulation: on the dotted line "
        "the classifier agrees with the densities, and below it, for large terms, lies what "
        "the classifier misses. If q were correct, both means would be 0 within their "
        "intervals, and the points would lie about the middle."
    )
