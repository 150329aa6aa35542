"""Tables from files: uploaded ones, or one below a folder that the server's operator allows."""

import io
from collections.abc import Callable, Hashable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple, Self

import streamlit as st

from pages.diagnose import how_read
from pages.diagnose.how_read import ReadAs
from pages.ui import folder, quotas
from pages.ui.jobs import plain, undisturbed
from validation_core import AmbiguousOrder, UnknownMaxRank, export
from validation_core.export.one_file import one_file
from validation_core.tables import (
    LabelledTable,
    Missing,
    Order,
    Reading,
    UnknownArrays,
    guess_roles,
    read,
    read_files,
    warm,
)
from validation_core.tables.long_layout import guess_columns
from validation_core.tables.reading import File
from validation_core.tables.roles import NO_X, label
from validation_core.tables.x_columns import GAPS

Tables = list[LabelledTable]

_ORDERS = {
    "NKD": "Simulations first: theta_q[i, k] is draw k at x[i]",
    "KND": "Draws first: theta_q[k, i] is draw k at x[i]",
    "DKN": "Parameters first (MATLAB, Julia, R): theta_q[:, k, i] is draw k at x[:, i]",
    "DNK": "Parameters first (MATLAB, Julia, R): theta_q[:, i, k] is draw k at x[:, i]",
}
_FORMAT = (
    "A table holds `theta` (N, D), true parameters drawn from the prior; `x` (N, …), data "
    "simulated from each; and `theta_q` (N, K, D) or (K, N, D), K draws of q at each x. "
    "Optional: `theta_names` and `x_names`; `log_q` (N,) and `log_q_draws` (N, K), for the "
    "coverage of highest-density regions; with them `log_joint` and `log_joint_draws`, for "
    "the symmetric divergence; these alone, `log_likelihood` or `quantity_NAME` (N,) with "
    "`…_draws` (N, K) are test quantities of your own. Weighted draws: `log_w` (N,) and "
    "`log_w_draws` (N, K), log of claimed density over the density drawn from, at theta and at "
    "its draws (or `w_draws`, `weights`, not as logarithms). `x_o` (M,) and `theta_o` (K, D) are "
    "your own observation and q's draws there; `around`, which `export.around` writes, says that "
    "theta was drawn around x_o. `periods` (D,) are those of angles (0 for others), "
    "`bounds` (D, 2) the prior's least and greatest values, `discrete` (D,) is 1 for counts and "
    "classes. Without `x` what needs it is left "
    "out; complex `x` is read as two columns each, trials padded with NaN are recognised, and "
    "`x_summary` (N, S) is read in place of a wide `x`. Two plain samples `p` (n, d) and `q` "
    "(n′, d) are tested without x; so are `ranks` (N, D) of theta among q's draws with their "
    "number `max_rank`, or `pit` (N, D) in [0, 1]. `probabilities` (N, C) of C models or classes "
    "come with the true class, `label` (N,), and perhaps `x`; in a `.csv` as columns `prob_NAME` "
    "beside `label`.\n\n`.npz`, several "
    "`.npy`, `.json` or a zip of zarr; HDF5, also of MATLAB (v7.3), Julia and R, also "
    "with a group for each simulation; ArviZ netCDF with groups "
    "`posterior`, `prior` and `observed_data` or `prior_predictive`; long `.csv` or `.parquet` "
    "with a row for each draw: `sim`, `draw` (−1 is the true value), `theta_…`, `x_…`, perhaps "
    "`weight`, or true values in columns such as `mass_true` beside `mass`; melted ones; ranks as "
    "R's SBC (`stats`), ArviZ (`prior_sbc`) or a DataTree from here have them; results of bilby, "
    "a file for each simulation. Several tables of the same simulations can be compared. If "
    "arrays or columns have other names, you are asked which is which. A few hundred rows with 50 "
    "draws each are a good start, 1,000 with 200 a good table. Nothing is ever unpickled."
)
_MEGABYTES = 200
_STAMP = "file-stamp"
"""In the session: the stamp of the files that the one table was read from; None without."""
_ROLES = {
    "theta": "theta: true parameters (N, D)",
    "x": "x: data of each (N, …)",
    "theta_q": "theta_q: draws (N, K, D) or (K, N, D)",
}
_COLUMNS = {
    "sim": "Simulation",
    "draw": "Draw",
    "theta": "True values",
    "theta_q": "Draws of q",
    "x": "Data",
}
_OPTIONAL = {
    "log_q": "log_q: log density of q at theta (N,)",
    "log_q_draws": "log_q_draws: the same at its draws (N, K)",
    "log_joint": "log_joint: log p(theta, x) (N,)",
    "log_joint_draws": "log_joint_draws: the same at q's draws (N, K)",
    "x_summary": "x_summary: read in place of a wide x (N, S)",
    "log_w": "log_w: log weight of theta (N,)",
    "log_w_draws": "log_w_draws: log weights of the draws (N, K)",
    "w_draws": "w_draws: their weights, not as logarithms (N, K)",
    "log_likelihood": "log_likelihood: log p(x | theta) (N,)",
    "log_likelihood_draws": "log_likelihood_draws: the same at q's draws (N, K)",
    "quantity_own": "A test quantity of your own at theta (N,)",
    "quantity_own_draws": "The same quantity at q's draws (N, K)",
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

    with st.container(horizontal=True, vertical_alignment="center", key="upload"):
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


def stamp_of_table() -> str | None:
    """The stamp of the files of which the one table of this run was read; None without any."""
    return st.session_state.get(_STAMP)


def no_file() -> None:
    """Say that the table of this run is from no file."""
    st.session_state[_STAMP] = None


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
    arrays: Mapping[str, Sequence[str]] = {}
    missing: Missing | None = None
    max_rank: int | None = None
    read_as: ReadAs = ReadAs()

    @classmethod
    def of(cls, stamp: str) -> Self:
        """The answers about the files with this stamp."""
        state = st.session_state
        return cls(
            state.get(f"order-{stamp}"),
            state.get(f"arrays-{stamp}", {}),
            state.get(f"missing-{stamp}"),
            state.get(f"most-{stamp}"),
            how_read.said(stamp),
        )

    def options(self) -> Reading:
        """They as options of reading."""
        return Reading(
            order=self.order,
            arrays=self.arrays,
            missing=self.missing,
            max_rank=self.max_rank,
            circular=self.read_as.circular,
            logarithms=self.read_as.logarithms,
            bounds=self.read_as.bounds,
            discrete=self.read_as.discrete,
            corrections=self.read_as.corrections,
        )


def _read(sent: Sequence[tuple[str, File]], stamp: str) -> Tables:
    """Reads files once per session; asks for the order of their axes, and which array is which,
    where only a user knows."""
    known: dict[Hashable, _Reading] = st.session_state.setdefault("uploads", {})
    said = FileAnswers.of(stamp)
    request = (stamp, repr(said))
    if request not in known:
        known.clear()  # the tables of one choice at a time: they are large
        try:
            known[request] = _held(read_tables(sent, said))
        except AmbiguousOrder as question:
            st.session_state[f"orders-{stamp}"] = question.orders
            st.info(plain(str(question)))
    reading = known.get(request, _Reading([]))
    for refusal in reading.refusals:
        st.error(plain(refusal), icon=":material/error:")
    if reading.refusals and said.read_as != ReadAs():
        st.button("Read it as before", on_click=how_read.forget, args=(stamp,))
    st.session_state[_STAMP] = stamp if len(reading.tables) == 1 else None
    if reading.unknown is not None:
        st.session_state[f"unknown-{stamp}"] = reading.unknown
    unknown: UnknownArrays | None = st.session_state.get(f"unknown-{stamp}")
    if unknown is not None and not unknown.answerable:
        st.error(plain(str(unknown)), icon=":material/error:")
    elif unknown is not None:
        _ask_arrays(stamp, unknown, said.arrays)
    if reading.most is not None or said.max_rank is not None:
        _ask_most(stamp, reading.most)
    _ask_missing(stamp, reading.tables, said.missing)
    if said.order is not None or request not in known:
        st.radio(
            "Order of the axes of theta_q",
            st.session_state.get(f"orders-{stamp}", ("NKD", "KND")),
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
    lost = sum(upload.dropped.get(GAPS, 0) for _, upload, _ in tables)
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


def _ask_arrays(stamp: str, unknown: UnknownArrays, arrays: Mapping[str, Sequence[str]]) -> None:
    """A form that asks which array is which, or which column; what is known is chosen already."""
    what = "columns" if unknown.columns else "arrays"
    if not arrays:
        more = (
            "Name draws of q in the order of the true values."
            if unknown.columns
            else "Where x is in several arrays, choose them all: their columns are joined."
        )
        st.info(f"The names of these {what} do not say what they are. Which is which? {more}")
    guessed: Mapping[str, Sequence[str]]
    if unknown.columns:
        guessed, fields = guess_columns(list(unknown.shapes)), _COLUMNS
    else:
        guessed, fields = {r: [n] for r, n in guess_roles(unknown.shapes).items()}, _ROLES
    first = {**guessed, **arrays}
    # The columns of a table come after all of them as one array.
    shapes = dict(list(unknown.shapes.items())[unknown.columns :])
    with st.form(f"which-{stamp}"):
        for column, (role, about) in zip(st.columns(len(fields)), fields.items(), strict=True):
            with column:
                several = role == "x" or (unknown.columns and role != "sim")
                _select(stamp, role, about, shapes, first, several=several)
        if not unknown.columns:
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
    first: Mapping[str, Sequence[str]],
    *,
    several: bool = False,
) -> None:
    """The array of a role, or none; perhaps several, whose columns are joined."""
    names = list(shapes)
    known = [name for name in first.get(role, ()) if name in names]

    def shown(name: str) -> str:
        return f"{label(name)} ({', '.join(map(str, shapes[name]))})"

    key = f"which-{stamp}-{role}"
    if several:
        st.multiselect(about, names, known, format_func=shown, key=key, placeholder="None of them")
        return
    st.selectbox(
        about,
        names,
        index=names.index(known[0]) if known else None,
        format_func=shown,
        key=key,
        placeholder="None of them",
    )


def _say_arrays(stamp: str) -> None:
    """Keep the arrays chosen in the form, by role."""
    chosen: dict[str, list[str]] = {}
    for role in _ROLES | _COLUMNS | _OPTIONAL:
        value = st.session_state.get(f"which-{stamp}-{role}")
        if value:
            chosen[role] = [value] if isinstance(value, str) else value
    if {"theta", "theta_q"} <= chosen.keys() and not {"sim", "x_summary"} & chosen.keys():
        chosen.setdefault("x", [NO_X])
    st.session_state[f"arrays-{stamp}"] = chosen


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
        for _, upload, _ in reading.tables:
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
        return read_files(sent, **said.options())
    ((name, file),) = sent
    upload = read(file, name=name, **said.options())
    return [LabelledTable(label(Path(name).stem) or "table", upload, (name,))]
