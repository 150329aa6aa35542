"""Why tests disagree: remarks on the curves at hand, and demonstrations that run at a press."""

import streamlit as st

from pages.components import compare_plan
from pages.components.compare_controls import Chosen, take
from pages.components.services import services
from validation_core import comparisons
from validation_core.comparisons import Comparison, Remark, disagreement
from validation_core.sweep import Progress, missing


def remarks(chosen: Chosen, progress: Progress) -> None:
    """A sentence for each test that missed what another found."""
    found = disagreement(chosen.sweep, progress.cells)
    if found is None:
        return
    at = chosen.at(getattr(found.place, chosen.axis))
    st.markdown(f"**Why the tests disagree.** At {at}, {found.remarks[0].loud} sees it.")
    st.markdown("\n".join(_sentence(remark) for remark in found.remarks))


def _sentence(remark: Remark) -> str:
    return f"- **{remark.silent}** does not: {remark.why}"


def demonstrations() -> None:
    """Three cases in which tests disagree, each a press away."""
    st.subheader("Why tests disagree", anchor=False)
    for column, one in zip(st.columns(3, gap="large"), comparisons.demonstrations(), strict=True):
        with column:
            st.markdown(f"**{one.title}** {one.about}")
            st.button(
                "Show me", key=f"demo-{one.name}", icon=":material/play_arrow:",
                on_click=_show, args=(one,),
            )  # fmt: skip


def _show(one: Comparison) -> None:
    take(one.name)
    st.session_state["compare-view"] = "compare"
    left = missing(one.sweep, services().store)
    if left:
        compare_plan.start(Chosen(one.sweep, one), left)
