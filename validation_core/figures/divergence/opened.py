"""One data set of a run opened up: its posterior, q, the two draws, and the arithmetic of d."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from validation_core.figures import live
from validation_core.figures.divergence.nats import size as nats
from validation_core.figures.divergence.nats import tick
from validation_core.figures.marks import (
    Anchor,
    Axis,
    HLine,
    Line,
    Mark,
    Note,
    Over,
    Panel,
    Points,
    Slider,
    over,
)
from validation_core.figures.style import NULL, P, Q, method_style
from validation_core.rng import stream
from validation_core.simulations import RunResult, InferenceRun, opened
from validation_core.simulations.opened import DatasetTerms, PosteriorDraws
from validation_core.simulations.terms import scale
from validation_core.types import Array


def closed(run: InferenceRun) -> bool:
    """Whether the model's posterior is exact."""
    return run.model.exact(np.zeros((0, run.model.dims[1]))) is not None


def gathered(numbers: DatasetTerms, parts: Sequence[tuple[PosteriorDraws, Array | None]], run: InferenceRun) -> Array:
    """Draws (V, draws, D) at each place, NaN where no part has them."""
    draws = np.full((run.datasets, opened.DRAWS, run.model.dims[0]), np.nan)
    for task, z in parts:
        draws[list(task.which)] = z
    return draws[numbers.places]


def payload(
    run: InferenceRun, result: RunResult, numbers: DatasetTerms, posterior: Array, pair: tuple[int, int]
) -> live.Payload:
    """A data set's posterior and its arithmetic, over the data sets in order of d.

    Args:
        posterior: draws (V, S, D) at each place, NaN where there are none yet.
        pair: the two coordinates of the picture.
    """
    labels = [f"no. {k + 1}, d = {nats(float(numbers.d[k]))}" for k in numbers.places]
    return live.payload(
        sliders=[
            Slider(
                "k",
                np.arange(len(numbers.places)),
                label="Data set, in order of d",
                names=labels,
                start=len(numbers.places) // 2,
                ends=("smallest d", "largest d"),
            )
        ],
        panels=[picture(run, result, numbers, posterior, pair), order(numbers), written(numbers)],
        columns=3,
    )


def how_to_read(run: InferenceRun, result: RunResult, places: int) -> str:
    blue = (
        "Blue points are drawn from the exact posterior."
        if closed(run)
        else "Blue points are posterior draws: the true z of simulated data is one, and "
        "Hamiltonian Monte Carlo that starts there keeps it one at every state, whatever it mixes "
        "like. (Who picks a data set by its d has looked at z, so the first states, which "
        "remember it most, are left out.)"
    )
    few = f" Of {len(result.ok)} data sets, {places} evenly spaced ranks of d are shown." * (
        places == opened.MOST and len(result.ok) > places
    )
    q = "circles" if result.q is None else "ellipses, which hold 50% and 90% of it"
    more = " The picture shows the two chosen coordinates only." * (run.model.dims[0] > 2)
    return (
        f"{blue} Orange {q}, are q.{more}{few} If q were right, orange would lie as blue does, "
        "and z and z~ could swap places: d would be as often below 0 as above."
    ).replace("circles, are", "circles are")


SHARES = 0.5, 0.9

_SHOWN = 160

_TICKS = 4

_TRIM = 0.005  # of the draws at each end, which a frame need not hold

_HIDDEN = 0.05  # of half the frame: about the size of a mark

_EDGE = 1.06  # half the picture, in half widths of the frame


def picture(
    run: InferenceRun, result: RunResult, numbers: DatasetTerms, posterior: Array, pair: tuple[int, int]
) -> Panel:
    """One panel that follows the slider k, framed anew at each of its places.

    Args:
        posterior: draws (V, S, D), NaN where there are none yet.
    """
    two, places = list(pair), numbers.places
    truth, q_draw = result.theta[places][:, two], result.weights.drawn[places][:, two]
    draws = posterior[:, :_SHOWN, two]
    outlines = _outlines(result, places, two)
    cloud = _cloud(run, result, places, two)
    parts = [_core(draws), _core(cloud), *outlines, truth[:, None], q_draw[:, None]]
    centre, half = opened.frame(parts)

    def framed(points: Array) -> list[Over]:
        inside = (points - centre[:, None]) / half[:, None]
        return [over(inside[..., i], "k") for i in (0, 1)]

    names = run.model.names
    marks: list[Mark] = [
        Points(*framed(draws), color=P, size=4, opacity=0.7),
        Points(*framed(cloud), color=Q, size=4, opacity=0.6, symbol="ring"),
        *(Line(*framed(outline), color=Q, width=1.8) for outline in outlines),
        Points(*framed(truth[:, None]), color="", size=11, symbol="cross"),
        Points(*framed(q_draw[:, None]), color=Q, size=10, symbol="diamond"),
        *_ticks(centre, half),
    ]
    q = ("q, 50% and 90%", Q, "line") if outlines else ("q", Q, "ring")
    return Panel(
        marks,
        title="The posterior, q, and the two draws",
        square=True,
        x=Axis((-_EDGE, _EDGE), names[pair[0]], ticks=()),
        y=Axis((-_EDGE, _EDGE), names[pair[1]], ticks=()),
        legend=[
            ("posterior", P, "circle"),
            q,
            ("true z", "", "cross"),
            ("q's draw z~", Q, "diamond"),
        ],
        caption=over(_remarks(draws, outlines[-1] if outlines else cloud, half), "k"),
    )


def _outlines(result: RunResult, places: NDArray[np.int64], two: list[int]) -> list[Array]:
    """q's ellipses (V, L, 2), where it is a normal."""
    if result.q is None:
        return []
    mean, scale = result.q.mean[places][:, two], result.q.scale[places][:, two]
    return [opened.ellipses(mean, scale, share) for share in SHARES]


def _cloud(run: InferenceRun, result: RunResult, places: NDArray[np.int64], two: list[int]) -> Array:
    """Draws of q (V, S, 2), where it is no normal; (V, 0, 2) elsewhere."""
    q = None if result.q is not None else opened.density(run, result)
    if q is None:
        return np.zeros((len(places), 0, 2))
    rngs = [stream(run.seed, "draws of q in a picture", k) for k in range(len(result.ok))]
    return np.asarray(q.sample(_SHOWN, rngs)[places][..., two])


def _core(draws: Array) -> Array:
    """What a frame holds of a cloud (V, S, 2): (V, 2, 2)."""
    out = np.full((len(draws), 2, 2), np.nan)
    there = np.isfinite(draws).all((1, 2)) & (draws.shape[1] > 0)
    if there.any():
        out[there] = np.quantile(draws[there], [_TRIM, 1 - _TRIM], axis=1).swapaxes(0, 1)
    return out


_ANCHORS: tuple[Anchor, Anchor] = ("middle", "end")


def _ticks(centre: Array, half: Array) -> list[Mark]:
    """Numbers along both axes, which are others at every place."""
    marks: list[Mark] = []
    for i, anchor in enumerate(_ANCHORS):
        at, labels = _labels(centre[:, i], half[:, i])
        for j in range(_TICKS):
            place, words = over(at[:, j], "k"), over([row[j] for row in labels], "k")
            x, y = (place, -1.17) if i == 0 else (-1.09, place)
            marks.append(Note(x, y, words, color=NULL, anchor=anchor))
    return marks


def _labels(centre: Array, half: Array) -> tuple[Array, list[list[str]]]:
    """Where round numbers lie within frames (V,), and they in words: (V, 4), NaN for fewer."""
    at = np.full((len(centre), _TICKS), np.nan)
    labels: list[list[str]] = []
    for row, middle, reach in zip(at, centre, half, strict=True):
        values = opened.ticks(middle - reach, middle + reach, _TICKS)[:_TICKS]
        row[: len(values)] = (values - middle) / reach
        labels.append(_words(values) + [""] * (_TICKS - len(values)))
    return at, labels


def _words(values: Array) -> list[str]:
    steps = np.diff(values)
    step = float(steps[0]) if len(steps) else 1.0
    if max(abs(values[0]), abs(values[-1])) >= 1e5 or step < 1e-3:
        return [f"{value:.3g}".replace("-", "−") for value in values]
    digits = max(0, int(np.ceil(-np.log10(step) - 1e-9)))
    digits += step * 10**digits % 1 > 1e-6  # a step of 2.5
    return [f"{value + 0.0:.{digits}f}".replace("-", "−") for value in np.round(values, 9)]


def _remarks(draws: Array, q: Array, half: Array) -> list[str]:
    """What cannot be seen at each place: draws of the posterior (V, S, 2), or q's points."""
    waiting = np.asarray(~np.isfinite(draws).all((1, 2)))
    cases = (
        (waiting, "The posterior of this data set is being drawn."),
        (_tiny(draws, half), "The posterior is too narrow to be seen at this scale."),
        (_tiny(q, half), "q is too narrow to be seen at this scale: it lies about its draw."),
    )
    return [" ".join(words for where, words in cases if where[v]) for v in range(len(half))]


def _tiny(points: Array, half: Array) -> NDArray[np.bool_]:
    """Where points (V, S, 2) are no wider than a mark (V,)."""
    if not points.shape[1]:
        return np.zeros(len(half), bool)
    return np.asarray((np.ptp(points, axis=1) < _HIDDEN * half).all(1))


SKL = method_style("skl").color

_COLUMNS = 0.66, 1.0


def written(numbers: DatasetTerms) -> Panel:
    """Algorithm 1 as a small table that follows the slider k."""
    rows = [(0.62, "log p − log q", "", numbers.weights)]
    if np.isfinite(numbers.log_q[numbers.places]).any():
        rows = [
            (0.84, "log p(z, y)", P, numbers.log_p),
            (0.73, "log q(z | y)", Q, numbers.log_q),
            *rows,
        ]
    marks: list[Mark] = [
        Note(at, 0.95, words, anchor="end", color=NULL)
        for at, words in zip(_COLUMNS, ("true z", "q's draw z~"), strict=True)
    ]
    for height, label, color, values in rows:
        marks.append(Note(0, height, label, color=color))
        marks += [
            Note(
                at,
                height,
                over(_numbers(values[numbers.places, i]), "k"),
                color=color,
                anchor="end",
            )
            for i, at in enumerate(_COLUMNS)
        ]
    marks += [
        Line([0, 1], [0.575, 0.575], color=NULL, width=1),
        Note(0, 0.49, "d, their difference", color=SKL),
        Note(
            1,
            0.49,
            over(_numbers(numbers.d[numbers.places], " nats"), "k"),
            color=SKL,
            anchor="end",
        ),
    ]
    return Panel(
        marks,
        title="d, written out",
        height=190,
        x=Axis((0, 1), hidden=True),
        y=Axis((0.4, 1), hidden=True),
        caption=over([_says(float(d)) for d in numbers.d[numbers.places]], "k"),
    )


def _numbers(values: np.ndarray, unit: str = "") -> list[str]:
    texts = [f"{v + 0.0:,.3f}" if abs(v) < 1e6 else f"{v:.4e}" for v in np.round(values, 9)]
    return [text.replace("-", "−") + unit for text in texts]


def _says(d: float) -> str:
    if abs(d) < 1e-9:
        return "p / q is the same at the truth and at q's draw, as everywhere where q is p."
    side, factor = ("at the truth", "at q's draw")[:: 1 if d > 0 else -1], np.exp(min(abs(d), 700))
    size = f"{factor:.3g}" if abs(d) < 9 else f"e^{nats(abs(d))}"
    return f"p / q is {size} times as large {side[0]} as {side[1]}."


def order(numbers: DatasetTerms) -> Panel:
    """All d from the smallest to the largest; a press chooses one."""
    d = numbers.d[numbers.places]
    axis = scale(d)
    places = np.arange(len(d))
    powers = axis.ticks(float(d.min()), float(d.max()), 7)
    at = axis.at(d)
    low, high = min(float(at.min()), 0.0), max(float(at.max()), 0.0)
    if high - low < 0.4:  # all are 0 but for rounding
        low, high = -0.4, 0.4
    room, side = 0.06 * (high - low) or 1.0, 0.04 * len(d)
    return Panel(
        [
            HLine(0.0, color=NULL),
            Points(places, at, color=SKL, size=4.5, opacity=0.8),
            Points(
                over(places[:, None], "k"),
                over(at[:, None], "k"),
                color="",
                size=12,
                symbol="ring",
            ),
        ],
        title="All d, from the smallest",
        height=380,
        click="k",
        x=Axis((-1 - side, len(d) + side), "data sets in order of d: press one", ticks=()),
        y=Axis(
            (low - room, high + room),
            "d in nats (symmetric-log)",
            ticks=axis.at(powers),
            names=[tick(float(v)) for v in powers],
        ),
    )
