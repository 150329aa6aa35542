"""What the diagnosis page says: what was read, what will run, the verdict, the table of tests."""

from collections.abc import Sequence

import pandas as pd
import streamlit as st

from pages.ui.jobs import plain, seconds
from validation_core import Record, diagnosis
from validation_core.diagnosis import Diagnosis, pvalue_text
from validation_core.diagnosis.questions import QUESTIONS, Answers
from validation_core.methods.base import Method
from validation_core.sweep import costs
from validation_core.tables import Upload


def what_was_read(upload: Upload) -> None:
    """Sizes, names, what was left out, and everything else a user should know."""
    dim_theta, dim_x = upload.dims
    names = ", ".join(upload.names[:8]) + ", …" * (len(upload.names) > 8)
    summary = (
        f"{_count(upload.n, 'simulation')} with {_count(upload.k, 'draw')} each; "
        f"{_count(dim_theta, 'parameter')} ({names}); x has {_count(dim_x, 'dimension')}."
        if upload.k
        else f"two samples, {upload.n:,} points in the smaller one, "
        f"{_count(dim_theta, 'column')} ({names})."
    )
    st.caption(plain("Loaded " + summary))
    for reason, count in upload.dropped.items():
        were = "was" if count == 1 else "were"
        st.warning(plain(f"{_count(count, 'row')} {were} left out: {reason}."))
    for warning in upload.warnings:
        st.warning(plain(warning))
    for note in upload.notes:
        st.caption(plain(note))


def _count(count: int, what: str) -> str:
    return f"{count:,} {what}{'s' * (count != 1)}"


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
                "Seconds are a guess to plan by, within a factor of about two. Tests that share a "
                "network train it once: its time stands beside the first of them."
            )
        )
        cannot = [(q.title, q.obstacle(upload)) for q in QUESTIONS if upload.k]
        for title, reason in cannot:
            if reason:
                st.caption(plain(f"{title}: not worked out. {reason}"))


def _planned(upload: Upload, method: Method, *, trained: bool) -> dict[str, str]:
    reason = diagnosis.obstacle(method, upload)
    cost = costs.on_table(upload, method)
    learns = "" if trained or cost.training < 0.5 else f", {seconds(cost.training)} of it training"
    total = cost.trial + (0.0 if trained else cost.training)
    return {
        "Test": method.label,
        "Asks": method.summary,
        "Expected": f"not run: {reason}" if reason else f"{seconds(total)}{learns}",
    }


def _bytes(count: float) -> str:
    return f"{count / 1e6:,.0f} MB" if count >= 1e6 else f"{count / 1e3:,.0f} kB"


def verdict(found: Diagnosis, answers: Answers, *, working: bool) -> None:
    """The verdict, firm or so far, in a heading, and in a sentence what it rests on.

    Args:
        working: whether the tests that have not answered yet are being run.
    """
    firm = found.verdict == "problem found" or not found.pending
    so_far = "Testing" if working else "Not finished"
    st.header(found.verdict.capitalize() if firm else so_far, anchor="verdict")
    st.markdown(plain(answer(found, answers) if firm else found.sentence))
    if found.upload.k:
        st.markdown(" · ".join(f"[{question.title}](#{question.name})" for question in QUESTIONS))


def answer(found: Diagnosis, answers: Answers) -> str:
    """What the verdict rests on; beside a problem its size, beside silence what would be seen."""
    problem = found.verdict == "problem found"
    sentence, beside = found.sentence, "size" if problem else "sensitivity"
    if beside in answers:
        size = answers[beside].describe(found)[0]
        if problem:
            sentence = diagnosis.rejection(found)
        elif found.verdict == "no problem found":  # the shift that it names is a mere guess now
            sentence = f"No problem found in {_count(found.upload.n, 'simulation')}."
        sentence = f"{sentence} {size}"
    if problem and "cause" in answers:
        sentence = f"{sentence} {answers['cause'].describe(found)[0]}"
    return sentence


def table(diagnosis: Diagnosis) -> None:
    """One row per method, what the verdict rests on first, then the smallest p."""
    order = sorted(
        diagnosis.records,
        key=lambda one: (not diagnosis.counts(one), diagnosis.adjusted.get(one.label, 2.0)),
    )
    st.table(pd.DataFrame([_row(record, diagnosis) for record in order]).set_index("Test"))
    if diagnosis.claims is not None:
        st.caption(
            plain(
                "Relabelling within x is the verdict: one exact test of everything that is "
                "looked at, under whose error rate every claim on this page is made. The other "
                "tests stand beside it, adjusted by Holm among themselves; they do not count."
            )
        )
    reading = [record for record in diagnosis.records if record.effect.classifier_auc is not None]
    if reading:
        learned = reading[0].effect
        took = seconds(learned.training_seconds or 0.0)
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
    """Why tests were not run, each reason once."""
    reasons: dict[str, list[str]] = {}
    for record in records:
        if record.status == "not run":
            reasons.setdefault(str(record.reason), []).append(record.label)
    return [
        f"{labels[0]} was not run. {reason}"
        if len(labels) == 1
        else f"{', '.join(labels[:-1])} and {labels[-1]} were not run. Each of them: "
        f"{reason[0].lower()}{reason[1:]}"
        for reason, labels in reasons.items()
    ]


def _row(record: Record, diagnosis: Diagnosis) -> dict[str, str]:
    ran = record.status == "ran"
    return {
        "Test": record.label,
        "Statistic": record.about,
        "Value": f"{record.statistic:.3g}" if ran else "not run",
        "p": _cell(pvalue_text(record.pvalue)),
        "p, adjusted": _cell(pvalue_text(diagnosis.adjusted.get(record.label))),
        "Draws of p": f"{record.draws_p:,}" if ran else "–",
        "Draws of q": f"{record.draws_q:,}" if ran else "–",
        "Time": seconds(_time(record)) if ran else "–",
    }


def _cell(pvalue: str) -> str:
    """A p-value that no narrow column breaks in two, and no Markdown takes for a tag."""
    return pvalue.replace("<", "\\<").replace("-", "\u2011").replace(" ", "\u00a0")


def _time(record: Record) -> float:
    """Of the test and of a network of its own; the classifier that several share is told below."""
    shared = record.effect.classifier_auc is not None
    return record.seconds + (0.0 if shared else record.effect.training_seconds or 0.0)


def more_tests() -> tuple[Method, ...]:
    """The tests to run: those that run unasked, and the further ones that a user asks for."""
    further = diagnosis.further_methods()
    with st.expander("More tests", type="compact"):
        names = st.pills(
            "Tests to run beside these",
            list(further),
            selection_mode="multi",
            key="more",
            bind="query-params",
            format_func=lambda name: further[name].method.title,
        )
        descriptions = [
            f"{extra.method.title}: {extra.adds}; about {extra.seconds:g} s for 1,000 rows."
            for extra in further.values()
        ]
        st.caption("\n".join(f"- {plain(line)}" for line in descriptions))
        st.caption(diagnosis.WHY_NOT_ALL)
    return diagnosis.with_further(names)


def level(choices: Sequence[float]) -> float:
    """The level of the diagnosis, in the rail and in the address."""
    alpha = st.sidebar.select_slider(
        "Level",
        choices,
        0.05,
        key="level",
        bind="query-params",
        format_func="{:.0%}".format,
        help="If q is right, at most this share of tables gets a problem found.",
    )
    return float(alpha)


def seed() -> int:
    """The seed, in the rail and in the address."""
    chosen = st.sidebar.number_input(
        "Seed",
        0,
        9999,
        0,
        key="seed",
        bind="query-params",
        help="Fixes which rows train the networks, and the tie-breakers.",
    )
    return int(chosen)
