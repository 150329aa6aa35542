"""Which picture shows the problem: true values over q's draws, or coverage of a small error."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from validation_core.diagnosis.card import pictures
from validation_core.diagnosis.card.inputs import CardInputs
from validation_core.diagnosis.questions.over_x.region_words import region_text, rows_in_region
from validation_core.drawing.drawn import Drawn
from validation_core.rng import stream
from validation_core.statistics.ranks import midranks_among
from validation_core.tables.draw_order import some_draws
from validation_core.types import Array, PosteriorTable

_ROWS = 2_000  # of a table, the most that its picture shows
_DRAWS = 200
_PLAIN = 0.4  # posterior sd of bias from which on a histogram shows it
_FACTOR = 1.25  # of width, likewise


def problem_picture(inputs: CardInputs) -> Drawn:
    """Truths over q's draws where that shows it, coverage where the error is small.

    Of a bias in a place over x, the title says what was found there.
    """
    place = inputs.problem.place
    rows = None if place is None else rows_in_region(inputs.table, place)
    if place is None or rows is None or len(rows) < 10:
        return _picture(inputs, None, "")
    region = region_text(place, *inputs.names)
    drawn = _picture(inputs, rows, f" where {region}")
    if inputs.problem.kind != "bias" or place.inside.value is None:
        return drawn
    side = "high" if place.inside.value >= 0 else "low"
    name = inputs.called(inputs.problem.parameters[0])
    return replace(drawn, title=f"Where {region}, q's {name} is too {side}")


def _picture(inputs: CardInputs, rows: NDArray[np.intp] | None, where: str) -> Drawn:
    """The picture of these rows, of all where there are none."""
    problem = inputs.problem
    names = [inputs.called(which) for which in problem.parameters]
    table = inputs.table.data
    if problem.kind == "quantity" and inputs.quantity is not None:
        truth, draws = inputs.table.own_quantities[inputs.quantity]
        known = ~(np.isnan(truth) | np.isnan(draws).any(axis=1))
        return pictures.quantiles(midranks_among(truth[known], draws[known]), inputs.quantity)
    if table.q.shape[1] < 2:
        return pictures.coverage(_ranks(table, problem.parameters[0], rows), names[0], where)
    if problem.kind in ("pair", "mass", "test") and len(problem.parameters) > 1:
        truth, draws = _residuals(inputs, rows)
        return pictures.cloud(truth[:, :2], draws[..., :2], names[:2], where)
    if problem.kind in ("mode", "mass", "magnitude", "test") or _plain(inputs):
        truth, draws = _residuals(inputs, rows)
        return pictures.overlay(truth[:, 0], draws[..., 0], names[0], where)
    ranks = _ranks(table, problem.parameters[0], rows)
    worst = inputs.worst if rows is None else None
    if problem.kind == "bias":
        below = None if worst is None else worst.below_median.estimate
        return pictures.quantiles(ranks, names[0], where, below)
    if worst is None:
        return pictures.coverage(ranks, names[0], where)
    rate = max(worst.coverage, key=lambda rate: rate.excess)
    return pictures.coverage(ranks, names[0], where, (rate.level, rate.covers.estimate))


def _plain(inputs: CardInputs) -> bool:
    """Whether histograms side by side show the error."""
    problem = inputs.problem
    if problem.place is not None:
        bias = ratio = problem.place.inside.value
    else:
        worst = inputs.worst
        if worst is None:
            return True
        bias, ratio = worst.bias.estimate, worst.ratio.estimate
    if bias is None or ratio is None:
        return False
    if problem.kind == "bias":
        return abs(bias) >= _PLAIN
    return ratio > 0 and abs(math.log(ratio)) >= math.log(_FACTOR)


def _ranks(table: PosteriorTable, parameter: int, rows: NDArray[np.intp] | None) -> Array:
    """Mid-ranks of the true values among q's draws, within (0, 1)."""
    chosen = slice(None) if rows is None else rows
    return midranks_among(table.theta[chosen, parameter], table.q[chosen, :, parameter])


def error_correlations(inputs: CardInputs) -> tuple[float, float]:
    """Of true values and of q's draws about q's centre, in the problem's two parameters."""
    truth, draws = _residuals(inputs, None)
    return _pearson(truth), _pearson(draws.reshape(-1, 2))


def _pearson(points: Array) -> float:
    if not np.all(points.std(0) > 0):
        return 0.0
    return float(np.corrcoef(points[:, 0], points[:, 1])[0, 1])


def _residuals(inputs: CardInputs, rows: NDArray[np.intp] | None) -> tuple[Array, Array]:
    """Truth (n, P) and draws (n, K', P) of the problem's parameters, in q's sd from its mean."""
    table = inputs.table.data
    chosen = np.arange(len(table.theta)) if rows is None else rows
    if len(chosen) > _ROWS:
        chosen = chosen[np.linspace(0, len(chosen) - 1, _ROWS).astype(int)]
    columns = list(inputs.problem.parameters)
    q = table.q[chosen][..., columns].astype(np.float64)
    mean, sd = np.asarray(q.mean(1)), np.asarray(q.std(1, ddof=1))
    safe = np.where(sd > 0, sd, 1.0)
    truth = (table.theta[chosen][:, columns] - mean) / safe
    some = some_draws(q, _DRAWS, stream(0, "card", "draws"))
    draws = (some - mean[:, None]) / safe[:, None]
    return truth, draws
