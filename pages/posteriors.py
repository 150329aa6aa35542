"""Compare posteriors: several tables of the same simulations, side by side and row by row."""

from collections.abc import Sequence

import pandas as pd
import streamlit as st

from pages.diagnose import files, view
from pages.diagnose.files import Tables
from pages.ui import charts, jobs
from pages.ui.jobs import plain
from pages.ui.services import services
from validation_core import Drawn
from validation_core.diagnosis import tasks
from validation_core.diagnosis.questions import example, posteriors
from validation_core.diagnosis.questions.posteriors import Measure, RowScores, number
from validation_core.engine import Task
from validation_core.figures import diagnosis as draw
from validation_core.tables import Upload

_MOST = 12
_SAMPLES = "An exact posterior and one that is too narrow"
_FILES = "Upload tables"


def _chosen() -> Tables:
    """The tables to compare: uploaded ones, or a pair to try it on."""
    what = st.segmented_control(
        "What to compare",
        [_FILES, _SAMPLES],
        default=_FILES,
        required=True,
        key="pair",
        bind="query-params",
        label_visibility="collapsed",
    )
    if what == _SAMPLES:
        return example.pair()
    tables = files.uploaded()
    if tables or st.session_state.get("file"):
        return tables
    st.caption("An example, until you bring tables: an exact posterior and a narrow one.")
    return example.pair()


def _comparable(tables: Tables, reference: int) -> tuple[Tables, int]:
    """Those whose simulations are the reference's, in the order given, and its place among them.

    Says why others are left out.
    """
    label, first = tables[reference]
    matching: Tables = []
    at = 0
    for i, (other, upload) in enumerate(tables):
        if i == reference:
            at = len(matching)
        reason = None if i == reference else posteriors.unlike(first, upload)
        if reason is None:
            matching.append((other, upload))
        else:
            st.warning(plain(f"{other} cannot be compared with {label}. {reason}"))
    return matching, at


def _compare(tables: Tables, reference: int, seed: int) -> None:
    """Ask for what is missing, and show every measure that all tables have."""
    for _, upload in tables:
        tasks.hold(upload)
        tasks.keep(store, upload)
    wanted = jobs.lacking(
        "comparison",
        (*(upload.digest for _, upload in tables), seed),
        lambda: [work for _, upload in tables for work in _work(upload, seed)],
    )
    state = jobs.ensure(wanted, f"Compare {len(tables)} posteriors", start=True)
    records = [tasks.records(store, upload, METHODS, seed)[0] for _, upload in tables]
    scores = [_scores(upload, seed) for _, upload in tables]
    measures = posteriors.measures([u for _, u in tables], records, scores, reference)
    labels = [label for label, _ in tables]
    for sentence in posteriors.describe(measures, labels, reference) if measures else ():
        st.markdown(plain(sentence))
    jobs.panel(state, follow=True)
    if not measures:
        return
    st.subheader("Differences", anchor=False)
    rows = _rows(measures, labels, reference)
    st.dataframe(rows, hide_index=True)
    st.caption(
        "Brackets are 95% intervals; those of differences hold for all tables together. Energy "
        "score and log score are proper: the true posterior has the best of them, and a "
        "difference says which table is nearer, not that either is right."
    )
    charts.side_by_side(
        "differences",
        [*draw.differences(measures, labels, reference), *_parameters(tables, scores, reference)],
    )
    st.subheader("In the order given", anchor=False)
    charts.side_by_side("history", draw.history(measures, labels))
    st.download_button(
        "Data (CSV)",
        rows.to_csv(index=False),
        "posteriors.csv",
        "text/csv",
        on_click="ignore",
        icon=":material/download:",
    )


def _work(upload: Upload, seed: int) -> list[Task]:
    return [*tasks.tasks(upload, METHODS, seed), *posteriors.studies(upload, seed)]


def _scores(upload: Upload, seed: int) -> RowScores | None:
    return next((task.load(store) for task in posteriors.studies(upload, seed)), None)


def _parameters(tables: Tables, scores: Sequence[RowScores | None], reference: int) -> list[Drawn]:
    differences = posteriors.parameters(scores, reference)
    labels, names = [label for label, _ in tables], tables[0][1].names
    return [
        drawing
        for i in range(len(tables))
        if i != reference
        for drawing in draw.parameter_differences(
            differences[i], names, labels[i], labels[reference]
        )
    ]


def _rows(measures: Sequence[Measure], labels: Sequence[str], reference: int) -> pd.DataFrame:
    rows = []
    for measure in measures:
        for i, label in enumerate(labels):
            other = i != reference
            closer = measure.closer(i) if other else None
            rows.append(
                {
                    "Measure": measure.title,
                    "Table": label,
                    "Value": number(measure.values[i]),
                    f"Less {labels[reference]}": number(measure.differences[i]) if other else "",
                    "Nearer the truth": ""
                    if not other
                    else {True: "yes", False: "no, farther", None: "cannot be told"}[closer],
                }
            )
    return pd.DataFrame(rows)


store = services().store
METHODS = posteriors.methods()
st.title("Which posterior is closer to the truth?", anchor=False)
st.caption(
    "Several tables of draws at the same simulations: checkpoints of one training, architectures, "
    "amounts of training data. Each row is compared with itself, so that small differences show."
)
jobs.notices()
seed = view.seed()
tables = _chosen()
if len(tables) == 1:
    st.info("One table was read; add another one of the same simulations to compare it with.")
elif len(tables) > _MOST:
    st.error(f"At most {_MOST} tables are compared at once; got {len(tables)}. Leave some out.")
elif tables:
    names = [label for label, _ in tables]
    reference = st.selectbox(
        "Compare with",
        range(len(tables)),
        format_func=names.__getitem__,
        key="reference",
        width=420,
    )
    comparable, at = _comparable(tables, reference)
    if len(comparable) > 1:
        _compare(comparable, at, seed)
