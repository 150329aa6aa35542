"""The effective sample size of a set of Markov chains."""

from __future__ import annotations

import numpy as np

from validation_core.types import Array


def estimate_effective_sample_size(chains: Array) -> Array:
    """Effective sample size of the mean of chains (..., C, n, D), by coordinate: (..., D).

    Autocovariances by the Fourier transform, averaged over chains about their common mean, and
    summed in pairs while these are positive and do not grow. NaN where all states are equal or a
    chain has fewer than four; capped at a size that independent draws would often seem to have.

    References:
        Practical Markov chain Monte Carlo, Geyer (1992): the initial monotone sequence.
    """
    c, n, d = chains.shape[-3:]
    if n < 4:
        return np.full((*chains.shape[:-3], d), np.nan)
    off = chains - chains.mean((-3, -2), keepdims=True)
    power = np.square(np.abs(np.fft.rfft(off, 2 * n, axis=-2)))
    summed = np.fft.irfft(power, 2 * n, axis=-2)[..., :n, :].mean(-3)
    # Divided by the products that there are, not by n: chains are many and short here.
    covariance = summed / np.arange(n, 0, -1)[:, None]
    variance = covariance[..., :1, :]
    with np.errstate(invalid="ignore", divide="ignore"):
        correlation = np.where(variance > 0, covariance / variance, np.nan)
    pairs = correlation[..., : n // 2 * 2, :]
    pairs = pairs.reshape(*pairs.shape[:-2], n // 2, 2, d).sum(-2)
    pairs = np.minimum.accumulate(pairs, axis=-2)
    pairs = np.where(
        np.minimum.accumulate(pairs > 0, axis=-2), pairs, np.where(np.isnan(pairs), np.nan, 0.0)
    )
    time = np.maximum(2 * pairs.sum(-2) - 1, 1 / np.log10(c * n))
    return np.asarray(c * n / time)
