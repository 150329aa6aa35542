"""Learning a score within x: trees, the slot classifier's units on what a slot is seen as, their
weights by folds that answer for each other, and the scores that they make of a table.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import logsumexp

from validation_core.learn import perceptron
from validation_core.learn.scaling import moments
from validation_core.learn.stored_network import GIVEN, StoredNetwork
from validation_core.provenance import Stopwatch
from validation_core.rng import stream
from validation_core.scores.slot_classifier_training import (
    Flat,
    SlotObjective,
    flatten_parameters,
    initial_parameters,
    unflatten_parameters,
)
from validation_core.scores.slot_features import ScoredSlots, SlotFeatures, fit_slot_features
from validation_core.scores.slot_network import network_answers, network_inputs, network_scores
from validation_core.scores.slots import Slots
from validation_core.scores.trees import Forest, GrownTree, TreeSettings, grow_tree
from validation_core.statistics import slots
from validation_core.study import Report
from validation_core.types import Array, Float, PosteriorTable, TableScores

_FEWEST_LEAVES = 100  # that the rows of a small table are to make
_HIDDEN = 16
_PENALTIES = (1.0, 0.3, 0.1, 0.03, 0.01, 0.003)  # from strong to weak
_NETWORK_FOLDS = 2  # that choose the penalty
_STEPS = 60  # of L-BFGS
_CLEAR = 0.005  # nats below the best at which weaker penalties are not tried


@dataclass(frozen=True, eq=False)
class TrainedSlots(StoredNetwork):
    """Features of a slot, trees and network, and the weights of the last two."""

    frame: SlotFeatures
    forest: Forest | None
    network: Mapping[str, Array] | None
    weights: Float
    """(2,): of the trees' log odds and of the network's score; 0 where one is not used."""
    rows: Float
    """(n,): term of each learning row in the held-out divergence, in nats."""
    numbers: Float
    """(2,): the constant that the binary loss adds, and the network's penalty."""
    scored: int = field(metadata=GIVEN)
    """Draws of q that are scored at each x, at most: the first ones."""
    seconds: float = 0.0
    device: str = "cpu"

    @property
    def summary(self) -> Mapping[str, float]:
        """Held-out divergence, weights of the two learners, and the network's penalty."""
        trees, network = (float(weight) for weight in self.weights)
        return {
            "divergence": float(self.rows.mean()),
            "weight trees": trees,
            "weight network": network,
            "penalty": float(self.numbers[1]),
        }

    def at(self, beta: float = 0.0) -> _WithinScore:
        """The score; beta changes nothing, as trees have no parameters to mix."""
        del beta
        return _WithinScore(self)


@dataclass(frozen=True, eq=False)
class _WithinScore:
    """The log ratio of p to q that is learnt, one function for all slots of a row."""

    trained: TrainedSlots

    def __call__(self, theta: Array, x: Array) -> Array:
        """Undefined for single rows: a score needs a whole table.

        Raises:
            ValueError: always.
        """
        raise ValueError(
            f"A score within x sees a draw among the others at its x; got {len(theta)} rows "
            f"alone. Give it a table of theta, x and theta_q."
        )

    def table(self, draws: PosteriorTable) -> TableScores:
        """Scores of the truth (1, n) and of the first K' draws (1, n, K') at each x.

        Features of a slot are relative to all K draws; K' = min(K, scored).
        """
        frame, most = self.trained.frame, min(draws.q.shape[1], self.trained.scored)
        out = np.empty((len(draws), most + 1))
        for rows in frame.pieces(draws):
            scores = self._scores(frame.piece(draws, rows, most))
            theta = np.concatenate([draws.theta[rows][:, None], draws.q[rows, :most]], axis=1)
            out[rows] = equalise_tied_slots(scores, theta)
        # The mean ratio over a row's slots is 1: a constant of the row, which ranks do not see.
        out -= logsumexp(out, axis=1, keepdims=True) - np.log(most + 1)
        return TableScores(out[None, :, 0], out[None, :, 1:])

    def _scores(self, seen: ScoredSlots) -> Float:
        """(n, A)."""
        trained = self.trained
        total = np.full(seen.own.shape[1:], trained.numbers[0])
        if trained.forest is not None:
            answers = trained.forest(np.ascontiguousarray(seen.rows().T))
            total += trained.weights[0] * _logit(answers).reshape(total.shape)
        if trained.network is not None:
            parameters = len(trained.frame.parameters)
            total += trained.weights[1] * network_scores(trained.network, parameters, seen)
        return total


def equalise_tied_slots(scores: Float, theta: Array) -> Float:
    """Scores (n, A) where equal slots theta (n, A, D) of a row have equal ones, to the bit.

    A matrix product may round equal rows differently by their place.
    """
    count, d = theta.shape[1:]
    first = np.sort(theta[..., 0], axis=1)
    some = np.flatnonzero((first[:, 1:] == first[:, :-1]).any(axis=1))
    if not len(some):
        return scores
    flat = theta[some].reshape(-1, d)
    row = np.repeat(np.arange(len(some)), count)
    order = np.lexsort((*flat.T, row))
    same = (flat[order[1:]] == flat[order[:-1]]).all(axis=1) & (row[order[1:]] == row[order[:-1]])
    group = np.concatenate([[0], np.cumsum(~same)])
    leader = order[np.concatenate([[True], ~same])]  # the first slot of each group
    flat_scores = scores[some].ravel()
    flat_scores[order] = flat_scores[leader[group]]
    out = scores.copy()
    out[some] = flat_scores.reshape(-1, count)
    return out


def train_slots(
    data: PosteriorTable, recipe: Slots, seed: int, report: Report | None = None
) -> TrainedSlots:
    """Learn one score; the seed fixes the folds, the cuts and the network's start."""
    watch = Stopwatch()
    frame = fit_slot_features(data, whole=recipe.whole, context=recipe.context)
    slot_features = frame(data, recipe.m)
    forest, arrays, held_scores = None, None, []
    penalty = 0.0
    if recipe.kind != "network":
        forest, answers = _grown(
            slot_features, frame, recipe, stream(seed, "slots", "trees"), report
        )
        held_scores.append(answers)
    if recipe.kind != "trees":
        fitted = _fit_network(slot_features, frame, recipe.loss, stream(seed, "slots", "network"))
        arrays, penalty = fitted.arrays, fitted.penalty
        held_scores.append(fitted.held)
    weights, constant = _weights(np.stack(held_scores), recipe.loss)
    rows = slots.contributions(np.tensordot(weights, held_scores, 1) + constant, recipe.loss)[:, 0]
    both = np.zeros(2)
    both[{"best": slice(None), "trees": slice(0, 1), "network": slice(1, 2)}[recipe.kind]] = (
        weights
    )
    if report:
        report(1.0, {"divergence": float(rows.mean())})
    return TrainedSlots(
        frame,
        forest if both[0] else None,
        arrays if both[1] else None,
        both,
        rows,
        np.array([constant, penalty]),
        recipe.scored,
        seconds=watch.seconds,
        device="cpu" if arrays is None else perceptron.pick_device(),  # trees grow on processors
    )


def _grown(
    seen: ScoredSlots,
    frame: SlotFeatures,
    recipe: Slots,
    rng: np.random.Generator,
    report: Report | None,
) -> tuple[Forest, Float]:
    """Trees, and held-out log odds (n, A) of each row's slots."""
    n, count = seen.own.shape[1:]
    columns = seen.rows()  # (F, n A)
    truth = np.zeros((n, count), np.bool_)
    truth[:, 0] = True
    how = TreeSettings(
        cuts=recipe.cuts,
        chance=frame.chance(1 + min(recipe.k, recipe.whole - 1)),
        leaf=max(5, min(recipe.leaf, n * count // _FEWEST_LEAVES)),
    )
    fold = rng.permutation(np.arange(n) % recipe.folds)
    each = recipe.trees // recipe.folds
    own = rng.spawn(recipe.folds)
    log_odds = np.empty((n, count))
    grown: list[GrownTree] = []
    for i in range(recipe.folds):
        stay = np.repeat(fold != i, count)
        near = np.ascontiguousarray(columns[:, stay])
        some = [grow_tree(near, truth.ravel()[stay], how, own[i]) for _ in range(each)]
        answers = Forest.of(some)(np.ascontiguousarray(columns[:, ~stay].T))
        log_odds[fold == i] = _logit(answers).reshape(-1, count)
        grown += some
        if report:
            report(0.7 * (i + 1) / recipe.folds, {})
    return Forest.of(grown), log_odds


def _weights(held: Float, kind: slots.SlotLoss) -> tuple[Float, float]:
    """Non-negative weights (L,) of held-out scores (L, n, A), and the constant of the binary loss,
    that classify those rows best.
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
    optimum = minimize(loss, start, method="L-BFGS-B", bounds=[(0.0, None)] * count + [free])
    at = optimum.x[:-1] / np.where(spread > 0, spread, 1.0)
    if not at.any():  # no held-out gain: any score is exact, the direction is kept
        at = 1e-3 / np.where(spread > 0, spread, 1.0)
    return at, float(optimum.x[-1])


class _Fitted(NamedTuple):
    """A network with its held-out scores."""

    arrays: Mapping[str, Array]
    held: Float
    """(n, A)."""
    penalty: float


def _fit_network(
    seen: ScoredSlots, frame: SlotFeatures, kind: slots.SlotLoss, rng: np.random.Generator
) -> _Fitted:
    """Folds of simulations choose the penalty, all simulations fit."""
    inputs, linear = network_inputs(seen, len(frame.parameters))
    (shift, scale), (linear_shift, linear_scale) = moments(inputs), moments(linear)
    inputs, linear = (inputs - shift) / scale, (linear - linear_shift) / linear_scale
    initial = initial_parameters(inputs.shape[-1], linear.shape[-1], _HIDDEN, rng)
    initial["weight"] /= np.sqrt(np.float32(inputs.shape[-1]))  # many inputs: no saturated start
    fold = rng.permutation(np.arange(len(inputs)) % _NETWORK_FOLDS)

    def part(which: NDArray[np.bool_]) -> SlotObjective:
        return SlotObjective(inputs[which], linear[which], kind, initial)

    pairs = [(part(fold != i), part(fold == i)) for i in range(_NETWORK_FOLDS)]
    starts = [flatten_parameters(initial) for _ in pairs]
    tried: list[tuple[float, list[Flat]]] = []
    for penalty in _PENALTIES:
        # A weaker penalty goes on from where the stronger one ended.
        starts = [
            near.minimum(at, penalty, _STEPS) for (near, _), at in zip(pairs, starts, strict=True)
        ]
        losses = [far.loss(at) for (_, far), at in zip(pairs, starts, strict=True)]
        divergence = slots.most(kind, inputs.shape[1] - 1) - float(np.mean(losses))
        tried.append((divergence, starts))
        if divergence < max(estimate for estimate, _ in tried) - _CLEAR:
            break
    best = int(np.argmax([estimate for estimate, _ in tried]))
    held_scores = np.empty(inputs.shape[:2])
    for i, vector in enumerate(tried[best][1]):
        out = fold == i
        held_scores[out] = network_answers(
            unflatten_parameters(vector, initial), inputs[out], linear[out]
        )
    # A penalty is a prior, whose weight beside more simulations is less.
    share = 1 - 1 / _NETWORK_FOLDS
    vector = part(fold >= 0).minimum(tried[best][1][0], share * _PENALTIES[best], _STEPS)
    scales = {
        "shift": shift,
        "scale": scale,
        "linear_shift": linear_shift,
        "linear_scale": linear_scale,
    }
    return _Fitted(
        {**unflatten_parameters(vector, initial), **scales}, held_scores, _PENALTIES[best]
    )


def _logit(share: ArrayLike) -> Float:
    """Log odds of shares, which no leaf lets reach 0 or 1."""
    wide = np.asarray(share, dtype=np.float64)
    return np.log(wide) - np.log1p(-wide)
