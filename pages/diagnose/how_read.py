"""How a file is read: what its numbers cannot tell, in a form below what was understood."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import pandas as pd
import streamlit as st

from validation_core.tables import TableUpload, Upload
from validation_core.tables.logarithms import saved_name

_ROW = 35  # pixels
_NAME, _LOW, _HIGH = "Parameter", "Least", "Greatest"
_PERIOD, _LOG, _DISCRETE = "Period", "Logarithm", "Discrete"
_HELP = {
    _LOW: "The prior's least value, where there is one: draws below it are tested as such.",
    _HIGH: "The prior's greatest value.",
    _PERIOD: "Of an angle or a time of day: 6.283, 360, 24. Empty for others.",
    _LOG: "Read a positive parameter by its logarithm to base 10.",
    _DISCRETE: "Counts or classes, such as the number of a model: whether each value is as "
    "frequent as q says is tested too.",
}


class ReadAs(NamedTuple):
    """What a user says of a table; None leaves it to be recognised."""

    circular: Mapping[str, float] | None = None
    logarithms: tuple[str, ...] | None = None
    bounds: Mapping[str, tuple[float, float]] | None = None
    discrete: tuple[str, ...] | None = None
    corrections: tuple[str, ...] = ()


def said(stamp: str) -> ReadAs:
    """What was said of the files with this stamp."""
    known = st.session_state.get(_key(stamp))
    return known if isinstance(known, ReadAs) else ReadAs()


def form(stamp: str, upload: Upload) -> None:
    """Draw the form of one table: what it is read as, to be changed.

    Args:
        stamp: of its files.
        upload: as it was read.
    """
    if not isinstance(upload, TableUpload):
        return
    frame = parameters(upload)
    known = said(stamp)
    with (
        st.expander("How to read it", type="compact", key=f"how-read-{stamp}"),
        st.form(f"read-as-{stamp}", border=False),
    ):
        st.data_editor(
            frame,
            key=_key(stamp, "table"),
            hide_index=True,
            disabled=[_NAME],
            height=min(_ROW * (len(frame) + 1) + 3, 300),
            column_config={
                **{
                    name: st.column_config.NumberColumn(help=_HELP[name])
                    for name in (_LOW, _HIGH, _PERIOD)
                },
                **{
                    name: st.column_config.CheckboxColumn(help=_HELP[name])
                    for name in (_LOG, _DISCRETE)
                },
            },
        )
        thin = [one.removeprefix("thin=") for one in known.corrections if "=" in one]
        with st.container(horizontal=True, vertical_alignment="bottom"):
            st.number_input(
                "Keep one of every so many draws",
                min_value=1,
                value=int(thin[0]) if thin else 1,
                key=_key(stamp, "thin"),
                width=260,
                help="Of a chain whose consecutive draws are correlated.",
            )
            st.checkbox(
                "One row for each theta",
                value="one_row" in known.corrections,
                key=_key(stamp, "one-row"),
                help="Where several rows share a theta, they are not independent.",
            )
            st.form_submit_button("Read it so", on_click=_say, args=(stamp, frame, known))
        if known != ReadAs():
            st.form_submit_button("As it was read at first", on_click=forget, args=(stamp,))


def forget(stamp: str) -> None:
    """Read the files with this stamp as if nothing had been said of them."""
    st.session_state.pop(_key(stamp), None)
    st.session_state.pop(_key(stamp, "table"), None)


def parameters(upload: TableUpload) -> pd.DataFrame:
    """What each parameter of a table is read as, a row each; empty where nothing is known."""
    d = len(upload.names)
    saved = [saved_name(name) for name in upload.names]
    logs = [f"{name} by its logarithm" in upload.read_as for name in saved]
    bounds = [(math.nan, math.nan)] * d if upload.bounds is None else upload.bounds
    ends = [
        [_finite(10.0**end if log else end) for end in pair]
        for pair, log in zip(bounds, logs, strict=True)
    ]
    return pd.DataFrame({
        _NAME: [a if log else b for log, a, b in zip(logs, saved, upload.names, strict=True)],
        _LOW: [low for low, _ in ends],
        _HIGH: [high for _, high in ends],
        _PERIOD: [period or math.nan for period in upload.periods or [0.0] * d],
        _LOG: logs,
        _DISCRETE: [j in upload.discrete for j in range(d)],
    })  # fmt: skip


def _finite(end: float) -> float:
    """An end of a prior, NaN where it has none."""
    return end if math.isfinite(end) else math.nan


def changed(frame: pd.DataFrame, edits: Mapping[int, Mapping[str, Any]], known: ReadAs) -> ReadAs:
    """What a user says of a table by what was changed in its form; the rest stays as it was said.

    Args:
        frame: as `parameters` gives it.
        edits: new values by row and column.
        known: what was said before; its corrections are replaced by the caller.
    """
    after = frame.copy().astype({name: object for name in _HELP})
    for row, values in edits.items():
        for column, value in values.items():
            after.loc[int(row), column] = value
    touched = {column for values in edits.values() for column in values}
    names = list(after[_NAME])
    if _PERIOD in touched:
        periods = dict(zip(names, map(_number, after[_PERIOD]), strict=True))
        known = known._replace(circular={n: p for n, p in periods.items() if p > 0})
    if _LOG in touched:
        known = known._replace(logarithms=_ticked(names, list(after[_LOG])))
    if _DISCRETE in touched:
        known = known._replace(discrete=_ticked(names, list(after[_DISCRETE])))
    if touched & {_LOW, _HIGH}:
        pairs = zip(names, map(_number, after[_LOW]), map(_number, after[_HIGH]), strict=True)
        known = known._replace(
            bounds={
                name: (
                    -math.inf if math.isnan(low) else low,
                    math.inf if math.isnan(high) else high,
                )
                for name, low, high in pairs
            }
        )
    return known


def _say(stamp: str, frame: pd.DataFrame, known: ReadAs) -> None:
    """Keep what the form says."""
    state = st.session_state
    edits = state.pop(_key(stamp, "table"), {}).get("edited_rows", {})
    thin = int(state.get(_key(stamp, "thin"), 1) or 1)
    corrections = [*([f"thin={thin}"] if thin > 1 else [])]
    corrections += ["one_row"] * bool(state.get(_key(stamp, "one-row")))
    after = changed(frame, edits, known)
    state[_key(stamp)] = after._replace(corrections=tuple(corrections))


def _number(value: Any) -> float:
    """A number of the form; NaN for an empty place."""
    return math.nan if value is None or pd.isna(value) else float(value)


def _ticked(names: Sequence[str], ticks: Iterable[Any]) -> tuple[str, ...]:
    return tuple(name for name, tick in zip(names, ticks, strict=True) if tick)


def _key(stamp: str, part: str = "said") -> str:
    return f"read-{part}-{stamp}"
