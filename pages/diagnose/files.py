"""Tables from files: uploaded ones, or one below a folder that the server's operator allows."""

import io
from collections.abc import Callable, Sequence
from pathlib import Path

import streamlit as st

from pages.ui import folder
from pages.ui.jobs import plain, undisturbed
from validation_core import AmbiguousOrder, export
from validation_core.tables import Order, Upload, read, read_files
from validation_core.tables.reading import File
from validation_core.tables.source import label

Tables = list[tuple[str, Upload]]

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


def uploaded(removed: Callable[[], None] | None = None) -> Tables:
    """What was uploaded.

    Args:
        removed: called when the last file has been taken away again.
    """

    def changed() -> None:
        if removed is not None and not st.session_state["file"]:
            removed()

    with st.container(horizontal=True):
        with st.popover("What a file holds", icon=":material/help:", type="tertiary"):
            st.markdown(_FORMAT)
        with st.popover("Save one from your model", icon=":material/code:", type="tertiary"):
            _snippets()
    sent = st.file_uploader(
        "Draws of your estimator",
        key="file",
        max_upload_size=_MEGABYTES,
        accept_multiple_files=True,
        type=None,
        on_change=changed,
        help=f"Up to {_MEGABYTES} MB; the command line takes more. Kept in this server's cache "
        "folder while there is room, by its content alone.",
    )
    if not sent:
        return []
    return _read([(file.name, file) for file in sent], "+".join(file.file_id for file in sent))


def _snippets() -> None:
    st.markdown(
        "Put this file beside your own code: it needs NumPy alone, samples in batches, and saves "
        "a table."
    )
    st.download_button(
        "export.py",
        undisturbed(Path(export.__file__).read_bytes),
        file_name="export.py",
        mime="text/x-python",
        on_click="ignore",
        icon=":material/download:",
    )
    for tab, code in zip(st.tabs(list(export.SNIPPETS)), export.SNIPPETS.values(), strict=True):
        tab.code(code, language="python")


def below() -> Tables:
    """A file below the folder that whoever runs this server allows."""
    choice = folder.pick("File below the server's folder", "path")
    if choice is None:
        return []
    path, stamp = choice
    return _read([(path.name, path)], stamp)


def _read(sent: Sequence[tuple[str, File]], stamp: str) -> Tables:
    """Reads files once per session; asks for the order of their axes where only a user knows."""
    known: dict[tuple[str, Order | None], tuple[Tables, list[str]]] = st.session_state.setdefault(
        "uploads", {}
    )
    order = st.session_state.get(f"order-{stamp}")
    if (stamp, order) not in known:
        known.clear()  # the tables of one choice at a time: they are large
        try:
            known[stamp, order] = _whole(sent, order)
        except AmbiguousOrder as question:
            st.info(plain(str(question)))
    tables, refusals = known.get((stamp, order), ([], []))
    for refusal in refusals:
        st.error(plain(refusal), icon=":material/error:")
    if order is not None or (stamp, order) not in known:
        st.radio(
            "Order of the axes of theta_q",
            list(_ORDERS),
            index=None,
            format_func=_ORDERS.get,
            key=f"order-{stamp}",
        )
    return tables


def _whole(sent: Sequence[tuple[str, File]], order: Order | None) -> tuple[Tables, list[str]]:
    """The tables in these files, and why some hold none: one bad file spoils no other."""
    try:
        return _tables(sent, order), []
    except AmbiguousOrder:
        raise
    except ValueError as refusal:
        together = str(refusal)
    if len(sent) == 1:
        return [], [together]
    tables: Tables = []
    refusals = []
    for named_file in sent:
        try:
            tables += _tables([named_file], order)
        except AmbiguousOrder:
            raise
        except ValueError as refusal:
            refusals.append(f"{named_file[0]}: {refusal}")
    return (tables, refusals) if tables else ([], [together])


def _tables(sent: Sequence[tuple[str, File]], order: Order | None) -> Tables:
    """What these files hold; one by itself is refused in words that speak of one."""
    for _, stream in sent:
        if isinstance(stream, io.IOBase):
            stream.seek(0)
    if len(sent) > 1:
        return read_files(sent, order=order)
    ((name, file),) = sent
    return [(label(Path(name).stem) or "table", read(file, order=order, name=name))]
