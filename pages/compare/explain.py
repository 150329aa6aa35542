"""Disagreements of tests: remarks on the present curves, and demonstrations to run."""

import streamlit as st

from pages.compare import plan
from pages.compare.controls import CompareChoice, take
from pages.ui.services import services
from validation_core.panels import power
from validation_core.sweep import presets
from validation_core.sweep.presets import Comparison, Remark, disagreement
from validation_core.sweep.progress import Progress, missing
from validation_core.text import capitalise, share_text


def remarks(chosen: CompareChoice, progress: Progress) -> None:
    """A sentence for each test that misses what another finds."""
    conflict = disagreement(chosen.sweep, progress.cells)
    if conflict is None:
        return
    at = power.where_text(chosen.sweep, getattr(conflict.place, chosen.axis))
    loud = conflict.remarks[0].loud
    seen = f"{loud.label} rejects in {share_text(loud.rate)} of the trials"
    said = capitalise(", ".join(filter(None, (at, seen))))
    st.markdown(f"**Why the tests disagree.** {said}.")
    here = chosen.comparison.name if chosen.comparison else ""
    st.markdown("\n".join(_sentence(remark, here) for remark in conflict.remarks))


def _sentence(remark: Remark, here: str) -> str:
    """A remark, with the demonstration that shows it unless that is the figure on the page."""
    cell = remark.silent
    said = f"- **{cell.label}** rejects in {share_text(cell.rate)}: {remark.why}"
    if remark.shown_by in ("", here):
        return said
    return f"{said} *Why they disagree* has a case of it: {presets.by_name(remark.shown_by).title}"


def demonstrations() -> None:
    """Three cases in which tests disagree, each a press away."""
    st.subheader("Why tests disagree", anchor=False)
    for column, demonstration in zip(
        st.columns(3, gap="large"), presets.demonstrations(), strict=True
    ):
        with column:
            st.markdown(f"**{demonstration.title}** {demonstration.about}")
            st.button(
                "Show me",
                key=f"demo-{demonstration.name}",
                icon=":material/play_arrow:",
                on_click=_show,
                args=(demonstration,),
            )


def _show(comparison: Comparison) -> None:
    take(comparison.name)
    st.session_state["compare-view"] = "compare"
    left = missing(comparison.sweep, services().store)
    if left:
        plan.start(CompareChoice(comparison.sweep, comparison), left)
