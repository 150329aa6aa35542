"""Examples of a divergence: two pairs of normals with the nats of a slider."""

from math import sqrt

import streamlit as st

from pages.ui import live
from validation_core.symmetric_divergence import meaning, terms
from validation_core.symmetric_divergence.nats_text import format_number, with_unit
from validation_core.symmetric_divergence.terms import NATS, RunNats


def show(nats: RunNats | None, *, there: bool) -> None:
    """Both pairs under one slider, which starts at the grid's value nearest to these.

    Args:
        nats: what was estimated; None where nothing has been.
        there: whether the run is done.
    """
    typical = nats.typical if nats is not None else 0.0
    start = terms.nearest(typical)
    shown = typical if typical > 0 else float(NATS[start])
    st.subheader(f"What does {with_unit(shown)} mean?", anchor=False)
    st.markdown(
        "The symmetric divergence is KL(p‖q) + KL(q‖p), 0 only where q is p. For two normals of "
        "one width it says how well draws of the two can be told apart. A few data sets, or the "
        "tails of q, can make it large where most draws look alike."
        f"{_from(nats, there)}{_seen(nats)}"
    )
    payload = live.once(("meaning",), meaning.meaning_payload)
    live.chart(payload, key=f"meaning-{start}", default=(float(NATS[start]),))
    st.caption(
        "Blue is p, orange a q this far from it, both scaled to the same height. If q were "
        "correct, the two curves would coincide, the best classifier would have AUC 0.5, and "
        "one 90% interval of q in ten would miss."
    )


def _from(nats: RunNats | None, there: bool) -> str:
    if not there:
        return " Nothing is estimated here yet: the slider starts at its lowest value."
    if nats is None or max(nats.mean, nats.typical) <= 0:
        return " Here there is no estimate above 0: the slider starts at its lowest value."
    if nats.few:
        return (
            f" Here a few data sets carry the mean, {with_unit(nats.mean)}: the slider starts at "
            f"the median, {with_unit(nats.median)}{_off(nats.median)}."
        )
    if nats.mean > NATS[-1]:
        return (
            f" The {with_unit(nats.mean)} estimated here are beyond the slider{_off(nats.mean)}."
        )
    return (
        f" The slider starts beside the {with_unit(nats.mean)} estimated here."
        if nats.mean >= NATS[0]
        else ""
    )


def _off(nats: float) -> str:
    """Means that normals of so many nats beyond the slider would have; nothing on it."""
    if nats <= NATS[-1]:
        return ""
    return (
        f": of two normals of one width, the means would be {format_number(sqrt(nats))} sd apart"
    )


def _seen(nats: RunNats | None) -> str:
    """How well the run's own truths and draws can be told apart."""
    if nats is None:
        return ""
    return f" In this run the log weight tells true values from q's draws with AUC {nats.auc:.2f}."
