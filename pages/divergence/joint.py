"""Geweke's joint test of the picked inference."""

import streamlit as st

from pages.ui import address, jobs, live
from pages.ui.services import services
from validation_core.bayes.inference import ExactPosterior
from validation_core.symmetric_divergence import InferenceRun
from validation_core.symmetric_divergence.geweke import (
    CHAINS,
    TURNS,
    JointChains,
    JointTestStudy,
    joint_test,
)
from validation_core.symmetric_divergence.geweke_picture import joint_payload


@address.fragment
def show(run: InferenceRun) -> None:
    """The test over its turns where it has run; a button elsewhere."""
    st.subheader("Geweke's joint test", anchor=False)
    st.markdown(
        "Simulate data from z, infer, draw the next z from q, and so on: if q is the posterior, z "
        f"keeps the law of the prior. {CHAINS} chains start in the prior and make {TURNS} turns "
        "each; small errors of q pile up."
    )
    study = JointTestStudy.about(run)
    chains = study.load(services().store)
    if chains is not None:
        _figure(study, chains)
        return
    jobs.offer(
        study,
        "Run the joint test",
        key="run-joint",
        icon=":material/repeat:",
        about=f"{TURNS} times the cost of this run with {CHAINS} data sets.",
    )


def _figure(study: JointTestStudy, chains: JointChains) -> None:
    if chains.lost.any():
        st.caption(
            f"Inference gave no q in {int(chains.lost.sum())} of {chains.lost.size * CHAINS} "
            "turns; there z stays."
        )
    payload = live.once(
        ("joint", study.key),
        lambda: joint_payload(
            joint_test(chains, study.model.names, study.seed),
            isinstance(study.inference, ExactPosterior),
        ),
    )
    live.chart(payload, key="joint", url=("turn",), save_as="Joint test")
    st.caption(
        "The statistic is the farthest of all functions; the signs of a chain's differences are "
        "flipped together, which makes the p-value after each turn exact, though not that of the "
        "turn that looks worst. If q were correct, "
        "each line would be in the band after 19 of 20 turns on average, and the red line would "
        "be a draw of the grey histogram."
    )
