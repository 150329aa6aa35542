"""Plotly figures of a report: values to six digits, and as many points as fit."""

from __future__ import annotations

import base64
import gzip
import hashlib
from collections.abc import Mapping, Sequence
from functools import lru_cache
from importlib import resources
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import orjson
import plotly.graph_objects as go


class ScriptFigures(NamedTuple):
    """A script with the digest by which a content security policy allows it."""

    text: str
    digest: str


def pack_figure(content: bytes, *, level: int = 9) -> str:
    """Gzip in base64; the same bytes always give the same text."""
    return base64.b64encode(gzip.compress(content, level, mtime=0)).decode()


def trusted_script(source: str) -> ScriptFigures:
    """A script with its SHA-256 as a source of a content security policy."""
    digest = base64.b64encode(hashlib.sha256(source.encode()).digest()).decode()
    return ScriptFigures(source, f"'sha256-{digest}'")


@lru_cache(maxsize=1)
def plotly_bundle() -> ScriptFigures:
    """plotly.js, packed from 4.8 to 1.9 MB; the digest is of the unpacked script."""
    script = resources.files("plotly").joinpath("package_data", "plotly.min.js").read_bytes()
    return ScriptFigures(pack_figure(script), trusted_script(script.decode()).digest)


@lru_cache(maxsize=2)
def own_figure(name: str) -> str:
    """A style sheet or script of the report, from a file beside this module."""
    return Path(__file__).with_name(name).read_text(encoding="utf-8")


_DIGITS = 6
_POINTS = (None, 20_000, 5_000, 2_000, 1_000, 500, 250, 100)
"""Most points of a trace; the first that fits is used."""
_SQUEEZE = 8  # largest plausible compression: longer text is not compressed at all
_OPTIONS = orjson.OPT_SERIALIZE_NUMPY | orjson.OPT_NON_STR_KEYS


class _FittedFigure(NamedTuple):
    """Figures packed to a given size."""

    packed: str
    drawn: int
    """Number of figures kept, from the first."""
    said: str
    """A sentence on omitted points or figures; empty without any."""


def fit_figures(figures: Sequence[go.Figure], room: int) -> _FittedFigure:
    """Pack figures into at most `room` characters.

    Where they do not fit, every trace is thinned to evenly spaced points; where that does not
    suffice, the last figures are left out. The result has a sentence on either.
    """
    charts = [_plain(figure) for figure in figures]
    for most in _POINTS:
        written = _dump([_thin(chart, most) for chart in charts])
        if len(written) > _SQUEEZE * room:
            continue
        text = pack_figure(written, level=6)
        if len(text) <= room:
            return _FittedFigure(text, len(charts), _said(most) if most else "")
    return _some([_thin(chart, _POINTS[-1]) for chart in charts], room)


def _said(most: int) -> str:
    return (
        f"To keep this file small, lines and clouds of more than {most:,} points are drawn with "
        f"{most:,} of them, evenly spaced."
    )


def _some(drawn: list[dict[str, Any]], room: int) -> _FittedFigure:
    """Pack as many of the first figures as fit."""
    low, high = 0, len(drawn)
    while low < high:
        middle = (low + high + 1) // 2
        fits = len(pack_figure(_dump(drawn[:middle]), level=6)) <= room
        low, high = (middle, high) if fits else (low, middle - 1)
    sentence = (
        f"To keep this file small, the last {len(drawn) - low} of {len(drawn)} figures were left "
        f"out, and the others are drawn with at most {_POINTS[-1]} points of each trace."
    )
    return _FittedFigure(pack_figure(_dump(drawn[:low]), level=6), low, sentence)


def _dump(drawn: list[dict[str, Any]]) -> bytes:
    return orjson.dumps(drawn, default=_listed, option=_OPTIONS)


def _listed(value: Any) -> Any:
    if isinstance(value, np.generic | np.ndarray):  # arrays of strings, or not in C order
        return value.tolist()
    return str(value)


def _plain(figure: go.Figure) -> dict[str, Any]:
    """A figure as JSON for plotly.js, without the colours of a theme."""
    layout = figure.layout.to_plotly_json()
    layout.pop("template", None)
    return {
        "data": [_rounded(trace.to_plotly_json()) for trace in figure.data],
        "layout": _rounded(layout),
    }


def _rounded(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {name: _rounded(item) for name, item in value.items()}
    if isinstance(value, np.ndarray) and value.dtype.kind == "f":
        return _digits(value)
    if isinstance(value, list | tuple):
        return [_rounded(item) for item in value]
    return value


def _digits(values: np.ndarray) -> np.ndarray:
    """Values rounded to six digits, in the type that prints them shortest."""
    wide = values.astype(np.float64)
    used = np.isfinite(wide) & (wide != 0)
    place = np.floor(np.log10(np.abs(wide), where=used, out=np.zeros_like(wide)))
    unit = 10.0 ** np.clip(place - _DIGITS + 1, -300, 300)
    with np.errstate(over="ignore"):
        small = np.where(used, np.round(wide / unit) * unit, wide).astype(np.float32)
    in_range = np.isfinite(small) == np.isfinite(wide)
    narrowest = small if (in_range & ((small != 0) == (wide != 0))).all() else wide
    return np.ascontiguousarray(narrowest)


def _thin(figure: dict[str, Any], most: int | None) -> dict[str, Any]:
    if most is None:
        return figure
    return {**figure, "data": [_fewer(trace, most) for trace in figure["data"]]}


def _fewer(trace: dict[str, Any], most: int) -> dict[str, Any]:
    """A trace thinned to evenly spaced points; a map, to evenly spaced rows and columns."""
    z = trace.get("z")
    if z is not None and np.ndim(z) == 2:
        side = max(2, int(most**0.5))
        rows, columns = (_spaced(size, side) for size in np.shape(z))
        several = {"z", "text", "customdata"}
        cut = {name: _cut2(trace[name], rows, columns) for name in several & {*trace}}
        axes = {"x": columns, "y": rows}
        return {
            **trace,
            **cut,
            **{name: _cut(trace[name], at) for name, at in axes.items() if name in trace},
        }
    size = max((len(trace[name]) for name in ("x", "y") if _is_list(trace.get(name))), default=0)
    return trace if size <= most else _kept(trace, size, _spaced(size, most))


def _kept(value: dict[str, Any], size: int, at: np.ndarray) -> dict[str, Any]:
    """A trace with its per-point entries restricted to some points."""
    return {
        name: _kept(item, size, at)
        if isinstance(item, dict)
        else _cut(item, at)
        if _is_list(item) and len(item) == size
        else item
        for name, item in value.items()
    }


def _cut(values: Any, at: np.ndarray) -> Any:
    if not _is_list(values) or len(values) <= at[-1]:
        return values
    if isinstance(values, np.ndarray):
        return np.ascontiguousarray(values[at])
    return [values[i] for i in at]


def _cut2(values: Any, rows: np.ndarray, columns: np.ndarray) -> Any:
    return [_cut(row, columns) for row in _cut(values, rows)] if _is_list(values) else values


def _is_list(value: Any) -> bool:
    return isinstance(value, list | tuple | np.ndarray) and np.ndim(value) > 0


def _spaced(size: int, most: int) -> np.ndarray:
    return np.unique(np.linspace(0, size - 1, min(size, most)).round().astype(int))
