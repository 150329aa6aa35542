"""Settings in the page's address: a link, a reload and the browser's Back restore them.

A setting stands there by its name and its value's, never by a label; a usual value stays out.
The address is read where a setting is drawn that this session has not drawn yet: when a page is
opened, by its menu, a link or Back. From then on what is on screen counts. It is written once, at
the end of a run, so that the browser's history has one entry for each change.

    name, value in the address    what they are
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
# Python's own float reads 1_0 and other scripts' digits too: nobody means those.
_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?", re.ASCII | re.IGNORECASE)
_LINE = 60  # characters of a link that a note repeats


@dataclass
class _Visit:
    """What a session knows of the page that it has open."""

    page: str | None = None
    arrived: bool = True
    """Whether this run is the first: what the address says was brought by a link or by Back."""
    shown: dict[str, _Texts] = field(default_factory=dict)
    """What this run's settings say; nothing for a usual value."""
    known: set[str] = field(default_factory=set)
    """Names that settings of earlier runs have said."""
    asked: dict[str, _Texts] = field(default_factory=dict)
    """What the address is going to say, beside what it says."""
    keys: set[str] = field(default_factory=set)
    """Of the widgets."""
    notes: dict[str, tuple[object, str]] = field(default_factory=dict)
    """Of settings that a link could not set: the value that they have instead, and words."""
    changed: bool = False
    """Whether a setting says something else than the address."""
    backs: int = 0
    """How often the browser's Back or Forward was pressed, on all pages."""


def arrive(page: str) -> None:
    """Before a page runs: what it reads its settings from.

    Its address as it is, where a link or Back has brought one; else as it was when the page was
    left.
    """
    visit = _visit()
    went_back = arrived_by_history()
    visit.shown.clear()
    visit.changed = False
    visit.arrived = went_back or visit.page != page
    if not visit.arrived:
        return
    for key in visit.keys:  # their widgets would stay as they are
        st.session_state.pop(key, None)
    before = {} if went_back or len(st.query_params) else _left().get(page, {})
    backs = visit.backs + went_back
    st.session_state["address"] = _Visit(page=page, asked=dict(before), backs=backs)


def write() -> None:
    """After a run of a page or of a fragment: bring the address up to date, in one step."""
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
    """What the address says under a name that is no setting of a page; None where it has none."""
    return st.query_params.get(name)


def leave() -> None:
    """The next run reads the address anew, even on the same page: a story's next scene."""
    visit = _visit()
    st.session_state["address"] = _Visit(keys=visit.keys, backs=visit.backs + 1)


def fragment(draw: Callable[..., None], *, run_every: float | None = None) -> Callable[..., Any]:
    """`st.fragment` for what draws settings: a run of it alone brings the address up to date."""

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
    """Draw a widget whose value the address carries, and a note where a link could not set it.

    Args:
        key: of the widget, which must be given no value of its own.
        usual: its value where the address says nothing.
        draw: draws it.
        read: what the address says -> the value, and what to say of a link that says something
            else, in Markdown; nothing where it can be set.
        texts: a value -> how the address says it.
        name: in the address, where it is not the key.
    """
    visit, name = _visit(), name or key
    linked_texts = asked(name)
    linked, note = read(linked_texts) if linked_texts else (usual, "")
    visit.keys.add(key)
    if key not in st.session_state:
        st.session_state[key] = linked
        if note and name not in visit.known:
            visit.notes[key] = linked, note
    value = draw()
    say(name, () if value == usual else texts(value), same=value == linked)
    instead, words = visit.notes.get(key, (value, ""))
    if words and value == instead:
        st.caption(words)
    return value


def asked(name: str) -> _Texts:
    """What the address says under a name, or is going to say; nothing for an absent one."""
    return _visit().asked.get(name, st.query_params.get_all(name))


def say(name: str, texts: _Texts, *, same: bool = False) -> None:
    """Let the address say this from the end of the run on.

    Args:
        same: where it says it already, if in other words: an old link keeps its labels.
    """
    visit = _visit()
    visit.shown[name] = texts
    visit.changed |= not same and list(asked(name)) != list(texts)


def ask(name: str, *texts: str) -> None:
    """Let the next setting of this name, and the address, begin with this; without, as usual."""
    _visit().asked[name] = texts


def number(text: str) -> float | None:
    """The finite number that a text of the address is; None for what is none."""
    if not _NUMBER.fullmatch(text.strip()):
        return None
    value = float(text)
    return value if isfinite(value) else None


def unknown(name: str, text: str, instead: str = "") -> str:
    """What a page says of a link that asks for what it has not, in Markdown."""
    rest = f"it shows {plain(instead)} instead" if instead else "it is left out"
    value = plain(_legible(text)) or "a blank"
    return f"The link says {name} = {value}, which this page does not have; {rest}."


def owned(name: str, owner: str) -> None:
    """A value of the address belongs to its owner: where another is chosen, it is forgotten.

    What a link brings stays.
    """
    visit, slot = _visit(), f"{name}-of"
    before = st.session_state.get(slot)
    if before not in (None, owner) and not visit.arrived:
        ask(name)
    st.session_state[slot] = owner


def renewed(key: str) -> str:
    """A component's key, another one after each Back: it begins where the address says."""
    backs = _visit().backs
    return f"{key}-{backs}" if backs else key


def settings() -> dict[str, _Texts]:
    """What is on screen, as an address says it, and what that says of what is not drawn yet."""
    visit = _visit()
    new = _now() | visit.asked
    # A run of the whole page has drawn all that there is: what it has not drawn is gone.
    if visit.changed and not _in_fragment():
        new = {name: texts for name, texts in new.items() if name not in visit.known}
    return _without_empty(new | visit.shown)


def _legible(text: str) -> str:
    """As much of a link's text as a line holds; what has no shape, or turns a line, is a sign."""
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
    """What each page's address said when the session last saw it."""
    left: dict[str, dict[str, _Texts]] = st.session_state.setdefault("addresses", {})
    return left


def arrived_by_history() -> bool:
    """Whether the browser's Back or Forward asked for this run."""
    context = get_script_run_ctx()
    return context is not None and context.is_history_navigation


def _in_fragment() -> bool:
    """Whether this run is one of fragments alone."""
    context = get_script_run_ctx()
    return context is not None and bool(context.fragment_ids_this_run)
