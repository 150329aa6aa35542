"""Algorithm 3 on an example with closed forms: the augmented divergence bounds from above."""

import streamlit as st

from pages.ui import address, live
from validation_core.symmetric_divergence import meaning


@address.fragment
def show() -> None:
    """The bound, and r beside q's own law of h, under a slider that moves r."""
    st.subheader("If q's density is an integral", anchor=False)
    st.markdown(
        "Some q draw a hidden h first and then z given h (a mixture, a Markov chain, a latent "
        "variable), and log q(z | y) is unknown. Algorithm 3 of Domke (2021) draws an h for "
        "the true z as well, from any law r(h | z, y), and compares the pairs. Their SKL(z, "
        "h) = SKL(z) + SKL of h given z is never below SKL(z). Here z ~ N(0, 1), y | z ~ N(z, "
        "1), and q is a mixture whose integral is known, so the bound can be compared with "
        "what it bounds."
    )
    payload = live.once(("augmented",), meaning.augmented_payload)
    live.chart(payload, key="augmented", default=(0.8,), url=("r-off",))
    st.caption(
        "The curve is the exact SKL(z, h) for every r, with estimates of Algorithm 3 from "
        f"{meaning.SIMULATED:,} simulations each and their 95% intervals; the dashed line is "
        "SKL(z). If r were q's own law of h given z, the two laws would coincide and the "
        "bound would touch the dashed line. If q were correct as well, both would be 0."
    )
