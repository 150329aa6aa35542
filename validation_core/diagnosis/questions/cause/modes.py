"""The modes of a sample on a line, and the valley between them.

Reference:
    Using kernel density estimates to investigate multimodality, Silverman (1981): the critical
    bandwidth, below which a Gaussian kernel estimate has two modes, against that of samples
    drawn from the estimate that just has one. Its level is conservative where tails are short;
    outliers of long tails are modes to it (Some asymptotics for multimodality tests based on
    kernel density estimates, Mammen, Marron, Fisher 1992): leave the farthest values out.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from validation_core.types import Array

_GRID = 512
_HALVINGS = 30
_REACH = 3.0  # bandwidths beyond the sample's ends


class _Modality(NamedTuple):
    """Silverman's test of a single mode."""

    pvalue: float
    """Of at most one mode: (1 + samples with a larger critical bandwidth) / (1 + samples)."""
    valley: float
    """Where the estimate is lowest between its two highest modes, at half that bandwidth."""


def unimodality_test(values: Array, rng: np.random.Generator, samples: int = 199) -> _Modality:
    """Test whether a sample (n,) stems from a density with one mode.

    Raises:
        ValueError: for fewer than three values, or values that are all the same.
    """
    values = np.asarray(values, dtype=np.float64)
    if values.ndim != 1 or len(values) < 3 or not np.ptp(values) > 0:
        raise ValueError(
            f"A test of one mode needs at least three values that differ; got shape "
            f"{values.shape}. Leave out what never varies."
        )
    spread = float(values.std())
    low, high = 1e-3 * spread, 2 * float(np.ptp(values))
    for _ in range(_HALVINGS):
        middle = float(np.sqrt(low * high))
        low, high = (middle, high) if _modes(values[None], middle)[0] > 1 else (low, middle)
    # Smoothed resamples of the estimate that just has one mode, with the sample's own variance.
    shrink = 1 / np.sqrt(1 + (high / spread) ** 2)
    drawn = values[rng.integers(len(values), size=(samples, len(values)))]
    noise = high * rng.standard_normal(drawn.shape)
    again = values.mean() + shrink * (drawn - values.mean() + noise)
    larger = int((_modes(again, high) > 1).sum())
    return _Modality((1 + larger) / (1 + samples), _valley(values, high / 2))


def _density(values: Array, bandwidth: float) -> tuple[Array, Array]:
    """Kernel estimates (S, G) of samples (S, n), by counts on a grid (S, G) and their FFT."""
    low = values.min(1, keepdims=True) - _REACH * bandwidth
    high = values.max(1, keepdims=True) + _REACH * bandwidth
    step = (high - low) / (_GRID - 1)
    cell = (values - low) / step
    floor = np.minimum(cell.astype(int), _GRID - 2)
    part = cell - floor
    place = floor + _GRID * np.arange(len(values))[:, None]
    counts = np.bincount(
        np.append(place, place + 1), np.append(1 - part, part), len(values) * _GRID
    ).reshape(-1, _GRID)
    frequency = 2 * np.pi * np.fft.rfftfreq(_GRID) / step
    smooth = np.fft.rfft(counts) * np.exp(-0.5 * np.square(bandwidth * frequency))
    return low + step * np.arange(_GRID), np.fft.irfft(smooth, _GRID)


def _modes(values: Array, bandwidth: float) -> Array:
    """How many local maxima the estimate of each sample has; ripples of rounding do not count."""
    density = _density(values, bandwidth)[1]
    rounded = np.round(density / density.max(1, keepdims=True), 9)
    steps = np.sign(np.diff(rounded, axis=1))
    # On a plateau the last step counts on.
    last = np.maximum.accumulate(np.where(steps != 0, np.arange(steps.shape[1]), 0), axis=1)
    rise = np.take_along_axis(steps, last, axis=1)
    return np.asarray(((rise[:, :-1] > 0) & (rise[:, 1:] < 0)).sum(1))


def _valley(values: Array, bandwidth: float) -> float:
    """The lowest place between the two highest modes."""
    places, densities = _density(values[None], bandwidth)
    at, density = places[0], densities[0]
    peaks = np.flatnonzero((density[1:-1] > density[:-2]) & (density[1:-1] >= density[2:])) + 1
    if len(peaks) < 2:
        return float("nan")
    first, second = sorted(peaks[np.argsort(-density[peaks])[:2]])
    return float(at[first + int(density[first : second + 1].argmin())])
