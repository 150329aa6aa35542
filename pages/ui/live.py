"""Charts that follow a slider while it is dragged: every grid value is shipped once, the browser
switches between them and tells Python on release.

    (beta,) = live.chart(payload, key="beta", default=(0.4,))

`validation_core.drawing.live` makes the payload of a picture.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from functools import cache, partial
from typing import Any

import streamlit as st

from pages.ui import address, figure_files, own_story
from validation_core import Drawn
from validation_core.drawing import live
from validation_core.drawing.live import Payload
from validation_core.drawing.live_panels import still_picture


def once(key: tuple[Hashable, ...], make: Callable[[], Payload]) -> Payload:
    """A payload made once for all sessions.

    Args:
        key: name of the picture and everything it depends on: numbers, strings, tuples of them.
    """
    return _once(key, make)


@st.cache_resource(show_spinner=False, max_entries=256)
def _once(key: tuple[Hashable, ...], _make: Callable[[], Payload]) -> Payload:
    return _make()


@cache
def _component() -> Callable[..., Any]:
    return st.components.v2.component(
        "nptlab_live", html='<div class="live"></div>\n', css=live.style(), js=live.script()
    )


def one_screen(title: float) -> None:
    """Narrow the margins of the page and set its title's size in rem, to fit one screen."""
    st.html(
        f"""<style>
.stMainBlockContainer {{ padding: 3.4rem 2.2rem 2rem; max-width: 90rem; }}
.stMainBlockContainer h1 {{ padding: 0.2rem 0 0.7rem; font-size: {title}rem; }}
@media (max-width: 640px) {{
  .stMainBlockContainer {{ padding: 4.1rem 1rem 1rem; }}
  .stMainBlockContainer h1 {{ padding-bottom: 0.2rem; font-size: {min(title, 1.4)}rem; }}
}}
</style>"""
    )


def chart(
    payload: Payload,
    *,
    key: str,
    default: Sequence[float] | Callable[[Sequence[float]], Sequence[float]] | None = None,
    url: Sequence[str] = (),
    save_as: str = "",
) -> tuple[float, ...]:
    """Draw a live chart; returns the grid values at which its sliders were last released.

    Inside a fragment only the fragment reruns on release. When the payload changes, the sliders
    keep their positions.

    Args:
        default: where the sliders stand first, which may depend on their values as in a lesson,
            whose stage says where the others go; the payload's own start otherwise.
        url: names under which the address carries the values, so that a link shows the same: each
            but those that stand where they stand first.
        save_as: title of the picture as a file; it is saved as it stands, by a button below.
    """

    def usual(values: Sequence[float]) -> tuple[float, ...]:
        chosen = default(payload.nearest(values)) if callable(default) else default
        return payload.nearest(payload.start if chosen is None else chosen)

    key = address.renewed(key)
    first = usual(_asked(url, payload.start))
    known = _value(key)
    fresh = known is None or len(known) != len(payload.sliders)
    linked = _asked(url, first)
    chosen = payload.nearest(linked) if known is None or fresh else known
    if fresh:
        st.session_state[f"{key}_off"] = chosen, _other(url, linked, chosen)
    # The position travels only with a new payload: otherwise each release would send all of it.
    sent = st.session_state.get(f"{key}_sent")
    if fresh or sent is None or sent[0] != payload.digest:
        sent = st.session_state[f"{key}_sent"] = (payload.digest, tuple(chosen))
    result = _component()(
        key=key,
        data=payload.message(sent[1]),
        default={"value": list(sent[1])},
        on_value_change=_noted,
    )
    value = result.get("value") or chosen
    value = payload.nearest(value if len(value) == len(payload.sliders) else chosen)
    _say(url, value, usual(value), payload.nearest(linked))
    own_story.drawn(payload, value)
    opened, words = st.session_state.get(f"{key}_off", (None, ""))
    if words and value == opened:
        st.caption(words)
    if save_as:
        figure_files.offer_later({save_as: partial(_still, payload, value, save_as)}, key)
    return value


def _still(payload: Payload, value: Sequence[float], title: str) -> Drawn:
    return Drawn(title, still_picture(payload, value), "")


def released(key: str, default: Sequence[float]) -> Sequence[float]:
    """Grid values at which a chart's sliders were last released, before it is drawn again.

    Args:
        key: of the chart.
        default: the values where it was never drawn.
    """
    known = _value(address.renewed(key))
    return default if known is None else known


def _value(key: str) -> Sequence[float] | None:
    known: Sequence[float] | None = (st.session_state.get(key) or {}).get("value")
    return known


def _other(names: Sequence[str], linked: Sequence[float], shown: Sequence[float]) -> str:
    """Values of a link that the grid lacks, with the values shown instead."""
    sentences = []
    for name, value, near in zip(names, linked, shown, strict=False):
        if address.drawn(name):
            continue
        text = "".join(address.asked(name)[-1:])
        if text and address.number(text) is None:
            sentences.append(address.unknown(name, text, f"{near:g}"))
        elif abs(value - near) > 1e-6 * max(1.0, abs(value)):
            sentences.append(
                f"The link says {name} = {value:g}, which is not on the slider: this is {near:g}."
            )
    return " ".join(sentences)


def _asked(names: Sequence[str], default: Sequence[float]) -> list[float]:
    """The value of each slider in the address; its default where that has no number."""
    values = list(default)
    for i, name in enumerate(names):
        linked = address.number("".join(address.asked(name)[-1:]))
        values[i] = values[i] if linked is None else linked
    return values


def _say(
    names: Sequence[str], values: Sequence[float], usual: Sequence[float], linked: Sequence[float]
) -> None:
    for name, value, first, from_link in zip(names, values, usual, linked, strict=False):
        address.say(name, () if value == first else (f"{value:.6g}",), same=value == from_link)


def _noted() -> None:
    """Do nothing: Streamlit keeps a component's state only with a callback."""
