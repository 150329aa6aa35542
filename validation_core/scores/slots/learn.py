"""Learning a score within x: folds answer for each other, and weigh the learners."""

from __future__ import annotations

import time

import numpy as np
from numpy.typing import NDArray

from validation_core.rng import stream
from validation_core.scores.slots import features, network, trees
from validation_core.scores.slots.features import Frame, Seen
from validation_core.scores.slots.recipe import Slots
from validation_core.scores.slots.trained import TrainedSlots, logit
from validation_core.statistics import slots
from validation_core.training import Report
from validation_core.types import Draws

Float = NDArray[np.float64]

_FEWEST_LEAVES = 100  # that the rows of a small table are to make


def learn(data: Draws, recipe: Slots, seed: int, report: Report | None = None) -> TrainedSlots:
    """Learn one score; the seed fixes the folds, the cuts and the network's start."""
    began = time.perf_counter()
    frame = features.fit(data, whole=recipe.whole, context=recipe.context)
    seen = frame(data, recipe.m)
    forest, arrays, held = None, None, []
    penalty = 0.0
    if recipe.kind != "network":
        forest, answers = _grown(seen, frame, recipe, stream(seed, "slots", "trees"), report)
        held.append(answers)
    if recipe.kind != "trees":
        fitted = network.fit(seen, frame, recipe.loss, stream(seed, "slots", "network"))
        arrays, penalty = fitted.arrays, fitted.penalty
        held.append(fitted.held)
    weights, constant = _weights(np.stack(held), recipe.loss)
    rows = slots.contributions(np.tensordot(weights, held, 1) + constant, recipe.loss)[:, 0]
    both = np.zeros(2)
    both[{"best": slice(None), "trees": slice(0, 1), "network": slice(1, 2)}[recipe.kind]] = (
        weights
    )
    if report:
        report(1.0, {"divergence": float(rows.mean())})
    return TrainedSlots(
        frame, forest if both[0] else None, arrays if both[1] else None, both, constant, rows,
        penalty, recipe.scored, seconds=time.perf_counter() - began,
    )  # fmt: skip


def _grown(
    seen: Seen, frame: Frame, recipe: Slots, rng: np.random.Generator, report: Report | None
) -> tuple[trees.Forest, Float]:
    """Trees, and the log odds (n, A) that those which have not seen a row give its slots."""
    n, count = seen.own.shape[1:]
    columns = seen.rows()  # (F, n A)
    truth = np.zeros((n, count), np.bool_)
    truth[:, 0] = True
    how = trees.Growth(
        cuts=recipe.cuts, chance=frame.chance(1 + min(recipe.k, recipe.whole - 1)),
        leaf=max(5, min(recipe.leaf, n * count // _FEWEST_LEAVES)),
    )  # fmt: skip
    fold = rng.permutation(np.arange(n) % recipe.folds)
    each = recipe.trees // recipe.folds
    own = rng.spawn(recipe.folds)
    held = np.empty((n, count))
    grown: list[trees.Tree] = []
    for i in range(recipe.folds):
        stay = np.repeat(fold != i, count)
        near = np.ascontiguousarray(columns[:, stay])
        some = [trees.grow(near, truth.ravel()[stay], how, own[i]) for _ in range(each)]
        answers = trees.Forest.of(some)(np.ascontiguousarray(columns[:, ~stay].T))
        held[fold == i] = logit(answers).reshape(-1, count)
        grown += some
        if report:
            report(0.7 * (i + 1) / recipe.folds, {})
    return trees.Forest.of(grown), held


def _weights(held: Float, kind: slots.Kind) -> tuple[Float, float]:
    """Weights (L,), none below 0, of held-out scores (L, n, A), and a constant that the binary
    loss asks for: where those rows are told best.
    """
    from scipy.optimize import minimize

    # In units of their own spread within rows: one step length suits all.
    spread = np.sqrt(np.square(held - held.mean(axis=2, keepdims=True)).mean(axis=(1, 2)))
    unit = held / np.where(spread > 0, spread, 1.0)[:, None, None]

    def loss(at: Float) -> float:
        scores = np.tensordot(at[:-1], unit, 1) + at[-1]
        return -float(slots.contributions(scores, kind)[:, 0].mean())

    count = len(held)
    free = (0.0, 0.0) if kind == "multiclass" else (None, None)
    start = np.append(np.full(count, 0.1), 0.0)
    found = minimize(loss, start, method="L-BFGS-B", bounds=[(0.0, None)] * count + [free])
    at = found.x[:-1] / np.where(spread > 0, spread, 1.0)
    if not at.any():  # nothing was told held out: any score is exact, the direction is kept
        at = 1e-3 / np.where(spread > 0, spread, 1.0)
    return at, float(found.x[-1])
