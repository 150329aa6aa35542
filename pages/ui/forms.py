"""Widgets that several pages share; the address holds their values, by name."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Collection, Mapping, Sequence
from functools import partial
from math import inf, isfinite
from typing import Any, Literal, TypeVar, get_args, get_origin, get_type_hints

import streamlit as st

from pages.ui import address
from validation_core.benchmarks.perturbations import PERTURBATIONS, Perturbation
from validation_core.keys import Specification
from validation_core.text import LEVELS

_T = TypeVar("_T")
_Name = TypeVar("_Name", bound=str)
_Number = TypeVar("_Number", int, float)
_Kind = TypeVar("_Kind", bound=Specification)
_MOST_WHOLE = 2**53 - 1  # JavaScript's
_NETWORKS = (1, 2, 3, 5)


def choice(
    label: str,
    options: Sequence[_T],
    key: str,
    *,
    first: _T | None = None,
    words: Callable[[_T], str] = str,
    mark: Callable[[_T], str] = lambda value: "",
    draw: Callable[..., Any] = st.selectbox,
    **looks: Any,
) -> _T:
    """One of several values.

    Args:
        label: over the widget.
        options: the values; the address has them in lower case, without spaces.
        key: of the widget, and the address's name for it.
        first: the usual value, if not the first one.
        words: the label of a value; old links with labels are still read.
        mark: what stands behind a label in brackets for the time being, such as `needs data`.
        draw: `st.selectbox` or another widget that takes options.
        looks: for the widget: help, width, whether its label is visible.
    """
    usual = options[0] if first is None else first
    if st.session_state.get(key) not in options:
        st.session_state.pop(key, None)

    def read(texts: Sequence[str]) -> tuple[_T, str]:
        text = texts[-1]
        for option in _meant(text, options, words):
            return option, ""
        return usual, address.unknown(key, text, words(usual)) if text else ""

    def marked(value: _T) -> str:
        said = mark(value)
        return f"{words(value)} ({said})" if said else words(value)

    def widget() -> _T:
        chosen: _T | None = draw(label, options, format_func=marked, key=key, **looks)
        return usual if chosen is None else chosen

    return address.setting(key, usual, widget, read=read, texts=lambda value: (name_of(value),))


def segmented(
    label: str,
    names: Mapping[_Name, str],
    key: str,
    *,
    first: _Name | None = None,
    mark: Callable[[_Name], str] = lambda name: "",
    help: str | None = None,
    label_visibility: Literal["visible", "collapsed"] = "visible",
) -> _Name:
    """One of several names side by side; the first by default."""
    return choice(
        label,
        list(names),
        key,
        first=first,
        words=names.__getitem__,
        mark=mark,
        draw=partial(st.segmented_control, required=True),
        help=help,
        label_visibility=label_visibility,
    )


def several(
    label: str,
    options: Sequence[_T],
    key: str,
    *,
    first: Sequence[_T] = (),
    words: Callable[[_T], str] = str,
    draw: Callable[..., Any] = st.multiselect,
    **looks: Any,
) -> list[_T]:
    """A subset of several values, possibly empty; the arguments are those of `choice`."""
    usual = list(first)

    def read(texts: Sequence[str]) -> tuple[list[_T], str]:
        meant = {text: _meant(text, options, words) for text in texts if text}
        known = list(dict.fromkeys(option for these in meant.values() for option in these))
        unknown = ", ".join(text for text, these in meant.items() if not these)
        if unknown and not known:
            return usual, address.unknown(key, unknown, ", ".join(map(words, usual)) or "none")
        return known, address.unknown(key, unknown) if unknown else ""

    def texts(values: list[_T]) -> Sequence[str]:
        return [name_of(value) for value in values] or [""]

    def widget() -> list[_T]:
        return list(draw(label, options, format_func=words, key=key, **looks))

    return address.setting(key, usual, widget, read=read, texts=texts)


def number(
    label: str,
    low: _Number | None,
    high: _Number | None,
    first: _Number,
    key: str,
    *,
    draw: Callable[..., Any] = st.number_input,
    **looks: Any,
) -> _Number:
    """A number between two bounds, of the type of its default.

    Integers are limited to those that JavaScript represents exactly.

    Args:
        draw: `st.number_input`, or `st.slider`.
        looks: for the widget: its step, help, width.
    """
    kind = type(first)
    most = _MOST_WHOLE if kind is int else inf

    def allowed(value: float) -> bool:
        return isfinite(value) and (-most if low is None else low) <= value <= (
            most if high is None else high
        )

    def read(texts: Sequence[str]) -> tuple[_Number, str]:
        value = address.number(texts[-1])
        if value is not None and kind is float:
            value = float(name_of(value))  # a link that is copied from here says the same
        if value is not None and allowed(value) and kind(value) == value:
            return kind(value), ""
        return first, address.unknown(key, texts[-1], f"{first:,}") if texts[-1] else ""

    current = st.session_state.get(key)
    if current is not None and not allowed(current):
        del st.session_state[key]
    looks.setdefault("step", 1 if kind is int else 0.01)
    return address.setting(
        key,
        first,
        lambda: kind(draw(label, min_value=low, max_value=high, key=key, **looks)),
        read=read,
        texts=lambda value: (name_of(value),),
    )


def flag(
    label: str,
    key: str,
    *,
    first: bool = False,
    help: str | None = None,
    draw: Callable[..., bool] = st.toggle,
) -> bool:
    """Yes or no: true or false in the address."""

    def read(texts: Sequence[str]) -> tuple[bool, str]:
        known = {"true": True, "false": False}
        value, text = known.get(texts[-1].casefold()), texts[-1]
        if value is None:
            return first, address.unknown(key, text, "yes" if first else "no") if text else ""
        return value, ""

    return address.setting(
        key,
        first,
        lambda: draw(label, key=key, help=help),
        read=read,
        texts=lambda value: (name_of(value),),
    )


def text_field(label: str, key: str, *, first: str = "", **looks: Any) -> str:
    """A line of text; the looks are those of `st.text_input`."""
    return address.setting(
        key,
        first,
        lambda: st.text_input(label, key=key, **looks),
        read=lambda texts: (texts[-1], ""),
        texts=lambda value: (value,),
    )


def level(*, help: str | None = None) -> float:
    """The level of a test."""
    words = "{:.0%}".format
    return choice(
        "Level", LEVELS, "level", first=0.05, words=words, draw=st.select_slider, help=help
    )


def seed(*, help: str | None = None) -> int:
    """The seed of draws and trainings."""
    return number("Seed", 0, 9999, 0, "seed", help=help)


def networks(label: str, key: str, first: int, *, trained: str) -> int:
    """How many networks are trained of each kind; `trained` says of what there is one each."""
    help = (
        f"Trained {trained}, each from a start of its own: rates are their mean, bands show how "
        "far they differ. The papers take three."
    )
    return choice(label, _NETWORKS, key, first=first, draw=st.select_slider, help=help)


def form(
    kind: type[_Kind], key: str, *, usual: _Kind | None = None, but: Collection[str] = ()
) -> _Kind:
    """An instance of a dataclass with the options of its fields' widgets.

    An option of `tables` alone has no widget and its default.

    Args:
        kind: the dataclass.
        key: of the form, before the names of its fields.
        usual: where the widgets stand first; the fields' defaults otherwise.
        but: fields without a widget, which stay as they usually are.

    Raises:
        ValueError: where the class refuses the combination.
    """
    hints = get_type_hints(kind)
    chosen = {
        field.name: _widget(
            field,
            hints[field.name],
            f"{key}-{field.name}",
            field.default if usual is None else getattr(usual, field.name),
        )
        for field in dataclasses.fields(kind)
        if not field.metadata.get("tables") and field.name not in but
    }
    return kind(**chosen) if usual is None else dataclasses.replace(usual, **chosen)


def _widget(field: dataclasses.Field[Any], hint: object, key: str, default: Any) -> object:
    about = field.metadata
    label, help = about.get("label", field.name), about.get("help")
    if "choices" in about:  # names joined by +; the default where none is left
        names = several(label, about["choices"], key, first=default.split("+"), help=help)
        return "+".join(names) or default
    if get_origin(hint) is Literal:
        lacks = about.get("lacks", lambda option: "")
        return choice(label, get_args(hint), key, first=default, mark=lacks, help=help)
    if hint is bool:
        return flag(label, key, first=default, help=help, draw=st.checkbox)
    kind = int if hint is int else float
    low, high = (None if about.get(end) is None else kind(about[end]) for end in ("min", "max"))
    return number(label, low, high, kind(default), key, help=help)


def gamma(name: str, grid: Sequence[float], first: float, *, label: str, help: str) -> float:
    """A gamma from a benchmark's grid; in the address it is `gamma` for every benchmark.

    A link's value off the grid opens at the nearest one, with a caption.

    Args:
        name: of the benchmark; each has its own default.
        grid: the values.
        first: the default.
    """
    address.owned("gamma", name)
    key = f"gamma-{name}"

    def read(texts: Sequence[str]) -> tuple[float, str]:
        linked = address.number(texts[-1])
        if linked is None:
            return first, address.unknown("gamma", texts[-1], f"{first:g}") if texts[-1] else ""
        nearest = min(grid, key=lambda value: abs(value - linked))
        words = (
            f"The link says gamma = {linked:g}, which is not on the slider: this is {nearest:g}."
        )
        return nearest, words if abs(linked - nearest) > 1e-9 else ""

    return address.setting(
        key,
        first,
        lambda: float(
            st.select_slider(label, grid, key=key, help=help, format_func="{:g}".format)
        ),
        read=read,
        texts=lambda value: (name_of(value),),
        name="gamma",
    )


def name_of(value: object) -> str:
    """A value as text of the address: (3, 3) is 3x3, "Other tests" is other-tests."""
    if isinstance(value, tuple):
        return "x".join(map(name_of, value))
    text = f"{value:.12g}" if isinstance(value, float) else str(value)
    return text.lower().replace(" ", "-")


def _meant(text: str, options: Sequence[_T], words: Callable[[_T], str]) -> list[_T]:
    """The value of a link's text, by name, number or label, in a list; none: an empty one."""
    text, value = text.casefold(), address.number(text)
    meant = [
        option
        for option in options
        if text in (name_of(option), str(option).casefold(), words(option).casefold())
        or (value is not None and isinstance(option, int | float) and option == value)
    ]
    return meant[:1]


def perturbation() -> Perturbation:
    """The name of a perturbation of the Gaussian benchmark."""
    return choice(
        "Perturbation of q",
        list(PERTURBATIONS),
        "perturbation",
        words=lambda name: PERTURBATIONS[name].title.capitalize(),
    )
