"""Draws on another scale than the true values: told as such, and never of a q that is wrong."""

import numpy as np
import pytest

from validation_core.rng import stream
from validation_core.statistics import ks
from validation_core.tables import Upload, repeats, scales
from validation_core.types import PosteriorTable


def exact(seed=0, n=300, k=40, centre=5.0, spread=2.0):
    rng = stream(seed, "scales")
    mean = centre + spread * rng.standard_normal((n, 1))
    theta, q = (mean[..., None] + rng.standard_normal((n, many, 1)) for many in (1, k))
    return PosteriorTable(theta[:, 0], mean, q)


TURNED = {
    "the draws are standardised": lambda t, q: (50 + 29 * (t - 5) / 2.2, (q - 5) / 2.2),
    "the true values are standardised": lambda t, q: ((t - 5) / 2.2, 50 + 29 * (q - 5) / 2.2),
    "the draws are natural logarithms": lambda t, q: (np.exp(t), q),
    "the draws are logarithms to base 10": lambda t, q: (10.0**t, q),
    "the true values are natural logarithms": lambda t, q: (t, np.exp(q)),
    "true values are in degrees, the draws in radians": lambda t, q: (np.rad2deg(t), q),
    "true values are in radians, the draws in degrees": lambda t, q: (t, np.rad2deg(q)),
    "the draws are 1,000 times too small": lambda t, q: (1000 * t, q),
    "the draws are 1,000,000 times too large": lambda t, q: (t, 1e6 * q),
    "true values are in percent, the draws fractions": lambda t, q: (100 * t, q),
    "true values are fractions, the draws in percent": lambda t, q: (t, 100 * q),
    "true values are in K, the draws in °C": lambda t, q: (t + 273.15, q),
    "true values are in °F, the draws in °C": lambda t, q: (32 + 1.8 * t, q),
    "true values are natural logarithms, the draws logarithms to base 10": lambda t, q: (
        20 * t,
        20 * q / np.log(10),
    ),
    "the draws are in other units": lambda t, q: (24 * t, q),
}


@pytest.mark.parametrize("reading", TURNED)
def test_draws_on_another_scale_are_told_with_what_fits(reading):
    right = exact()
    theta, q = TURNED[reading](right.theta, right.q)
    data = PosteriorTable(theta, right.x, q)
    (found,) = scales.other_scales(data)
    assert found.reading == reading
    assert repeats.faults(data) == ("other scale",)
    upload = Upload.of({"theta": theta, "x": right.x, "theta_q": q})
    assert upload.warnings[0].startswith(f"theta_1 = {found.formula} fits (r = ")
    assert f": {reading}. " in upload.warnings[0]
    assert upload.unusable
    mended = Upload.of({"theta": theta, "x": right.x, "theta_q": q}, corrections=["scale"])
    assert (mended.mistakes, mended.unusable) == ((), False)
    assert found.formula in mended.notes[0]
    u = (mended.data.q[..., 0] < mended.data.theta).mean(1)
    assert ks(u).pvalue > 1e-3
    again = Upload.of(mended.arrays(), order="NKD", logarithms=())
    assert again.digest == mended.digest


@pytest.mark.parametrize(
    "wrong",
    [
        lambda t, q: (t, q),
        lambda t, q: (t + 4, q),
        lambda t, q: (t, q.mean(1, keepdims=True) + 0.05 * (q - q.mean(1, keepdims=True))),
        lambda t, q: (t, 3 * (q - 5) + 5),
        lambda t, q: (t[::-1], q),
    ],
    ids=["correct", "biased", "collapsed", "spread out", "other order"],
)
def test_a_q_that_is_wrong_on_its_own_scale_is_no_other_scale(wrong):
    right = exact()
    theta, q = wrong(right.theta, right.q)
    assert list(scales.other_scales(PosteriorTable(theta, right.x, q))) == []
