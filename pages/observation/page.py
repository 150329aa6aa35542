"""My observation: what can be said of q at one's own data, the worst first."""

from collections.abc import Mapping, Sequence
from typing import Any

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from pages.diagnose import mistakes, place, source, view
from pages.diagnose.files import Tables
from pages.diagnose.place import NothingTyped
from pages.observation import answers
from pages.ui import jobs, live
from pages.ui.jobs import plain
from pages.ui.once import once
from pages.ui.services import services
from validation_core import keys
from validation_core.api.observation import Prepared, missing_answers, prepare
from validation_core.diagnosis import examples, tasks
from validation_core.diagnosis.my_observation.answer import ObservationAnswer, worst_first
from validation_core.diagnosis.my_observation.look import look, require_x
from validation_core.diagnosis.questions.observation.place import Where
from validation_core.localization.neighbours import central_row
from validation_core.tables import LabelledTable, TableUpload
from validation_core.tables.observed import read_observation

_WAVE = "A second wave"
_ABOUT_WAVE = "Example: an epidemic with a second wave, which the simulator cannot make."
_MEGABYTES = 50
_BESIDE = 260  # pixels that a desk has left beside the inputs
_FILE = (
    "`.npz` with `x_o` (M,) or (J, M), your observation or several; and any of `theta_o` (K, D), "
    "q's draws there; `x_rep` (L, M), data simulated at these draws; `log_q_o` and `log_joint_o` "
    "(K,), their log densities; `x_summary` (N, S) and `x_summary_o` (S,), further quantities. "
    "A `.npy` holds x_o alone."
)


def _chosen(inputs: DeltaGenerator) -> tuple[Tables, bool]:
    """The table that the user chose, and whether it is the example; its form is folded away."""
    with inputs, st.popover("Your table", icon=":material/upload_file:"):
        chosen = source.choose()
        example = not chosen and source.waits()
        if example:
            st.caption(plain(f"Until you bring one, an example. {examples.ABOUT_WRONG}"))
    source.say_lost()
    if example:
        return [LabelledTable("an example", examples.wrong())], True
    if not chosen:
        st.info("No table has been read yet: see *Your table*.")
    return chosen, False


def _prepared(upload: TableUpload, example: bool, inputs: DeltaGenerator) -> Prepared | None:
    """The observation that is asked for; None while there is none, its refusal shown."""
    with inputs:
        with st.popover("Observation from a file", icon=":material/upload_file:", type="tertiary"):
            st.markdown(_FILE)
            sent = st.file_uploader(
                "File of your observation", key="observed-file", max_upload_size=_MEGABYTES
            )
        try:
            own = "My x_o" if upload.observations is not None else ""
            where = place.asked(upload, _WAVE if example else own)
        except NothingTyped:
            return None
        if example:
            st.caption(_about(where), width=_BESIDE)
    try:
        given: Mapping[str, Any] = {} if sent is None else read_observation(sent, sent.name)
        if "x_o" not in given:
            given = {**given, **_picked(upload, where, example)}
        return prepare(upload, **given)
    except ValueError as refusal:
        st.error(plain(str(refusal)), icon=":material/error:")
        return None


def _about(where: Where) -> str:
    """What the example's observation is."""
    if where is None:
        return _ABOUT_WAVE
    if isinstance(where, int):
        return f"Row {where:,} of the example: a simulation, whose true parameters are known."
    return "Example: your own x, and q of the example."


def _picked(upload: TableUpload, where: Where, example: bool) -> dict[str, Any]:
    """The argument that names the observation which was picked; none for the table's own."""
    if where is not None:
        return {"x_o": where}
    if example:
        return {"x_o": examples.SECOND_WAVE}
    return (
        {}
        if upload.observations is not None
        else {"x_o": upload.saved_row(central_row(upload.data.x))}
    )


def _look(ready: Prepared, alpha: float, seed: int) -> Sequence[ObservationAnswer]:
    """All that needs no training, worked out once for the same observation."""
    at = ready.observation
    own = (at.x, at.x_rep, at.log_q, at.log_joint, *(at.summaries or ()))
    stamp = keys.digest(**{str(i): one for i, one in enumerate(own) if one is not None})
    names = (*ready.upload.names, *ready.upload.x_names)
    return once(
        ("observation", ready.upload.digest, names, at.rows, stamp, alpha, seed),
        lambda: look(ready.upload, at, alpha=alpha, seed=seed),
    )


def _show(table: LabelledTable, example: bool, inputs: DeltaGenerator) -> None:
    upload = table.upload
    try:
        require_x(upload)
    except ValueError as refusal:
        st.info(plain(str(refusal)))
        return
    upload = mistakes.as_decided(upload)
    if upload.unusable:
        view.remarks(upload)
    if upload.unusable or upload.corrected:
        mistakes.offer(upload, "look")
    if upload.unusable:  # nothing is said of draws that are not those of the true values
        return
    assert isinstance(upload, TableUpload), "others have no x"
    ready = _prepared(upload, example, inputs)
    if ready is None:
        return
    tasks.register_upload(ready.upload)
    tasks.save_upload(services().store, ready.upload)
    try:
        found = list(_look(ready, alpha, seed))
    except ValueError as refusal:
        st.error(plain(str(refusal)), icon=":material/error:")
        return
    local, state = answers.local_answer(ready, alpha, seed)
    for answer in worst_first([*found, *local]):
        answers.show(answer, ready.upload, table.files)
    if not local:
        answers.ask_locally(ready, seed, state)
    with st.expander("What else could be asked", type="compact"):
        missing = missing_answers(ready.upload, ready.observation)
        for reason in missing.values():
            st.markdown(f"- {plain(reason)}")
        st.markdown("- Each answer has its level by itself; together they are wrong more often.")


alpha, seed = view.level(), view.seed()
live.one_screen(1.7)
st.title("Can I trust q at my observation?", anchor=False)
jobs.notices()
inputs = st.container(horizontal=True, vertical_alignment="top", key="inputs")
chosen, example = _chosen(inputs)
for table in chosen[:1]:
    _show(table, example, inputs)
