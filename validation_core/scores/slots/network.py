"""The network within x: the scorer's linear and tanh units on what a slot is seen as."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from validation_core.scores.scorer import objective
from validation_core.scores.scorer.objective import Flat, Objective
from validation_core.scores.slots.features import Frame, Seen
from validation_core.statistics.slots import Kind, most
from validation_core.types import Array

Float = NDArray[np.float64]

_HIDDEN = 16
_CROSSED = 64  # products of a standardised coordinate with one of x, at most
_PENALTIES = (1.0, 0.3, 0.1, 0.03, 0.01, 0.003)  # from strong to weak
_FOLDS = 2  # that choose the penalty
_STEPS = 60  # of L-BFGS
_CLEAR = 0.005  # nats below the best at which weaker penalties are not tried


class Fitted(NamedTuple):
    """A network with what it gave rows that it did not learn from."""

    arrays: Mapping[str, Array]
    held: Float
    """(n, A)."""
    penalty: float


class Network:
    """g (n, A) of features: standardised ones beside their squares, and tanh units that see x."""

    def __init__(self, arrays: Mapping[str, Array], parameters: int) -> None:
        """Take what `Fitted.arrays` holds; so many of the features, the last, are theta."""
        self._arrays, self._parameters = arrays, parameters

    def __call__(self, seen: Seen) -> Float:
        """Scores (n, A)."""
        inputs, linear = _inputs(seen, self._parameters)
        inputs = (inputs - self._arrays["shift"]) / self._arrays["scale"]
        linear = (linear - self._arrays["linear_shift"]) / self._arrays["linear_scale"]
        return _answers(self._arrays, inputs, linear)


def fit(seen: Seen, frame: Frame, kind: Kind, rng: np.random.Generator) -> Fitted:
    """Folds of simulations choose the penalty, all simulations fit."""
    inputs, linear = _inputs(seen, len(frame.parameters))
    (shift, scale), (linear_shift, linear_scale) = _scales(inputs), _scales(linear)
    inputs, linear = (inputs - shift) / scale, (linear - linear_shift) / linear_scale
    initial = objective.start(inputs.shape[-1], linear.shape[-1], _HIDDEN, rng)
    initial["weight"] /= np.sqrt(np.float32(inputs.shape[-1]))  # many inputs: no saturated start
    fold = rng.permutation(np.arange(len(inputs)) % _FOLDS)

    def part(which: NDArray[np.bool_]) -> Objective:
        return Objective(inputs[which], linear[which], kind, initial)

    pairs = [(part(fold != i), part(fold == i)) for i in range(_FOLDS)]
    starts = [objective.flat(initial) for _ in pairs]
    tried: list[tuple[float, list[Flat]]] = []
    for penalty in _PENALTIES:
        # A weaker penalty goes on from where the stronger one ended.
        starts = [_minimum(near, at, penalty) for (near, _), at in zip(pairs, starts, strict=True)]
        losses = [far.loss(at) for (_, far), at in zip(pairs, starts, strict=True)]
        found = most(kind, inputs.shape[1] - 1) - float(np.mean(losses))
        tried.append((found, starts))
        if found < max(one for one, _ in tried) - _CLEAR:
            break
    kept = int(np.argmax([one for one, _ in tried]))
    held = np.empty(inputs.shape[:2])
    for i, vector in enumerate(tried[kept][1]):
        out = fold == i
        held[out] = _answers(objective.named(vector, initial), inputs[out], linear[out])
    # A penalty is a prior, whose weight beside more simulations is less.
    share = 1 - 1 / _FOLDS
    vector = _minimum(part(fold >= 0), tried[kept][1][0], share * _PENALTIES[kept])
    scales = {
        "shift": shift, "scale": scale, "linear_shift": linear_shift, "linear_scale": linear_scale,
    }  # fmt: skip
    return Fitted({**objective.named(vector, initial), **scales}, held, _PENALTIES[kept])


def _inputs(seen: Seen, parameters: int) -> tuple[Float, Float]:
    """What the units see (n, A, P) and what is added up (n, A, F)."""
    own = np.moveaxis(seen.own[:-parameters], 0, 2).astype(np.float64)
    theta = np.moveaxis(seen.own[-parameters:], 0, 2)
    x = np.broadcast_to(seen.x.T[:, None], (*own.shape[:2], len(seen.x)))
    coordinates = own[..., : 2 * parameters]
    # What a slot is moved by follows x: without these a shift that x brings needs hidden units.
    crossed = x[..., : max(1, _CROSSED // parameters)]
    cross = coordinates[..., :parameters, None] * crossed[..., None, :]
    cross = cross.reshape(*own.shape[:2], -1)
    linear = np.concatenate([own, np.square(coordinates), cross], axis=2)
    return np.concatenate([own, theta, x], axis=2, dtype=np.float64), linear


def _scales(features: Float) -> tuple[Float, Float]:
    sd = features.std(axis=(0, 1))
    return features.mean(axis=(0, 1)), np.where(sd > 0, sd, 1.0)


def _minimum(of: Objective, vector: Flat, penalty: float) -> Flat:
    from scipy.optimize import minimize  # 20 MB that most diagnoses do without

    found = minimize(
        of.penalised, vector, args=(penalty,), jac=True, method="L-BFGS-B",
        options={"maxiter": _STEPS, "maxcor": 20},
    )  # fmt: skip
    return np.asarray(found.x, dtype=np.float64)


def _answers(parameters: Mapping[str, Array], inputs: Float, linear: Float) -> Float:
    """In double precision: ties stay ties."""
    wide = {name: parameters[name].astype(np.float64) for name in objective.NAMES}
    hidden = np.tanh(inputs @ wide["weight"] + wide["bias"])
    return hidden @ wide["out"] + linear @ wide["linear"] + wide["constant"]
