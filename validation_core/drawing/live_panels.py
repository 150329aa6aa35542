"""Panels of a live picture as they stand at some values of its sliders, for files.

The browser reads payloads of `drawing.live` in the same way.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from validation_core.drawing.live import DASHES, MARK_FIELDS, Payload
from validation_core.drawing.marks import Axis, Grid, Heat, Image, Mark, Panel, Picture, Shades

_KINDS = {kind: (mark, fields) for mark, (kind, fields) in MARK_FIELDS.items()}
_TYPES: Mapping[int, np.dtype[Any]] = {1: np.dtype("i1"), 2: np.dtype("<i2"), 4: np.dtype("<f4")}
_NAMED_DASHES = {lengths: name for name, lengths in DASHES.items() if lengths}


def still_picture(payload: Payload, values: Sequence[float]) -> Picture:
    """The picture of a payload at these values of its sliders.

    Args:
        payload: of `drawing.live.payload`.
        values: one for each slider, on its grid.

    Raises:
        ValueError: where a panel is for the browser alone, as of falling bricks.
    """
    head = json.loads(payload.head)
    at = [grid.index(value) for grid, value in zip(payload.sliders, values, strict=True)]
    reader = _Reader(payload.body, at)
    panels = [_panel(part, reader) for part in head["panels"]]
    return panels[0] if len(panels) == 1 else Grid(panels, min(head["columns"], len(panels)))


class _Reader:
    """Reads parts of a description at one place of each slider."""

    def __init__(self, body: bytes, at: Sequence[int]) -> None:
        self.body = body
        self.at = at

    def read(self, part: Any) -> Any:
        """A number, array, text or plain value of a description."""
        if not isinstance(part, Mapping):
            return part
        if "template" in part:
            words = {name: self.read(each) for name, each in part["parts"].items()}
            return part["template"].format_map(words)
        return self._array(part)

    def _array(self, part: Mapping[str, Any]) -> Any:
        kind = _TYPES[part.get("bytes", 4)]
        size = int(np.prod(part["shape"]))
        flat = np.frombuffer(self.body, kind, size, part["first"] * kind.itemsize)
        values = flat.reshape(part["shape"])[tuple(self.at[i] for i in part["by"])]
        if "strings" in part:
            return part["strings"][int(values)]
        if "step" not in part:
            return values
        steps = values.astype(float)
        return np.where(
            values == np.iinfo(kind).min, np.nan, part["middle"] + part["step"] * steps
        )


def _panel(part: Mapping[str, Any], reader: _Reader) -> Panel:
    return Panel(
        [_mark(mark, reader) for mark in part["marks"]],
        x=_axis(part["x"]),
        y=_axis(part["y"]),
        title=reader.read(part["title"]),
        height=part["height"],
        equal=part["equal"],
        margin=part["margin"],
        square=part["square"],
        legend=[
            (reader.read(key["label"]), key["color"], key["symbol"]) for key in part["legend"]
        ],
    )


def _axis(part: Mapping[str, Any]) -> Axis:
    low, high = part["limits"]
    flags = {"percent": part["percent"], "hidden": part["hidden"]}
    return Axis((low, high), part["label"], ticks=part["ticks"], names=part["shown"], **flags)


def _mark(part: Mapping[str, Any], reader: _Reader) -> Mark:
    kind = part["kind"]
    own = {name: reader.read(value) for name, value in part.items() if name != "kind"}
    if kind == "heat":
        return _heat(own)
    if kind == "image":
        x, y = (tuple(map(float, own[side])) for side in "xy")
        return Image((x[0], x[1]), (y[0], y[1]), own["pixels"].astype(np.uint8))
    if kind not in _KINDS:
        raise ValueError(f"A picture of {kind} moves in the browser alone. Save another view.")
    mark, fields = _KINDS[kind]
    given = {field: own[name] for name, field in fields.items() if own[name] is not None}
    if "dash" in given:
        given["dash"] = _NAMED_DASHES.get(given["dash"], given["dash"])
    for name in ("shift", "label_at"):
        if name in given:
            given[name] = tuple(np.atleast_1d(given[name]).tolist())
    if "shift" in given:
        (given["shift"],) = given["shift"]
    return mark(**given)


def _heat(own: Mapping[str, Any]) -> Heat:
    levels = own["values"].astype(float)
    values = np.where(levels == -128, np.nan, levels * own["limit"] / 127)
    rows, columns = values.shape
    colors = {"low": own["low"], "high": own["high"], "label": own["label"]}
    x = np.linspace(own["x"][0], own["x"][1], columns + 1)
    y = np.linspace(own["y"][0], own["y"][1], rows + 1)
    return Heat(x, y, Shades(values, limit=own["limit"], **colors))
