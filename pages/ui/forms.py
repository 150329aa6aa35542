"""Widgets that several pages share: one of a few names, and a form made from a dataclass."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from functools import partial
from math import isfinite
from typing import Any, Literal, TypedDict, TypeVar, get_args, get_origin, get_type_hints

import streamlit as st

from validation_core.benchmarks.perturbations import PERTURBATIONS, Perturbation
from validation_core.keys import Specification

_Name = TypeVar("_Name", bound=str)
_Kind = TypeVar("_Kind", bound=Specification)


class _Common(TypedDict):
    """What every widget is given."""

    key: str
    help: str | None
    bind: Literal["query-params"]


def segmented(
    label: str,
    names: Mapping[_Name, str],
    key: str,
    *,
    first: _Name | None = None,
    help: str | None = None,
    label_visibility: Literal["visible", "collapsed"] = "visible",
) -> _Name:
    """One of several names; what the address leaves empty is the first."""
    default = next(iter(names)) if first is None else first
    chosen: _Name | None = st.segmented_control(
        label,
        list(names),
        format_func=names.__getitem__,
        default=default,
        required=True,
        key=key,
        bind="query-params",
        help=help,
        label_visibility=label_visibility,
    )
    return chosen or default


def form(kind: type[_Kind], key: str) -> _Kind:
    """One of the kind with the options that its fields' widgets hold.

    Raises:
        ValueError: where the kind refuses them together.
    """
    hints = get_type_hints(kind)
    chosen = {
        field.name: _widget(field, hints[field.name], f"{key}-{field.name}")
        for field in dataclasses.fields(kind)
    }
    return kind(**chosen)


def _widget(field: dataclasses.Field[Any], hint: object, key: str) -> object:
    about = field.metadata
    label, words = about.get("label", field.name), about.get("help")
    common: _Common = {"key": key, "help": words, "bind": "query-params"}
    default: Any = field.default
    if "choices" in about:
        return _several(label, about["choices"], default, common)
    if get_origin(hint) is Literal:
        choices = list(get_args(hint))
        return st.selectbox(label, choices, choices.index(default), **common)
    if hint is bool:
        return st.checkbox(label, default, **common)
    number = int if hint is int else float
    low, high = (None if about.get(end) is None else number(about[end]) for end in ("min", "max"))
    return number(st.number_input(label, low, high, number(default), **common))


def _several(label: str, choices: tuple[str, ...], default: str, common: _Common) -> str:
    """Names joined by +; the default where none is left."""
    names = st.multiselect(label, list(choices), default.split("+"), **common)
    return "+".join(names) or default


def gamma(name: str, grid: Sequence[float], first: float, *, label: str, help: str) -> float:
    """A strength from a benchmark's grid; the address carries it as `gamma`, whatever benchmark.

    A link's value that is not on the grid opens at the nearest, and a caption says so.

    Args:
        name: of the benchmark: another one begins at its own first value.
        grid: the values.
        first: where it stands when the address says nothing.
    """
    owned("gamma", name)
    key, asked = f"gamma-{name}", _asked("gamma")
    if key not in st.session_state:
        st.session_state[key] = nearest = first
        if asked is not None:
            st.session_state[key] = nearest = min(grid, key=partial(_apart, asked))
            if _apart(asked, nearest) > 1e-9:
                st.session_state[f"{key}-off"] = nearest, asked
    value = st.select_slider(label, grid, key=key, help=help, format_func="{:g}".format)
    shown, linked = st.session_state.get(f"{key}-off", (None, 0.0))
    if value == shown:
        st.caption(f"The link says gamma = {linked:g}, which is not on the slider.")
    if value == first:
        st.query_params.pop("gamma", None)
    elif asked != value:
        st.query_params["gamma"] = f"{value:g}"
    return float(value)


def owned(name: str, owner: str) -> None:
    """A value of the address belongs to its owner: where another is chosen, it is forgotten.

    What a link brings stays.
    """
    before = st.session_state.get(f"{name}-of")
    if before not in (None, owner) and not st.session_state.get("arrived"):
        st.query_params.pop(name, None)
    st.session_state[f"{name}-of"] = owner


def _asked(name: str) -> float | None:
    """A number of the address; None for what is no finite one."""
    try:
        number = float(st.query_params.get(name, ""))
    except ValueError:
        return None
    return number if isfinite(number) else None


def _apart(a: float, b: float) -> float:
    return abs(a - b)


def perturbation() -> Perturbation:
    """The name of a perturbation of the Gaussian benchmark; it stands in the address."""
    return st.selectbox(
        "Perturbation of q",
        list(PERTURBATIONS),
        key="perturbation",
        bind="query-params",
        format_func=lambda key: PERTURBATIONS[key].title.capitalize(),
    )
