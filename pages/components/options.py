"""The form of a method's or a benchmark's options, made from its fields."""

import dataclasses
from collections.abc import Callable
from typing import Any, Literal, get_args, get_origin, get_type_hints

import streamlit as st


def form(kind: type[Any], key: str) -> Any:
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


def _widget(field: dataclasses.Field, hint: Any, key: str) -> Any:
    about = field.metadata
    label, words = about.get("label", field.name), about.get("help")
    common = {"key": key, "help": words, "bind": "query-params"}
    if "choices" in about:
        return _several(label, about["choices"], field.default, common)
    if get_origin(hint) is Literal:
        choices = list(get_args(hint))
        return st.selectbox(label, choices, choices.index(field.default), **common)
    if hint is bool:
        return st.checkbox(label, field.default, **common)
    cast: Callable[[Any], Any] = int if hint is int else float
    low, high = (None if about.get(end) is None else cast(about[end]) for end in ("min", "max"))
    return cast(st.number_input(label, low, high, cast(field.default), **common))


def _several(label: str, choices: tuple[str, ...], default: str, common: dict[str, Any]) -> str:
    """Names joined by +; the default where none is left."""
    names = st.multiselect(label, list(choices), default.split("+"), **common)
    return "+".join(names) or default
