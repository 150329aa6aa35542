"""The network of the score within x, in NumPy alone: its inputs, its units and their sum."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from validation_core.scores.slot_features import ScoredSlots
from validation_core.types import Array, Float

PARAMETERS = ("weight", "bias", "out", "linear", "constant")
_CROSSED = 64  # products of a standardised coordinate with one of x, at most


def network_scores(arrays: Mapping[str, Array], parameters: int, seen: ScoredSlots) -> Float:
    """g (n, A) of features: standardised ones beside their squares, and tanh units that see x.

    `arrays` is what `_Fitted.arrays` holds; so many of the features, the last, are theta.
    """
    inputs, linear = network_inputs(seen, parameters)
    inputs = (inputs - arrays["shift"]) / arrays["scale"]
    linear = (linear - arrays["linear_shift"]) / arrays["linear_scale"]
    return network_answers(arrays, inputs, linear)


def network_inputs(seen: ScoredSlots, parameters: int) -> tuple[Float, Float]:
    """Inputs of the units (n, A, P) and terms of the sum (n, A, F)."""
    own = np.moveaxis(seen.own[:-parameters], 0, 2).astype(np.float64)
    theta = np.moveaxis(seen.own[-parameters:], 0, 2)
    x = np.broadcast_to(seen.x.T[:, None], (*own.shape[:2], len(seen.x)))
    coordinates = own[..., : 2 * parameters]
    # The shift of a slot follows x: without these a shift that x brings needs hidden units.
    crossed = x[..., : max(1, _CROSSED // parameters)]
    cross = coordinates[..., :parameters, None] * crossed[..., None, :]
    cross = cross.reshape(*own.shape[:2], -1)
    linear = np.concatenate([own, np.square(coordinates), cross], axis=2)
    return np.concatenate([own, theta, x], axis=2, dtype=np.float64), linear


def network_answers(parameters: Mapping[str, Array], inputs: Float, linear: Float) -> Float:
    """In double precision: ties stay ties."""
    wide = {name: parameters[name].astype(np.float64) for name in PARAMETERS}
    hidden = np.tanh(inputs @ wide["weight"] + wide["bias"])
    return hidden @ wide["out"] + linear @ wide["linear"] + wide["constant"]
