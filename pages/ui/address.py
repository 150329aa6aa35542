"""Settings in the page's address: a link, a reload and the browser's Back restore them.

A setting is stored by the names of itself and its value, never by labels; defaults are left out.
The address is read when a setting is first drawn in this session: when a page is opened from the
menu, by a link or by Back. From then on the widgets hold the values. It is written once, at the
end of a run, so that the browser's history has one entry for each change.

    name, value in the address    meaning
    level=0.05                    a number
    source=exact                  one of several
    more=dc&more=automl           some of several; `models=` none of them
    dims=3x3                      a tuple
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import wraps
from math import isfinite
from typing import Any, TypeVar

import streamlit as st
from streamlit.runtime.scriptrunner import get_script_run_ctx

from pages.ui.jobs import plain

_T = TypeVar("_T")
_Texts = Sequence[str]
# Python's float also reads 1_0 and digits of other scripts, which are not meant here.
_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?", re.ASCII | re.IGNORECASE)
_LINE = 60  # characters of a link that a note repeats


@dataclass
class _Visit:
    """State of a session's open page."""

    page: str | None = None
    arrived: bool = True
    """Whether this run is the first, so that the address is from a link or Back."""
    shown: dict[str, _Texts] = field(default_factory=dict)
    """Values of this run's settings as text; nothing for a default."""
    known: set[str] = field(default_factory=set)
    """Names of the settings of earlier runs."""
    asked: dict[str, _Texts] = field(default_factory=dict)
    """Pending changes of the address."""
    keys: set[str] = field(default_factory=set)
    """Keys of the widgets."""
    notes: dict[str, tuple[object, str]] = field(default_factory=dict)
    """For settings that a link could not set: the value used instead, and a message."""
    changed: bool = False
    """Whether a setting differs from the address."""
    backs: int = 0
    """Number of presses of the browser's Back or Forward, on all pages."""


def arrive(page: str) -> None:
    """Choose the address from which a page reads its settings, before it runs.

    The present one after a link or Back; otherwise the one at which the page was left.
    """
    visit = _visit()
    went_back = arrived_by_history()
    visit.shown.clear()
    visit.changed = False
    visit.arrived = went_back or visit.page != page
    if not visit.arrived:
        return
    for key in visit.keys:  # their widgets would keep their values
        st.session_state.pop(key, None)
    before = {} if went_back or len(st.query_params) else _left().get(page, {})
    backs = visit.backs + went_back
    st.session_state["address"] = _Visit(page=page, asked=dict(before), backs=backs)


def write() -> None:
    """Update the address in one step, after a run of a page or fragment."""
    visit = _visit()
    now = _now()
    new = settings() if visit.changed else _without_empty(now | visit.asked)
    if new != now:
        st.query_params.from_dict(new)
    if visit.page is not None:
        _left()[visit.page] = new
    visit.known |= visit.shown.keys()
    visit.asked.clear()
    visit.changed = False


def beside(name: str) -> str | None:
    """The value in the address of a name that is no setting of a page, or None."""
    return st.query_params.get(name)


def leave() -> None:
    """Read the address anew in the next run, even on the same page: a story's next scene."""
    visit = _visit()
    st.session_state["address"] = _Visit(keys=visit.keys, backs=visit.backs + 1)


def fragment(draw: Callable[..., None], *, run_every: float | None = None) -> Callable[..., Any]:
    """`st.fragment` for functions that draw settings: its runs update the address."""

    @wraps(draw)
    def whole(*args: Any, **options: Any) -> None:
        if not _in_fragment():
            draw(*args, **options)
            return
        _visit().arrived = False
        draw(*args, **options)
        write()

    return st.fragment(whole, run_every=run_every)


def setting(
    key: str,
    usual: _T,
    draw: Callable[[], _T],
    *,
    read: Callable[[_Texts], tuple[_T, str]],
    texts: Callable[[_T], _Texts],
    name: str = "",
) -> _T:
    """Draw a widget whose value is in the address, and a note where a link could not set it.

    Args:
        key: of the widget, which must be given no value of its own.
        usual: the default value.
        draw: draws the widget.
        read: parses texts of the address; returns the value, and a message in Markdown for a link
            that asks for an invalid one, else empty.
        texts: formats a value for the address.
        name: in the address, if it is not the key.
    """
    visit, name = _visit(), name or key
    linked_texts = asked(name)
    linked, note = read(linked_texts) if linked_texts else (usual, "")
    visit.keys.add(key)
    if key not in st.session_state:
        st.session_state[key] = linked
        if note and not drawn(name):
            visit.notes[key] = linked, note
    value = draw()
    say(name, () if value == usual else texts(value), same=value == linked)
    instead, words = visit.notes.get(key, (value, ""))
    if words and value == instead:
        st.caption(words)
    return value


def asked(name: str) -> _Texts:
    """The texts of a name in the address, after pending changes; empty for an absent one."""
    return _visit().asked.get(name, st.query_params.get_all(name))


def drawn(name: str) -> bool:
    """Whether an earlier run drew a setting of this name: its value is no longer a link's."""
    return name in _visit().known


def say(name: str, texts: _Texts, *, same: bool = False) -> None:
    """Set a name of the address at the end of the run.

    Args:
        name: in the address.
        texts: its values.
        same: whether the address has an equivalent text, which an old link keeps.
    """
    visit = _visit()
    visit.shown[name] = texts
    visit.changed |= not same and list(asked(name)) != list(texts)


def ask(name: str, *texts: str) -> None:
    """Set the initial value of the next setting of this name; without texts, its default."""
    _visit().asked[name] = texts


def number(text: str) -> float | None:
    """The finite number that a text of the address is, or None."""
    if not _NUMBER.fullmatch(text.strip()):
        return None
    value = float(text)
    return value if isfinite(value) else None


def unknown(name: str, text: str, instead: str = "") -> str:
    """The message of a page about an invalid value in a link, in Markdown."""
    rest = f"it shows {plain(instead)} instead" if instead else "it is left out"
    value = plain(_legible(text)) or "a blank"
    return f"The link says {name} = {value}, which this page does not have; {rest}."


def owned(name: str, owner: str) -> None:
    """Tie a value of the address to its owner: it is dropped when another owner is chosen.

    Values from a link stay.
    """
    visit, slot = _visit(), f"{name}-of"
    before = st.session_state.get(slot)
    if before not in (None, owner) and not visit.arrived:
        ask(name)
    st.session_state[slot] = owner


def renewed(key: str) -> str:
    """A component's key, new after each Back, so that it restarts from the address."""
    backs = _visit().backs
    return f"{key}-{backs}" if backs else key


def settings() -> dict[str, _Texts]:
    """The address of the settings on screen, with those of settings not drawn yet."""
    visit = _visit()
    new = _now() | visit.asked
    # A run of the whole page draws every setting: others no longer exist.
    if visit.changed and not _in_fragment():
        new = {name: texts for name, texts in new.items() if name not in visit.known}
    return _without_empty(new | visit.shown)


def _legible(text: str) -> str:
    """A link's text shortened to a line; invisible and direction characters are replaced."""
    printable = "".join(sign if sign.isprintable() else "\ufffd" for sign in text[:_LINE])
    return f"{printable}…" if len(text) > _LINE else printable


def _without_empty(settings: Mapping[str, _Texts]) -> dict[str, _Texts]:
    return {name: texts for name, texts in settings.items() if texts}


def _now() -> dict[str, _Texts]:
    return {name: st.query_params.get_all(name) for name in st.query_params}


def _visit() -> _Visit:
    visit: _Visit = st.session_state.setdefault("address", _Visit())
    return visit


def _left() -> dict[str, dict[str, _Texts]]:
    """The address of each page when the session last left it."""
    left: dict[str, dict[str, _Texts]] = st.session_state.setdefault("addresses", {})
    return left


def arrived_by_history() -> bool:
    """Whether the browser's Back or Forward caused this run."""
    context = get_script_run_ctx()
    return context is not None and context.is_history_navigation


def _in_fragment() -> bool:
    """Whether this run is one of fragments alone."""
    context = get_script_run_ctx()
    return context is not None and bool(context.fragment_ids_this_run)
