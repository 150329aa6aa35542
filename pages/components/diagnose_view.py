"""What the diagnosis page asks for and says: the file, what was read, the verdict, the table."""

import json
from collections.abc import Sequence
from typing import BinaryIO

import pandas as pd
import streamlit as st

from pages.components.jobs import plain, seconds
from validation_core import diagnosis, uploads
from validation_core.diagnosis import Diagnosis, Record, pvalue_text
from validation_core.types import Method
from validation_core.uploads import Order, Upload, samples

_OWN = "Upload a file"
_SAMPLES = {
    "sample_well_trained": "Sample: an exact posterior",
    "sample_undertrained": "Sample: too narrow and shifted",
}
_ORDERS = {
    "NKD": "Simulations first: theta_q[i, k] is draw k at x[i]",
    "KND": "Draws first: theta_q[k, i] is draw k at x[i]",
}
_FORMAT = (
    "One `.npz` file (`numpy.savez`) with the arrays `theta` (N, D), the true parameters drawn "
    "from the prior; `x` (N, …), the data simulated from each; and `theta_q` (N, K, D), K draws "
    "of your estimator at each x. `theta_names` is optional. Two plain samples `p` (n, d) and `q` "
    "(n′, d) are tested without x. A few hundred rows with 50 draws each are a good start. "
    "Nothing is ever unpickled."
)


def choose() -> Upload | None:
    """The upload or sample that the user chose, read and checked; None until there is one."""
    what = st.segmented_control(
        "What to diagnose",
        [_OWN, *_SAMPLES.values()],
        default=_OWN,
        required=True,
        key="source",
        label_visibility="collapsed",
    )
    if what != _OWN:
        name = next(name for name, words in _SAMPLES.items() if words == what)
        st.caption(f"{samples.ABOUT[name][0].upper()}{samples.ABOUT[name][1:]}.")
        return _sample(name)
    with st.popover("What the file holds", icon=":material/help:", type="tertiary"):
        st.markdown(_FORMAT)
    file = st.file_uploader(
        "Draws of your estimator (.npz)", key="file", max_upload_size=200,
        help="Kept in this server's cache folder while there is room, by its content alone.",
    )  # fmt: skip
    return None if file is None else _read(file, file.file_id)


@st.cache_resource(max_entries=4, show_spinner=False)
def _sample(name: str) -> Upload:
    return uploads.read(samples.path(name))


def _read(file: BinaryIO, file_id: str) -> Upload | None:
    """Reads a file once per session; asks for the order of its axes where only a user knows."""
    known: dict[tuple[str, Order | None], Upload] = st.session_state.setdefault("uploads", {})
    order = st.session_state.get(f"order-{file_id}")
    if (file_id, order) not in known:
        known.clear()  # one table at a time: they are large
        try:
            known[file_id, order] = uploads.read(file, order=order)
        except uploads.AmbiguousOrder as question:
            st.info(plain(str(question)))
        except ValueError as refusal:
            st.error(plain(str(refusal)), icon=":material/error:")
            return None
    upload = known.get((file_id, order))
    if order is not None or upload is None:
        st.radio("Order of the axes of theta_q", list(_ORDERS), index=None,
                 format_func=_ORDERS.get, key=f"order-{file_id}")  # fmt: skip
    return upload


def what_was_read(upload: Upload) -> None:
    """Sizes, names, what was left out, and everything else a user should know."""
    dim_theta, dim_x = upload.dims
    names = ", ".join(upload.names[:8]) + ", …" * (len(upload.names) > 8)
    said = (
        f"{upload.n:,} rows, {upload.k:,} draws of q at each, {dim_theta} parameters ({names}), "
        f"{dim_x} data."
        if upload.k
        else f"Two samples, {upload.n:,} points in the smaller one, {dim_theta} quantities "
        f"({names})."
    )
    st.caption(plain("Read: " + said))
    for reason, count in upload.dropped.items():
        st.warning(plain(f"{count:,} rows were left out: {reason}."))
    for warning in upload.warnings:
        st.warning(plain(warning))
    for note in upload.notes:
        st.caption(plain(note))


def verdict(found: Diagnosis) -> None:
    """The verdict, firm or so far, in a heading and a sentence."""
    firm = found.verdict == "problem found" or not found.pending
    st.header(found.verdict.capitalize() if firm else "Testing", anchor=False)
    st.markdown(plain(found.sentence))


def table(found: Diagnosis) -> None:
    """One row per method, those that were not run with their reason."""
    st.table(pd.DataFrame([_row(r, found) for r in found.records]).set_index("Test"))
    reading = [record for record in found.records if "classifier_auc" in record.effect]
    if reading:
        learned = reading[0].effect
        took, names = seconds(learned["training_seconds"]), [record.label for record in reading]
        st.caption(plain(
            f"{', '.join(names)}: one classifier, trained on half of the rows in {took} and "
            f"tested on the other half. Its AUC on rows set aside while training was "
            f"{learned['classifier_auc']:.3f}; 0.5 is a guess."
        ))  # fmt: skip
    for record in found.records:
        if record.status == "not run":
            st.caption(plain(f"{record.label} was not run. {record.reason}"))
        elif said := found.remark(record):
            st.warning(plain(said))


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


def download(found: Diagnosis) -> None:
    """The diagnosis as the command line prints it, made when it is asked for."""
    st.download_button(
        "Download JSON",
        lambda: json.dumps(found.to_json(), indent=1),
        file_name="diagnosis.json",
        mime="application/json",
        on_click="ignore",
        icon=":material/download:",
    )


def levels(choices: Sequence[float]) -> tuple[float, int]:
    """Level and seed, in the rail and in the address."""
    with st.sidebar:
        alpha = st.select_slider(
            "Level", choices, 0.05, key="level", bind="query-params", format_func="{:.0%}".format,
            help="If q is right, at most this share of tables gets a problem found.",
        )  # fmt: skip
        seed = st.number_input(
            "Seed", 0, 9999, 0, key="seed", bind="query-params",
            help="Fixes which rows train the networks, and the tie-breakers.",
        )  # fmt: skip
    return float(alpha), int(seed)
