"""Tables from files: uploaded ones, or one below a folder that the server's operator allows."""

import io
from collections.abc import Callable, Hashable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple, Self

import streamlit as st

from pages.ui import folder, quotas
from pages.ui.jobs import plain, undisturbed
from validation_core import AmbiguousOrder, UnknownMaxRank, export
from validation_core.export.one_file import one_file
from validation_core.tables import (
    Missing,
    Order,
    UnknownArrays,
    Upload,
    guess_roles,
    read,
    read_files,
    warm,
)
from validation_core.tables.reading import File
from validation_core.tables.roles import NO_X, label
from validation_core.tables.x_columns import GAPS

Tables = list[tuple[str, Upload]]

_ORDERS = {
    "NKD": "Simulations first: theta_q[i, k] is draw k at x[i]",
    "KND": "Draws first: theta_q[k, i] is draw k at x[i]",
}
_FORMAT = (
    "A table holds `theta` (N, D), true parameters drawn from the prior; `x` (N, …), data "
    "simulated from each; and `theta_q` (N, K, D) or (K, N, D), K draws of q at each x. "
    "Optional: `theta_names` and `x_names`; `log_q` (N,) and `log_q_draws` (N, K), for the "
    "coverage of highest-density regions; with them `log_joint` and `log_joint_draws`, for "
    "the symmetric divergence. `x_o` (M,) and `theta_o` (K, D) are your own observation and "
    "q's draws there. Without `x` what needs it is left out; complex `x` is read as two columns "
    "each, trials padded with NaN are recognised, and `x_summary` (N, S) is read in place of a "
    "wide `x`. Two plain samples `p` (n, d) and `q` (n′, d) are tested without x; so are `ranks` "
    "(N, D) of theta among q's draws with their number `max_rank`, or `pit` (N, D) in [0, 1]."
    "\n\n`.npz` or several `.npy`; HDF5; ArviZ netCDF with groups `posterior`, `prior` and "
    "`observed_data` or `prior_predictive`; long `.csv` or `.parquet` with a row for each "
    "draw: `sim`, `draw` (−1 is the true value), `theta_…`, `x_…`; ranks as R's SBC (`stats`), "
    "ArviZ (`prior_sbc`) or a DataTree from here have them. Several tables of the same "
    "simulations can be compared. If arrays have other names, you are asked which is which. A "
    "few hundred rows with 50 draws each are a good start, 1,000 with 200 a good table. "
    "Nothing is ever unpickled."
)
_MEGABYTES = 200
_ROLES = {
    "theta": "theta: true parameters (N, D)",
    "x": "x: data of each (N, …)",
    "theta_q": "theta_q: draws (N, K, D) or (K, N, D)",
}
_OPTIONAL = {
    "log_q": "log_q: log density of q at theta (N,)",
    "log_q_draws": "log_q_draws: the same at its draws (N, K)",
    "log_joint": "log_joint: log p(theta, x) (N,)",
    "log_joint_draws": "log_joint_draws: the same at q's draws (N, K)",
    "x_summary": "x_summary: read in place of a wide x (N, S)",
    "x_o": "x_o: your own observation (M,)",
    "theta_o": "theta_o: q's draws there (K, D)",
    "theta_names": "theta_names: names of the parameters (D,)",
}
"""Labels of a form's fields, by the name of the array."""


def uploaded(removed: Callable[[], None] | None = None) -> Tables:
    """Draw the uploader; returns the uploaded tables.

    Args:
        removed: called when the last file has been taken away again.
    """

    def changed() -> None:
        if removed is not None and not st.session_state["file"]:
            removed()

    with st.container(horizontal=True, vertical_alignment="center"):
        sent = st.file_uploader(
            "Drop your table here: draws of your estimator",
            key="file",
            max_upload_size=_MEGABYTES,
            accept_multiple_files=True,
            type=None,
            on_change=changed,
            label_visibility="collapsed",
        )
        with st.popover("What a file holds", icon=":material/help:", type="tertiary"):
            st.markdown(_FORMAT)
            st.caption(
                f"Up to {_MEGABYTES} MB here; the command line takes more. Kept in this "
                "server's cache folder while there is space, named by its content alone."
            )
        with st.popover("Save one from your model", icon=":material/code:", type="tertiary"):
            _snippets()
    if refusal := quotas.refusal():
        st.error(plain(refusal), icon=":material/error:")
    if not sent:
        warm()  # the process that reads starts while a file is chosen
        return []
    return _read([(file.name, file) for file in sent], "+".join(file.file_id for file in sent))


def _snippets() -> None:
    st.markdown(
        "Put this file beside your own code: it needs NumPy alone, samples in batches, and saves "
        "a table."
    )
    st.download_button(
        "export.py",
        undisturbed(one_file),
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


class _Reading(NamedTuple):
    """Result of reading some files."""

    tables: Tables
    refusals: tuple[str, ...] = ()
    """Reasons why some of them hold no table."""
    unknown: UnknownArrays | None = None
    """The arrays of a file whose names do not determine their roles."""
    most: UnknownMaxRank | None = None
    """Ranks whose largest value is not known."""


class FileAnswers(NamedTuple):
    """A user's answers about files that do not say it themselves."""

    order: Order | None = None
    arrays: Mapping[str, str] = {}
    missing: Missing | None = None
    max_rank: int | None = None

    @classmethod
    def of(cls, stamp: str) -> Self:
        """The answers about the files with this stamp."""
        state = st.session_state
        return cls(
            state.get(f"order-{stamp}"),
            state.get(f"arrays-{stamp}", {}),
            state.get(f"missing-{stamp}"),
            state.get(f"most-{stamp}"),
        )


def _read(sent: Sequence[tuple[str, File]], stamp: str) -> Tables:
    """Reads files once per session; asks for the order of their axes, and which array is which,
    where only a user knows."""
    known: dict[Hashable, _Reading] = st.session_state.setdefault("uploads", {})
    said = FileAnswers.of(stamp)
    request = (stamp, said.order, *said.arrays.items(), said.missing, said.max_rank)
    if request not in known:
        known.clear()  # the tables of one choice at a time: they are large
        try:
            known[request] = _held(read_tables(sent, said))
        except AmbiguousOrder as question:
            st.info(plain(str(question)))
    reading = known.get(request, _Reading([]))
    for refusal in reading.refusals:
        st.error(plain(refusal), icon=":material/error:")
    if reading.unknown is not None:
        st.session_state[f"shapes-{stamp}"] = reading.unknown.shapes
    if shapes := st.session_state.get(f"shapes-{stamp}"):
        _ask_arrays(stamp, shapes, said.arrays)
    if reading.most is not None or said.max_rank is not None:
        _ask_most(stamp, reading.most)
    _ask_missing(stamp, reading.tables, said.missing)
    if said.order is not None or request not in known:
        st.radio(
            "Order of the axes of theta_q",
            list(_ORDERS),
            index=None,
            format_func=_ORDERS.get,
            key=f"order-{stamp}",
        )
    return reading.tables


def _ask_most(stamp: str, question: UnknownMaxRank | None) -> None:
    """The number of draws that ranks are among, which only the user knows."""
    if question is not None:
        st.info(
            f"These are ranks up to {question.largest:,}. Among how many draws of q was each true "
            "value ranked?"
        )
    st.number_input(
        "Draws of q at each simulation", min_value=1, value=None, step=1, key=f"most-{stamp}"
    )


def _ask_missing(stamp: str, tables: Tables, missing: Missing | None) -> None:
    """Whether NaN in x is a missing value, where rows were left out for it."""
    lost = sum(upload.dropped.get(GAPS, 0) for _, upload in tables)
    if lost or missing is not None:
        st.checkbox(
            f"Keep rows with NaN in x: it is a missing value"
            f"{f' ({lost:,} were left out as failed)' * bool(lost)}",
            value=missing == "mask",
            key=f"gaps-{stamp}",
            on_change=_say_missing,
            args=(stamp,),
        )


def _say_missing(stamp: str) -> None:
    """Keep what NaN in x was said to mean."""
    keep = st.session_state[f"gaps-{stamp}"]
    st.session_state[f"missing-{stamp}"] = "mask" if keep else "drop"


def _ask_arrays(
    stamp: str, shapes: Mapping[str, tuple[int, ...]], arrays: Mapping[str, str]
) -> None:
    """A form that asks which array is which; what shapes tell is chosen already."""
    if not arrays:
        st.info("The names of these arrays do not say what they are. Which is which?")
    first = {**guess_roles(shapes), **arrays}
    with st.form(f"which-{stamp}"):
        for column, (role, about) in zip(st.columns(3), _ROLES.items(), strict=True):
            with column:
                _select(stamp, role, about, shapes, first)
        with st.expander("Optional arrays", type="compact"):
            for role, about in _OPTIONAL.items():
                _select(stamp, role, about, shapes, first)
        st.form_submit_button(
            "Read the table", on_click=_say_arrays, args=(stamp,), type="primary"
        )


def _select(
    stamp: str,
    role: str,
    about: str,
    shapes: Mapping[str, tuple[int, ...]],
    first: Mapping[str, str],
) -> None:
    """The array of a role, or none."""
    names = list(shapes)
    st.selectbox(
        about,
        names,
        index=names.index(first[role]) if first.get(role) in names else None,
        format_func=lambda name: f"{label(name)} ({', '.join(map(str, shapes[name]))})",
        key=f"which-{stamp}-{role}",
        placeholder="None of them",
    )


def _say_arrays(stamp: str) -> None:
    """Keep the arrays chosen in the form, by role."""
    values = {role: st.session_state.get(f"which-{stamp}-{role}") for role in _ROLES | _OPTIONAL}
    arrays = {role: name for role, name in values.items() if name}
    if "x_summary" not in arrays and {"theta", "theta_q"} <= arrays.keys():
        arrays.setdefault("x", NO_X)
    st.session_state[f"arrays-{stamp}"] = arrays


def read_tables(sent: Sequence[tuple[str, File]], said: FileAnswers) -> _Reading:
    """The tables in these files, and why some hold none: one bad file spoils no other."""
    unknown: UnknownArrays | None = None
    together: tuple[str, ...] = ()
    try:
        return _Reading(_tables(sent, said))
    except AmbiguousOrder:
        raise
    except UnknownMaxRank as question:
        return _Reading([], most=question)
    except UnknownArrays as question:
        unknown = question
    except ValueError as refusal:
        together = (str(refusal),)
    tables: Tables = []
    refusals = []
    for named_file in sent if len(sent) > 1 else ():
        try:
            tables += _tables([named_file], said)
        except AmbiguousOrder:
            raise
        except ValueError as refusal:
            refusals.append(f"{label(named_file[0])}: {refusal}")
    if tables:
        return _Reading(tables, tuple(refusals))
    return _Reading([], together, unknown)


def _held(reading: _Reading) -> _Reading:
    """The tables that fit this visitor's quota of memory."""
    try:
        for _, upload in reading.tables:
            quotas.hold(upload)
    except ValueError as refusal:
        return _Reading([], (str(refusal),))
    return reading


def _tables(sent: Sequence[tuple[str, File]], said: FileAnswers) -> Tables:
    """The tables in these files; the message for a single file speaks of one."""
    for _, stream in sent:
        if isinstance(stream, io.IOBase):
            stream.seek(0)
    if len(sent) > 1:
        return read_files(sent, **said._asdict())
    ((name, file),) = sent
    upload = read(file, **said._asdict(), name=name)
    return [(label(Path(name).stem) or "table", upload)]
