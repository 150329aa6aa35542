"""Pictures of the terms d_k behind one divergence, and of the null of their mean under random
signs.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from validation_core.drawing import framed, live
from validation_core.drawing.marks import (
    Axis,
    Band,
    Bars,
    HLine,
    Line,
    Mark,
    Note,
    Over,
    Panel,
    Points,
    Slider,
    VLine,
    over,
    sentence,
)
from validation_core.drawing.null_histogram import null_histogram
from validation_core.drawing.style import NULL, OBSERVED, P, Q, method_style
from validation_core.rng import stream
from validation_core.symmetric_divergence import MS, InferenceRun, RunResult, terms
from validation_core.symmetric_divergence.nats_text import format_number, tick_label, with_unit
from validation_core.symmetric_divergence.terms import (
    FLIPS,
    DatasetTerms,
    PosteriorDraws,
    SymlogScale,
    TermSpread,
    histogram_on_scale,
    term_scale,
)
from validation_core.text import said_equals, signed_text
from validation_core.types import Array, Integers

_SKL = method_style("skl").color

_LEVEL = 0.05


def terms_payload(terms: TermSpread) -> live.Payload:
    """Picture of the histogram of d, and of its null, over M."""
    sentences = [
        "every term is 0 but for rounding, as where q is p."
        if terms.none[i]
        else f"{_mean(terms, i)}; {_evidence(terms, i)}"
        for i in range(len(MS))
    ]
    return live.payload(
        sliders=[
            Slider(
                "m",
                MS,
                label="Draws of q to a side, M",
                names=list(map(str, MS)),
                ends=("q itself", "q, weighed by p / q"),
            )
        ],
        panels=[_histogram(terms), _null(terms)],
        headline=sentence(
            "At M = {m}, {said}", m=over(list(map(str, MS)), "m"), said=over(sentences, "m")
        ),
    )


def _mean(terms: TermSpread, i: int) -> str:
    low, high = format_number(float(terms.low[i])), format_number(float(terms.high[i]))
    mean = with_unit(float(terms.mean[i]))
    return f"the mean term is {mean} (95% interval {low} to {high})"


def _evidence(terms: TermSpread, i: int) -> str:
    p = float(terms.pvalue[i])
    says = "evidence that q is not p" if p <= _LEVEL else "no evidence against q"
    return f"flipping signs gives p-value {said_equals(p)}, {says}."


def _histogram(terms: TermSpread) -> Panel:
    axis = term_scale(terms.d)
    edges, heights = _halved(*histogram_on_scale(terms.d, axis))
    top = 1.1 * float(heights.max())
    largest = terms.d.max(-1)
    ends = axis.at(np.stack([terms.low, terms.high], -1))
    sides = np.clip(ends, edges[0], edges[-1])
    return Panel(
        [
            Band(over(sides, "m"), [0, 0], [top, top], color=OBSERVED, opacity=0.16),
            Bars(edges, over(heights, "m"), color=_SKL),
            VLine(0.0, color=NULL, width=1),
            VLine(over(axis.at(np.median(terms.d, -1)), "m"), dash="5 3"),
            VLine(over(axis.at(terms.mean), "m"), color=OBSERVED, width=2.5),
            Points(
                over(axis.at(largest)[:, None], "m"),
                over(np.full((len(MS), 1), 0.04 * top), "m"),
                color=_SKL,
                size=9,
                symbol="diamond",
            ),
        ],
        title="Terms d, one for each data set",
        height=270,
        x=_terms_axis(axis, edges, terms.d),
        y=Axis((0, top), "data sets", ticks=_whole(top)),
        caption=over([_spread_out(terms, i) for i in range(len(MS))], "m"),
        legend=[
            ("mean, 95% interval", OBSERVED, "line"),
            ("median", "", "dash"),
            ("largest", _SKL, "diamond"),
        ],
    )


def _halved(edges: Array, heights: NDArray[Any]) -> tuple[Array, Array]:
    """Merge bins in pairs, keeping an edge at 0: few terms leave narrow bins nearly empty."""
    zero = int(np.abs(edges).argmin())
    room = (zero % 2, (heights.shape[-1] + zero % 2) % 2)
    width = edges[1] - edges[0]
    padded = np.pad(heights, [(0, 0)] * (heights.ndim - 1) + [room])
    pairs = padded.reshape(*heights.shape[:-1], -1, 2).sum(-1)
    return edges[0] - room[0] * width + 2 * width * np.arange(pairs.shape[-1] + 1), pairs


def _terms_axis(axis: SymlogScale, edges: Array, d: Array) -> Axis:
    nats = axis.ticks(float(d.min()), float(d.max()))
    labels = [tick_label(float(position)) for position in nats]
    room = 0.02 * (edges[-1] - edges[0])
    ends = (float(edges[0] - room), float(edges[-1] + room))
    return Axis(ends, "d in nats (symmetric-log axis)", ticks=axis.at(nats), names=labels)


def _whole(top: float) -> Array:
    """At most six whole numbers of data sets for ticks, from 0 on."""
    step = next(s * 10**e for e in range(9) for s in (1, 2, 5) if top < 6 * s * 10**e)
    return np.arange(0, top, step, dtype=float)


def _spread_out(terms: TermSpread, i: int) -> str:
    d = terms.d[i]
    where, n = int(d.argmax()), len(d)
    summary = (
        f"Median {format_number(float(np.median(d)))}, largest {format_number(float(d[where]))} "
        f"(data set {terms.places[where] + 1}), sd {with_unit(float(d.std(ddof=1)))}; "
        f"{int((d > 0).sum())} of {n} are above 0."
    )
    if terms.heavy[i]:
        summary += (
            " The tail is heavy: a few terms dominate the mean, its variance may be infinite, "
            "and the interval is too narrow. Read the median and the largest beside it."
        )
    return summary


def _ruled(terms: TermSpread, i: int) -> str:
    """Why a null may split in two."""
    squares = np.square(terms.d[i])
    if terms.none[i] or squares.max() < 0.8 * squares.sum():
        return ""
    return (
        " One term outweighs all others, so random signs fall into two groups by its sign; "
        "within each the other terms decide."
    )


def _null(terms: TermSpread) -> Panel:
    reach = float(np.sqrt(terms.d.shape[1]))  # no signs give more
    largest = np.abs(terms.signs).max()
    width = min(reach, max(3.5, float(np.abs(terms.null).max()))) * 1.02
    edges = np.linspace(-width, width, 41)
    heights = np.stack([np.histogram(row, edges)[0] for row in terms.null])
    captions = [
        f"{round(terms.pvalue[i] * (FLIPS + 1)) - 1:,} of B = {FLIPS:,} random signs give a "
        f"mean as large: p-value {said_equals(float(terms.pvalue[i]))}. Paired AUC "
        f"{terms.auc[i]:.3f}: how often the true value weighs more than q's draw, one half if "
        f"q were correct.{_ruled(terms, i)}"
        for i in range(len(MS))
    ]
    limits = (-width, 1.05 * max(width, float(largest)))
    panel = null_histogram(
        edges,
        over(heights, "m"),
        over(terms.signs, "m"),
        Axis(limits, "mean term, in sds of random signs"),
        "random signs",
        title="Their mean, among means with random signs",
        caption=over(captions, "m"),
        height=270,
    )
    return replace(
        panel, legend=[("random signs: as if q = p", NULL, "band"), ("this run", OBSERVED, "line")]
    )


def has_exact_posterior(run: InferenceRun) -> bool:
    """Whether the model's posterior has a closed form."""
    return run.model.exact(np.zeros((0, run.model.dims[1]))) is not None


def gather_draws(
    numbers: DatasetTerms, parts: Sequence[tuple[PosteriorDraws, Array | None]], run: InferenceRun
) -> Array:
    """Draws (V, draws, D) for each shown data set, NaN where no part has them."""
    draws = np.full((run.datasets, terms.DRAWS, run.model.dims[0]), np.nan)
    for task, z in parts:
        draws[list(task.which)] = z
    return draws[numbers.places]


def datasets_payload(
    run: InferenceRun,
    result: RunResult,
    numbers: DatasetTerms,
    posterior: Array,
    pair: tuple[int, int],
) -> live.Payload:
    """Picture of one data set's posterior and of its term, over the data sets in order of d.

    Args:
        run: the run.
        result: its result.
        numbers: logarithms and terms of its data sets.
        posterior: draws (V, S, D) for each shown data set, NaN where there are none yet.
        pair: the two coordinates that are drawn.
    """
    labels = [f"no. {k + 1}, d = {format_number(float(numbers.d[k]))}" for k in numbers.places]
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
        panels=[
            _picture(run, result, numbers, posterior, pair),
            _order(numbers),
            _written(numbers),
        ],
        columns=3,
    )


def how_to_read(run: InferenceRun, result: RunResult, places: int) -> str:
    """How to read the picture of one data set."""
    blue = (
        "Blue points are drawn from the exact posterior."
        if has_exact_posterior(run)
        else "Blue points are posterior draws: chains start at the true z, itself a posterior "
        "draw, so every state is one, even if the chain mixes slowly. (Who picks a data set by "
        "its d has looked at z, so the first states, which remember it most, are left out.)"
    )
    few = f" Of {len(result.ok)} data sets, {places} evenly spaced ranks of d are shown." * (
        places == terms.MOST and len(result.ok) > places
    )
    q = "circles" if result.q is None else "ellipses, which hold 50% and 90% of it"
    fit = f"{q.partition(',')[0]} would fit the blue points"
    more = " The picture shows the two chosen coordinates only." * (run.model.dims[0] > 2)
    return (
        f"{blue} Orange {q}, are q.{more}{few} If q were correct, the orange {fit}, z and z~ "
        "could swap places, and every d would be 0."
    ).replace("circles, are", "circles are")


SHARES = 0.5, 0.9

_SHOWN = 160

_TRIM = 0.005  # of the draws at each end, which a frame need not hold

_HIDDEN = 0.05  # of half the frame: about the size of a mark


def _picture(
    run: InferenceRun,
    result: RunResult,
    numbers: DatasetTerms,
    posterior: Array,
    pair: tuple[int, int],
) -> Panel:
    """Panel of one data set over the slider k, framed anew for each.

    Args:
        posterior: draws (V, S, D), NaN where there are none yet.
    """
    two, places = list(pair), numbers.places
    truth, q_draw = result.theta[places][:, two], result.weights.drawn[places][:, two]
    draws = posterior[:, :_SHOWN, two]
    outlines = _outlines(result, places, two)
    cloud = _cloud(run, result, places, two)
    parts = [_core(draws), _core(cloud), *outlines, truth[:, None], q_draw[:, None]]
    centre, half = framed.bounding_boxes(parts)

    def inside(points: Array) -> list[Over]:
        at = (points - centre[:, None]) / half[:, None]
        return [over(at[..., i], "k") for i in (0, 1)]

    names = run.model.names
    marks: list[Mark] = [
        Points(*inside(draws), color=P, size=4, opacity=0.7),
        Points(*inside(cloud), color=Q, size=4, opacity=0.6, symbol="ring"),
        *(Line(*inside(outline), color=Q, width=1.8) for outline in outlines),
        Points(*inside(truth[:, None]), color="", size=11, symbol="cross"),
        Points(*inside(q_draw[:, None]), color=Q, size=10, symbol="diamond"),
        *framed.ticks(centre, half, "k"),
    ]
    q = ("q, 50% and 90%", Q, "line") if outlines else ("q", Q, "ring")
    return Panel(
        marks,
        title="The posterior, q, and the two draws",
        square=True,
        x=framed.axis(names[pair[0]]),
        y=framed.axis(names[pair[1]]),
        legend=[
            ("posterior", P, "circle"),
            q,
            ("true z", "", "cross"),
            ("q's draw z~", Q, "diamond"),
        ],
        caption=over(_remarks(draws, outlines[-1] if outlines else cloud, half), "k"),
    )


def _outlines(result: RunResult, places: Integers, two: list[int]) -> list[Array]:
    """Ellipses of a normal q (V, L, 2)."""
    if result.q is None:
        return []
    mean, scale = result.q.mean[places][:, two], result.q.scale[places][:, two]
    return [terms.normal_ellipses(mean, scale, share) for share in SHARES]


def _cloud(run: InferenceRun, result: RunResult, places: Integers, two: list[int]) -> Array:
    """Draws of q (V, S, 2) where it is not normal; (V, 0, 2) elsewhere."""
    q = None if result.q is not None else terms.closed_form_q(run, result)
    if q is None:
        return np.zeros((len(places), 0, 2))
    rngs = [stream(run.seed, "draws of q in a picture", k) for k in range(len(result.ok))]
    return np.asarray(q.sample(_SHOWN, rngs)[places][..., two])


def _core(draws: Array) -> Array:
    """The corners (V, 2, 2) of the part of a cloud (V, S, 2) that a frame must hold."""
    out = np.full((len(draws), 2, 2), np.nan)
    there = np.isfinite(draws).all((1, 2)) & (draws.shape[1] > 0)
    if there.any():
        out[there] = np.quantile(draws[there], [_TRIM, 1 - _TRIM], axis=1).swapaxes(0, 1)
    return out


def _remarks(draws: Array, q: Array, half: Array) -> list[str]:
    """Remarks on anything too small to see: draws of the posterior (V, S, 2), or q's points."""
    waiting = np.asarray(~np.isfinite(draws).all((1, 2)))
    cases = (
        (waiting, "The posterior of this data set is being drawn."),
        (_tiny(draws, half), "The posterior is too narrow to be seen at this scale."),
        (_tiny(q, half), "q is too narrow to be seen at this scale: it lies about its draw."),
    )
    return [" ".join(words for where, words in cases if where[v]) for v in range(len(half))]


def _tiny(points: Array, half: Array) -> NDArray[np.bool_]:
    """Which point sets (V, S, 2) are no wider than a mark (V,)."""
    if not points.shape[1]:
        return np.zeros(len(half), bool)
    return np.asarray((np.ptp(points, axis=1) < _HIDDEN * half).all(1))


_NUMBERS_AT = 0.66, 1.0


def _written(numbers: DatasetTerms) -> Panel:
    """Algorithm 1 as a small table over the slider k."""
    rows = [(0.62, "log p − log q", "", numbers.weights)]
    if np.isfinite(numbers.log_q[numbers.places]).any():
        rows = [
            (0.84, "log p(z, y)", P, numbers.log_p),
            (0.73, "log q(z | y)", Q, numbers.log_q),
            *rows,
        ]
    marks: list[Mark] = [
        Note(at, 0.95, words, anchor="end", color=NULL)
        for at, words in zip(_NUMBERS_AT, ("true z", "q's draw z~"), strict=True)
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
            for i, at in enumerate(_NUMBERS_AT)
        ]
    marks += [
        Line([0, 1], [0.575, 0.575], color=NULL, width=1),
        Note(0, 0.49, "d, their difference", color=_SKL),
        Note(
            1,
            0.49,
            over(_numbers(numbers.d[numbers.places], " nats"), "k"),
            color=_SKL,
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
    return [signed_text(v, ",.3f" if abs(v) < 1e6 else ".4e") + unit for v in np.round(values, 9)]


def _says(d: float) -> str:
    if abs(d) < 1e-9:
        return "p / q is the same at the true value and at q's draw, as everywhere if q is p."
    side, factor = (
        (("at the true value"), "at q's draw")[:: 1 if d > 0 else -1],
        np.exp(min(abs(d), 700)),
    )
    times = f"{factor:.3g}" if abs(d) < 9 else f"e^{format_number(abs(d))}"
    return f"p / q is {times} times as large {side[0]} as {side[1]}."


def _order(numbers: DatasetTerms) -> Panel:
    """All d in increasing order; a press selects a data set."""
    d = numbers.d[numbers.places]
    axis = term_scale(d)
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
            Points(places, at, color=_SKL, size=4.5, opacity=0.8),
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
        x=Axis((-1 - side, len(d) + side), "data sets in order of d", ticks=()),
        y=Axis(
            (low - room, high + room),
            "d in nats (symmetric-log)",
            ticks=axis.at(powers),
            names=[tick_label(float(v)) for v in powers],
        ),
    )
