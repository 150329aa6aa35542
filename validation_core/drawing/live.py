"""Serialisation of pictures for the browser, where `browser/` draws them and follows sliders.

Every grid value is shipped once: a description in JSON and one block of numbers. Numbers are
float32; those of heat maps and pixels bytes, a quarter of that; coarse ones 16 bits, half of it,
or bytes where these hold them as well. Equal blocks are sent once.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from functools import cached_property, partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from validation_core.drawing.marks import (
    SYMBOL_SHAPES,
    SYMBOLS,
    Axis,
    Band,
    Bars,
    HBand,
    Heat,
    HLine,
    Image,
    Line,
    Mark,
    Note,
    Number,
    Over,
    Panel,
    Points,
    Rain,
    Shades,
    Slider,
    Text,
    VLine,
    Words,
    is_stroke,
    values_and_sliders,
)
from validation_core.types import MethodStyle

_BROWSER = Path(__file__).parent / "browser"
_SCRIPTS = (
    "live_marks.js",
    "live_rain.js",
    "live_alt.js",
    "live_controls.js",
    "lesson_story.js",
    "lesson.js",
    "live.js",
)
_STYLES = ("live.css", "lesson.css")


def script() -> str:
    """JavaScript module that draws payloads; its default export takes a component."""
    return "\n".join(map(browser_file, _SCRIPTS))


def style() -> str:
    """CSS of the drawings, in the variables that Streamlit sets (--st-...)."""
    return "\n".join(map(browser_file, _STYLES))


def browser_file(name: str) -> str:
    """Text of a file of `browser/`."""
    return (_BROWSER / name).read_text(encoding="utf-8")


DASHES = {
    "solid": "",
    "dash": "7 5",
    "dot": "2 3",
    "longdash": "10 4",
    "dashdot": "8 3 2 3",
    "longdashdot": "12 3 2 3",
}
"""Plotly's names of dashes, as lengths in SVG."""
_STEPS, _FEW = 32_767, 127
"""Largest number of steps of a coarse number from the middle, in 16 bits and in bytes; the number
below the least one is NaN."""
MARK_FIELDS: Mapping[type[Mark], tuple[str, Mapping[str, str]]] = {
    Bars: ("bars", {"x": "edges", "y": "heights", "shift": "shift", "color": "color",
                    "opacity": "opacity", "label": "label", "at": "label_at"}),
    Line: ("line", {name: name for name in
                    ("x", "y", "shift", "color", "dash", "width", "label", "opacity", "fill")}),
    Band: ("band", {"x": "x", "y": "low", "high": "high", "color": "color",
                    "opacity": "opacity", "label": "label"}),
    Points: ("points", {"x": "x", "y": "y", "low": "low", "high": "high", "color": "color",
                        "size": "size", "opacity": "opacity", "symbol": "symbol",
                        "label": "label", "at": "label_at"}),
    VLine: ("vline", {name: name for name in ("x", "color", "dash", "width", "label")}),
    HLine: ("hline", {name: name for name in ("y", "color", "dash", "width", "label")}),
    Note: ("note", {"x": "x", "y": "y", "label": "words", "color": "color", "anchor": "anchor"}),
}  # fmt: skip
"""The browser's name of each mark, and of its fields in the order in which they are sent."""


@dataclass(frozen=True)
class Payload:
    """A picture for the browser: a description and one block of numbers."""

    head: str
    body: bytes
    sliders: tuple[tuple[float, ...], ...]
    start: tuple[float, ...]

    @cached_property
    def digest(self) -> str:
        """Digest of the contents: equal payloads, equal text."""
        return hashlib.sha256(self.head.encode() + self.body).hexdigest()[:16]

    def message(self, at: Sequence[float]) -> bytes:
        """Binary message: length of the JSON, the JSON padded to 4 bytes, the numbers."""
        head = json.dumps({"at": list(at), "digest": self.digest})[:-1] + ", " + self.head[1:]
        raw = head.encode()
        raw += b" " * (-len(raw) % 4)
        return len(raw).to_bytes(4, "little") + raw + self.body

    def nearest(self, values: Sequence[float]) -> tuple[float, ...]:
        """Grid values nearest to the given ones, one for each slider."""
        pairs = zip(self.sliders, values, strict=True)
        return tuple(min(grid, key=partial(_apart, value)) for grid, value in pairs)


def _apart(a: float, b: float) -> float:
    return abs(a - b)


def payload(
    *,
    sliders: Sequence[Slider] = (),
    panels: Sequence[Panel],
    headline: Words = "",
    columns: int = 2,
    lesson: Callable[[Callable[[Any], Any]], Mapping[str, Any]] | None = None,
) -> Payload:
    """Pack sliders and panels into one frozen value: build it once, cache it, send it often.

    Args:
        sliders: any number; those of one value and those that are buttons have no rail.
        panels: any number; they wrap, at most `columns` beside one another.
        headline: one sentence above the sliders, following them.
        lesson: the text around the panels, as JSON; it packs its words and numbers, which may
            follow sliders, by the function that it is given.

    Raises:
        ValueError: when values or presses name an unknown slider, or do not fit its grid.
    """
    lengths = {slider.name: len(slider.grid) for slider in sliders}
    for panel in panels:
        _check_click(panel.click, panel.at, lengths)
    packer = _Packer(lengths, tuple(lengths))
    head = {
        "sliders": [_slider(slider) for slider in sliders],
        "panels": [_panel(panel, packer) for panel in panels],
        "columns": columns,
        "headline": packer.pack(headline),
    }
    if lesson is not None:
        head["lesson"] = lesson(packer.pack)
    grids = tuple(slider.grid for slider in sliders)
    start = tuple(slider.first for slider in sliders)
    return Payload(json.dumps(head, separators=(",", ":")), packer.body, grids, start)


_NEAREST = {
    "pentagon": "triangle",
    "hexagon": "square",
    "bowtie": "cross",
    "star-diamond": "diamond",
    "triangle-down": "triangle",
    "hourglass": "diamond",
}
"""Symbols that the browser draws in place of others: methods of like colours have unlike ones."""


def browser_style(style: MethodStyle) -> MethodStyle:
    """A method's style for the browser: no dash for a solid line, one of six symbols."""
    symbol = SYMBOL_SHAPES.get(style.symbol, _NEAREST.get(style.symbol, style.symbol))
    shape = symbol if symbol in SYMBOLS[:6] else "circle"
    dash = style.dash if DASHES.get(style.dash) else ""
    return MethodStyle(style.color, dash, shape)


def _slider(slider: Slider) -> dict[str, Any]:
    return {
        "name": slider.name,
        "label": slider.label,
        "values": slider.grid,
        "ends": slider.ends,
        "play": slider.play,
        "rate": slider.rate,
        "sweep": slider.sweep,
        "button": slider.button,
        "onwards": slider.onwards,
        "hidden": slider.hidden,
        "shown": slider.shown,
        "start": slider.first,
    }


def _axis(axis: Axis) -> dict[str, Any]:
    _only_plotly("a logarithmic axis", axis.log)
    return {
        "limits": [float(v) for v in axis.limits],
        "label": axis.label,
        "percent": axis.percent,
        "ticks": None if axis.ticks is None else [float(v) for v in np.asarray(axis.ticks)],
        "shown": None if axis.names is None else list(axis.names),
        "hidden": axis.hidden,
    }


def _panel(panel: Panel, packer: _Packer) -> dict[str, Any]:
    # Numbers are stored in the order in which they are packed here.
    title, caption, at = (packer.pack(part) for part in (panel.title, panel.caption, panel.at))
    marks = [packer.pack(_described(mark, panel.x, packer.names)) for mark in panel.marks]
    legend = [packer.pack(_key(*key)) for key in panel.legend]
    return {
        "marks": marks,
        "x": _axis(panel.x),
        "y": _axis(panel.y),
        "title": title,
        "caption": caption,
        "height": panel.height,
        "equal": panel.equal,
        "margin": panel.margin,
        "square": panel.square,
        "click": panel.click,
        "at": at,
        "legend": legend,
    }


def _described(mark: Mark, x: Axis, sliders: Sequence[str]) -> dict[str, Any]:
    if isinstance(mark, Rain):
        return _rain(mark, sliders)
    if isinstance(mark, Heat):
        return _heat(mark)
    if isinstance(mark, Image):
        return {"kind": "image", "x": mark.x, "y": mark.y, "pixels": mark.pixels}
    if isinstance(mark, HBand):
        low, high = [mark.low] * 2, [mark.high] * 2
        mark = Band(x.limits, low, high, color=mark.color, opacity=mark.opacity)
    kind, travels = MARK_FIELDS[type(mark)]
    for each in fields(mark):
        stays = each.name not in {*travels.values(), "hover", "texts", "shift", "rise"}
        usual = getattr(mark, each.name) is each.default
        _only_plotly(f"{each.name} of {kind}", stays and not usual)
    values = {name: getattr(mark, own) for name, own in travels.items()}
    _only_plotly("numbers as colours", isinstance(values.get("color"), Shades))
    if "dash" in values:
        values["dash"] = DASHES.get(values["dash"], values["dash"])
    return {"kind": kind, **values}


def _rain(mark: Rain, sliders: Sequence[str]) -> dict[str, Any]:
    """Values in bytes, as their bins."""
    values = np.asarray(mark.values, dtype=float)
    bins = np.minimum((mark.bins * values).astype(int), mark.bins - 1)
    first, second = (sliders.index(name) for name in mark.opens)
    return {
        "kind": "rain",
        "cells": bins.astype(np.int8),
        "bins": mark.bins,
        "follows": sliders.index(mark.follows),
        "clock": sliders.index(mark.clock),
        "opens": first,
        "opensAt": second,
        "only": mark.only,
        "color": mark.color,
        "opacity": mark.opacity,
    }


def _heat(mark: Heat) -> dict[str, Any]:
    """Values in bytes, in steps of limit / 127; −128 is NaN."""
    shades = mark.shades
    _only_plotly("a heat map whose middle is not 0", bool(shades.middle))
    grid, by = values_and_sliders(shades.values)
    levels = np.round(127 * np.clip(grid.astype(float) / shades.limit, -1, 1))
    levels = np.where(np.isnan(levels), -128, levels).astype(np.int8)
    return {
        "kind": "heat",
        "x": np.asarray(mark.x_edges, dtype=float)[[0, -1]],
        "y": np.asarray(mark.y_edges, dtype=float)[[0, -1]],
        "values": Over(levels, by) if by else levels,
        "limit": float(shades.limit),
        "low": shades.low,
        "high": shades.high,
        "label": shades.label,
    }


def _key(words: Words, color: str, symbol: str) -> dict[str, Any]:
    if symbol not in SYMBOLS and not is_stroke(symbol):
        raise ValueError(
            f"A legend shows one of {', '.join(SYMBOLS)}; got {symbol!r}. Take the one nearest to "
            "what the mark looks like."
        )
    shown = symbol if symbol in SYMBOLS else DASHES.get(symbol, symbol)
    return {"label": words, "color": color, "symbol": shown}


def _only_plotly(what: str, asked: bool) -> None:
    if asked:
        raise ValueError(f"The browser follows sliders, but does not draw {what}; plotly does.")


def _check_click(name: str | None, at: Number | None, lengths: Mapping[str, int]) -> None:
    if name is None:
        return
    if name not in lengths:
        raise ValueError(
            f"A press moves one of the payload's sliders; got {name!r}. Name one of "
            f"{list(lengths)}."
        )
    if at is None:
        return
    values, by = values_and_sliders(at)
    shape = values.shape[len(by) :]
    if shape != (lengths[name], 2):
        raise ValueError(
            f"Places of a press have shape {(lengths[name], 2)}, x and y for each value of "
            f"{name!r}; got {shape}. Leave `at` out where the panel's x axis is the slider's."
        )


@dataclass
class _Packer:
    """Packs a description into JSON, with its arrays in one block of numbers."""

    lengths: Mapping[str, int]
    names: tuple[str, ...]
    blocks: list[bytes] = field(default_factory=list)
    used: int = 0
    packed: dict[int, tuple[Over, dict[str, Any]]] = field(default_factory=dict)
    """Packed values by their id, valid while the values are referenced here."""
    places: dict[bytes, int] = field(default_factory=dict)
    """Where each block lies."""

    @property
    def body(self) -> bytes:
        """All numbers packed so far."""
        return b"".join(self.blocks)

    def pack(self, value: Any) -> Any:
        """Replace each array of a description by its position in the block and its sliders.

        Values used in several places are stored once.
        """
        if isinstance(value, Over):
            if id(value) not in self.packed:
                self.packed[id(value)] = value, self._over(value)
            return self.packed[id(value)][1]
        if isinstance(value, Text):
            return {"template": value.template, "parts": self.pack(dict(value.parts))}
        if isinstance(value, Mapping):
            return {name: self.pack(item) for name, item in value.items()}
        if isinstance(value, np.ndarray | list | tuple):
            return self._block(np.asarray(value), [])
        return value.item() if isinstance(value, np.generic) else value

    def _over(self, value: Over) -> dict[str, Any]:
        self._check(value)
        by = [self.names.index(name) for name in value.sliders]
        if value.values.dtype.kind in "UO":
            return self._strings(value.values, by)
        return (self._steps if value.coarse else self._block)(value.values, by)

    def _check(self, value: Over) -> None:
        if unknown := set(value.sliders) - set(self.names):
            raise ValueError(
                f"Values run over sliders of the payload; got {sorted(unknown)}. "
                f"Name one of {list(self.names)}."
            )
        wanted = tuple(self.lengths[name] for name in value.sliders)
        if value.values.shape[: len(wanted)] != wanted:
            raise ValueError(
                f"Values over {value.sliders} have leading axes {wanted}; got shape "
                f"{value.values.shape}. Put the sliders' axes first."
            )

    def _block(self, values: NDArray[Any], by: list[int]) -> dict[str, Any]:
        """Store numbers as they are if 16-bit or 8-bit, else as float32."""
        bits = {"int8": "i1", "uint8": "u1", "int16": "<i2"}.get(values.dtype.name, "<f4")
        flat = np.ascontiguousarray(values, dtype=bits).ravel()
        raw = flat.tobytes()
        raw += b"\0" * (-len(raw) % 4)  # float32 may begin at multiples of 4 only
        place = self.places.setdefault(raw, self.used)
        if place == self.used:
            self.blocks.append(raw)
            self.used += len(raw)
        packed = {"first": place // flat.itemsize, "shape": list(values.shape), "by": by}
        return packed if bits == "<f4" else {**packed, "bytes": flat.itemsize}

    def _steps(self, values: NDArray[Any], by: list[int]) -> dict[str, Any]:
        """Store numbers as steps from their middle, with one step reserved for NaN."""
        numbers = np.asarray(values, dtype=np.float64)
        there = numbers[~np.isnan(numbers)]
        low, high = (float(there.min()), float(there.max())) if there.size else (0.0, 0.0)
        count = _even_steps((there - low) / ((high - low) or 1.0))
        most, kind = (_FEW, np.int8) if count else (_STEPS, np.int16)
        step = (high - low) / (count or 2 * most) or 1.0
        middle = low + most * step if count else (low + high) / 2
        steps = np.where(np.isnan(numbers), -most - 1, np.round((numbers - middle) / step))
        return {**self._block(steps.astype(kind), by), "middle": middle, "step": step}

    def _strings(self, values: NDArray[Any], by: list[int]) -> dict[str, Any]:
        # Captions repeat: each distinct one is sent once, the grid as indices.
        kinds, index = np.unique(values.astype(str), return_inverse=True)
        least = np.int8 if len(kinds) < 2**7 else np.int16 if len(kinds) < 2**15 else np.float32
        places = index.reshape(values.shape).astype(least)
        return {"strings": kinds.tolist(), **self._block(places, by)}


def _even_steps(parts: NDArray[np.float64]) -> int:
    """Number of even steps from 0 to 1 of which some hold all of these parts; 0 if a byte does not
    count them.
    """
    kinds = np.unique(np.round(parts, 9))
    if not 1 < len(kinds) <= 2 * _FEW + 1:
        return 0
    count = round(1 / np.diff(kinds).min())
    even = np.abs(count * kinds - np.round(count * kinds)).max() < 1e-6
    return count if even and count <= 2 * _FEW else 0
