"""Parts of the diagnosis page beside the card: the table, the planned tests, every test."""

from collections.abc import Sequence
from functools import partial

import pandas as pd
import streamlit as st

from pages.diagnose import figures
from pages.ui import forms
from pages.ui.jobs import plain
from validation_core import Record, diagnosis
from validation_core.diagnosis import Diagnosis, costs
from validation_core.diagnosis.questions import QUESTIONS
from validation_core.methods.base import Method
from validation_core.tables import RanksUpload, SamplesUpload, TableUpload, Upload
from validation_core.text import (
    begun_text,
    count_text,
    duration_text,
    list_text,
    said_pvalue,
    signed_text,
    uncapitalise,
)


def what_was_read(upload: Upload, about: str) -> None:
    """Draw the sizes and names of a table, and how it was understood, in a line.

    Args:
        upload: the table.
        about: a description, for a table that is not the user's.
    """
    dim_theta, dim_x = upload.dims
    names = begun_text(upload.names, 8)
    rows, parameters = count_text(upload.n, "simulation"), count_text(dim_theta, "parameter")
    read = "".join(f"; {one}" for one in upload.read_as)
    if isinstance(upload, SamplesUpload):
        columns = count_text(dim_theta, "column")
        summary = f"two samples, {upload.n:,} points in the smaller one, {columns} ({names})."
    elif isinstance(upload, RanksUpload):
        summary = f"{rows}: {upload.ranked}, {parameters} ({names}); no draws of q, no x."
    else:
        x = f"x has {count_text(dim_x, 'dimension')}" if dim_x else "no x"
        summary = f"{rows} with {upload.drawn[1]} each; {parameters} ({names}); {x}{read}."
    st.caption(plain(f"{about} Loaded {summary}"))


def remarks(upload: Upload) -> None:
    """Draw omitted rows, warnings and notes."""
    for reason, count in upload.dropped.items():
        were = "was" if count == 1 else "were"
        st.warning(plain(f"{count_text(count, 'row')} {were} left out: {reason}."))
    for warning in upload.warnings:
        st.warning(plain(warning))
    for note in upload.notes:
        st.caption(plain(note))


def what_will_run(upload: Upload, methods: Sequence[Method]) -> None:
    """Each test with the seconds it is expected to take, or why it cannot run; and each answer."""
    with st.expander("What will run", type="compact"):
        sharing = [method for method in methods if method.reads_classifier]
        rows = [_planned(upload, m, trained=m in sharing[1:]) for m in methods]
        st.table(pd.DataFrame(rows).set_index("Test"))
        memory = max(costs.on_table(upload, m).memory for m in methods)
        size = sum(array.nbytes for array in upload.arrays().values())
        st.caption(
            plain(
                f"Its numbers take {_bytes(size)}; a worker will need about {_bytes(memory)}. "
                "Times are estimates, right within a factor of about two. Tests that share a "
                "network train it once: its time is listed with the first of them."
            )
        )
        asked = QUESTIONS if isinstance(upload, TableUpload) else ()
        cannot = [(question.title, question.obstacle(upload)) for question in asked]
        for title, reason in cannot:
            if reason:
                st.caption(plain(f"{title}: not worked out. {reason}"))


def _planned(upload: Upload, method: Method, *, trained: bool) -> dict[str, str]:
    reason = diagnosis.method_obstacle(method, upload)
    cost = costs.on_table(upload, method)
    learns = (
        ""
        if trained or cost.training < 0.5
        else f", {duration_text(cost.training)} of it training"
    )
    total = cost.trial + (0.0 if trained else cost.training)
    return {
        "Test": method.label,
        "Asks": method.summary,
        "Expected": f"not run: {reason}" if reason else f"{duration_text(total)}{learns}",
    }


def _bytes(count: float) -> str:
    return f"{count / 1e6:,.0f} MB" if count >= 1e6 else f"{count / 1e3:,.0f} kB"


def each_test(diagnosis: Diagnosis) -> None:
    """Every test in a table, then one of them opened."""
    if diagnosis.tested:
        _table(diagnosis)
        figures.one_by_one(diagnosis)


def _table(diagnosis: Diagnosis) -> None:
    """One row per method, the test of the verdict first, then by p-value."""
    order = sorted(
        diagnosis.records,
        key=lambda one: (not diagnosis.counts(one), diagnosis.adjusted.get(one.label, 2.0)),
    )
    st.table(pd.DataFrame([_row(record, diagnosis) for record in order]).set_index("Test"))
    if diagnosis.relabelled:
        st.caption(
            plain(
                "The verdict is relabelling within x: one exact test of everything that is "
                "looked at. The other tests are shown for comparison, adjusted by Holm among "
                "themselves; they do not count."
            )
        )
    reading = [record for record in diagnosis.records if record.effect.classifier_auc is not None]
    if reading:
        learned = reading[0].effect
        took = duration_text(learned.training_seconds or 0.0)
        names = [record.label for record in reading]
        st.caption(
            plain(
                f"{', '.join(names)}: one classifier, trained on half of the rows in {took} and "
                f"tested on the other half. Held-out AUC "
                f"{learned.classifier_auc:.3f} (0.5 = guessing)."
            )
        )
    for sentence in _not_run(diagnosis.records):
        st.caption(plain(sentence))
    for record in diagnosis.records:
        if record.status == "ran" and (remark := diagnosis.remark(record)):
            st.warning(plain(remark))


def _not_run(records: Sequence[Record]) -> list[str]:
    """Reasons why tests were not run, each once."""
    reasons: dict[str, list[str]] = {}
    for record in records:
        if record.status == "not run":
            reasons.setdefault(str(record.reason), []).append(record.label)
    return [
        f"{labels[0]} was not run. {reason}"
        if len(labels) == 1
        else f"{list_text(labels)} were not run. Each of them: {uncapitalise(reason)}"
        for reason, labels in reasons.items()
    ]


def _row(record: Record, diagnosis: Diagnosis) -> dict[str, str]:
    ran = record.status == "ran"
    early = ran and bool(diagnosis.pending)  # then these are not what they will be
    return {
        "Test": record.label,
        "Statistic": record.about,
        "Value": "not run" if record.statistic is None else signed_text(record.statistic, ".3g"),
        "p-value": "…" if early and record.kind.decides else _cell(record.pvalue),
        "adjusted": "…" if early else _cell(diagnosis.adjusted.get(record.label)),
        "True values": f"{record.draws_p:,}" if ran else "–",
        "q's draws": f"{record.draws_q:,}" if ran else "–",
        "Time": duration_text(_time(record)) if ran else "–",
    }


def _cell(pvalue: float | None) -> str:
    """A p-value that no narrow column breaks in two, and no Markdown takes for a tag."""
    said = "–" if pvalue is None else said_pvalue(pvalue)
    return said.replace("<", "\\<").replace(" ", "\u00a0")


def _time(record: Record) -> float:
    """Time of the test and of its own network; the shared classifier is listed below."""
    shared = record.effect.classifier_auc is not None
    return record.seconds + (0.0 if shared else record.effect.training_seconds or 0.0)


def more_tests(upload: Upload) -> tuple[Method, ...]:
    """The tests to run: those that run unasked, and the further ones that a user asks for; none
    is offered where none can run."""
    further = diagnosis.further_methods()
    if all(diagnosis.method_obstacle(test.method, upload) for test in further.values()):
        return diagnosis.default_methods()
    with st.expander("More tests", type="compact"):
        names = forms.several(
            "Tests to run beside these",
            list(further),
            "more",
            words=lambda name: further[name].method.title,
            draw=partial(st.pills, selection_mode="multi"),
        )
        descriptions = [
            f"{extra.method.title}: {extra.adds}; about {extra.seconds:g} s for 1,000 rows."
            for extra in further.values()
        ]
        st.caption("\n".join(f"- {plain(line)}" for line in descriptions))
        st.caption(diagnosis.why_not_all(upload))
    return diagnosis.with_further(names)


def level() -> float:
    """The level of the diagnosis, in the rail and in the address."""
    with st.sidebar:
        return forms.level(
            help="If q is correct, a problem is found in at most this share of tables."
        )


def seed() -> int:
    """The seed, in the rail and in the address."""
    with st.sidebar:
        return forms.seed(help="Fixes which rows train the networks, and the tie-breakers.")
