"""The strip of small pictures by which a benchmark is chosen."""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import cache
from html import escape
from pathlib import Path
from typing import Any

import streamlit as st

from pages.ui import address
from pages.ui.services import services, stored
from validation_core import Trained
from validation_core.explorers.playground.study import BallOverX, PlaygroundStudy, named
from validation_core.explorers.playground.thumbnails import thumbnail
from validation_core.types import Benchmark

_HERE = Path(__file__).parent
_KEY = "strip"
URL = "benchmark"
OPENING = "mode_collapse"
"""The benchmark of a first visit: q lacks a cluster of draws that one sees."""


def choose() -> str:
    """The name of the chosen benchmark; the address carries it."""
    names = list(shown())
    linked = "".join(address.asked(URL)[-1:]) or OPENING
    first = linked if linked in names else OPENING
    key = address.renewed(_KEY)
    chosen = (st.session_state.get(key) or {}).get("value") or first
    result = _component()(
        key=key, data={"chosen": chosen}, default={"value": chosen}, on_value_change=_changed
    )
    name = str(result.get("value") or chosen)
    address.say(URL, () if name == OPENING else (name,), same=name == first)
    if linked != first and name == first:
        st.caption(address.unknown(URL, linked, shown()[first].label))
    return name


@cache
def shown() -> dict[str, Benchmark]:
    """The benchmarks of the strip: an estimator that was trained only where its result is."""
    store = services().store
    return {
        name: benchmark
        for name, benchmark in named().items()
        if not isinstance(benchmark, Trained) or PlaygroundStudy(benchmark=benchmark).done(store)
    }


def _known(benchmark: Benchmark) -> BallOverX | None:
    """The kept draws of an estimator: fresh ones would need its network."""
    if not isinstance(benchmark, Trained):
        return None
    study = PlaygroundStudy(benchmark=benchmark)
    return stored(study).where


def _changed() -> None:
    """Another benchmark begins where it shows most, not where the last one stood."""
    for name in ("gamma", "beta", "x", "trial"):
        address.ask(name)


@cache
def _component() -> Callable[..., Any]:
    # The pictures are part of the component: as its data each run would write them anew.
    items = [thumbnail(name, benchmark, _known(benchmark)) for name, benchmark in shown().items()]
    return st.components.v2.component(
        "nptlab_strip",
        html='<div class="strip" role="toolbar" aria-label="Benchmark" '
        f'data-items="{escape(json.dumps(items))}"><div></div></div>\n',
        css=(_HERE / "strip.css").read_text(),
        js=(_HERE / "strip.js").read_text(),
    )
