"""The film of a training as a live picture: everything moves with the epoch, one part with x.

Before there is a film, its task alone: the exact posterior at the same x.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import numpy as np

from validation_core.drawing import framed, live, style
from validation_core.drawing.marks import (
    Axis,
    Band,
    Bars,
    Heat,
    HLine,
    Line,
    Mark,
    Over,
    Panel,
    Points,
    Shades,
    Slider,
    VLine,
    over,
    sentence,
)
from validation_core.explorers.training.ball import Balls
from validation_core.explorers.training.film import LEVELS, PAIRS, TRUTHS, Film, FilmedTask
from validation_core.explorers.training.nats import below_zero, nats_text
from validation_core.simulators import Simulator
from validation_core.statistics.areas import Estimate, mean_with_error
from validation_core.statistics.intervals import binomial_bounds
from validation_core.text import interval_text, share_text
from validation_core.types import Array

_BALL = style.method_style("colt").color
_TOP, _BELOW = 250, 190  # heights of the two rows
_EDGES = 8  # cells of the map of x along each side
_FEW = 3  # pairs that a cell of the map needs
_HEIGHT = " Draws of one parameter lie one above the other."
_ROOM = 1.35  # half widths of p's draws that the picture at one x shows
_CIRCLE = np.linspace(0, 2 * np.pi, 49)
_BINS = 31


def payload(film: Film, simulator: Simulator, start: int, *, sweep: bool = False) -> live.Payload:
    """The film: q beside p at an x, losses, nats, coverage, and where in x q is wrong.

    Args:
        film: of a whole training.
        simulator: of its pairs.
        start: the epoch at which it opens.
        sweep: play it once by itself on a page that nobody has touched yet.
    """
    names = [f"{epoch:,}" for epoch in film.epochs]
    slider = Slider(
        "epoch",
        film.epochs,
        label="Epoch",
        names=names,
        start=float(start),
        ends=("untrained", "last epoch"),
        play=True,
        rate=3,
        sweep=sweep,
    )
    return _payload(film, film, simulator, slider, over(changes(film), "epoch"))


def learning_payload(film: Film, simulator: Simulator) -> live.Payload:
    """The same of a training under way: its newest frame."""
    newest = film.newest()
    slider = Slider("epoch", newest.epochs, label="Epoch", form="{:.0f}")
    return _payload(film, newest, simulator, slider, "It is learning.")


def task_payload(task: FilmedTask, simulator: Simulator) -> live.Payload:
    """The exact posterior at an x, which a press picks: what an estimator is to learn."""
    p, x = _in_plane(task.p), task.fresh.x
    centre, half = _frame(p)
    names = (*simulator.names, "")
    count = simulator.dims[0]
    more = f" The first two of {count} parameters." * (count > 2) + _HEIGHT * (count == 1)
    return live.payload(
        sliders=[_places_slider(x, task.places)],
        panels=[
            Panel(
                [
                    Points(*_inside(centre, half, p, "x"), color=style.P, size=3, opacity=0.8),
                    *framed.ticks(centre, half, "x"),
                ],
                title="The exact posterior at this x",
                height=_TOP,
                x=framed.axis(names[0]),
                y=framed.axis(names[1]),
                caption=f"{p.shape[1]} draws, on a scale of their own at each x.{more}",
            ),
            _drawn_x(x, task.places) if x.shape[1] == 2 else _thumbnails(task.places),
        ],
        columns=2,
    )


def _payload(
    film: Film, shown: Film, simulator: Simulator, epochs: Slider, said: str | Over
) -> live.Payload:
    """The pictures of the frames that are shown; nats of all frames of the film."""
    at = _nats(shown)
    return live.payload(
        sliders=[epochs, _places_slider(film.x.astype(float), film.places)],
        panels=panels(film, simulator, shown),
        headline=sentence(
            "{epoch}: q is {nats} nats from the exact posterior. {said}",
            epoch=over([_epoch_text(shown, f) for f in range(len(at))], "epoch"),
            nats=over([nats_text(one) for one in at], "epoch"),
            said=said,
        ),
        columns=3,
    )


def panels(film: Film, simulator: Simulator, shown: Film | None = None) -> list[Panel]:
    """The pictures of a film over the sliders epoch and x.

    Args:
        film: whose nats are drawn at every epoch.
        simulator: of its pairs.
        shown: the frames that the slider moves over; all of them by default.
    """
    shown = shown or film
    at = _nats(shown)
    return [
        _posterior(shown, simulator),
        _losses(shown),
        _where(shown),
        _by_epoch(film, shown),
        _covered(shown),
        _ratios(shown, at),
    ]


def _nats(film: Film) -> list[Estimate]:
    """KL(p || q) at each frame."""
    return [mean_with_error(row.astype(float)) for row in film.ratios]


def _epoch_text(film: Film, frame: int) -> str:
    epoch = int(film.epochs[frame])
    return f"At epoch {epoch:,}" if epoch else "Before it learns"


def changes(film: Film) -> list[str]:
    """For each frame, how far q is from where it is at the lowest held-out loss, in a sentence.

    The same fresh pairs serve both frames, so their difference has an interval of its own.
    """
    return [_change(film, frame) for frame in range(len(film.epochs))]


def _change(film: Film, frame: int) -> str:
    best = int(film.epochs[film.best])
    if frame == film.best:
        at = 1 + int(film.held_out.argmin()) if len(film.held_out) else best
        if at != best:  # of it there is no frame
            return f"The held-out loss is lowest at epoch {at:,}."
        return "The held-out loss is lowest here."
    apart = mean_with_error((film.ratios[frame] - film.ratios[film.best]).astype(float))
    low, high = apart.interval()
    lowest = f"epoch {best:,}, where the held-out loss is lowest"
    if low > 0:
        verb = ": it still learns" if frame < film.best else ": q overfits"
        begun = film.epochs[frame] > 0
        return f"That is {nats_text(apart)} farther than at {lowest}{verb * bool(begun)}."
    if high < 0:
        nearer = interval_text((-apart.value, -high, -low))
        return f"That is {nearer} nearer than at {lowest}."
    return f"{PAIRS} fresh pairs do not tell it from {lowest}."


def _places_slider(x: Array, places: Array) -> Slider:
    """The slider over places, which begins at the one nearest to the middle of x."""
    far = np.square((places - np.median(x, 0)) / np.maximum(x.std(0), 1e-9)).sum(1)
    return Slider(
        "x",
        np.arange(1, len(places) + 1),
        label="Data x",
        names=[f"{i + 1} of {len(places)}" for i in range(len(places))],
        start=1.0 + float(far.argmin()),
        ends=("or press one in the map of x", ""),
    )


def _frame(p: Array) -> tuple[Array, Array]:
    """Middle and half widths of the picture at each x, which p's draws fill."""
    centre, half = framed.bounding_boxes([p])
    return centre, _ROOM * half


def _in_plane(points: Array) -> Array:
    """Points (..., S, 2); those of one parameter (..., S, 1) one above the other."""
    if points.shape[-1] > 1:
        return points
    height = np.linspace(-1, 1, points.shape[-2])[:, None]
    return np.concatenate([points, np.broadcast_to(height, points.shape)], axis=-1)


def _inside(centre: Array, half: Array, points: Array, *sliders: str) -> list[Over]:
    """Both coordinates of points (..., V, S, 2) in the frame; NaN beyond it."""
    at = (points - centre[:, None]) / half[:, None]
    at = np.where((np.abs(at) <= 1).all(-1, keepdims=True), at, np.nan)
    return [over(at[..., i], *sliders, coarse=True) for i in (0, 1)]


def _posterior(film: Film, simulator: Simulator) -> Panel:
    """Draws of both at an x, in a frame that p's draws fill, and the ball where they differ."""
    p, q = (_in_plane(draws.astype(float)) for draws in (film.p, film.q))
    centre, half = _frame(p)
    inside, both = partial(_inside, centre, half), ("epoch", "x")
    rims = _rims(film.balls)
    away = (np.abs((q - centre[:, None]) / half[:, None]) > 1).any(-1).sum(-1)  # (F, V)
    names = (*simulator.names, "")
    more = simulator.dims[0] - 2
    return Panel(
        [
            Points(*inside(q, *both), color=style.Q, size=5, opacity=0.75, symbol="ring"),
            Points(*inside(p, "x"), color=style.P, size=3, opacity=0.8),
            Line(*inside(rims, *both), color=_BALL, width=1.8),
            *framed.ticks(centre, half, "x"),
        ],
        title="q and the exact posterior at this x",
        height=_TOP,
        x=framed.axis(names[0]),
        y=framed.axis(names[1]),
        legend=[
            ("exact", style.P, "circle"),
            ("q", style.Q, "ring"),
            ("ball where they differ most", _BALL, "line"),
        ],
        caption=over(
            [
                [_in_ball(film, f, v, int(away[f, v]), more) for v in range(len(film.places))]
                for f in range(len(film.epochs))
            ],
            "epoch",
            "x",
        ),
    )


def _rims(balls: Balls) -> Array:
    """Points on the rim of each ball (F, V, L, 2); of one parameter, an interval at any height."""
    unit = np.stack([np.cos(_CIRCLE), np.sin(_CIRCLE)], axis=1)
    centre, reach = balls.centre, balls.reach
    if centre.shape[-1] == 1:
        unit = np.stack([np.sign(unit[:, 0]), unit[:, 1]], axis=1)
        centre = np.concatenate([centre, np.zeros_like(centre)], axis=-1)
        reach = np.concatenate([reach, np.ones_like(reach)], axis=-1)
    return centre[:, :, None] + reach[:, :, None] * unit


def _in_ball(film: Film, f: int, v: int, away: int, more: int) -> str:
    p, q = (share_text(float(side[f, v])) for side in (film.balls.p, film.balls.q))
    beyond = f" {away} of {film.q.shape[2]} draws of q lie beyond the picture." * (away > 0)
    return (
        f"The ball holds {p} of p and {q} of q: chosen on half of the draws, counted on the "
        f"others.{beyond}"
        + f" The first two of {more + 2} parameters." * (more > 0)
        + _HEIGHT * (more < 0)
    )


def _losses(film: Film) -> Panel:
    """Training and held-out loss, above the exact posterior's loss on the held-out pairs."""
    epoch, last = np.arange(1, len(film.loss) + 1), len(film.held_out) - 1
    marks: list[Mark] = [VLine(over(film.epochs.astype(float), "epoch"), width=1)]
    caption = "Its loss is no density: there is no exact posterior's to compare it with."
    if np.isfinite(film.floor):
        marks.append(HLine(film.floor, color=style.P, dash="", width=2, label="exact posterior"))
        caption = (
            "No estimator's expected loss lies below the blue line: the exact posterior's on the "
            "held-out pairs."
        )
    if last >= 0:
        held = film.held_out[np.clip(film.epochs - 1, 0, last)]
        shown = np.where(film.epochs > 0, held, np.nan)[:, None]
        marks += [
            Line(epoch, film.loss, color=style.Q, dash="2 3", width=1.6),
            Line(epoch, film.held_out, color=style.Q, width=2.2),
            Points(
                over(film.epochs[:, None].astype(float), "epoch"),
                over(shown, "epoch"),
                color=style.Q,
                size=9,
            ),
        ]
    return Panel(
        marks,
        title="Loss, nats a pair" if np.isfinite(film.floor) else "Loss",
        height=_TOP,
        x=_epochs(film),
        y=_loss_axis(film),
        legend=[("training", style.Q, "2 3"), ("held out", style.Q, "line")],
        caption=caption,
    )


def _loss_axis(film: Film) -> Axis:
    """Room for all losses but the highest, and for the floor."""
    known = np.concatenate([film.loss, film.held_out, [film.floor]]).astype(float)
    known = known[np.isfinite(known)]
    if not known.size:
        return Axis((0, 1))
    low, top = float(known.min()), float(np.quantile(known, 0.99))
    room = 0.08 * max(top - low, 0.5 * np.isfinite(film.floor), 1e-6)
    return Axis((low - room, top + room))


def _epochs(film: Film) -> Axis:
    return Axis((0, max(float(film.epochs[-1]), float(len(film.loss)), 1.0)), "epoch")


def _by_epoch(film: Film, shown: Film) -> Panel:
    """KL(p || q) at all frames, with 95% intervals, and at those that are shown."""
    nats, at = _nats(film), _nats(shown)
    epochs = film.epochs.astype(float)
    values = np.array([one.value for one in nats])
    low, high = np.array([one.interval() for one in nats]).T
    now = shown.epochs.astype(float)
    return Panel(
        [
            HLine(0.0, color=style.P, dash="", width=2),
            Band(epochs, low, high, color=style.Q),
            Line(epochs, values, color=style.Q),
            Points(epochs, values, color=style.Q, size=4),
            VLine(over(now, "epoch"), width=1),
            Line(  # a film of one frame has no band
                over(np.stack([now, now], axis=1), "epoch"),
                over(np.array([one.interval() for one in at]), "epoch"),
                color=style.Q,
                width=2,
            ),
            Points(
                over(now[:, None], "epoch"),
                over(np.array([[one.value] for one in at]), "epoch"),
                color=style.Q,
                size=9,
            ),
        ],
        title="KL(p‖q), nats",
        height=_BELOW,
        x=_epochs(film),
        y=Axis((min(0.0, float(low.min())) - 0.03 * float(high.max()), 1.08 * float(high.max()))),
        caption=over(
            [_nats_caption(one, share) for one, share in zip(at, shown.outside, strict=True)],
            "epoch",
        ),
    )


def _nats_caption(nats: Estimate, outside: float) -> str:
    said = [f"Mean of log p − log q over {PAIRS} fresh pairs, with its 95% interval."]
    said += below_zero([nats.value])
    if outside > 0:
        said.append(f"{share_text(outside)} of q's draws lie beyond the prior's box.")
    return " ".join(said)


def _covered(film: Film) -> Panel:
    """Coverage of central intervals by parameter, beside what chance allows a correct q."""
    bounds = np.array([binomial_bounds(TRUTHS, float(a), 0.95) for a in LEVELS]) / TRUTHS
    lines = [
        Line(LEVELS, over(film.coverage[:, d], "epoch"), color=style.Q, width=2)
        for d in range(film.coverage.shape[1])
    ]
    half = int(np.abs(LEVELS - 0.5).argmin())
    shares = [
        [share_text(float(share)) for share in frame[:, half][[0, -1]]]
        for frame in np.sort(film.coverage, axis=1)
    ]
    said = [
        f"q's central 50% intervals hold {low if low == high else f'{low} to {high}'} of "
        f"{TRUTHS} fresh truths. Grey: 95% of samples of a correct q, at each level by itself."
        for low, high in shares
    ]
    return Panel(
        [
            Band(LEVELS, bounds[:, 0], bounds[:, 1]),
            Line([0, 1], [0, 1], color=style.P, width=2),
            *lines,
        ],
        title="Coverage, by parameter",
        height=_BELOW,
        x=Axis((0, 1), "level of q's central interval", percent=True),
        y=Axis((0, 1), percent=True),
        legend=[
            ("q", style.Q, "line"),
            ("exact", style.P, "line"),
            ("by chance", style.NULL, "band"),
        ],
        caption=over(said, "epoch"),
    )


def _ratios(film: Film, nats: Sequence[Estimate]) -> Panel:
    """log p - log q, pair by pair."""
    ratios = film.ratios.astype(float)
    low, high = np.quantile(ratios, [0.005, 0.98])
    edges = np.linspace(min(float(low), -1.0), max(float(high), 1.0), _BINS + 1)
    counts = np.stack(
        [np.histogram(np.clip(row, edges[0], edges[-1]), edges)[0] for row in ratios]
    )
    worse = [
        f"At {share_text(float((row > np.log(10)).mean()))} of the pairs q's density at the truth "
        "is less than a tenth of p's."
        for row in ratios
    ]
    means = np.clip([one.value for one in nats], edges[0], edges[-1])
    return Panel(
        [
            Bars(edges, over(counts, "epoch"), color=style.Q),
            VLine(0.0, color=style.P, width=2),
            VLine(over(means, "epoch"), dash="5 3"),
        ],
        title="log p − log q at true values",
        height=_BELOW,
        x=Axis((float(edges[0]), float(edges[-1])), "nats"),
        y=Axis((0, 1.05 * float(np.quantile(counts.max(1), 0.9))), "pairs"),
        legend=[("exact", style.P, "line"), ("mean", "", "dash")],
        caption=over(worse, "epoch"),
    )


def _where(film: Film) -> Panel:
    """The map of x: a press picks the place; of x in two dimensions, nats by region."""
    places = film.places.astype(float)
    return _map(film) if places.shape[1] == 2 else _thumbnails(places)


def _map(film: Film) -> Panel:
    x, places = film.x.astype(float), film.places.astype(float)
    edges = [np.linspace(*side, _EDGES + 1) for side in _sides(x, places)]
    values = np.stack([_by_cell(x, row.astype(float), edges) for row in film.ratios])
    limit = max(1.0, float(np.nanquantile(np.abs(values), 0.9)))
    heat = Heat(edges[0], edges[1], Shades(over(values, "epoch"), limit=limit, label="KL, nats"))
    return _picker(
        heat,
        x,
        places,
        title="Where in x",
        caption="Blue: q gives the truth too little density there. Empty: fewer than "
        f"{_FEW} of {PAIRS} fresh x.",
    )


def _picker(behind: Mark, x: Array, places: Array, *, title: str, caption: str) -> Panel:
    """The plane of x (N, 2) with its places (V, 2), of which a press picks one."""
    across, up = _sides(x, places)
    return Panel(
        [
            behind,
            Points(*places.T, color="", size=8, symbol="ring"),
            Points(*(over(places[:, i : i + 1], "x") for i in (0, 1)), color="", size=11),
        ],
        title=title,
        height=_TOP,
        x=Axis(across, "x1"),
        y=Axis(up, "x2"),
        click="x",
        at=places,
        caption=caption,
    )


def _sides(x: Array, places: Array) -> list[tuple[float, float]]:
    """Ends of each axis of x: nearly all x, and all places."""
    both = np.concatenate([np.quantile(x, [0.01, 0.99], axis=0), places])
    low, high = both.min(0), both.max(0)
    room = 0.06 * np.maximum(high - low, 1e-9)
    return list(zip((low - room).tolist(), (high + room).tolist(), strict=True))


def _drawn_x(x: Array, places: Array) -> Panel:
    """Fresh x (N, 2), and the places among them."""
    sides = np.array(_sides(x, places)).T
    shown = x[((x >= sides[0]) & (x <= sides[1])).all(1)]
    dots = Points(*shown.T, color=style.NULL, size=3)
    return _picker(dots, x, places, title="Nine x", caption=f"Among {len(shown)} simulated ones.")


def _by_cell(x: Array, ratios: Array, edges: Sequence[Array]) -> Array:
    """Mean of log p - log q in each cell (rows from below); NaN where there are few pairs."""
    count = np.histogram2d(x[:, 0], x[:, 1], list(edges))[0]
    total = np.histogram2d(x[:, 0], x[:, 1], list(edges), weights=ratios)[0]
    return np.where(count >= _FEW, total / np.maximum(count, 1), np.nan).T


def _thumbnails(places: Array) -> Panel:
    """Each place's x as a small curve over its numbers, three in a row."""
    low, high = places.min(), places.max()
    side = int(np.ceil(np.sqrt(len(places))))
    numbers = places.shape[1]
    if numbers == 1:  # a level line
        places = np.repeat(places, 2, axis=1)
    across = 0.08 + 0.84 * np.linspace(0, 1, places.shape[1])
    up = 0.1 + 0.8 * (places - low) / max(high - low, 1e-9)
    column, row = np.arange(len(places)) % side, np.arange(len(places)) // side
    curves = [
        Line(c + across, (side - 1 - r) + y, color=style.NULL, width=1.4)
        for c, r, y in zip(column, row, up, strict=True)
    ]
    chosen = Line(
        over(column[:, None] + across, "x"),
        over(side - 1 - row[:, None] + up, "x"),
        color=style.OBSERVED,
        width=2.4,
    )
    middles = np.stack([column + 0.5, side - 0.5 - row], axis=1)
    return Panel(
        [*curves, chosen],
        title="Nine x",
        height=_TOP,
        x=Axis((0, side), hidden=True),
        y=Axis((0, side), hidden=True),
        click="x",
        at=middles,
        caption="Each x is one number, the height of its line."
        if numbers == 1
        else f"The {numbers} numbers of each x from left to right, on one scale.",
    )
