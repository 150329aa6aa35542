"""Charts that follow a slider while it is dragged: every grid value is shipped once, the browser
switches between them and tells Python on release.

    payload = live.payload(
        sliders=[live.slider("beta", np.linspace(0, 1, 21), label="Degradation")],
        panels=[
            live.panel(
                [live.band(edges, low, high), live.bars(edges, live.over(h, "beta"), color=P)],
                title="Ranks", x=live.axis((0, 1), "rank"), y=live.axis((0, 120)),
                caption=live.over(["KS D = .021", ...], "beta"),
            ),
        ],
        headline=live.text("At beta = {b} the test catches q in {w}.", b=..., w=...),
    )
    (beta,) = live.chart(payload, key="beta", default=(0.4,))

Every number or string that changes is wrapped: `over(values, "beta")` says that the first axis of
`values` runs over that slider's values, `over(values, "c", "angle")` that the first two do; what
is not wrapped stays. A payload is a frozen value (numbers in one block of float32): build it
once per computation, cache it, pass it every run. `chart` returns the chosen values, on the grid.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cache
from math import isfinite
from pathlib import Path
from typing import Any

import numpy as np
import streamlit as st
from numpy.typing import ArrayLike, NDArray

_HERE = Path(__file__).parent


@dataclass(frozen=True, eq=False)
class Over:
    """Values whose leading axes run over the named sliders."""

    values: NDArray[Any]
    sliders: tuple[str, ...]


@dataclass(frozen=True, eq=False)
class Text:
    """A sentence with {named} parts, each a string or strings over sliders."""

    template: str
    parts: Mapping[str, str | Over]


@dataclass(frozen=True)
class Payload:
    """What the browser needs: a description and one block of float32."""

    head: str
    body: bytes
    sliders: tuple[tuple[float, ...], ...]
    start: tuple[float, ...]

    @property
    def digest(self) -> str:
        """Equal payloads, equal text."""
        return hashlib.sha256(self.head.encode() + self.body).hexdigest()[:16]

    def message(self, at: Sequence[float]) -> bytes:
        """Length of the JSON, the JSON padded to 4 bytes, the numbers."""
        head = json.dumps({"at": list(at), "digest": self.digest})[:-1] + ", " + self.head[1:]
        raw = head.encode()
        raw += b" " * (-len(raw) % 4)
        return len(raw).to_bytes(4, "little") + raw + self.body

    def nearest(self, values: Sequence[float]) -> tuple[float, ...]:
        """The grid values next to the given ones."""
        pairs = zip(self.sliders, values, strict=True)
        return tuple(min(grid, key=lambda v, a=value: abs(v - a)) for grid, value in pairs)


Number = ArrayLike | Over
Words = str | Over | Text
Mark = dict[str, Any]


def over(values: ArrayLike, *sliders: str) -> Over:
    """Values over the named sliders: the first axes, in that order."""
    return Over(np.asarray(values), sliders)


def text(template: str, **parts: str | Over) -> Text:
    """A sentence with {named} parts."""
    return Text(template, parts)


def slider(
    name: str, values: ArrayLike, *, label: str, shown: Sequence[str] | None = None,
    start: float | None = None, ends: tuple[str, str] | None = None,
) -> dict[str, Any]:  # fmt: skip
    """A slider over a grid of values.

    Args:
        shown: the values as the reader sees them; two significant decimals otherwise.
        start: where it stands first; the first value otherwise.
        ends: words under its two ends.
    """
    grid = [float(v) for v in np.asarray(values).ravel()]
    return {"name": name, "label": label, "values": grid, "ends": ends or ("", ""),
            "shown": list(shown) if shown else [f"{v:.2f}" for v in grid],
            "start": grid[0] if start is None else float(start)}  # fmt: skip


def axis(
    limits: tuple[float, float], label: str = "", *, percent: bool = False,
    ticks: Sequence[float] | None = None, shown: Sequence[str] | None = None,
    hidden: bool = False,
) -> dict[str, Any]:  # fmt: skip
    """A fixed axis; `percent` writes 0.25 as 25%; `hidden` draws neither ticks nor grid.

    Args:
        shown: what is written at `ticks` (a logarithmic axis: ticks in logarithms, names not).
    """
    return {"limits": [float(v) for v in limits], "label": label, "percent": percent,
            "ticks": None if ticks is None else [float(v) for v in ticks],
            "shown": None if shown is None else list(shown), "hidden": hidden}  # fmt: skip


def panel(
    marks: Sequence[Mark], *, x: dict[str, Any], y: dict[str, Any], title: Words = "",
    caption: Words = "", height: int = 230, equal: bool = False, margin: int = 0,
) -> dict[str, Any]:  # fmt: skip
    """One chart: marks in the order they are drawn, title above, caption below.

    Args:
        equal: one unit is as long on x as on y (angles look right).
        margin: pixels kept free at the right for the labels of lines.
    """
    return {"marks": list(marks), "x": x, "y": y, "title": title, "caption": caption,
            "height": height, "equal": equal, "margin": margin}  # fmt: skip


def bars(
    edges: Number, heights: Number, *, color: str, opacity: float = 0.55,
    shift: Number | None = None, label: Words = "", label_at: tuple[float, float] | None = None,
) -> Mark:  # fmt: skip
    """A histogram: edges (B + 1,), heights (B,); `shift` moves it along x."""
    return {"kind": "bars", "x": edges, "y": heights, "shift": shift, "color": color,
            "opacity": opacity, "label": label, "at": label_at}  # fmt: skip


def line(
    x: Number, y: Number, *, color: str, dash: str = "", width: float = 2, label: Words = "",
    shift: Number | None = None, opacity: float = 1,
) -> Mark:  # fmt: skip
    """A line (G,), with its label at its right end; `dash` as in SVG ("6 3")."""
    return {"kind": "line", "x": x, "y": y, "shift": shift, "color": color, "dash": dash,
            "width": width, "label": label, "opacity": opacity}  # fmt: skip


def band(
    x: Number, low: Number, high: Number, *, color: str = "#8A8F98", opacity: float = 0.22,
    label: Words = "",
) -> Mark:  # fmt: skip
    """The room between two lines (G,); for bars give their edges and B values (steps)."""
    return {"kind": "band", "x": x, "y": low, "high": high, "color": color, "opacity": opacity,
            "label": label}  # fmt: skip


def points(
    x: Number, y: Number, *, color: str, size: float = 5, opacity: float = 1,
    symbol: str = "circle", low: Number | None = None, high: Number | None = None,
    label: Words = "", label_at: tuple[float, float] | None = None,
) -> Mark:  # fmt: skip
    """Points (G,), with intervals from `low` to `high`; symbol circle, square or diamond."""
    return {"kind": "points", "x": x, "y": y, "low": low, "high": high, "color": color,
            "size": size, "opacity": opacity, "symbol": symbol, "label": label,
            "at": label_at}  # fmt: skip


def vline(
    x: Number, *, color: str = "", dash: str = "", width: float = 1.5, label: Words = ""
) -> Mark:
    """A vertical line through the panel, its label at the top."""
    return {"kind": "vline", "x": x, "color": color, "dash": dash, "width": width, "label": label}


def hline(
    y: Number, *, color: str = "", dash: str = "4 3", width: float = 1, label: Words = ""
) -> Mark:
    """A horizontal line through the panel, its label at the right end."""
    return {"kind": "hline", "y": y, "color": color, "dash": dash, "width": width, "label": label}


def note(x: Number, y: Number, words: Words, *, color: str = "", anchor: str = "start") -> Mark:
    """Words at a place; anchor start, middle or end."""
    return {"kind": "note", "x": x, "y": y, "label": words, "color": color, "anchor": anchor}


@dataclass
class _Packer:
    """Turns a description into JSON, arrays into places in one block of float32."""

    lengths: Mapping[str, int]
    names: tuple[str, ...]
    blocks: list[NDArray[np.float32]] = field(default_factory=list)
    used: int = 0

    def pack(self, value: Any) -> Any:
        if isinstance(value, Over):
            self._check(value)
            by = [self.names.index(name) for name in value.sliders]
            pack = self._strings if value.values.dtype.kind in "UO" else self._block
            return pack(value.values, by)
        if isinstance(value, Text):
            return {"template": value.template, "parts": self.pack(dict(value.parts))}
        if isinstance(value, Mapping):
            return {name: self.pack(item) for name, item in value.items()}
        if isinstance(value, np.ndarray | list | tuple):
            return self._block(np.asarray(value), [])
        return value.item() if isinstance(value, np.generic) else value

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
        flat = np.ascontiguousarray(values, dtype="<f4").ravel()
        packed = {"first": self.used, "shape": list(values.shape), "by": by}
        self.blocks.append(flat)
        self.used += flat.size
        return packed

    def _strings(self, values: NDArray[Any], by: list[int]) -> dict[str, Any]:
        # Captions repeat: each different one travels once, the grid as places among them.
        kinds, index = np.unique(values.astype(str), return_inverse=True)
        return {"strings": kinds.tolist(), **self._block(index.reshape(values.shape), by)}


def payload(
    *, sliders: Sequence[dict[str, Any]], panels: Sequence[dict[str, Any]], headline: Words = "",
    columns: int = 2,
) -> Payload:  # fmt: skip
    """Everything the browser draws, in one value.

    Args:
        sliders: one or two of `slider`.
        panels: any number of `panel`; they wrap, at most `columns` beside one another.
        headline: one sentence above the sliders, following them.

    Raises:
        ValueError: when values name an unknown slider or their axes do not fit its grid.
    """
    names = tuple(item["name"] for item in sliders)
    grids = tuple(tuple(item["values"]) for item in sliders)
    packer = _Packer(dict(zip(names, map(len, grids), strict=True)), names)
    packed = [
        {**item, **{part: packer.pack(item[part]) for part in ("title", "caption")},
         "marks": [packer.pack(mark) for mark in item["marks"]]}
        for item in panels
    ]  # fmt: skip
    head = {"sliders": list(sliders), "panels": packed, "columns": columns,
            "headline": packer.pack(headline)}  # fmt: skip
    body = np.concatenate([np.zeros(0, "<f4"), *packer.blocks]).tobytes()
    start = tuple(float(item["start"]) for item in sliders)
    return Payload(json.dumps(head, separators=(",", ":")), body, grids, start)


@cache
def _component() -> Callable[..., Any]:
    return st.components.v2.component(
        "nptlab_live",
        html='<div class="live"></div>\n',
        css=(_HERE / "live.css").read_text(),
        js=(_HERE / "live.js").read_text(),
    )


def chart(
    payload: Payload, *, key: str, default: Sequence[float] | None = None,
    url: Sequence[str] = (),
) -> tuple[float, ...]:  # fmt: skip
    """Draw it; the values at which the sliders were last released, nearest on the grid.

    Inside a fragment only the fragment runs again on release. Where the payload changes, the
    sliders stay where they stand.

    Args:
        default: where the sliders stand first; the payload's own start otherwise.
        url: names under which the address carries the values, so that a link shows the same.
    """
    first = payload.nearest(payload.start if default is None else default)
    known = (st.session_state.get(key) or {}).get("value")
    fresh = known is None or len(known) != len(payload.sliders)
    chosen = payload.nearest(_from_url(url, first)) if fresh else known
    # The position travels only with a new payload: otherwise each release would send all of it.
    seen = st.session_state.get(f"{key}_sent")
    if fresh or seen is None or seen[0] != payload.digest:
        seen = st.session_state[f"{key}_sent"] = (payload.digest, tuple(chosen))
    result = _component()(
        key=key, data=payload.message(seen[1]), default={"value": list(seen[1])},
        on_value_change=_noted,
    )  # fmt: skip
    value = result.get("value") or chosen
    value = payload.nearest(value if len(value) == len(payload.sliders) else chosen)
    _to_url(url, value, first)
    return value


def _from_url(names: Sequence[str], default: Sequence[float]) -> list[float]:
    values = list(default)
    for i, name in enumerate(names):
        with suppress(ValueError):  # what is no number is as good as absent
            given = float(st.query_params.get(name, values[i]))
            values[i] = given if isfinite(given) else values[i]
    return values


def _to_url(names: Sequence[str], values: Sequence[float], default: Sequence[float]) -> None:
    for name, value, usual in zip(names, values, default, strict=False):
        shown = f"{value:.6g}"
        if value == usual:
            st.query_params.pop(name, None)
        elif st.query_params.get(name) != shown:
            st.query_params[name] = shown


def _noted() -> None:
    """Streamlit keeps a component's state only where a callback is named."""
