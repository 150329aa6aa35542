"""Compare: which tests detect the errors of q, how often, and at what cost."""

import streamlit as st

from pages.compare import advice, explain, look, numbers, plan
from pages.compare.controls import CompareChoice, choose
from pages.ui import address, jobs, live
from pages.ui.forms import segmented
from pages.ui.once import once
from pages.ui.services import services
from pages.ui.trials import trials_read
from validation_core.engine import JobState
from validation_core.explorers.training.nats import nats_line
from validation_core.panels import power
from validation_core.sweep.plan import Batch
from validation_core.sweep.presets import broken
from validation_core.sweep.progress import Progress, collect, missing
from validation_core.text import level_text, list_text

VIEWS = {"compare": "Compare", "advice": "Which test?", "why": "Why they disagree"}
_EVERY = 1.0


def _compare(chosen: CompareChoice, view: str) -> None:
    """Power curves with their cost, then the details of one test."""
    for problem in chosen.problems:
        st.error(f"{problem} It is left out.", icon=":material/error:")
    if not chosen.sweep.methods:
        st.info("Choose at least one method in the rail.", icon=":material/info:")
        return
    left = missing(chosen.sweep, services().store)
    state = jobs.latest(left) if left else None
    active = state is not None and state.active
    address.fragment(_curves, run_every=_EVERY if active else None)(chosen, view)
    progress = collect(chosen.sweep, services().store, trials_read())
    if state is not None:
        _failures(chosen, state)
    if active:
        jobs.panel(state)
    elif left:  # a job that ended early had other tasks, or may be given another go
        plan.run_button(chosen, left, progress)
    if progress.cells:
        numbers.numbers(chosen, progress)
    look.one_test(chosen)


def _curves(chosen: CompareChoice, view: str) -> None:
    """The curves of what has run, where tests disagree, and what each costs."""
    progress = collect(chosen.sweep, services().store, trials_read())
    if progress.cells:
        _draw(chosen, progress, view)
        _wrong(chosen, progress)
        explain.remarks(chosen, progress)
    plan.table(chosen, progress)


def _draw(chosen: CompareChoice, progress: Progress, view: str) -> None:
    """Power curves, or power against cost."""
    if view == "power":
        answer, payload = once(
            ("compare", chosen.sweep.key, *progress.done.items()),
            lambda: (power.answer(chosen.sweep, progress), power.compare(chosen.sweep, progress)),
        )
        st.markdown(answer)
        live.chart(payload, key="compare-power", save_as="Power")
    else:
        live.chart(
            power.cost(chosen.sweep, progress, view),
            key=f"compare-{view}",
            save_as="Power and price",
        )
    differs = chosen.comparison.differs if chosen.comparison else ""
    learnt = "" if view == "power" else power.trained_on(chosen.sweep)  # which the answer says
    st.caption(f"{differs} {learnt}".strip())


def _wrong(chosen: CompareChoice, progress: Progress) -> None:
    """Tests that exceed their level."""
    for cell in broken(chosen.sweep.benchmark, progress.cells):
        st.warning(
            f"{cell.label} rejects {cell.rejections} of {cell.trials} trials although q is "
            f"correct: more than its level of {level_text(cell.alpha)} allows.",
            icon=":material/warning:",
        )


def _failures(chosen: CompareChoice, state: JobState) -> None:
    """Methods whose trials failed; the others go on."""
    store = services().store
    batches = {task.key: task for task in chosen.sweep.tasks if isinstance(task, Batch)}
    by_reason: dict[str, list[str]] = {}
    for key, why in state.failures.items():
        labels = by_reason.setdefault(why, [])
        lacking = batches[key].missing(store) if key in batches else []
        labels += [part.method.label for part in lacking if part.method.label not in labels]
    for why, labels in by_reason.items():
        alone = len(labels) == len(chosen.sweep.methods)
        what = list_text(labels) or "A part"
        rest = "" if alone or not labels else ", the others go on"
        st.error(f"{what} failed{rest}: {jobs.plain(why)}", icon=":material/error:")


live.one_screen(1.7)
st.title("Which test sees what is wrong with q?", anchor=False)
jobs.notices()
chosen = choose()
with st.container(horizontal=True, horizontal_alignment="distribute"):
    view = segmented("Page", VIEWS, "compare-view", label_visibility="collapsed")
    if view == "compare":
        curves = segmented("View", power.VIEWS, "curves", label_visibility="collapsed")
if view == "advice":
    advice.advisor()
elif view == "why":
    explain.demonstrations()
else:
    about = chosen.comparison.about if chosen.comparison else f"{chosen.sweep.benchmark.summary}."
    st.markdown(f"{chosen.sweep.benchmark.label}: {about}")
    if nats := nats_line(chosen.sweep.benchmark, chosen.sweep.gammas, services().store):
        st.caption(nats)
    _compare(chosen, curves)
