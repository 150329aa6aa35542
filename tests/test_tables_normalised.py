"""A log q that is no normalised density of its draws: seen where it can be, never where it is."""

import numpy as np
import pytest
from scipy.special import gammaln, logsumexp
from scipy.stats import norm

from validation_core.tables import Upload
from validation_core.tables.log_q_offset import normalisation_offset, normalisation_warnings


def log_normal(z):
    return norm.logpdf(z).sum(-1)


def mean_field(n, k, d, rng):
    sd = np.exp(rng.standard_normal((n, 1, d)))
    z = rng.standard_normal((n, k, d))
    return sd * z, log_normal(z) - np.log(sd).sum(-1)


def full(n, k, d, rng):
    root = np.tril(rng.standard_normal((n, d, d))) + 3 * np.eye(d)
    z = rng.standard_normal((n, k, d))
    volume = np.linalg.slogdet(root)[1]
    return np.einsum("nij,nkj->nki", root, z), log_normal(z) - volume[:, None]


def student(n, k, d, rng, df=3):
    z = rng.standard_normal((n, k, d)) / np.sqrt(rng.chisquare(df, (n, k, 1)) / df)
    peak = gammaln((df + d) / 2) - gammaln(df / 2) - d / 2 * np.log(df * np.pi)
    return z, peak - (df + d) / 2 * np.log1p((z**2).sum(-1) / df)


def mixture(n, k, d, rng, apart=8.0, share=0.3):
    first = rng.random((n, k)) < share
    z = rng.standard_normal((n, k, d))
    z[..., 0] += apart * first
    centre = apart * np.eye(d)[0]
    logs = [np.log(1 - share) + log_normal(z), np.log(share) + log_normal(z - centre)]
    return z, logsumexp(logs, axis=0)


def ring(n, k, d, rng, sd=0.01):
    """Thin in the first two parameters, normal in all others."""
    z, angle = rng.standard_normal((n, k, d)), 2 * np.pi * rng.random((n, k))
    e = rng.standard_normal((n, k))
    r = 1 + sd * e
    z[..., 0], z[..., 1] = r * np.cos(angle), r * np.sin(angle)
    return z, norm.logpdf(e) - np.log(sd) - np.log(2 * np.pi * r) + log_normal(z[..., 2:])


def cube(n, k, d, rng):
    return rng.random((n, k, d)), np.zeros((n, k))


def skewed(n, k, d, rng):
    v = rng.standard_normal((n, k, d))
    return np.exp(v), log_normal(v) - v.sum(-1)


def cut(n, k, d, rng):
    """A normal at its prior's bound: quadratic, and normalised over its half."""
    z = np.abs(rng.standard_normal((n, k, d)))
    return z, log_normal(z) + d * np.log(2)


RIGHT = (mean_field, full, student, mixture, ring, cube, skewed, cut)


@pytest.mark.parametrize("law", RIGHT)
@pytest.mark.parametrize("d", [1, 2, 3, 5, 10])
def test_no_normalised_density_is_warned_of(law, d):
    if law is ring and d == 1:
        pytest.skip("a ring has two parameters")
    rng = np.random.default_rng(d)
    for n, k in ((15, 20), (30, 60), (120, 100), (30, 200)):
        q, logs = law(n, k, d, rng)
        assert normalisation_offset(q, logs) is None, (n, k)
        assert normalisation_offset(1e6 * q, logs - d * np.log(1e6)) is None, "in any units"


@pytest.mark.parametrize("law", [mean_field, full, student, mixture, skewed])
@pytest.mark.parametrize("d", [1, 2])
@pytest.mark.parametrize("off", [-4.0, 3.0])
def test_an_offset_is_seen_in_low_dimensions(law, d, off):
    q, logs = law(100, 100, d, np.random.default_rng(0))
    result = normalisation_offset(q, logs + off)
    assert result is not None
    assert np.sign(result.nats) == np.sign(off)
    assert abs(result.nats) < 1.3 * abs(off)


@pytest.mark.parametrize("law", [mean_field, full])
@pytest.mark.parametrize("d", [5, 10])
@pytest.mark.parametrize("off", [-3.0, 3.0])
def test_normals_are_seen_in_many_dimensions(law, d, off):
    q, logs = law(60, 150, d, np.random.default_rng(0))
    result = normalisation_offset(q, logs + off)
    assert result is not None
    assert result.nats == pytest.approx(off, abs=0.5)


def test_an_offset_that_depends_on_x_is_seen():
    rng = np.random.default_rng(0)
    q, logs = mean_field(200, 50, 3, rng)
    off = 4 * rng.standard_normal((200, 1))
    off -= off.mean()
    assert normalisation_offset(q, logs + off) is not None


@pytest.mark.parametrize("make", [
    lambda q, logs: (q[:, :1], logs[:, :1] + 9),
    lambda q, logs: (q[:5], logs[:5] + 9),
    lambda q, logs: (0 * q, logs),
    lambda q, logs: (q, np.where(np.arange(60)[:, None] < 55, np.nan, logs)),
    lambda q, logs: (np.repeat(q[:, :1], 40, axis=1), logs),
    lambda q, logs: (q.astype(np.float32), logs.astype(np.float32)),
    lambda q, logs: (np.round(q), logs),
], ids=["one draw", "few rows", "points", "missing", "repeats", "float32", "rounded"])  # fmt: skip
def test_an_offset_that_cannot_be_told_gives_no_warning(make):
    assert normalisation_offset(*make(*mean_field(60, 40, 2, np.random.default_rng(0)))) is None


def test_the_warning_says_what_the_offset_affects_and_what_not():
    rng = np.random.default_rng(0)
    q, logs = mean_field(80, 40, 2, rng)
    table = {"theta": q[:, 0], "x": rng.standard_normal((80, 1)), "theta_q": q}
    right = Upload.of({**table, "log_q": logs[:, 0], "log_q_draws": logs})
    assert not any("normalised" in one for one in right.warnings)
    wrong = Upload.of({**table, "log_q": logs[:, 0] + 5, "log_q_draws": logs + 5})
    (message,) = [one for one in wrong.warnings if "normalised" in one]
    assert "nats too large, or more" in message
    assert "Where the offset depends on x alone, the symmetric divergence" in message
    assert "Jacobian" in message
    assert normalisation_warnings(q, None) == ()
