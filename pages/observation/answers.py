"""Answers about an observation on the page, and the one that is worked out on demand."""

from collections.abc import Sequence

import streamlit as st

from pages.ui import jobs, panel
from pages.ui.jobs import plain
from pages.ui.services import services
from validation_core import diagnosis
from validation_core.api.observation import Prepared
from validation_core.diagnosis import tasks
from validation_core.diagnosis.my_observation.answer import ObservationAnswer
from validation_core.diagnosis.my_observation.local import local
from validation_core.diagnosis.questions import Answer
from validation_core.diagnosis.questions.observation import ObservationQuestion
from validation_core.diagnosis.questions.observation.study import ObservationStudy
from validation_core.diagnosis.tasks import RelabelTask
from validation_core.diagnosis.verdict import verdict
from validation_core.engine import JobState
from validation_core.glossary import in_markdown
from validation_core.report import code
from validation_core.tables import Upload

_QUESTION = ObservationQuestion()
_WORK = "At one observation"
_ICONS = {True: ":red[:material/error:]", False: ":material/check:", None: ":material/info:"}
_CODE = """\
import validation_core as npt

table = {table}
result = npt.observation(table, x_o)  # your x_o, or the number of a row
print(result[{name}].sentences)
"""


def show(answer: ObservationAnswer, upload: Upload, files: Sequence[str]) -> None:
    """One answer: its claim, what it cannot say, and its figures.

    Args:
        answer: to be shown.
        upload: the table.
        files: names of the table's files, for the code.
    """
    with st.container(border=True, gap="xsmall", key=f"answer-{answer.name}"):
        st.subheader(f"{_ICONS[answer.wrong]} {answer.title}", anchor=False)
        first, *more = answer.sentences
        st.markdown(f"**{in_markdown(plain(first))}**")
        panel.panel(
            answer.title,
            more,
            notes=answer.notes,
            how=answer.cannot,
            table=answer.rows,
            drawn=answer.drawn,
            code=code(_CODE, path=files, upload=upload, name=answer.name),
            key=answer.name,
        )
        st.caption(plain(answer.cannot))


def local_answer(
    ready: Prepared, alpha: float, seed: int
) -> tuple[Sequence[ObservationAnswer], JobState | None]:
    """The answer of L-C2ST and CoLT, once it is there, and the job that works it out."""
    work = _work(ready, seed)
    if work is None:
        return (), None
    store = services().store
    relabelling, studies = work
    state = jobs.ensure([relabelling, *studies], _WORK, start=False)
    record = relabelling.load(store)
    parts = [part for study in studies if (part := study.load(store)) is not None]
    if record is None or len(parts) < len(studies):
        return (), state
    found = verdict([record], ready.upload, alpha=alpha, seed=seed)
    return (local(Answer.of(_QUESTION, parts, ready.upload), found),), state


def ask_locally(ready: Prepared, seed: int, state: JobState | None) -> None:
    """A button that starts L-C2ST and CoLT there, or their progress."""
    work = _work(ready, seed)
    if work is None:
        st.caption(plain(_QUESTION.obstacle(ready.upload) or ""))
        return
    if state is None:
        st.button(
            "Ask L-C2ST and CoLT there, about 20 s",
            on_click=jobs.starting([work[0], *work[1]], _WORK),
            icon=":material/play_arrow:",
        )
    jobs.panel(state)


def _work(ready: Prepared, seed: int) -> tuple[RelabelTask, Sequence[ObservationStudy]] | None:
    """Relabelling, under which claims are made, and the studies of the place; None for none."""
    upload = ready.upload
    if _QUESTION.obstacle(upload) is not None:
        return None
    methods = diagnosis.default_methods()
    studies = _QUESTION.studies(upload, methods, seed, where=ready.where)
    return tasks.relabelling_for(upload, studies, seed, services().store), studies
