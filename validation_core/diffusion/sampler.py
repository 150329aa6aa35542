"""The deterministic Heun sampler of EDM: Karras, Aittala, Aila, Laine (2022), Algorithm 1."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, TypeVar

import numpy as np
from numpy.typing import NDArray

from validation_core.diffusion.noise import STEPS, levels

if TYPE_CHECKING:
    from torch import Tensor

State = TypeVar("State", "Tensor", NDArray[np.floating])


def trajectory(
    denoise: Callable[[State, float], State], latents: State, total: int = STEPS
) -> Iterator[State]:
    """The states before the first and after each of `total` steps, made as they are asked for.

    Args:
        denoise: D(state, sd of its noise).
        latents: standard normal (n, D); everything follows from them.
        total: steps of the whole way.
    """
    schedule = [float(level) for level in levels(total)]
    state = latents * schedule[0]
    yield state
    for now, after in itertools.pairwise(schedule):
        slope = (state - denoise(state, now)) / now
        euler = state + slope * (after - now)
        if after > 0:
            slope = (slope + (euler - denoise(euler, after)) / after) / 2
            state = state + slope * (after - now)
        else:  # D has no slope at 0
            state = euler
        yield state
