"""q at rows of data by an inference: fitted once for each distinct row, and then remembered.

What is found is a function of the row, the model, the inference and its iterations alone: the
noise of a randomised inference comes from a stream that these name. So draws taken now and log
densities asked for later, here or in another process, belong to one q.
"""

from __future__ import annotations

import hashlib
from collections import OrderedDict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from threading import Lock

import numpy as np
from numpy.typing import NDArray

from validation_core import keys
from validation_core.bayes import Model
from validation_core.bayes.inference import Inference
from validation_core.bayes.posterior import FullGaussian
from validation_core.rng import stream
from validation_core.types import Array

_BATCH = 1 << 17  # numbers of one batch: its steps stay near the processor (measured)
_MOST = 4096  # data sets of a batch: more gain nothing
_COMPARED = 1 << 20  # numbers of rows that are compared at a time
_SAMPLES = 10  # points that a step of a randomised inference looks at


def fitted(model: Model, inference: Inference, iterations: int, x: Array) -> FullGaussian:
    """q at each row of x (n, M), which may repeat.

    Raises:
        ValueError: where inference fails on some rows, or has no q for this model.
    """
    x = np.ascontiguousarray(x, np.float64) + 0.0  # one zero, whatever its sign
    names = _names(model, inference, iterations, x)
    new = {name: row for row, name in enumerate(names) if name not in _KEPT}
    fits: dict[str, Array] = {}
    for some in _batches(list(new), model):
        rngs = [stream(0, "bayes_model", name) for name in some]
        q = inference.fit(model, x[[new[name] for name in some]], iterations, rngs)
        assert isinstance(q, FullGaussian)
        flat = np.concatenate([q.mean, q.scale.reshape(len(some), -1)], axis=1)
        fits |= dict(zip(some, flat, strict=True))
    rows = np.stack([fits[name] if name in fits else _KEPT.take(name) for name in names])
    _KEPT.keep(fits)
    d = model.dims[0]
    posterior = FullGaussian(rows[:, :d], rows[:, d:].reshape(-1, d, d))
    if not posterior.ok.all():
        raise ValueError(
            f"Tests draw from q at every x; got none at {(~posterior.ok).sum():,} of "
            f"{len(x):,} after {iterations:,} iterations of {inference.label} on {model.label}. "
            "Take more iterations, or another inference."
        )
    return posterior


def _names(model: Model, inference: Inference, iterations: int, x: Array) -> list[str]:
    about = f"{keys.text(model)} {keys.text(inference)} {iterations} ".encode()
    return [hashlib.sha256(about + row.tobytes()).hexdigest()[:32] for row in x]


def _batches(names: Sequence[str], model: Model) -> Iterator[Sequence[str]]:
    d, m = model.dims
    size = min(_MOST, max(1, _BATCH // (d * d + _SAMPLES * d + m)))
    for first in range(0, len(names), size):
        yield names[first : first + size]


@dataclass(eq=False)
class _FitCache:
    """The latest fits of this process, by name, up to so many numbers."""

    most: int
    _fits: OrderedDict[str, Array] = field(default_factory=OrderedDict)
    _lock: Lock = field(default_factory=Lock)
    _numbers: int = 0

    def __contains__(self, name: str) -> bool:
        return name in self._fits

    def __len__(self) -> int:
        return len(self._fits)

    def take(self, name: str) -> Array:
        return self._fits[name]

    def keep(self, found: dict[str, Array]) -> None:
        """Remember these, and forget the oldest where there are too many."""
        with self._lock:
            for name, fit in found.items():
                self._numbers += fit.size if name not in self._fits else 0
                self._fits[name] = fit
            while self._numbers > self.most:
                self._numbers -= self._fits.popitem(last=False)[1].size


_KEPT = _FitCache(16 << 20)  # 128 MB: the q of a million hearts, or of 13,000 ionospheres


def runs(x: Array) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Where rows of x (n, M) that are equal to the ones before them begin, and how many there are.

    Rows come K times over: what belongs to an x is looked up once for all of them.
    """
    new = np.ones(len(x), bool)
    step = max(1, _COMPARED // x.shape[1])
    for first in range(1, len(x), step):
        rows = slice(first, min(first + step, len(x)))
        new[rows] = (x[rows] != x[first - 1 : rows.stop - 1]).any(1)
    starts = np.flatnonzero(new)
    return starts, np.diff(np.append(starts, len(x)))
