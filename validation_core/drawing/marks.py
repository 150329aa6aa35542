"""The one vocabulary of pictures: marks on a panel with fixed axes, as frozen values.

A picture is described here once; `drawing.live` sends it to the browser, where it follows sliders,
and `drawing.plotly` draws it with its sliders fixed. Every number or string that changes with a
slider is wrapped: `over(values, "beta")` says that the first axis of `values` runs over that
slider's values, `over(values, "c", "angle")` that the first two do; unwrapped values are constant.
Colours are CSS, "" the text's own; a dash is a name of plotly's or lengths as in SVG ("6 3"), "" a
solid line. `hover` is plotly's hover text; the browser has none. The browser refuses whatever only
plotly draws: horizontal bars, intervals along x, numbers as colours of points and bars,
logarithmic axes.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass
from functools import cached_property
from math import isfinite
from typing import Any, Literal, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from validation_core.drawing import style

SYMBOLS = ("circle", "square", "diamond", "cross", "ring", "triangle", "line", "dash", "band")
"""Symbols of a legend; `Points` draws the first six, plotly all of its own."""

DASH_NAMES = ("dash", "dot", "longdash", "dashdot", "longdashdot")
"""Plotly's names of dashes; others are lengths as in SVG."""

SYMBOL_SHAPES = {"x": "cross", "triangle-up": "triangle", "circle-open": "ring"}
"""Names of plotly's for symbols of a legend."""

Anchor = Literal["start", "middle", "end"]
T = TypeVar("T")


@dataclass(frozen=True, eq=False)
class Over:
    """Values whose leading axes run over the named sliders."""

    values: NDArray[Any]
    sliders: tuple[str, ...]
    coarse: bool = False


@dataclass(frozen=True, eq=False)
class Text:
    """A sentence with {named} parts, each a string or strings over sliders."""

    template: str
    parts: Mapping[str, str | Over]


Number = ArrayLike | Over
Words = str | Over | Text


def over(values: ArrayLike, *sliders: str, coarse: bool = False) -> Over:
    """Let the first axes of values run over the named sliders, in that order.

    Args:
        values: (V1, V2, ..., ...), an axis for each slider first.
        sliders: names of the sliders.
        coarse: send them to the browser in 65,534 steps of their range, half the bytes.
    """
    return Over(np.asarray(values), sliders, coarse)


def formatted(values: ArrayLike, write: str | Callable[[float], str]) -> NDArray[np.str_]:
    """Format every number as text, in the same shape; each distinct one is formatted once.

    Args:
        values: numbers (...).
        write: a format such as "{:.1%}", or a function.
    """
    kinds, index = np.unique(values, return_inverse=True)
    text = write.format if isinstance(write, str) else write
    return np.array([text(float(kind)) for kind in kinds])[index].reshape(np.shape(values))


def written(values: ArrayLike, write: str | Callable[[float], str], *sliders: str) -> Over:
    """Numbers as text, their leading axes over the named sliders; see `formatted` and `over`."""
    return over(formatted(values, write), *sliders)


def sentence(template: str, **parts: str | Over) -> Text:
    """A sentence with {named} parts, given as strings or over sliders."""
    return Text(template, parts)


@dataclass(frozen=True, eq=False)
class Shades:
    """Numbers as colours around a middle, their scale beside the panel.

    Args:
        values: of points or bars (G,), of a heat map (H, W); possibly over sliders there.
        limit: distance from the middle at which a number has the full colour.
        low: colour below the middle, which is the paper's own with a trace of grey.
        high: colour above it.
        label: meaning of the colours.

    Raises:
        ValueError: when the limit is not positive.
    """

    values: Number
    _: KW_ONLY
    limit: float
    middle: float = 0
    low: str = style.Q
    high: str = style.P
    label: Words = ""

    def __post_init__(self) -> None:
        if not (isfinite(self.limit) and self.limit > 0):
            raise ValueError(
                f"The limit of a heat map is a positive number; got {self.limit}. Give the size "
                "of a value that should have the full colour."
            )


@dataclass(frozen=True, eq=False)
class Bars:
    """A histogram: edges (B + 1,), heights (B,); `shift` moves it along x.

    Bars that are not upright are horizontal: their edges are on y, from below.
    """

    edges: Number
    heights: Number
    _: KW_ONLY
    color: str | Shades
    opacity: float = 0.55
    shift: Number | None = None
    upright: bool = True
    label: Words = ""
    label_at: tuple[float, float] | None = None
    hover: str = ""


@dataclass(frozen=True, eq=False)
class Line:
    """A line (G,), with its label at its last point.

    Where a point is NaN the line is broken: contours are pieces with NaN between them, padded
    with NaN at the end to a common length over a slider. `fill` is how opaque what its closed
    pieces enclose is; pieces within pieces are holes.
    """

    x: Number
    y: Number
    _: KW_ONLY
    color: str
    dash: str = ""
    width: float = 2
    label: Words = ""
    shift: Number | None = None
    opacity: float = 1
    fill: float = 0
    hover: str = ""


@dataclass(frozen=True, eq=False)
class Band:
    """The room between two lines (G,); for bars give their edges and B values (steps)."""

    x: Number
    low: Number
    high: Number
    _: KW_ONLY
    color: str = style.NULL
    opacity: float = 0.22
    label: Words = ""


@dataclass(frozen=True, eq=False)
class Points:
    """Points (G,), with intervals from `low` to `high`, or along x from `left` to `right`.

    Points that are NaN are left out. `symbol` is circle, square, diamond, cross (two strokes),
    ring (a hollow circle) or triangle; for plotly also any of its own, or one for each point.
    `texts` (G,) fill %{text} in `hover`.
    """

    x: Number
    y: Number
    _: KW_ONLY
    color: str | Shades
    size: float = 5
    opacity: float = 1
    symbol: str | Sequence[str] = "circle"
    low: Number | None = None
    high: Number | None = None
    left: ArrayLike | None = None
    right: ArrayLike | None = None
    label: Words = ""
    label_at: tuple[float, float] | None = None
    hover: str = ""
    texts: ArrayLike = ()


@dataclass(frozen=True, eq=False)
class VLine:
    """A vertical line through the panel, its label at the top."""

    x: Number
    _: KW_ONLY
    color: str = ""
    dash: str = ""
    width: float = 1.5
    label: Words = ""


@dataclass(frozen=True, eq=False)
class HLine:
    """A horizontal line through the panel, its label at the right end."""

    y: Number
    _: KW_ONLY
    color: str = ""
    dash: str = "4 3"
    width: float = 1
    label: Words = ""


@dataclass(frozen=True, eq=False)
class HBand:
    """Horizontal strip across the whole panel, behind the other marks."""

    low: float
    high: float
    _: KW_ONLY
    color: str = style.NULL
    opacity: float = 0.25


@dataclass(frozen=True, eq=False)
class Note:
    """Text at a point; plotly moves it by `shift` pixels to the right and `rise` up."""

    x: Number
    y: Number
    words: Words
    _: KW_ONLY
    color: str = ""
    anchor: Anchor = "start"
    shift: int = 0
    rise: int = 0


@dataclass(frozen=True, eq=False)
class Heat:
    """Heat map: a grid of numbers as colours under all other marks.

    Args:
        x_edges: edges of the columns (W + 1,), evenly spaced.
        y_edges: edges of the rows (H + 1,), evenly spaced, from below.
        shades: of (H, W) numbers, possibly over sliders; NaN is clear.

    Raises:
        ValueError: when edges and numbers do not fit.
    """

    x_edges: ArrayLike
    y_edges: ArrayLike
    shades: Shades
    _: KW_ONLY
    hover: str = ""

    def __post_init__(self) -> None:
        for name, edges in (("x", self.x_edges), ("y", self.y_edges)):
            _check_even(name, np.asarray(edges, dtype=float))
        shape = (np.size(self.y_edges) - 1, np.size(self.x_edges) - 1)
        grid, by = values_and_sliders(self.shades.values)
        if grid.shape[len(by) :] != shape:
            raise ValueError(
                f"Values of a heat map have shape (H, W) = {shape} after the axes of their "
                f"sliders; got {grid.shape} over {list(by)}. Put rows (y) before columns (x)."
            )


def values_and_sliders(values: Number) -> tuple[NDArray[Any], tuple[str, ...]]:
    """The array of a number, and the sliders that its leading axes run over."""
    if isinstance(values, Over):
        return values.values, values.sliders
    return np.asarray(values), ()


def _check_even(name: str, edges: NDArray[np.float64]) -> None:
    steps = np.diff(edges) if edges.ndim == 1 else np.zeros(0)
    if not (steps.size and steps[0] > 0 and np.allclose(steps, steps[0], rtol=1e-3, atol=0)):
        raise ValueError(
            f"The {name} edges of a heat map rise in even steps; got {edges}. Take "
            "np.linspace(first, last, cells + 1)."
        )


@dataclass(frozen=True, eq=False)
class Image:
    """Image of coloured pixels under all other marks, each a sharp square.

    Args:
        x: left and right end.
        y: lower and upper end.
        pixels: uint8 (H, W, 3) red, green, blue, the first row on top; possibly over sliders.

    Raises:
        ValueError: for pixels of another type or shape.
    """

    x: tuple[float, float]
    y: tuple[float, float]
    pixels: Number

    def __post_init__(self) -> None:
        pixels, by = values_and_sliders(self.pixels)
        shape = pixels.shape[len(by) :]
        if pixels.dtype != np.uint8 or len(shape) != 3 or shape[-1] != 3:
            raise ValueError(
                f"Pixels are uint8 of shape (H, W, 3) after the axes of their sliders; got "
                f"{pixels.dtype} {pixels.shape} over {list(by)}. Scale colours to 0 to 255."
            )


@dataclass(frozen=True, eq=False)
class Rain:
    """Bricks that fall into bins, one for each trial; for the browser alone.

    A brick keeps the value that its trial had when it fell: moving the other slider
    changes later bricks only.

    Args:
        values: in [0, 1], (V, T) over the values of `follows` and the T trials.
        follows: the slider on which values depend.
        clock: the slider over 0 to T that counts how many have fallen.
        opens: two sliders, hidden: a press on a brick moves the first to its trial and the
            second to where `follows` stood when it fell; the panel's `click` names the first.
        only: that one brick alone, to stand out over the others.
    """

    values: ArrayLike
    _: KW_ONLY
    bins: int
    follows: str
    clock: str
    opens: tuple[str, str]
    color: str
    only: bool = False
    opacity: float = 0.7


Mark = Bars | Line | Band | Points | VLine | HLine | HBand | Note | Heat | Image | Rain


@dataclass(frozen=True, eq=False)
class Axis:
    """A fixed axis; `percent` writes 0.25 as 25%; `hidden` draws neither ticks nor grid.

    `names` are written at `ticks`. A `log` axis is plotly's alone; for the browser, marks and
    ticks are logarithms, and names are not.
    """

    limits: tuple[float, float]
    label: str = ""
    _: KW_ONLY
    percent: bool = False
    log: bool = False
    ticks: ArrayLike | None = None
    names: Sequence[str] | None = None
    hidden: bool = False

    @classmethod
    def of_rows(cls, names: Sequence[str]) -> Axis:
        """Vertical axis of a panel with a row for each name, the first on top."""
        return cls((len(names) - 0.4, -0.6), ticks=range(len(names)), names=names)

    @classmethod
    def of_logarithms(cls, limits: tuple[float, float], label: str, ticks: Sequence[int]) -> Axis:
        """Axis of decimal logarithms, with whole numbers written at their places."""
        return cls(limits, label, ticks=np.log10(ticks), names=[f"{tick:,}" for tick in ticks])


Key = tuple[Words, str, str]
"""Words, colour and symbol of an entry in a legend; the symbol of a dashed line is its dash."""


def is_stroke(symbol: str) -> bool:
    """Whether the symbol of a legend's entry is a line, solid or dashed."""
    return symbol in ("line", *DASH_NAMES) or symbol[:1].isdigit()


@dataclass(frozen=True, eq=False)
class Panel:
    """One chart: marks in the order they are drawn, title above, caption below.

    Args:
        equal: one unit is as long on x as on y (angles look right).
        margin: pixels kept free at the right for the labels of lines.
        square: as high as wide, up to about 460 pixels, whatever `height` says.
        click: a press in the panel, and dragging from there, moves this slider to the value
            whose place is nearest; Python hears of it on release.
        at: those places, one for each of that slider's V values, in the panel's coordinates
            (V, 2), possibly over other sliders; the values themselves, along x, otherwise.
        legend: (words, colour, symbol) for each, one quiet line under the title; drawn by
            plotly, a press there hides the marks whose label these words are.

    Raises:
        ValueError: when `at` is given without `click`.
    """

    marks: Sequence[Mark]
    _: KW_ONLY
    x: Axis
    y: Axis
    title: Words = ""
    caption: Words = ""
    height: int = 230
    equal: bool = False
    margin: int = 0
    square: bool = False
    click: str | None = None
    at: Number | None = None
    legend: Sequence[Key] = ()

    def __post_init__(self) -> None:
        if self.at is not None and self.click is None:
            raise ValueError(
                "Places (`at`) belong to a panel that can be pressed; got `at` without `click`. "
                "Name the slider to move: click='x'."
            )


@dataclass(frozen=True, eq=False)
class Grid:
    """Panels on one sheet, row by row, each under its title; equal axes are labelled once."""

    panels: Sequence[Panel]
    columns: int


Picture = Panel | Grid


def empty(words: str, *, height: int = style.HEIGHT) -> Panel:
    """Placeholder panel with words and no axes, for a picture without data yet."""
    unit = Axis((0, 1), hidden=True)
    note = Note(0.5, 0.5, words, anchor="middle")
    return Panel([note], x=unit, y=unit, height=height)


@dataclass(frozen=True, eq=False)
class Slider:
    """A slider over a grid of values.

    Args:
        names: the values as the reader sees them; written in `form` otherwise.
        form: a format such as "{:g} sd".
        start: its initial value; by default the first.
        ends: words under its two ends.
        play: a button before it steps through its values up to the last, from the first where
            it stands at the last: `rate` a second, 2 where the reader asks for less motion. Python
            hears of it once, when it stops.
        sweep: on a page nobody has touched yet it goes once through its values and back, by
            itself, unless the reader asks for less motion; the first touch leaves it there.
        button: label of a button drawn instead of a rail that steps to the next value, after
            the last to the first. A slider of one value is not drawn at all.
        onwards: such a button stays at the last value, until Python brings further ones.
        hidden: it has no rail: a press in a panel, or a lesson's own control, moves it.
    """

    name: str
    values: ArrayLike
    _: KW_ONLY
    label: str
    names: Sequence[str] | None = None
    form: str = "{:.2f}"
    start: float | None = None
    ends: tuple[str, str] = ("", "")
    play: bool = False
    rate: float = 12
    sweep: bool = False
    button: str = ""
    onwards: bool = False
    hidden: bool = False

    @property
    def grid(self) -> tuple[float, ...]:
        """Values of the slider as plain numbers."""
        return tuple(float(value) for value in np.asarray(self.values).ravel())

    @property
    def shown(self) -> tuple[str, ...]:
        """The values as the reader sees them."""
        return tuple(self.names or map(self.form.format, self.grid))

    @cached_property
    def words(self) -> Over:
        """The chosen value as the reader sees it, for a sentence."""
        return over(self.shown, self.name)

    @property
    def first(self) -> float:
        """Initial value of the slider."""
        return float(self.grid[0] if self.start is None else self.start)
