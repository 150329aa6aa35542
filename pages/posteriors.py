"""Compare posteriors: several tables of the same simulations, side by side and row by row."""

from collections.abc import Hashable, Sequence

import pandas as pd
import streamlit as st

from pages.diagnose import files, mistakes, view
from pages.ui import address, charts, comparison_link, jobs, live, share
from pages.ui.jobs import plain
from pages.ui.once import once
from pages.ui.services import services
from validation_core import ComparisonResult, Drawn, Record
from validation_core.diagnosis import comparison, examples, tasks
from validation_core.diagnosis.comparison import Measure, RowScores, number
from validation_core.panels import posteriors
from validation_core.tables import Upload
from validation_core.text import count_text, list_text

_Tables = list[tuple[str, Upload]]

_METHOD = (
    "The **energy score** of a row is the mean distance of q's draws from its true value, "
    "less half of their mean distance from one another. Parameters are measured in standard "
    "deviations of the true values. Its mean is least for the true posterior (Gneiting, "
    "Raftery 2007): a difference says which table is nearer, not that either is correct. "
    "Tables hold the same simulations, so each row is compared with itself, and what is "
    "common to both cancels. Intervals are normal, Bonferroni over all pairs of tables: the "
    "nearest may be picked by the same rows."
)
_SENTENCE, _PICTURE, _ROW = 60, 190, 30  # pixels: a place kept for each, and for a table's row


def _chosen() -> _Tables:
    """The uploaded tables; shipped ones until there are some."""
    sent = files.uploaded(removed=comparison_link.forget)
    if sent or st.session_state.get("file"):
        return [(table.label, table.upload) for table in sent]
    kept, lost = comparison_link.addressed()
    if lost:
        st.info(
            plain(
                f"{count_text(lost, 'table')} of this link {'is' if lost == 1 else 'are'} no "
                "longer kept here. Upload the files again."
            ),
            icon=":material/link_off:",
        )
    if kept:
        names = list_text([label for label, _ in kept])
        st.button(
            plain(f"Close {names}"),
            on_click=comparison_link.forget,
            type="tertiary",
            icon=":material/close:",
        )
    if kept or lost:
        return kept
    st.caption(f"An example, until you bring tables. {examples.ABOUT_FLOWS}")
    return examples.flows()


def _usable(tables: _Tables) -> _Tables:
    """The tables whose draws are those of the true values; says why others are left out."""
    kept: _Tables = []
    for label, upload in tables:
        decided = mistakes.as_decided(mistakes.corrected(upload))
        if not decided.unusable:
            kept.append((label, decided))
            continue
        findings = " ".join(one.finding for one in decided.mistakes)
        st.warning(
            plain(
                f"{label} is left out. {findings} Correct it on My posterior, or say there that "
                "its draws are meant as they are."
            )
        )
    return kept


def _comparable(tables: _Tables) -> _Tables:
    """The largest set of tables with the same simulations; says why others are left out."""
    sets = [
        [at for at, (_, other) in enumerate(tables) if comparison.unlike(first, other) is None]
        for _, first in tables
    ]
    # Two plain samples are like nothing, themselves included.
    positions = max(sets, key=len) or [0]
    label, first = tables[positions[0]]
    for other, upload in tables:
        reason = None if upload is first else comparison.unlike(first, upload)
        if reason is not None:
            st.warning(plain(f"{other} cannot be compared with {label}. {reason}"))
    return [tables[at] for at in positions]


def _compare(tables: _Tables, seed: int, *, example: bool) -> None:
    """Submit missing tasks; draw the nearest table, and all measures in an expander."""
    labels, uploads = [label for label, _ in tables], [upload for _, upload in tables]
    if (one := comparison.one_text(uploads, labels)) is not None:
        st.warning(plain(one))
        return
    for upload in uploads:
        tasks.register_upload(upload)
        tasks.save_upload(store, upload)
    wanted = jobs.lacking(
        "comparison",
        (*(upload.digest for _, upload in tables), seed),
        lambda: [
            *(study for _, upload in tables for study in comparison.studies(upload, seed)),
            *(task for _, upload in tables for task in tasks.tasks(upload, METHODS, seed)),
        ],
    )
    state = jobs.only("comparison", wanted, f"Compare {len(tables)} posteriors")
    scores = [_scores(upload, seed) for _, upload in tables]
    working = state is not None and state.active
    known = _known(uploads, labels, seed)
    right = ""
    if (same := comparison.same_text(uploads, labels)) is not None:
        st.warning(plain(same))
    for warning in comparison.warnings(uploads, labels):
        st.warning(plain(warning))
    if not working and (ranking := comparison.ranking(scores)) is not None:
        right = once(
            ("right", known),
            lambda: comparison.right_text(
                ranking, labels, comparison.rejections(_records(uploads, seed))
            ),
            lambda: _known(uploads, labels, seed) == known,
        )
    _nearest(scores, labels, right, working=working)
    for sentence in comparison.left_out(uploads, labels):
        st.caption(plain(sentence))
    if not working and not example:
        _share(tables, scores, seed)
    _details(tables, scores, seed)
    jobs.panel(state, follow=True)  # last: nothing moves when it goes


def _nearest(
    scores: Sequence[RowScores | None], labels: Sequence[str], right: str, *, working: bool
) -> None:
    """The nearest table, whether it is right, and a picture of its lead, their space reserved."""
    ranking = comparison.ranking(scores)
    if ranking is not None:
        nearest, by = comparison.headline(ranking, labels)
        drawing = posteriors.energy_score_gaps(ranking, labels)
        st.header(plain(nearest), anchor=False)
        st.markdown(plain(f"{by} {right}"))
        charts.show(drawing.picture, "nearest", title=f"{drawing.title} {nearest}")
        st.caption(drawing.caption)
    elif working:
        st.skeleton(height=_SENTENCE)
        st.skeleton(height=_PICTURE + _ROW * len(labels))


def _share(tables: _Tables, scores: Sequence[RowScores | None], seed: int) -> None:
    """The comparison as a report, and as a link."""
    labels, uploads = [label for label, _ in tables], [upload for _, upload in tables]
    store_records = _records(uploads, seed)

    def document() -> str:
        return ComparisonResult(
            tuple(labels),
            comparison.measures(uploads, store_records, scores),
            comparison.parameters(scores),
            uploads[0].names,
            ranking=comparison.ranking(scores),
            pvalues=comparison.rejections(store_records),
            left_out=comparison.left_out(uploads, labels),
            warnings=comparison.warnings(uploads, labels),
        ).document()

    with st.container(horizontal=True, vertical_alignment="center"):
        st.download_button(
            "Report",
            jobs.undisturbed(document),
            "comparison.html",
            "text/html",
            key="take-comparison",
            on_click="ignore",
            icon=":material/article:",
            type="primary",
            help="One HTML file with the ranking, every measure and every picture.",
        )
        share.copy_link("copy-comparison")
        st.caption("Whoever has the link sees these tables, while this server keeps them.")


def _records(uploads: Sequence[Upload], seed: int) -> list[list[Record]]:
    return [tasks.records(store, upload, METHODS, seed)[0] for upload in uploads]


def _details(tables: _Tables, scores: Sequence[RowScores | None], seed: int) -> None:
    """Every measure in an expander, drawn only when opened."""
    all_measures = st.expander(
        "Every measure", key="every-measure", on_change="rerun", type="compact"
    )
    order = st.expander("In the order given", key="in-order", on_change="rerun", type="compact")
    with st.expander("Method", type="compact"):
        st.markdown(_METHOD)
    if not (all_measures.open or order.open):
        return
    labels, uploads = [label for label, _ in tables], [upload for _, upload in tables]
    known = _known(uploads, labels, seed)

    def sound() -> bool:
        return _known(uploads, labels, seed) == known

    if all_measures.open:
        with all_measures:
            reference = st.selectbox(
                "Compare with",
                range(len(tables)),
                format_func=labels.__getitem__,
                key="reference",
                width=420,
            )
            measures, details = once(
                ("measures", known, reference),
                lambda: _drawn(tables, scores, seed, reference),
                sound,
            )
            _measures(measures, labels, reference)
            charts.side_by_side("differences", details)
    if order.open:
        with order:
            history = once(("history", known), lambda: _history(tables, scores, seed), sound)
            charts.side_by_side("history", history)


def _known(uploads: Sequence[Upload], labels: Sequence[str], seed: int) -> tuple[Hashable, ...]:
    """A key of the results on these tables so far."""
    wanted = [
        task
        for upload in uploads
        for task in (*comparison.studies(upload, seed), *tasks.tasks(upload, METHODS, seed))
    ]
    done = (task.key for task in wanted if task.done(store))
    return (*labels, *(upload.digest for upload in uploads), *uploads[0].names, *done)


def _asked(
    tables: _Tables, scores: Sequence[RowScores | None], seed: int, reference: int = 0
) -> tuple[Measure, ...]:
    uploads = [upload for _, upload in tables]
    return comparison.measures(uploads, _records(uploads, seed), scores, reference)


def _drawn(
    tables: _Tables, scores: Sequence[RowScores | None], seed: int, reference: int
) -> tuple[tuple[Measure, ...], list[Drawn]]:
    """Every measure beside the reference, and pictures of them."""
    labels = [label for label, _ in tables]
    measures = _asked(tables, scores, seed, reference)
    pictures = posteriors.differences(measures, labels, reference)
    return measures, [*pictures, *_parameters(tables, scores, reference)]


def _history(tables: _Tables, scores: Sequence[RowScores | None], seed: int) -> tuple[Drawn, ...]:
    labels = [label for label, _ in tables]
    return posteriors.history(_asked(tables, scores, seed), labels)


def _measures(measures: Sequence[Measure], labels: Sequence[str], reference: int) -> None:
    """Each measure of each table beside the reference, in words and in a table."""
    for sentence in comparison.describe(measures, labels, reference) if measures else ():
        st.markdown(plain(sentence))
    rows = _rows(measures, labels, reference)
    st.dataframe(rows, hide_index=True)
    st.caption(
        "Brackets are 95% intervals; those of differences hold for all pairs of tables together, "
        "by each measure. Energy score and log score are proper: the true posterior has the best."
    )
    st.download_button(
        "Data (CSV)",
        rows.to_csv(index=False),
        "posteriors.csv",
        "text/csv",
        on_click="ignore",
        icon=":material/download:",
    )


def _scores(upload: Upload, seed: int) -> RowScores | None:
    study = next(iter(comparison.studies(upload, seed)), None)
    if study is None or not study.done(store):
        return None
    return once(("scores", study.key), lambda: study.load(store), lambda: study.done(store))


def _parameters(
    tables: _Tables, scores: Sequence[RowScores | None], reference: int
) -> list[Drawn]:
    differences = comparison.parameters(scores, reference)
    labels, names = [label for label, _ in tables], tables[0][1].names
    return [
        drawing
        for i in range(len(tables))
        if i != reference
        for drawing in posteriors.parameter_differences(
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
                    "Nearer": ""
                    if not other
                    else {True: "yes", False: "no, farther", None: "cannot tell"}[closer],
                }
            )
    return pd.DataFrame(rows)


store = services().store
METHODS = comparison.methods()
live.one_screen(1.7)
st.title("Which posterior is nearest to the true one?", anchor=False)
with st.container(key="about"):
    st.caption(
        "Bring two or more tables of draws at the same simulations: checkpoints of one training, "
        "architectures, amounts of training data. Each row is compared with itself, so that small "
        "differences show."
    )
jobs.notices()
seed = view.seed()
tables = _usable(_chosen())
if len(tables) == 1:
    ((_, only),) = tables
    more = "One table was read; add another one of the same simulations to compare it with."
    st.info(plain(comparison.unlike(only, only) or more))
elif len(tables) > comparison.MOST_ON_PAGE:
    st.error(
        f"At most {comparison.MOST_ON_PAGE} tables are compared at once; got {len(tables)}. "
        "Leave some out."
    )
elif tables:
    comparable = _comparable(tables)
    example = not (st.session_state.get("file") or address.asked("tables"))
    if not example:
        comparison_link.remember(comparable)
    if len(comparable) > 1:
        _compare(comparable, seed, example=example)
