"""Where the table to diagnose comes from: files, a sample, a benchmark, a path on the server."""

import io
import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import streamlit as st

from pages.components import recent
from pages.components.jobs import plain
from validation_core import export, sampling, uploads
from validation_core.benchmarks import Gaussian
from validation_core.benchmarks.perturbations import PERTURBATIONS
from validation_core.rng import stream
from validation_core.uploads import Order, Upload, local, samples

Tables = list[tuple[str, Upload]]

_SOURCES = {
    "file": "Upload files",
    "path": "A file on the server",
    "exact": "Sample: an exact posterior",
    "narrow": "Sample: too narrow and shifted",
    "benchmark": "A benchmark",
}
_SAMPLES = {"exact": "sample_well_trained", "narrow": "sample_undertrained"}
_ORDERS = {
    "NKD": "Simulations first: theta_q[i, k] is draw k at x[i]",
    "KND": "Draws first: theta_q[k, i] is draw k at x[i]",
}
_FORMAT = (
    "A table holds `theta` (N, D), the true parameters drawn from the prior; `x` (N, …), the data "
    "simulated from each; and `theta_q` (N, K, D) or (K, N, D), K draws of your estimator at each "
    "x. `theta_names` and `x_names` are optional; with `log_q` (N,) and `log_q_draws` (N, K), the "
    "coverage of highest-density regions is shown, with `log_joint` and `log_joint_draws` the "
    "symmetric divergence; `x_o` (M,) with `theta_o` (K, D) is your own observation. Two plain "
    "samples `p` (n, d) and `q` (n′, d) are tested without x.\n\n"
    "`.npz` or several `.npy`; HDF5; ArviZ netCDF with groups `posterior`, `prior` and "
    "`observed_data` or `prior_predictive`; long `.csv` or `.parquet` with a row for each draw: "
    "`sim`, `draw` (−1 is the truth), `theta_…`, `x_…`. Several tables of the same simulations "
    "can be compared. A few hundred rows with 50 draws each are a good start, 1,000 with 200 a "
    "good table. Nothing is ever unpickled."
)
_MEGABYTES = 200


def choose() -> Tables:
    """The table that the user chose, read and checked, with a label; none until there is one."""
    kinds = [kind for kind in _SOURCES if kind != "path" or local.folder() is not None]
    what = st.segmented_control(
        "What to diagnose", kinds, default="file", required=True, key="source",
        format_func=_SOURCES.get, bind="query-params", label_visibility="collapsed",
    )  # fmt: skip
    if what in _SAMPLES:
        name = _SAMPLES[what]
        st.caption(f"{samples.ABOUT[name][0].upper()}{samples.ABOUT[name][1:]}.")
        return [(_SOURCES[what], _sample(name))]
    if what == "benchmark":
        return [benchmark()]
    found = server() if what == "path" else files()
    if len(found) > 1:
        found = [_one_of(found)]
    if not found:
        return _again()
    recent.remember(*found[0])
    return found


def _again() -> Tables:
    """The table that this browser looked at before, after a refresh; others of its own to pick."""
    before = recent.listed()
    if not before:
        return []
    with st.container(horizontal=True, vertical_alignment="center"):
        st.caption("Your last tables:")
        for entry in before[:4]:
            st.button(
                f"{plain(entry['label'])}, {entry['n']:,} rows", key=f"again-{entry['digest']}",
                type="tertiary", on_click=_open, args=(entry,),
            )  # fmt: skip
    shown = recent.addressed()
    if shown is None:
        return []
    st.button(f"Close {plain(shown[0])}", on_click=recent.forget, type="tertiary",
              icon=":material/close:")  # fmt: skip
    return [shown]


def _open(entry: Mapping[str, Any]) -> None:
    found = recent.again(entry)
    if found is not None:
        recent.remember(*found)


def pair() -> Tables:
    """Two tables of the same simulations to try a comparison on."""
    return [("exact", _sample("sample_well_trained")), ("too narrow", _narrowed())]


@st.cache_resource(show_spinner=False)
def _narrowed() -> Upload:
    """The sample's draws, drawn together to seven tenths of their spread about their mean."""
    exact = _sample("sample_well_trained")
    arrays = exact.arrays()
    middle = arrays["theta_q"].mean(1, keepdims=True)
    narrow = middle + 0.7 * (arrays["theta_q"] - middle)
    return replace(Upload.of({**arrays, "theta_q": narrow}, order="NKD"), names=exact.names)


def files() -> Tables:
    """What was uploaded."""
    with st.container(horizontal=True):
        with st.popover("What a file holds", icon=":material/help:", type="tertiary"):
            st.markdown(_FORMAT)
        with st.popover("Save one from your model", icon=":material/code:", type="tertiary"):
            _snippets()
    sent = st.file_uploader(
        "Draws of your estimator", key="file", max_upload_size=_MEGABYTES,
        accept_multiple_files=True, type=None,
        help=f"Up to {_MEGABYTES} MB; the command line takes more. Kept in this server's cache "
        "folder while there is room, by its content alone.",
    )  # fmt: skip
    if not sent:
        return []
    return _read([(one.name, one) for one in sent], "+".join(one.file_id for one in sent))


def _snippets() -> None:
    st.markdown(
        "Put this file beside your own code: it needs NumPy alone, samples in batches, and saves "
        "a table."
    )
    st.download_button(
        "export.py", Path(export.__file__).read_bytes, file_name="export.py",
        mime="text/x-python", on_click="ignore", icon=":material/download:",
    )  # fmt: skip
    for tab, code in zip(st.tabs(list(export.SNIPPETS)), export.SNIPPETS.values(), strict=True):
        tab.code(code, language="python")


def server() -> Tables:
    """A file below the folder that whoever runs this server allows."""
    folder = local.folder()
    assert folder is not None
    text = st.text_input("Path below the server's folder", key="path", placeholder="run/table.npz")
    if not text:
        return []
    try:
        path = local.within(folder, text)
    except ValueError as refusal:
        st.error(plain(str(refusal)), icon=":material/error:")
        return []
    stamp = os.stat(path)
    return _read([(path.name, path)], f"{path}:{stamp.st_mtime_ns}:{stamp.st_size}")


def benchmark() -> tuple[str, Upload]:
    """A table drawn from the Gaussian family, wrong in a way and by as much as the user likes."""
    left, middle, right = st.columns([2, 1, 1])
    names = list(PERTURBATIONS)
    kind = left.selectbox(
        "What is wrong with q", names, key="kind", bind="query-params",
        format_func=lambda name: PERTURBATIONS[name].title.capitalize(),
    )  # fmt: skip
    gammas = PERTURBATIONS[kind].gammas
    gamma = gammas[-1]
    if len(gammas) > 1:
        gamma = middle.select_slider(
            "gamma", gammas, gammas[len(gammas) // 2], key=f"gamma-{kind}", bind="query-params"
        )
    n = right.select_slider("Simulations", (200, 500, 1000, 2000), 1000, key="rows",
                            bind="query-params")  # fmt: skip
    st.caption(
        f"Gaussian family, three parameters and three data, 100 draws at each x: "
        f"{PERTURBATIONS[kind].summary}."
    )
    return f"{PERTURBATIONS[kind].title}, gamma {gamma:g}", _drawn(kind, float(gamma), n)


@st.cache_resource(max_entries=4, show_spinner=False)
def _drawn(kind: Any, gamma: float, n: int) -> Upload:
    rng = stream(0, "diagnose", "benchmark", kind, n)
    draws = sampling.table(Gaussian(perturbation=kind), gamma, n, 100, rng)
    named = {"theta": draws.theta, "x": draws.x, "theta_q": draws.q}
    return Upload.of(named, order="NKD")


@st.cache_resource(max_entries=4, show_spinner=False)
def _sample(name: str) -> Upload:
    return uploads.read(samples.path(name))


def _one_of(found: Tables) -> tuple[str, Upload]:
    labels = [label for label, _ in found]
    chosen = st.selectbox(
        "Table", range(len(found)), format_func=labels.__getitem__, key="table",
        help="Compare posteriors puts them side by side.",
    )  # fmt: skip
    return found[chosen]


def _read(sent: Sequence[tuple[str, Any]], stamp: str) -> Tables:
    """Reads files once per session; asks for the order of their axes where only a user knows."""
    known: dict[tuple[str, Order | None], tuple[Tables, list[str]]] = st.session_state.setdefault(
        "uploads", {}
    )
    order = st.session_state.get(f"order-{stamp}")
    if (stamp, order) not in known:
        known.clear()  # the tables of one choice at a time: they are large
        try:
            known[stamp, order] = _whole(sent, order)
        except uploads.AmbiguousOrder as question:
            st.info(plain(str(question)))
    found, refusals = known.get((stamp, order), ([], []))
    for refusal in refusals:
        st.error(plain(refusal), icon=":material/error:")
    if order is not None or (stamp, order) not in known:
        st.radio("Order of the axes of theta_q", list(_ORDERS), index=None,
                 format_func=_ORDERS.get, key=f"order-{stamp}")  # fmt: skip
    return found


def _whole(sent: Sequence[tuple[str, Any]], order: Order | None) -> tuple[Tables, list[str]]:
    """The tables in these files, and why some hold none: one bad file spoils no other."""
    try:
        return uploads.read_files(_rewound(sent), order=order), []
    except uploads.AmbiguousOrder:
        raise
    except ValueError as refusal:
        together = str(refusal)
    if len(sent) == 1:
        return [], [together]
    found: Tables = []
    refusals = []
    for one in sent:
        try:
            found += uploads.read_files(_rewound([one]), order=order)
        except uploads.AmbiguousOrder:
            raise
        except ValueError as refusal:
            refusals.append(f"{one[0]}: {refusal}")
    return (found, refusals) if found else ([], [together])


def _rewound(sent: Sequence[tuple[str, Any]]) -> Sequence[tuple[str, Any]]:
    for _, one in sent:
        if isinstance(one, io.IOBase):
            one.seek(0)
    return sent
