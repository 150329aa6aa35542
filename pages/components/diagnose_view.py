"""What the diagnosis page shows of an upload: what was read, the verdict, a picture per test."""

import json
from collections.abc import Sequence
from typing import BinaryIO

import pandas as pd
import streamlit as st

from pages.components import charts, diagnose_ball
from pages.components.jobs import plain, seconds
from validation_core import uploads
from validation_core.diagnosis import Diagnosis, Record, equals, pvalue_text, remark
from validation_core.figures.diagnosis import Picture, pictures
from validation_core.maps import MapTask
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
        elif said := remark(record):
            st.warning(plain(said))


def _row(record: Record, found: Diagnosis) -> dict[str, str]:
    ran = record.status == "ran"
    return {
        "Test": record.label,
        "Statistic": record.about,
        "Value": f"{record.statistic:.3g}" if ran else "not run",
        "p": pvalue_text(record.pvalue).replace("<", "\\<"),
        "p, adjusted": pvalue_text(found.adjusted.get(record.label)).replace("<", "\\<"),
        "Draws of p": f"{record.draws_p:,}" if ran else "–",
        "Draws of q": f"{record.draws_q:,}" if ran else "–",
        "Time": seconds(record.seconds) if ran else "–",
    }


def drawings(found: Diagnosis, maps: Sequence[MapTask]) -> None:
    """The pictures of every method that ran, two beside one another; CoLT's map comes last."""
    alone: list[tuple[str, Picture]] = []
    mapped = [record for record in found.records if record.name == "colt"]
    for record in found.records:
        if record in mapped:
            continue
        if record.name == "sbc" and record.status == "ran":
            st.subheader(record.title, anchor=False)
            _side_by_side(record.name, _named_pictures(record, found, _parameter(found)))
            continue
        shown = _named_pictures(record, found)
        if len(shown) == 1:
            alone.append((f"{record.label}: {shown[0][0].lower()}", shown[0][1]))
        elif shown:
            st.subheader(record.title, anchor=False)
            _side_by_side(record.name, shown)
    _side_by_side("alone", alone)
    for record in mapped:
        if record.status == "ran":
            st.subheader(record.title, anchor=False)
            _side_by_side(record.label, _named_pictures(record, found))
            diagnose_ball.where(record, found, next(iter(maps), None))


def _named_pictures(
    record: Record, found: Diagnosis, parameter: int = 0
) -> list[tuple[str, Picture]]:
    shown = pictures(record, alpha=found.alpha, parameter=parameter)
    return [(picture.title, picture) for picture in shown]


def _side_by_side(key: str, shown: Sequence[tuple[str, Picture]]) -> None:
    columns = st.columns(2, gap="large") if shown else []
    for i, (column, (title, picture)) in enumerate(zip(columns, shown, strict=False)):
        charts.captioned(column, title, picture.figure, f"{key}-{i}", picture.words)


def _parameter(found: Diagnosis) -> int:
    """Which parameter's ranks to draw: the worst first, or what the user chooses."""
    order = sorted(range(len(found.parameters)), key=lambda i: found.parameters[i].pvalue)
    if len(order) < 2:
        return 0
    chosen: int = st.selectbox(
        "Parameter, the worst first", order, format_func=lambda i: _named(found, i),
        key="parameter", width=420,
    )  # fmt: skip
    return chosen


def _named(found: Diagnosis, index: int) -> str:
    one = found.parameters[index]
    return f"{one.name}: adjusted p {equals(one.pvalue_adjusted)}"


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
