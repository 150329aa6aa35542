"""Downloads of a diagnosis: report, numbers, ranks; notes, and a link to the settings."""

from urllib.parse import urlencode

import streamlit as st

from pages.diagnose.known import Known
from pages.ui import address
from pages.ui.jobs import plain, undisturbed
from pages.ui.services import services
from validation_core import report
from validation_core.diagnosis import Diagnosis
from validation_core.diagnosis.card import diagnosis_card
from validation_core.diagnosis.questions import QUESTIONS, Answers, Asked, without_tests
from validation_core.report import card, datatree, numbers
from validation_core.report.sections import slug
from validation_core.tables import LabelledTable, SamplesUpload

SETTINGS = ("source", "kind", "rows", "level", "seed", "more")
"""Names in the address of the settings that a link restores, never the data."""
_WITH_DRAWS = "with-draws"  # key of the choice


def section(found: Known, answers: Answers, table: LabelledTable) -> None:
    """Notes, downloads that are made when they are asked for, and a link to the settings.

    Args:
        found: the verdict, with every test's record.
        answers: that have been worked out, by question.
        table: the table, with its label for the names of files.
    """
    with st.container(horizontal=True, key="save-or-share"):
        _downloads(found, dict(answers), table)
        with st.popover("Notes", type="tertiary", icon=":material/edit_note:"):
            _notes(found.diagnosis.upload.digest)
        _link()


def _notes(digest: str) -> None:
    key = f"notes-{digest}"
    st.text_area(
        "Notes",
        numbers.load_notes(services().store, digest),
        max_chars=numbers.LONGEST,
        key=key,
        height=120,
        on_change=_keep,
        args=(digest, key),
        placeholder="What this posterior is, what was tried, what comes next",
        help="Kept on this server with the table, and put into its report: whoever uploads the "
        "same numbers here sees them.",
    )


def _keep(digest: str, key: str) -> None:
    try:
        numbers.save_notes(services().store, digest, st.session_state[key])
    except (OSError, ValueError) as error:
        services().store.note(f"The notes could not be kept: {error}")


def _downloads(found: Known, answers: Answers, table: LabelledTable) -> None:
    label, diagnosis = table.label, found.diagnosis
    stem = slug(label.rpartition(".")[0] or label)
    # What takes long may still run.
    unasked = [question for question in QUESTIONS if not question.asked_for]
    asked = Asked(
        frozenset(question.name for question in unasked) | frozenset(answers),
        running=frozenset(question.name for question in unasked if question.long),
        unable=without_tests(diagnosis.upload, found.methods, diagnosis.seed),
    )
    _report(diagnosis, answers, asked, table, f"{stem}-report.html")
    st.download_button(
        "Card",
        undisturbed(lambda: card.image(diagnosis_card(diagnosis, answers, asked), label)),
        f"{stem}-card.png",
        "image/png",
        key="take-card",
        on_click="ignore",
        icon=":material/image:",
        help="The card above as PNG.",
    )
    with st.popover("Data", icon=":material/data_object:"):
        st.checkbox(
            "Raw draws in the report",
            key=_WITH_DRAWS,
            help=(
                f"Otherwise it holds no draws. A report has at most {report.LIMIT / 1e6:g} MB: "
                "draws that do not fit are left out, with a note."
            ),
        )
        st.download_button(
            "JSON",
            undisturbed(lambda: report.as_json(diagnosis, answers, asked)),
            f"{stem}.json",
            "application/json",
            key="take-json",
            on_click="ignore",
            icon=":material/data_object:",
        )
        _ranks(diagnosis, f"{stem}-prior-sbc.nc")


def _report(
    diagnosis: Diagnosis, answers: Answers, asked: Asked, table: LabelledTable, name: str
) -> None:
    store, upload = services().store, diagnosis.upload
    with_draws = bool(st.session_state.get(_WITH_DRAWS))

    # On a thread of its own, without a session: it may not ask Streamlit for anything.
    def page() -> str:
        words = numbers.load_notes(store, upload.digest)
        raw = upload.arrays() if with_draws else None
        return report.html(
            diagnosis,
            answers,
            notes=words,
            draws=raw,
            path=table.label,
            panels=QUESTIONS,
            asked=asked,
            files=table.files,
        )

    st.download_button(
        "Report",
        undisturbed(page),
        name,
        "text/html",
        key="take-html",
        on_click="ignore",
        icon=":material/article:",
        type="primary",
        help="One HTML file with the card, every answer and every number.",
    )


def _ranks(diagnosis: Diagnosis, name: str) -> None:
    upload = diagnosis.upload
    if isinstance(upload, SamplesUpload):
        st.caption("Two samples have no ranks at an x, so there is no DataTree.")
        return
    st.download_button(
        "DataTree (netCDF)",
        undisturbed(lambda: datatree.datatree(diagnosis, upload)),
        name,
        "application/x-netcdf",
        key="take-datatree",
        on_click="ignore",
        icon=":material/account_tree:",
        help='Ranks as ArviZ wants them: plot_ecdf_pit(tree, group="prior_sbc").',
    )


def _link() -> None:
    """An address that restores the settings, as far as they are not the usual ones."""
    query = address.settings()
    names = (*SETTINGS, *(name for name in query if name.startswith("gamma-")))
    settings = [(name, value) for name in names for value in query.get(name, ())]
    page = str(st.context.url or "").partition("?")[0]
    with st.popover("Link to these settings", type="tertiary", icon=":material/link:"):
        st.code(f"{page}?{urlencode(settings)}" if settings else page or "?", language=None)
        contents = "Level, seed, tests and a sample are in it, never your data"
        usual = "" if settings else ", which are the usual ones"
        st.caption(
            plain(f"{contents}. Whoever opens it sees this page with these settings{usual}.")
        )
