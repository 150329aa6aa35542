"""The work at one observation: L-C2ST, the truth's ranks at the rows nearby, CoLT's ball there."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

from validation_core import sampling
from validation_core.answers.base import Answer, Found
from validation_core.answers.in_theta import binned
from validation_core.answers.over_x import features, quotes
from validation_core.diagnosis import learning
from validation_core.maps import ball, near, scene
from validation_core.maps import over_x as smoothing
from validation_core.narrow import narrow
from validation_core.rng import stream
from validation_core.statistics import ball as ball_of
from validation_core.statistics.local import distance_of_logits, local
from validation_core.tasks import Live
from validation_core.types import Array, Draws
from validation_core.uploads import Upload

if TYPE_CHECKING:
    from validation_core.store import Store

Part = Literal["local", "ball"]

LOOKED = 1000
"""Draws of q that are looked at, at most."""
PARAMETERS = 50
"""Parameters whose ranks nearby are told; of more, those over which the chance varies most."""
_SHOWN = 500  # draws on figures
_CURVES = 100  # nulls on figures
_MAPPED = 12  # parameters whose draws are kept for a map
_NULLS = 999
_LISTED = 20  # numbers of an observation that are told


@dataclass(frozen=True, kw_only=True)
class ObservationTask(Answer):
    """What q looks like at one observation, and the rows near it."""

    version: ClassVar[int] = 2
    about: ClassVar[str] = "At one observation"

    part: Part = "local"
    """L-C2ST and the ranks nearby; or the ball of CoLT's localizer."""
    row: int = 0
    """The row whose draws serve, counted from 0; unused where the observation has its own."""
    x_o: tuple[float, ...] | None = None
    """The observation as it was typed; None for the row itself or the upload's own."""
    observed: str = ""
    """Fingerprint of the upload's observation, where that is looked at."""

    @property
    def label(self) -> str:
        what = "the observation" if self.observed else f"row {self.row}"
        return f"{self.about} ({what}{', ball' * (self.part == 'ball')}), an uploaded table"

    def answer(self, upload: Upload, store: Store, report: Live) -> Found:
        """One part of it."""
        assert isinstance(upload.data, Draws)
        (network,) = self.networks(store, report)
        x, draws, truth = self._here(upload, upload.data)
        if self.part == "ball":
            return _ball(network, upload, self.seed, x, draws, truth)
        place = self._place(upload.data, x)
        return _local(network, upload.data, self.seed, x, draws, place)

    def _here(self, upload: Upload, table: Draws) -> tuple[Array, Array, Array]:
        """x (M,) at which q is looked at, its draws (K, D) and what is known of the truth (T, D).

        The draws are those of a row, so that q is looked at where these were drawn.
        """
        if self.observed:
            own = upload.observed
            if own is None:
                raise ValueError(
                    "This task looks at the observation that came with the table; got a table "
                    "without one. Upload x_o and theta_o with it."
                )
            return own[0], own[1][:LOOKED], np.zeros((0, table.theta.shape[1]))
        at = slice(self.row, self.row + 1)
        return table.x[self.row], table.q[self.row, :LOOKED], table.theta[at]

    def _place(self, table: Draws, x: Array) -> dict[str, Any]:
        """Where it is, and how far from the rows."""
        asked = x if self.x_o is None else np.asarray(self.x_o, np.float64)
        kind = "observed" if self.observed else "row" if self.x_o is None else "typed"
        few = len(x) <= _LISTED
        stands = {} if kind == "row" else near.standing(table.x, asked)
        return {
            "kind": kind, "row": -1 if self.observed else self.row, "columns": len(x),
            "x": [float(one) for one in x] if few else [],
            "asked": [float(one) for one in asked] if few else [], **stands,
        }  # fmt: skip


def _local(
    network: Any, table: Draws, seed: int, x: Array, draws: Array, place: dict[str, Any]
) -> Found:
    """L-C2ST at x with q's draws there, and the ranks of the truths nearby."""
    logits = network.logits(draws, x)
    statistic = distance_of_logits(logits)  # (H + 1,)
    tested = local(statistic[:1], statistic[None, 1:])
    chance = expit(logits[0].astype(np.float64))
    shown = min(_SHOWN, len(draws))
    mapped = np.sort(binned.strongest(draws.astype(np.float64), chance, _MAPPED))
    told = {
        "pvalue": float(tested.pvalue[0]), "T": float(statistic[0]),
        "null_high": float(np.quantile(statistic[1:], 0.95)), "nulls": len(statistic) - 1,
        "rows": network.rows, "draws": len(draws), "mapped": [int(one) for one in mapped],
        **_sides(draws, chance),
    }  # fmt: skip
    which = np.sort(binned.strongest(draws.astype(np.float64), chance, PARAMETERS))
    arrays = {
        "d": chance[:shown], "theta": draws[:shown][:, mapped], "t_null": statistic[1:],
        "null_d": expit(logits[1 : 1 + _CURVES, :shown].astype(np.float64)),
    }  # fmt: skip
    nearby = _nearby(table, which, x, seed)
    small = {name: narrow(array) for name, array in arrays.items()}
    return Found({"place": place, "local": told, "near": nearby}, small)


def _sides(draws: Array, chance: Array) -> dict[str, Any]:
    """How far the chance (K,) of draws (K, D) reaches, and the quarters of the parameter it varies
    with most in which q puts too much and too little."""
    which = int(binned.strongest(draws.astype(np.float64), chance, 1)[0])
    values = draws[:, which].astype(np.float64)
    edges = np.quantile(values, np.arange(1, 4) / 4)
    cell = np.searchsorted(edges, values, side="right")
    ends = np.quantile(values, np.arange(5) / 4)
    counts = np.bincount(cell, minlength=4)
    mean = np.bincount(cell, chance, minlength=4) / np.maximum(counts, 1)
    some = np.flatnonzero(counts)
    much, little = (int(some[pick(mean[some])]) for pick in (np.argmin, np.argmax))
    low, high = np.quantile(chance, [0.05, 0.95])
    return {
        "d_low": float(low), "d_high": float(high), "parameter": which,
        "much": [float(ends[much]), float(ends[much + 1])],
        "little": [float(ends[little]), float(ends[little + 1])],
    }  # fmt: skip


def _nearby(table: Draws, which: NDArray[np.int64], x: Array, seed: int) -> dict[str, Any]:
    """Shift and width of the truth's ranks at the rows near x, with an exact p of them all.

    The p-value: in every row another of the truth and q's draws plays the truth, which changes
    nothing if q is right there; neighbours are chosen by x alone.
    """
    weight = near.weights(table.x, x[None])  # (1, n)
    rows = np.flatnonzero(weight[0] > 0)
    few = Draws(
        table.theta[rows][:, which],
        table.x[rows, :0],
        table.q[np.ix_(rows, np.arange(table.q.shape[1]), which)],
    )
    found = features.of_parameters(few, seed)
    mine = weight[0, rows]
    norm = float(np.sqrt(np.square(mine).sum()))
    f, j, n = found.scores.shape
    seen = np.abs(found.truth @ mine).max() / norm
    rng = stream(seed, "observation", "nearby")
    picks = rng.integers(j, size=(_NULLS, n))
    nulls = np.zeros(_NULLS)
    for one in range(f):
        taken = found.scores[one][picks, np.arange(n)]
        nulls = np.maximum(nulls, np.abs(taken @ mine) / norm)
    at_least = int((nulls >= seen * (1 - 1e-5)).sum())
    d = len(which)
    parameters = []
    for one in range(d):
        raw = found.truth[one]
        shift, width = (quotes.course(kind, raw, mine[None])[:, 0] for kind in ("shift", "width"))
        parameters.append(
            {"parameter": int(which[one]),
             **{f"shift{end}": float(shift[i]) for i, end in enumerate(("", "_low", "_high"))},
             **{f"width{end}": float(width[i]) for i, end in enumerate(("", "_low", "_high"))}}
        )  # fmt: skip
    return {
        "rows": n, "worth": float(smoothing.totals(weight)[1][0]), "of": len(table),
        "pvalue": (1 + at_least) / (_NULLS + 1), "nulls": _NULLS,
        "all": table.theta.shape[1], "parameters": parameters,
    }  # fmt: skip


def _ball(
    localizer: Any, upload: Upload, seed: int, x: Array, draws: Array, truth: Array
) -> Found:
    """The ball of CoLT's localizer at x: q's mass in it, and the truth's at the rows nearby."""
    table, rows = upload.data, learning.kept(upload, seed)
    assert isinstance(table, Draws)
    distance = localizer.at()
    # The halves of the map's scene, whose draws are not copied.
    middle = len(rows) // 2
    choose, quote = (sampling.lent(table, half) for half in (rows[:middle], rows[middle:]))
    rng = stream(seed, "map", "ranks")  # the map's tie-breakers: the same ball
    chose, quoted = (ball.ranks(distance, part, rng).u for part in (choose, quote))
    u_star = float(ball_of(chose, quoted).u_star)
    weight = near.weights(quote.x, x[None])
    rate, low, high, worth = smoothing.rates(weight, quoted <= u_star, u_star)
    places = scene.Places(x[None], draws[None], truth[None], draws[None])
    here = ball.at_places(distance, places, u_star)
    shown = min(_SHOWN, len(draws))
    inside = np.asarray(here.q_inside[0][:shown], np.float64)
    # Which parameters the ball tells apart: those over which being inside varies most.
    mapped = np.sort(binned.strongest(draws[:shown].astype(np.float64), inside, 2))
    told = {
        "u_star": u_star, "rate": float(rate[0]), "low": float(low[0]), "high": float(high[0]),
        "rows": int((weight[0] > 0).sum()), "worth": float(worth[0]),
        "centre": [float(here.centre[0, one]) for one in mapped],
        "mapped": [int(one) for one in mapped],
    }  # fmt: skip
    arrays = {
        "ball.theta": narrow(draws[:shown][:, mapped]),
        "ball.inside": inside.astype(np.float32),
    }
    return Found({"ball": told}, arrays)
