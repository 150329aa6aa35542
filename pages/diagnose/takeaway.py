"""What a user takes away from a diagnosis: notes, a report, its numbers, its ranks, a link."""

from urllib.parse import urlencode

import streamlit as st

from pages.ui.jobs import plain, undisturbed
from pages.ui.services import services
from validation_core import report
from validation_core.diagnosis import Diagnosis
from validation_core.diagnosis.questions import QUESTIONS, Answers
from validation_core.report import datatree, numbers
from validation_core.report.sections import slug

SETTINGS = ("source", "kind", "rows", "level", "seed", "more")
"""Of the address: what a link restores. Never the data."""


def section(diagnosis: Diagnosis, answers: Answers, label: str) -> None:
    """Notes, downloads that are made when they are asked for, and a link to the settings.

    Args:
        found: the verdict, with every test's record.
        answers: that have been worked out, by panel.
        label: what the file is called.
    """
    st.header("Save or share", anchor="take-it-away")
    _notes(diagnosis.upload.digest)
    draws = st.checkbox(
        "With the raw draws",
        key="with-draws",
        help=f"Otherwise no draw is in the report. It has at most {report.LIMIT / 1e6:g} MB: "
        "draws that do not fit stay out, and it says so.",
    )
    _downloads(diagnosis, dict(answers), label, draws)
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


def _downloads(diagnosis: Diagnosis, answers: Answers, label: str, draws: bool) -> None:
    store, upload, stem = (
        services().store,
        diagnosis.upload,
        slug(label.rpartition(".")[0] or label),
    )

    # On a thread of its own, without a session: it may not ask Streamlit for anything.
    def page() -> str:
        words = numbers.load_notes(store, upload.digest)
        raw = upload.arrays() if draws else None
        return report.html(
            diagnosis, answers, notes=words, draws=raw, path=label, panels=QUESTIONS
        )

    with st.container(horizontal=True):
        st.download_button(
            "Report (HTML)",
            undisturbed(page),
            f"{stem}-report.html",
            "text/html",
            key="take-html",
            on_click="ignore",
            icon=":material/article:",
            type="primary",
        )
        st.download_button(
            "JSON",
            undisturbed(lambda: report.as_json(diagnosis, answers)),
            f"{stem}.json",
            "application/json",
            key="take-json",
            on_click="ignore",
            icon=":material/data_object:",
        )
        if upload.k:
            st.download_button(
                "DataTree (netCDF)",
                undisturbed(lambda: datatree.datatree(diagnosis, upload)),
                f"{stem}-prior-sbc.nc",
                "application/x-netcdf",
                key="take-datatree",
                on_click="ignore",
                icon=":material/account_tree:",
                help='Ranks as ArviZ wants them: plot_ecdf_pit(tree, group="prior_sbc").',
            )
    if not upload.k:
        st.caption("Two samples have no ranks at one x, so that there is no DataTree to take.")


def _link() -> None:
    """An address that restores the settings, as far as they are not the usual ones."""
    strengths = tuple(name for name in st.query_params if name.startswith("gamma-"))
    names = (*SETTINGS, *strengths)
    settings = [(name, value) for name in names for value in st.query_params.get_all(name)]
    address = str(st.context.url or "").partition("?")[0]
    with st.popover("Link to these settings", type="tertiary", icon=":material/link:"):
        st.code(f"{address}?{urlencode(settings)}" if settings else address or "?", language=None)
        contents = "Level, seed, tests and a sample are in it, never your data"
        usual = "" if settings else ", which are the usual ones"
        st.caption(
            plain(f"{contents}. Whoever opens it sees this page with these settings{usual}.")
        )
