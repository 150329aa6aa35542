"""Examples of a divergence: two pairs of normals with the nats of a slider."""

from math import isfinite, sqrt

import streamlit as st

from pages.ui import live
from validation_core.symmetric_divergence import meaning, terms
from validation_core.symmetric_divergence.nats_text import format_number, with_unit
from validation_core.symmetric_divergence.terms import NATS


def show(nats: float | None) -> None:
    """Both pairs under one slider, which starts at the grid's value nearest to this one.

    Args:
        nats: what was estimated; None where nothing has been yet.
    """
    start = terms.nearest(nats or 0.0)
    shown = nats if nats is not None and nats > 0 else float(NATS[start])
    st.subheader(f"What does {with_unit(shown)} mean?", anchor=False)
    st.markdown(
        "The symmetric divergence is KL(p‖q) + KL(q‖p): 0 only where q is p, and how well draws "
        f"of the two can be told apart grows with it.{_from(nats)}"
    )
    payload = live.once(("meaning",), meaning.meaning_payload)
    live.chart(payload, key=f"meaning-{start}", default=(float(NATS[start]),))
    st.caption(
        "Blue is p, orange a q this far from it, both scaled to the same height. If q were "
        "correct, the two curves would coincide, the best classifier would have AUC 0.5, and "
        "one 90% interval of q in ten would miss."
    )


def _from(nats: float | None) -> str:
    if nats is None:
        return " Nothing is estimated here yet: the slider starts at its lowest value."
    if not isfinite(nats) or nats <= 0:
        return " Here there is no estimate above 0: the slider starts at its lowest value."
    if nats > NATS[-1]:
        return (
            f" The {with_unit(nats)} estimated here are beyond the slider: of two "
            f"normals of one width, the means would be {format_number(sqrt(nats))} sd apart."
        )
    return (
        f" The slider starts beside the {with_unit(nats)} estimated here."
        if nats >= NATS[0]
        else ""
    )
