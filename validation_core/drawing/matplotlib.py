"""The matplotlib renderer of `drawing.marks`, for those who lay out figures of their own.

Sliders are fixed here, and matplotlib is imported here alone.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from validation_core.drawing import style
from validation_core.drawing.alt import plain_words
from validation_core.drawing.fixed_marks import band_edges, plain_numbers, shifted
from validation_core.drawing.line_names import spaced
from validation_core.drawing.marks import (
    SYMBOL_SHAPES,
    Axis,
    Band,
    Bars,
    Grid,
    HBand,
    Heat,
    HLine,
    Image,
    Line,
    Mark,
    Note,
    Panel,
    Picture,
    Points,
    Shades,
    VLine,
    is_stroke,
)
from validation_core.drawing.over_sliders import freeze_sliders

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.colors import Colormap

_DASHES = {"dash": "--", "dot": ":", "dashdot": "-.", "longdash": (0, (8, 3)), "": "-"}
_SYMBOLS = {
    "circle": "o",
    "square": "s",
    "diamond": "D",
    "cross": "x",
    "ring": "o",
    "triangle": "^",
}
_POINT = 0.75  # of a pixel, in the points that matplotlib counts in
_ALIGN = {"start": "left", "middle": "center", "end": "right"}


def draw(picture: Picture, ax: Any, at: Mapping[str, int] | None = None) -> None:
    """Draw a picture on axes, which keep their size, font and style.

    Args:
        picture: marks on fixed axes.
        ax: the axes of a single panel, or as many as there are panels, in any shape.
        at: the index of each slider among its values; 0 by default.

    Raises:
        ValueError: for another number of axes.
        TypeError: for a mark that only a browser draws.
    """
    panels = picture.panels if isinstance(picture, Grid) else [picture]
    axes = np.atleast_1d(np.asarray(ax, dtype=object)).ravel()
    if len(axes) != len(panels):
        columns = picture.columns if isinstance(picture, Grid) else 1
        rows = -(-len(panels) // columns)
        raise ValueError(
            f"This figure has {len(panels)} panels, each on axes of its own; got {len(axes)}. "
            f"Take fig, axes = plt.subplots({rows}, {columns}) and axes.ravel()[:{len(panels)}]."
        )
    for panel, own in zip(panels, axes, strict=True):
        _panel(freeze_sliders(panel, at), own, titled=len(panels) > 1)


def _panel(panel: Panel, ax: Axes, *, titled: bool) -> None:
    named = {str(words) for words, *_ in panel.legend}
    for mark in panel.marks:
        _draw(mark, ax)
        _label(mark, ax, named)
    ax.set_xscale("log" if panel.x.log else "linear")
    ax.set_yscale("log" if panel.y.log else "linear")
    ax.set_xlim(*panel.x.limits)
    ax.set_ylim(*panel.y.limits)
    _line_names(panel, ax, named)
    _axis(ax.xaxis, panel.x)
    _axis(ax.yaxis, panel.y)
    ax.spines[["top", "right"]].set_visible(False)
    if panel.equal or panel.square:
        ax.set_box_aspect(1) if panel.square else ax.set_aspect("equal", adjustable="datalim")
    if titled and panel.title:
        ax.set_title(plain_words(str(panel.title)))
    if panel.legend:
        ax.legend(
            handles=[_key(*key) for key in panel.legend],
            frameon=False,
            loc="lower left",
            bbox_to_anchor=(0, 1.02),
            borderaxespad=0,
            ncols=2,
            handlelength=1.4,
        )


def _axis(axis: Any, own: Axis) -> None:
    axis.set_visible(not own.hidden or bool(own.label))
    axis.set_label_text(plain_words(own.label))
    if own.hidden:
        axis.set_ticks([])
    elif own.ticks is not None:
        axis.set_ticks(np.asarray(own.ticks, dtype=float), labels=own.names)
    if own.percent:
        from matplotlib.ticker import PercentFormatter

        axis.set_major_formatter(PercentFormatter(1.0, decimals=0))


def _key(words: Any, color: str, symbol: str) -> Any:
    from matplotlib.lines import Line2D
    from matplotlib.patches import Patch

    label = plain_words(str(words))
    if symbol == "band":
        return Patch(color=_ink(color), alpha=0.35, label=label)
    if is_stroke(symbol):
        dash = "" if symbol == "line" else symbol
        return Line2D([], [], color=_ink(color), ls=_dash(dash), label=label)
    hollow: dict[str, Any] = {"markerfacecolor": "none"} if symbol == "ring" else {}
    shape = _SYMBOLS.get(symbol, "o")
    return Line2D([], [], color=_ink(color), marker=shape, ls="", label=label, **hollow)


def _draw(mark: Mark, ax: Axes) -> None:
    drawer = _MARKS.get(type(mark))
    if drawer is None:
        raise TypeError(f"{type(mark).__name__} is drawn in a browser alone. Show it live.")
    drawer(mark, ax)


def _bars(mark: Bars, ax: Axes) -> None:
    edges = shifted(mark.edges, mark.shift)
    bar = ax.bar if mark.upright else ax.barh
    colors = _colors(mark.color)
    bar(
        edges[:-1],
        plain_numbers(mark.heights),
        np.diff(edges),
        align="edge",
        color=colors,
        alpha=mark.opacity,
    )


def _line(mark: Line, ax: Axes) -> None:
    x, y = shifted(mark.x, mark.shift), plain_numbers(mark.y)
    look: dict[str, Any] = {"alpha": mark.opacity, "lw": _POINT * mark.width}
    ax.plot(x, y, ls=_dash(mark.dash), color=_ink(mark.color), **look)
    if mark.fill:
        ax.fill(x, y, color=_ink(mark.color), alpha=mark.fill, lw=0)


def _band(mark: Band, ax: Axes) -> None:
    x, low, high = band_edges(mark)
    ax.fill_between(x, low, high, color=_ink(mark.color), alpha=mark.opacity, lw=0)


def _points(mark: Points, ax: Axes) -> None:
    x, y = np.broadcast_arrays(plain_numbers(mark.x), plain_numbers(mark.y))
    for ends, at in (((mark.left, mark.right), "xerr"), ((mark.low, mark.high), "yerr")):
        if ends[0] is None or ends[1] is None:
            continue
        middle = x if at == "xerr" else y
        lengths = np.abs(
            np.stack([middle - plain_numbers(ends[0]), plain_numbers(ends[1]) - middle])
        )
        color = _ink(mark.color) if isinstance(mark.color, str) else style.NULL
        ax.errorbar(x, y, **{at: lengths}, fmt="none", ecolor=color, elinewidth=1)
    symbols = np.broadcast_to(np.asarray(mark.symbol), x.shape)
    colors = _colors(mark.color)
    for symbol in dict.fromkeys(symbols.tolist()):
        same = symbols == symbol
        own = colors[same] if isinstance(colors, np.ndarray) else colors
        shape = SYMBOL_SHAPES.get(symbol, symbol)
        look: dict[str, Any] = {"marker": _SYMBOLS.get(shape, "o"), "alpha": mark.opacity}
        fill = {"facecolors": "none", "edgecolors": own} if shape == "ring" else {"c": own}
        edge = 1.2 if shape in ("ring", "cross") else 0
        size = (_POINT * mark.size) ** 2
        ax.scatter(x[same], y[same], s=size, linewidths=edge, zorder=2.5, **look, **fill)


def _vline(mark: VLine, ax: Axes) -> None:
    for x in plain_numbers(mark.x):
        ax.axvline(x, color=_ink(mark.color), ls=_dash(mark.dash), lw=_POINT * mark.width)


def _hline(mark: HLine, ax: Axes) -> None:
    for y in plain_numbers(mark.y):
        ax.axhline(y, color=_ink(mark.color), ls=_dash(mark.dash), lw=_POINT * mark.width)


def _hband(mark: HBand, ax: Axes) -> None:
    ax.axhspan(mark.low, mark.high, color=mark.color, alpha=mark.opacity, lw=0, zorder=0)


def _heat(mark: Heat, ax: Axes) -> None:
    shades = mark.shades
    mesh = ax.pcolormesh(
        plain_numbers(mark.x_edges),
        plain_numbers(mark.y_edges),
        np.asarray(shades.values, dtype=float),
        cmap=_colormap(shades),
        vmin=shades.middle - shades.limit,
        vmax=shades.middle + shades.limit,
        zorder=0,
    )
    if ax.figure is not None:
        ax.figure.colorbar(mesh, ax=ax, label=plain_words(str(shades.label)))


def _image(mark: Image, ax: Axes) -> None:
    ax.imshow(np.asarray(mark.pixels), extent=(*mark.x, *mark.y), aspect="auto", zorder=0)


def _note(mark: Note, ax: Axes) -> None:
    _text(
        ax,
        plain_numbers(mark.x)[0],
        plain_numbers(mark.y)[0],
        str(mark.words),
        mark.color,
        mark.anchor,
    )


_MARKS: Mapping[type, Callable[[Any, Axes], None]] = {
    Bars: _bars,
    Line: _line,
    Band: _band,
    Points: _points,
    VLine: _vline,
    HLine: _hline,
    HBand: _hband,
    Heat: _heat,
    Image: _image,
    Note: _note,
}


def _label(mark: Mark, ax: Axes, named: set[str]) -> None:
    """A mark's own words, unless the legend has them."""
    words = str(getattr(mark, "label", ""))
    if not words or words in named:
        return
    if isinstance(mark, VLine):
        top = ax.get_xaxis_transform()
        _text(ax, plain_numbers(mark.x)[0], 1.02, words, mark.color, "middle", transform=top)
    elif isinstance(mark, HLine):
        side = ax.get_yaxis_transform()
        _text(ax, 1.0, plain_numbers(mark.y)[0], words, mark.color, "end", transform=side)
    elif isinstance(mark, Bars | Points) and mark.label_at is not None:
        color = "" if isinstance(mark.color, Shades) else mark.color
        _text(ax, *mark.label_at, words, color, "start")


def _line_names(panel: Panel, ax: Axes, named: set[str]) -> None:
    """Names at the ends of lines, unless the legend has them, apart from one another."""
    import matplotlib as mpl

    ends: list[tuple[float, float, Line]] = []
    for mark in panel.marks:
        if not isinstance(mark, Line) or not mark.label or str(mark.label) in named:
            continue
        x, y = plain_numbers(mark.x), plain_numbers(mark.y)
        there = np.flatnonzero(np.isfinite(x + y))
        if there.size:
            ends.append((float(x[there[-1]]), float(y[there[-1]]), mark))
    figure = ax.get_figure(root=True)
    assert figure is not None
    points = 72 * ax.get_position().height * figure.get_figheight()  # of the axes' height
    pitch = 1.2 * float(mpl.rcParams["font.size"]) / points
    place = ax.get_xaxis_transform()
    up = [ax.transAxes.inverted().transform(ax.transData.transform(end[:2]))[1] for end in ends]
    for (x_end, _, mark), y_name in zip(ends, spaced(up, pitch, 0, 1), strict=True):
        _text(ax, x_end, y_name, f" {mark.label}", mark.color, "start", transform=place)


def _text(ax: Axes, x: float, y: float, words: str, color: str, anchor: str, **where: Any) -> None:
    ax.text(x, y, plain_words(words), color=_ink(color), ha=_ALIGN[anchor], va="bottom", **where)


def _ink(color: str | Shades) -> str:
    """A colour, or the text's own."""
    import matplotlib as mpl

    own = isinstance(color, Shades) or color in ("", "currentColor")
    return str(mpl.rcParams["text.color"] if own else color)


def _colors(color: str | Shades) -> Any:
    if not isinstance(color, Shades):
        return _ink(color)
    part = (plain_numbers(color.values) - color.middle) / color.limit
    return _colormap(color)(np.clip(part, -1, 1) / 2 + 0.5)


def _colormap(shades: Shades) -> Colormap:
    from matplotlib.colors import LinearSegmentedColormap

    return LinearSegmentedColormap.from_list("shades", [shades.low, "#f4f4f4", shades.high])


def _dash(dash: str) -> Any:
    """Matplotlib's dash: lengths as in SVG ("6 3") are points of a pattern."""
    if dash and dash[0].isdigit():
        return (0, tuple(float(length) for length in dash.split()))
    return _DASHES.get(dash, "-")
