"""What the diagnosis page says: what was read, what will run, the verdict, the table of tests."""

from collections.abc import Mapping, Sequence

import pandas as pd
import streamlit as st

from pages.components.jobs import plain, seconds
from validation_core import costs, diagnosis
from validation_core.answers import Found
from validation_core.diagnosis import Diagnosis, Record, pvalue_text
from validation_core.panels import PANELS, by_name, told
from validation_core.types import Method
from validation_core.uploads import Upload


def what_was_read(upload: Upload) -> None:
    """Sizes, names, what was left out, and everything else a user should know."""
    dim_theta, dim_x = upload.dims
    names = ", ".join(upload.names[:8]) + ", …" * (len(upload.names) > 8)
    said = (
        f"{upload.n:,} rows, {_count(upload.k, 'draw')} of q at each, "
        f"{_count(dim_theta, 'parameter')} ({names}), x of {_count(dim_x, 'number')}."
        if upload.k
        else f"Two samples, {upload.n:,} points in the smaller one, "
        f"{_count(dim_theta, 'column')} ({names})."
    )
    st.caption(plain("Read: " + said))
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
        st.table(pd.DataFrame([_planned(upload, m) for m in methods]).set_index("Test"))
        held = max(costs.on_table(upload, m).memory for m in methods)
        size = sum(array.nbytes for array in upload.arrays().values())
        st.caption(plain(
            f"Its numbers take {_bytes(size)}; a worker will need about {_bytes(held)}. "
            "Seconds are a guess to plan by, within a factor of about two. Tests that share a "
            "network train it once: its time stands beside the first of them."
        ))  # fmt: skip
        cannot = [(p.title, p.module.obstacle(upload)) for p in PANELS if upload.k]
        for title, reason in cannot:
            if reason:
                st.caption(plain(f"{title}: not worked out. {reason}"))


def _planned(upload: Upload, method: Method) -> dict[str, str]:
    reason = diagnosis.obstacle(method, upload)
    cost = costs.on_table(upload, method)
    shared = method.reads == "classifier" and method.name != "within_x"
    learns = "" if shared or cost.training < 0.5 else f", {seconds(cost.training)} of it training"
    total = cost.trial + (0.0 if shared else cost.training)
    return {
        "Test": method.label,
        "Asks": method.summary,
        "Expected": f"not run: {reason}" if reason else f"{seconds(total)}{learns}",
    }


def _bytes(count: float) -> str:
    return f"{count / 1e6:,.0f} MB" if count >= 1e6 else f"{count / 1e3:,.0f} kB"


def verdict(found: Diagnosis, answers: Mapping[str, Found], *, working: bool) -> None:
    """The verdict, firm or so far, in a heading, and in a sentence what it rests on.

    Args:
        working: whether the tests that have not answered yet are being run.
    """
    firm = found.verdict == "problem found" or not found.pending
    so_far = "Testing" if working else "Not finished"
    st.header(found.verdict.capitalize() if firm else so_far, anchor="verdict")
    problem = found.verdict == "problem found"
    # Beside a problem its size; beside silence what would have been caught.
    beside = "size" if problem else "sensitivity"
    said = found.sentence
    if firm and beside in answers:
        size = told(by_name(beside), answers[beside], found)[0]
        if problem:
            said = diagnosis.rejection(found)
        elif found.verdict == "no problem found":  # the shift that it names is a mere guess now
            said = "No evidence against q."
        said = f"{said} {size}"
    if problem and "cause" in answers:
        said = f"{said} {told(by_name('cause'), answers['cause'], found)[0]}"
    st.markdown(plain(said))
    if found.upload.k:
        st.markdown(" · ".join(f"[{one.title}](#{one.name})" for one in PANELS))


def table(found: Diagnosis) -> None:
    """One row per method, what the verdict rests on first, then the smallest p."""
    order = sorted(
        found.records, key=lambda one: (not found.counts(one), found.adjusted.get(one.label, 2.0))
    )
    st.table(pd.DataFrame([_row(record, found) for record in order]).set_index("Test"))
    if found.claims is not None:
        st.caption(plain(
            "Relabelling within x is the verdict: one exact test of everything that is looked at, "
            "under whose error rate every claim on this page is made. The other tests stand "
            "beside it, adjusted by Holm among themselves; they do not count."
        ))  # fmt: skip
    reading = [record for record in found.records if "classifier_auc" in record.effect]
    if reading:
        learned = reading[0].effect
        took, names = seconds(learned["training_seconds"]), [record.label for record in reading]
        st.caption(plain(
            f"{', '.join(names)}: one classifier, trained on half of the rows in {took} and "
            f"tested on the other half. Its AUC on rows set aside while training was "
            f"{learned['classifier_auc']:.3f}; 0.5 is a guess."
        ))  # fmt: skip
    for said in _not_run(found.records):
        st.caption(plain(said))
    for record in found.records:
        if record.status == "ran" and (remark := found.remark(record)):
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


def _row(record: Record, found: Diagnosis) -> dict[str, str]:
    ran = record.status == "ran"
    return {
        "Test": record.label,
        "Statistic": record.about,
        "Value": f"{record.statistic:.3g}" if ran else "not run",
        "p": _cell(pvalue_text(record.pvalue)),
        "p, adjusted": _cell(pvalue_text(found.adjusted.get(record.label))),
        "Draws of p": f"{record.draws_p:,}" if ran else "–",
        "Draws of q": f"{record.draws_q:,}" if ran else "–",
        "Time": seconds(_time(record)) if ran else "–",
    }


def _cell(pvalue: str) -> str:
    """A p-value that no narrow column breaks in two, and no Markdown takes for a tag."""
    return pvalue.replace("<", "\\<").replace("-", "\u2011").replace(" ", "\u00a0")


def _time(record: Record) -> float:
    """Of the test and of a network of its own; the classifier that several share is told below."""
    own = 0.0 if "classifier_auc" in record.effect else record.effect.get("training_seconds", 0.0)
    return record.seconds + float(own)


def more_tests() -> tuple[Method, ...]:
    """The tests to run: those that run unasked, and the further ones that a user asks for."""
    further = diagnosis.further_methods()
    with st.expander("More tests", type="compact"):
        names = st.pills(
            "Tests to run beside these", list(further), selection_mode="multi", key="more",
            bind="query-params", format_func=lambda name: further[name].method.title,
        )  # fmt: skip
        told = [
            f"{one.method.title}: {one.adds}; about {one.seconds:g} s for 1,000 rows."
            for one in further.values()
        ]
        st.caption("\n".join(f"- {plain(line)}" for line in told))
        st.caption(diagnosis.WHY_NOT_ALL)
    return diagnosis.with_further(names)


def level(choices: Sequence[float]) -> float:
    """The level of the diagnosis, in the rail and in the address."""
    alpha = st.sidebar.select_slider(
        "Level", choices, 0.05, key="level", bind="query-params", format_func="{:.0%}".format,
        help="If q is right, at most this share of tables gets a problem found.",
    )  # fmt: skip
    return float(alpha)


def seed() -> int:
    """The seed, in the rail and in the address."""
    chosen = st.sidebar.number_input(
        "Seed", 0, 9999, 0, key="seed", bind="query-params",
        help="Fixes which rows train the networks, and the tie-breakers.",
    )  # fmt: skip
    return int(chosen)
