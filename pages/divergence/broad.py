"""A broad prior misleads: hospitals under wider and wider priors."""

import streamlit as st

from pages.ui import address, jobs, live
from pages.ui.services import services
from validation_core.symmetric_divergence import broad_priors


@address.fragment
def show() -> None:
    """Simulated death rates and terms, under a slider over the prior's width."""
    st.subheader("A broad prior misleads", anchor=False)
    st.markdown(
        "The divergence is a mean over data that the model simulates. Widen the prior of "
        "Hospitals: Laplace's approximation looks worse and worse, since ever more of the data "
        "are of hospitals where nobody dies, or everybody. Nobody will see such data. What counts "
        "for the real ones are the data sets that resemble them, and choosing these by y alone is "
        "allowed."
    )
    priors = broad_priors.load(services().store)
    if priors is None:
        runs = broad_priors.runs()
        jobs.panel(jobs.ensure(runs, f"Hospitals under {len(runs)} priors", start=True))
        return
    payload = live.once(("broad",), lambda: broad_priors.broad_payload(priors))
    live.chart(
        payload,
        key="broad",
        default=(broad_priors.WIDTHS[-2],),
        url=("prior-width",),
        save_as="Broad priors",
    )
    st.caption(
        f"Laplace after {broad_priors.ITERATIONS:,} iterations, the same {len(priors[0].d)} data "
        "sets' seeds under every prior. A data set resembles the real one where some die and some "
        "live in each of its hospitals. If q were correct, all terms would lie about 0 under any "
        "prior."
    )
