"""Simulations of a user's own simulator, batch by batch, failures left out and counted."""

from __future__ import annotations

import math
import time
from collections import Counter
from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike

from .arrays import Array, as_numpy
from .progress import Log, progress_line, rows_text

_BATCHES_OF_THETA = 20


def simulated(
    simulate: Callable[[Array], ArrayLike], theta: Array, say: Log
) -> tuple[Array, Array, dict[str, int]]:
    """Simulate in batches: theta (n, D) and x (n, ...) of what succeeded, and losses by reason.

    A failure is an outcome like another x: leaving it out changes nothing about theta given x.

    Raises:
        ValueError: when nothing succeeds, or for another number of simulations than of theta.
    """
    lost, error = Counter[str](), None
    thetas, data = list[Array](), list[Array]()
    size, started = math.ceil(len(theta) / _BATCHES_OF_THETA), time.monotonic()
    batches = [theta[start : start + size] for start in range(0, len(theta), size)]
    done = 0
    while batches:
        batch = batches.pop(0)
        try:
            given = simulate(batch.copy())  # it may change theta in place
            x = as_numpy(() if isinstance(given, tuple) else given)
        except Exception as failure:  # whatever a simulator raises at some theta
            error = failure
            if len(batch) > 1:
                batches = [*np.split(batch, len(batch)), *batches]
                continue
            lost[f"simulator's {type(failure).__name__}"] += 1
            x = None
        if x is not None:
            _check_x(given, x, len(batch), data)
            good = np.isfinite(x.reshape(len(x), -1)).all(axis=1)
            lost["x that is NaN or infinite"] += int((~good).sum())
            thetas.append(batch[good])
            data.append(x[good])
        done += len(batch)
        say("\r" + progress_line(done, len(theta), time.monotonic() - started))
    losses = {reason: count for reason, count in lost.items() if count}
    if losses:
        say("; ".join(f"{rows_text(count)} left out: {why}" for why, count in losses.items()))
    if not sum(map(len, thetas)):
        words = f": {' '.join(str(error).split())[:200]}" if error else ""
        raise ValueError(
            f"simulate must give finite x; got none at {len(theta)} theta "
            f"({', '.join(losses)}{words}). Try it on one of them by itself."
        ) from error
    return np.concatenate(thetas), np.concatenate(data), losses


def _check_x(given: object, x: Array, count: int, before: list[Array]) -> None:
    """Refuse what is not one x for each theta.

    Args:
        given: what the simulator gave.
        x: the same as an array.
        count: theta that it was given.
        before: x of the batches before.

    Raises:
        ValueError: for several arrays, another number of rows, another shape than before, or no
            numbers.
    """
    if isinstance(given, tuple):  # two arrays at two theta would pass for one x at each
        raise ValueError(
            f"simulate must return one array, an x for each of {count} theta on its first axis; "
            f"got a tuple of {len(given)}. Join them along the last axis."
        )
    if x.ndim < 1 or len(x) != count:
        raise ValueError(
            f"simulate must return one x for each of {count} theta on its first axis; got "
            f"{x.shape}. Simulate them together, or stack them."
        )
    if x.dtype.kind not in "fiubc":
        raise ValueError(
            f"simulate must return numbers; got {x.dtype} at {count} theta. Give classes as "
            f"numbers, and NaN where a simulation failed."
        )
    if before and x.shape[1:] != before[0].shape[1:]:
        raise ValueError(
            f"simulate must return x of one shape at all theta; got {before[0].shape[1:]} at "
            f"some and {x.shape[1:]} at others. Pad them, or return summaries."
        )
