"""Compare posteriors: several tables of the same simulations, side by side and row by row."""

from collections.abc import Sequence

import pandas as pd
import streamlit as st

from pages.components import charts, jobs
from pages.components import diagnose_source as source
from pages.components import diagnose_view as view
from pages.components.diagnose_source import Tables
from pages.components.jobs import plain
from pages.components.services import services
from validation_core.answers import Found, posteriors
from validation_core.answers.posteriors import Measure, number
from validation_core.diagnosis import tasks
from validation_core.figures import posteriors as draw
from validation_core.figures.outcome import Drawn
from validation_core.uploads import Upload

_MOST = 12
_SAMPLES = "An exact posterior and one that is too narrow"
_FILES = "Upload tables"


def chosen() -> Tables:
    """The tables to compare: uploaded ones, or a pair to try it on."""
    what = st.segmented_control(
        "What to compare", [_FILES, _SAMPLES], default=_FILES, required=True, key="pair",
        bind="query-params", label_visibility="collapsed",
    )  # fmt: skip
    return source.pair() if what == _SAMPLES else source.files()


def comparable(tables: Tables, reference: int) -> Tables:
    """Those whose simulations are the reference's, which comes first; says why others are not."""
    label, first = tables[reference]
    kept = [(label, first)]
    for other, upload in [*tables[:reference], *tables[reference + 1 :]]:
        reason = posteriors.unlike(first, upload)
        if reason is None:
            kept.append((other, upload))
        else:
            st.warning(plain(f"{other} cannot be compared with {label}. {reason}"))
    return kept


def compare(tables: Tables, seed: int) -> None:
    """Ask for what is missing, and show every measure that all tables have."""
    wanted = []
    for _, upload in tables:
        tasks.hold(upload)
        tasks.keep(store, upload)
        wanted += [*tasks.tasks(upload, METHODS, seed), *posteriors.tasks(upload, seed)]
    state = jobs.ensure(wanted, f"Compare {len(tables)} posteriors", start=True)
    records = [tasks.records(store, upload, METHODS, seed)[0] for _, upload in tables]
    scores = [_scores(upload, seed) for _, upload in tables]
    found = posteriors.measures([u for _, u in tables], records, scores)
    labels = [label for label, _ in tables]
    for said in posteriors.say(found, labels) if found else ():
        st.markdown(plain(said))
    jobs.panel(state, follow=True)
    if not found:
        return
    st.subheader("Differences", anchor=False)
    st.dataframe(_rows(found, labels), hide_index=True)
    st.caption(
        "Brackets are 95% intervals; those of differences hold for all tables together. Energy "
        "score and log score are proper: the true posterior has the best of them, and a "
        "difference says which table is nearer, not that either is right."
    )
    _side_by_side(
        "differences", [*draw.differences(found, labels, 0), *_parameters(tables, scores)]
    )
    st.subheader("In the order given", anchor=False)
    _side_by_side("history", draw.history(found, labels))
    csv = _rows(found, labels).to_csv(index=False)
    st.download_button("Data (CSV)", csv, "posteriors.csv", "text/csv", on_click="ignore",
                       icon=":material/download:")  # fmt: skip


def _scores(upload: Upload, seed: int) -> Found | None:
    return next((task.load(store) for task in posteriors.tasks(upload, seed)), None)


def _parameters(tables: Tables, scores: Sequence[Found | None]) -> list[Drawn]:
    told = posteriors.parameters(scores)
    labels, names = [label for label, _ in tables], tables[0][1].names
    return [
        drawn
        for i in range(1, len(tables))
        for drawn in draw.parameters(told[i], names, labels[i], labels[0])
    ]


def _rows(found: Sequence[Measure], labels: Sequence[str]) -> pd.DataFrame:
    rows = []
    for one in found:
        for i, label in enumerate(labels):
            closer = one.closer(i) if i else None
            rows.append({
                "Measure": one.title,
                "Table": label,
                "Value": number(one.values[i]),
                f"Less {labels[0]}": number(one.differences[i]) if i else "",
                "Nearer the truth": "" if not i else
                {True: "yes", False: "no, farther", None: "cannot be told"}[closer],
            })  # fmt: skip
    return pd.DataFrame(rows)


def _side_by_side(key: str, shown: Sequence[Drawn]) -> None:
    for row in range(0, len(shown), 2):
        columns = st.columns(2, gap="large")
        for i, (column, one) in enumerate(zip(columns, shown[row : row + 2], strict=False)):
            charts.captioned(column, one.title, one.figure, f"{key}-{row + i}", one.caption)


store = services().store
METHODS = posteriors.methods()
st.title("Which posterior is closer to the truth?", anchor=False)
st.caption(
    "Several tables of draws at the same simulations: checkpoints of one training, architectures, "
    "amounts of training data. Each row is compared with itself, so that small differences show."
)
jobs.notices()
seed = view.seed()
given = chosen()
if len(given) == 1:
    st.info("One table was read; add another one of the same simulations to compare it with.")
elif len(given) > _MOST:
    st.error(f"At most {_MOST} tables are compared at once; got {len(given)}. Leave some out.")
elif given:
    names = [label for label, _ in given]
    reference = st.selectbox("Compare with", range(len(given)), format_func=names.__getitem__,
                             key="reference", width=420)  # fmt: skip
    kept = comparable(given, reference)
    if len(kept) > 1:
        compare(kept, seed)
