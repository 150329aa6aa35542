"""Algorithm 3 on an example with closed forms: the augmented divergence bounds from above."""

import streamlit as st

from pages.ui import live
from validation_core.figures.divergence import examples as figures


@st.fragment
def show() -> None:
    """The bound, and r beside q's own law of h, under a slider that moves r."""
    st.subheader("If q's density is an integral", anchor=False)
    st.markdown(
        "Some q draw a hidden h first and z given h (a mixture, a Markov chain, a latent "
        "variable), and log q(z | y) cannot be had. Algorithm 3 of Domke (2021) gives the truth "
        "an h as well, from any law r(h | z, y), and compares the pairs: SKL(z, h) = SKL(z) + SKL "
        "of h given z, never below SKL(z). Here z ~ N(0, 1), y | z ~ N(z, 1), and q is a mixture "
        "whose integral is known, so that the bound can be seen beside what it bounds."
    )
    payload = live.once(("augmented",), figures.augmented_payload)
    live.chart(payload, key="augmented", default=(0.8,), url=("r-off",))
    st.caption(
        "The curve is the exact SKL(z, h) for every r, with estimates of Algorithm 3 from "
        f"{figures.SIMULATED:,} simulations each and their 95% intervals; the dashed line is "
        "SKL(z). Were r right, it and q's own law of h given z would lie on one another, and the "
        "bound would touch the dashed line; if q were correct as well, both would be 0."
    )
