"""The ELBO beside the divergence: both bounds on log p(y), and how far they can be closed."""

import streamlit as st

from pages.ui import jobs, live
from pages.ui.services import services
from validation_core.symmetric_divergence import InferenceRun, RunResult
from validation_core.symmetric_divergence.bounds import BoundsStudy, bounds
from validation_core.symmetric_divergence.bounds_picture import bounds_payload


def show(run: InferenceRun, result: RunResult | None, *, begin: bool) -> None:
    """Means of both bounds over M draws and over T annealed states.

    Args:
        begin: whether chains may be started that nobody pressed a button for.
    """
    st.subheader("The ELBO beside it", anchor=False)
    st.markdown(
        "The log weight log p(z, y) − log q(z | y) averages to the ELBO at q's draws, below "
        "log p(y); at true parameters, themselves draws of the posterior, it averages above. The "
        "ELBO ranks inferences on the same data, but not how far any is: log p(y) is unknown. "
        "**The divergence is the gap.** Weighing M draws closes it, and so does a chain from q to "
        "the posterior (annealed importance sampling), which Algorithm 3 measures."
    )
    if result is None:
        st.caption("The bounds appear here once this run is done.")
        return
    if result.q is None:
        st.caption("The exact posterior has log p(y) itself at every z: there is no gap.")
        return
    if result.ok.sum() < 2:
        st.info("Inference gave a q on fewer than two data sets.")
        return
    study = BoundsStudy(of=run)
    state = jobs.ensure([study], study.label, start=begin)
    found = study.load(services().store)
    if found is not None:
        payload = live.once(("bounds", study.key), lambda: bounds_payload(*bounds(result, found)))
        live.chart(payload, key="bounds", save_as="Bounds of the evidence")
        st.caption(
            "Means over data sets with 95% intervals; 0 is the middle of the closest pair of "
            "bounds. The gap at M = 1 or T = 1 estimates the divergence of q; a gap that T does "
            "not close is a chain that has not mixed. If q were correct, both would lie on 0 from "
            "the start."
        )
    jobs.panel(state, follow=True)
