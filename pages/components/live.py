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
is not wrapped stays. A payload is a frozen value (numbers in one block): build it once per
computation, cache it, pass it every run. `chart` returns the chosen values, on the grid.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from functools import cache
from math import isfinite
from pathlib import Path
from typing import Any

import numpy as np
import streamlit as st
from numpy.typing import ArrayLike, NDArray

from pages.components.packing import Over, Packer, Payload, Text
from validation_core.figures.style import MethodStyle

_HERE = Path(__file__).parent
_SCRIPTS = ("live_marks.js", "live_controls.js", "live.js")
SYMBOLS = ("circle", "square", "diamond", "cross", "ring", "triangle", "line", "dash", "band")
"""What a legend can show; the first six are also what `points` draws."""

_DASHES = {"solid": "", "dash": "7 5", "dot": "2 3", "longdash": "10 4", "dashdot": "8 3 2 3"}
_SHAPES = {"x": "cross", "triangle-up": "triangle"}


Number = ArrayLike | Over
Words = str | Over | Text
Mark = dict[str, Any]


def look(style: MethodStyle) -> tuple[str, str, str]:
    """Colour, dash and symbol here of what plotly draws in a style; a circle for other symbols."""
    symbol = _SHAPES.get(style.symbol, style.symbol)
    shape = symbol if symbol in SYMBOLS[:6] else "circle"
    return style.color, _DASHES.get(style.dash, ""), shape


def over(values: ArrayLike, *sliders: str) -> Over:
    """Values over the named sliders: the first axes, in that order."""
    return Over(np.asarray(values), sliders)


def text(template: str, **parts: str | Over) -> Text:
    """A sentence with {named} parts."""
    return Text(template, parts)


def slider(
    name: str, values: ArrayLike, *, label: str, shown: Sequence[str] | None = None,
    start: float | None = None, ends: tuple[str, str] | None = None, play: bool = False,
) -> dict[str, Any]:  # fmt: skip
    """A slider over a grid of values.

    Args:
        shown: the values as the reader sees them; two significant decimals otherwise.
        start: where it stands first; the first value otherwise.
        ends: words under its two ends.
        play: a button before it steps through its values up to the last, from the first where
            it stands at the last: 12 a second, 2 where the reader asks for less motion. Python
            hears of it once, when it stops.
    """
    grid = [float(v) for v in np.asarray(values).ravel()]
    return {"name": name, "label": label, "values": grid, "ends": ends or ("", ""), "play": play,
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
    square: bool = False, click: str | None = None, at: Number | None = None,
    legend: Sequence[tuple[Words, str, str]] = (),
) -> dict[str, Any]:  # fmt: skip
    """One chart: marks in the order they are drawn, title above, caption below.

    Args:
        equal: one unit is as long on x as on y (angles look right).
        margin: pixels kept free at the right for the labels of lines.
        square: as high as wide, up to about 460 pixels, whatever `height` says.
        click: a press in the panel, and dragging from there, moves this slider to the value
            whose place is nearest; Python hears of it on release.
        at: those places, one for each of that slider's V values, in the panel's coordinates
            (V, 2), possibly over other sliders; the values themselves, along x, otherwise.
        legend: one quiet line under the title: (words, colour, one of SYMBOLS) for each.

    Raises:
        ValueError: when `at` is given without `click`, or a legend has an unknown symbol.
    """
    if at is not None and click is None:
        raise ValueError(
            "Places (`at`) belong to a panel that can be pressed; got `at` without `click`. "
            "Name the slider to move: click='x'."
        )
    keys = []
    for words, color, symbol in legend:
        if symbol not in SYMBOLS:
            raise ValueError(
                f"A legend shows one of {', '.join(SYMBOLS)}; got {symbol!r}. Take the one "
                "nearest to what the mark looks like."
            )
        keys.append({"label": words, "color": color, "symbol": symbol})
    return {"marks": list(marks), "x": x, "y": y, "title": title, "caption": caption,
            "height": height, "equal": equal, "margin": margin, "square": square,
            "click": click, "at": at, "legend": keys}  # fmt: skip


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
    """A line (G,), with its label at its last point; `dash` as in SVG ("6 3").

    Where a point is NaN the line is broken: contours are pieces with NaN between them, padded
    with NaN at the end to a common length over a slider.
    """
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
    """Points (G,), with intervals from `low` to `high`; points that are NaN are left out.

    Args:
        symbol: circle, square, diamond, cross (two strokes), ring (a hollow circle), triangle.
    """
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


def heat(
    x_edges: ArrayLike, y_edges: ArrayLike, values: Number, *, limit: float, low: str, high: str,
    label: Words = "",
) -> Mark:  # fmt: skip
    """A grid of values as colours under all other marks: clear at 0, full at +-limit and beyond.

    Args:
        x_edges: edges of the columns (W + 1,), evenly spaced.
        y_edges: edges of the rows (H + 1,), evenly spaced, from below.
        values: (H, W), possibly over sliders; NaN is clear. They travel as bytes, in steps of
            limit / 127.
        low: colour of negative values.
        high: colour of positive values.
        label: what the colours mean: shown in the panel's legend, with their scale.

    Raises:
        ValueError: when the limit is not positive, or edges and values do not fit.
    """
    if not (isfinite(limit) and limit > 0):
        raise ValueError(
            f"The limit of a heat map is a positive number; got {limit}. Give the size of a "
            "value that should have the full colour."
        )
    x, y = (_ends(name, edges) for name, edges in (("x", x_edges), ("y", y_edges)))
    grid, by = (values.values, values.sliders) if isinstance(values, Over) else (values, ())
    grid = np.asarray(grid, dtype=float)
    shape = (np.size(y_edges) - 1, np.size(x_edges) - 1)
    if grid.shape[len(by) :] != shape:
        raise ValueError(
            f"Values of a heat map have shape (H, W) = {shape} after the axes of their sliders; "
            f"got {grid.shape} over {list(by)}. Put rows (y) before columns (x)."
        )
    levels = np.round(127 * np.clip(grid / limit, -1, 1))
    levels = np.where(np.isnan(levels), 0, levels).astype(np.int8)
    return {"kind": "heat", "x": x, "y": y, "values": Over(levels, by) if by else levels,
            "limit": float(limit), "low": low, "high": high, "label": label}  # fmt: skip


def _ends(name: str, edges: ArrayLike) -> NDArray[np.float64]:
    """First and last of evenly spaced edges."""
    places = np.asarray(edges, dtype=float)
    steps = np.diff(places) if places.ndim == 1 else np.zeros(0)
    if not (steps.size and steps[0] > 0 and np.allclose(steps, steps[0], rtol=1e-3, atol=0)):
        raise ValueError(
            f"The {name} edges of a heat map rise in even steps; got {places}. Take "
            "np.linspace(first, last, cells + 1)."
        )
    return places[[0, -1]]


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
        ValueError: when values or presses name an unknown slider, or do not fit its grid.
    """
    names = tuple(item["name"] for item in sliders)
    grids = tuple(tuple(item["values"]) for item in sliders)
    lengths = dict(zip(names, map(len, grids), strict=True))
    for item in panels:
        _check_click(item["click"], item["at"], lengths)
    packer = Packer(lengths, names)
    packed = [
        {**item, **{part: packer.pack(item[part]) for part in ("title", "caption", "at")},
         **{part: [packer.pack(one) for one in item[part]] for part in ("marks", "legend")}}
        for item in panels
    ]  # fmt: skip
    head = {"sliders": list(sliders), "panels": packed, "columns": columns,
            "headline": packer.pack(headline)}  # fmt: skip
    start = tuple(float(item["start"]) for item in sliders)
    return Payload(json.dumps(head, separators=(",", ":")), packer.body, grids, start)


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
    shape = at.values.shape[len(at.sliders) :] if isinstance(at, Over) else np.shape(at)
    if shape != (lengths[name], 2):
        raise ValueError(
            f"Places of a press have shape {(lengths[name], 2)}, x and y for each value of "
            f"{name!r}; got {shape}. Leave `at` out where the panel's x axis is the slider's."
        )


@cache
def _component() -> Callable[..., Any]:
    return st.components.v2.component(
        "nptlab_live",
        html='<div class="live"></div>\n',
        css=(_HERE / "live.css").read_text(),
        js="\n".join((_HERE / name).read_text() for name in _SCRIPTS),
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
