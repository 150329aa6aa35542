"""Tables with a defect that is known: the cause is named rightly or not at all, never wrongly.

On linear, logarithmic, circular and whole-number scales; and files of kinds that are brought.
"""

from pathlib import Path

import numpy as np
import pytest
from scipy.stats import truncnorm

from tests.fixed_claims import CLAIMED
from validation_core.diagnosis.questions import Names, by_name
from validation_core.diagnosis.questions.cause.study import find_likely_cause
from validation_core.rng import stream
from validation_core.tables import Upload, read

OPEN = {"unclear", "none"}
QUESTION = by_name("cause")
CASES = Path(__file__).parents[1].parent / "shared" / "cases"
WIDTH = 0.6  # of a posterior beside the spread of its centres


def errors(kind, size, rng, n, k, d, x):
    """Errors of true values (n, D) and of q's draws (n, K, D), in posterior sd."""
    truth, draws = rng.standard_normal((n, d)), rng.standard_normal((n, k, d))
    if kind == "bias":
        draws[..., -1] += size
    elif kind == "width":
        draws *= size
    elif kind == "t":
        truth[:, -1] = rng.standard_t(3, n)
    elif kind == "heavy":
        draws = rng.standard_t(3, draws.shape)
    elif kind == "skew":
        truth[:, -1] = rng.exponential(size=n) - 1
    elif kind == "correlated":
        draws = draws @ np.linalg.cholesky((1 - size) * np.eye(d) + size).T
    elif kind == "missed":
        truth[rng.random(n) < size, -1] += 5
    elif kind == "spurious":
        draws[rng.random((n, k)) < size, -1] += 5
    elif kind == "bias in part":
        draws[x[:, 0] > 0.6, :, -1] += size
    elif kind == "width in part":
        draws[x[:, 0] > 0] *= size
    elif kind == "several":
        draws[..., 0] += size
        draws[..., -1] *= 0.6
    return truth, draws


def planted(kind, size, scale, d, seed=0, n=400, k=50):
    """A table with one defect on one scale."""
    rng = stream(seed, "planted", kind, scale, d)
    x = rng.standard_normal((n, 3))
    mean = x @ rng.standard_normal((3, d)) / np.sqrt(3)
    if kind == "ignored":
        seen = rng.standard_normal((n, 1))
        x = np.concatenate([x, seen], axis=1)
        off = 0.6 * rng.standard_normal((n, d)) + 0.8 * seen
        theta, q = mean + WIDTH * off, mean[:, None] + WIDTH * rng.standard_normal((n, k, d))
    elif kind == "proposal":
        theta = 0.3 + size * rng.standard_normal((n, d))
        x = theta + 0.5 * rng.standard_normal((n, d))
        q = x[:, None] / 1.25 + np.sqrt(0.2) * rng.standard_normal((n, k, d))
    elif kind == "leak":
        theta, width = rng.uniform(-1, 1, (n, d)), 0.4
        x = theta + width * rng.standard_normal((n, d))
        ends = (((end - x) / width)[:, None] for end in (-1, 1))
        q = truncnorm.rvs(*ends, loc=x[:, None], scale=width, size=(n, k, d), random_state=rng)
        past = 1 + 0.1 * np.abs(rng.standard_normal((n, k)))
        q[..., 0] = np.where(
            rng.random((n, k)) < size, past * rng.choice([-1, 1], (n, k)), q[..., 0]
        )
    else:
        truth, draws = errors(kind, size, rng, n, k, d, x)
        theta, q = mean + WIDTH * truth, mean[:, None] + WIDTH * draws
    if scale == "log":
        theta, q = 1e-6 * 10 ** (1.2 * theta), 1e-6 * 10 ** (1.2 * q)
    elif scale == "circular":
        turn = rng.uniform(0, 2 * np.pi, (n, 1))
        theta, q = (theta + turn) % (2 * np.pi), (q + turn[:, None]) % (2 * np.pi)
        x = np.concatenate([x, np.cos(turn), np.sin(turn)], axis=1)
    elif scale == "integer":
        theta, q = np.round(8 * theta), np.round(8 * q)
    return Upload.of({"theta": theta, "x": x, "theta_q": q})


def slow(*table):
    return pytest.param(*table, marks=pytest.mark.slow)


TABLES = [
    ("bias", 0.6, "circular", 1, {"bias"}),
    ("width", 0.7, "log", 2, {"too_narrow"}),
    ("width", 1.4, "log", 1, {"too_wide"}),
    ("width", 0.7, "circular", 1, {"too_narrow"}),
    ("skew", 1, "linear", 2, {"wrong_skew"}),
    ("bias in part", 4, "linear", 1, {"bias"}),
    ("missed", 0.3, "integer", 2, {"missing_mode"}),
    ("spurious", 0.3, "log", 2, {"spurious_mode"}),
    ("leak", 0.15, "linear", 2, {"support_leak"}),
    ("proposal", 0.35, "log", 2, {"proposal"}),
    slow("bias", 0.5, "integer", 10, {"bias"}),
    slow("bias", 1.0, "linear", 30, {"bias"}),
    slow("width", 1.4, "integer", 5, {"too_wide"}),
    slow("width", 0.7, "linear", 30, {"too_narrow"}),
    slow("t", 1, "linear", 2, {"light_tails"}),
    slow("heavy", 1, "log", 3, {"heavy_tails"}),
    slow("skew", 1, "log", 10, {"wrong_skew"}),
    slow("correlated", 0.7, "linear", 3, {"wrong_correlation"}),
    slow("correlated", 0.7, "log", 5, {"wrong_correlation"}),
    slow("missed", 0.25, "log", 10, {"missing_mode"}),
    slow("spurious", 0.3, "linear", 30, {"spurious_mode"}),
    slow("bias in part", 1.5, "circular", 2, {"bias"}),
    slow("width in part", 0.45, "integer", 3, {"too_narrow"}),
    slow("ignored", 1, "linear", 1, {"ignores_x"}),
    slow("ignored", 1, "log", 3, {"ignores_x"}),
    slow("leak", 0.1, "linear", 10, {"support_leak"}),
    slow("proposal", 0.4, "linear", 5, {"proposal"}),
    slow("several", 0.8, "integer", 3, {"bias", "too_narrow"}),
]


QUICK = 10  # which are strong


@pytest.mark.usefixtures("_few_injected")
@pytest.mark.parametrize(("kind", "size", "scale", "d", "right"), TABLES[:QUICK])
def test_a_strong_defect_on_any_scale_is_named(kind, size, scale, d, right):
    found = find_likely_cause(planted(kind, size, scale, d).data, 0)
    assert found.cause in right, found.causes[:2]


@pytest.mark.parametrize(("kind", "size", "scale", "d", "right"), TABLES[QUICK:])
def test_a_planted_cause_is_named_rightly_or_not_at_all(kind, size, scale, d, right):
    found = find_likely_cause(planted(kind, size, scale, d).data, 0)
    assert found.cause in right | OPEN, found.causes[:2]


@pytest.mark.parametrize("seed", [*range(3), *(slow(seed) for seed in range(3, 20))])
def test_a_correct_q_on_any_scale_has_no_cause(seed):
    scale, d = ("linear", "log", "circular", "integer")[seed % 4], (1, 2, 3, 5, 20)[seed % 5]
    exact = planted("none", 0, scale, d, seed, n=200)
    assert find_likely_cause(exact.data, seed).cause in OPEN


def test_one_of_three_hundred_parameters_is_found_and_named():
    rng = stream(0, "many")
    theta, q = rng.standard_normal((300, 300)), rng.standard_normal((300, 30, 300))
    q[..., 216] += 1.0
    upload = Upload.of({"theta": theta, "x": theta[:, :3] + 0.5, "theta_q": q})
    found = find_likely_cause(upload.data, 0)
    assert found.cause == "bias"
    assert 216 in found.parameters
    said = QUESTION.describe(found, Names(upload.names), CLAIMED)
    assert any("q's centre for theta_217 is off" in sentence for sentence in said)


def case(name):
    path = CASES / f"{name}.npz"
    if not path.exists():
        pytest.skip(f"{path.name} of the shared cases is not here")
    upload = read(path)
    return upload, find_likely_cause(upload.data, 0)


def test_draws_in_standard_units_are_told_before_any_verdict():
    upload, found = case("draws_standardised")
    assert found.faults == ("other scale",)
    assert "theta_1 = 50.5 + 27.74 q fits (r = 0.96)" in upload.warnings[0]
    assert "the draws are standardised" in upload.warnings[0]


def test_an_angle_wrapped_otherwise_is_told_and_leaves_no_defect():
    upload, found = case("angle_wrapped_otherwise")
    assert found.cause in OPEN
    assert upload.periods == pytest.approx((2 * np.pi,))
    assert (
        "true values in [0.00769, 6.26] and q's draws in [-3.14, 3.14]: wrap them alike"
        in (upload.warnings[0])
    )
