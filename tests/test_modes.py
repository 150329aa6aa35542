"""Modes: Silverman's test of one mode, and a mode that q has no draws in."""

import numpy as np
import pytest

from tests.conftest import in_turn
from validation_core import statistics
from validation_core.diagnosis.questions.cause.missed_mode import LEVEL, find_missed_mode
from validation_core.diagnosis.questions.cause.modes import unimodality_test
from validation_core.diagnosis.questions.cause.prepared_table import PreparedTable
from validation_core.types import PosteriorTable


def rates(law, levels, trials=150):
    """How often a sample (n,) of one mode is rejected at each level."""
    p = []
    for seed in range(trials):
        rng = np.random.default_rng(seed)
        p.append(unimodality_test(law(rng), rng, samples=99).pvalue)
    for level in levels:
        yield sum(one <= level for one in p), statistics.binomial_bounds(trials, level, 0.999)


def test_the_test_of_one_mode_keeps_its_level_and_is_conservative():
    (few, bounds), (some, larger) = rates(lambda rng: rng.standard_normal(150), (0.05, 0.2))
    assert few <= bounds[1]
    assert some < larger[0]


@pytest.mark.parametrize("law", ["t", "exponential"])
def test_long_tails_keep_the_level_without_their_farthest_values(law):
    def near(rng):
        values = rng.standard_t(3, 150) if law == "t" else rng.exponential(size=150)
        return values[np.abs(values) <= np.quantile(np.abs(values), 0.95)]

    for rejected, (_, most) in rates(near, (0.01, 0.05)):
        assert rejected <= most


@pytest.mark.parametrize("share", [0.1, 0.5])
@pytest.mark.parametrize("seed", range(3))
def test_two_modes_are_found_with_the_valley_between(share, seed):
    rng = np.random.default_rng(seed)
    second = rng.random(500) < share
    values = rng.standard_normal(500) + 7 * second
    result = unimodality_test(values, rng, samples=199)
    assert result.pvalue == 1 / 200
    assert values[~second].max() - 0.7 < result.valley < values[second].min() + 0.7
    assert (values[second] > result.valley).mean() > 0.98
    assert (values[~second] < result.valley).mean() > 0.98


def test_place_and_unit_do_not_matter():
    values = np.concatenate([np.random.default_rng(0).standard_normal(80) + at for at in (0, 4)])
    first, moved = (
        unimodality_test(sample, np.random.default_rng(1), samples=49)
        for sample in (values, 1e-3 * values - 50)
    )
    assert moved.pvalue == first.pvalue
    assert moved.valley == pytest.approx(1e-3 * first.valley - 50, abs=1e-6)


@pytest.mark.parametrize("values", [[1.0, 2.0], [3.0] * 9, np.zeros((3, 3))])
def test_what_has_no_modes_is_refused(values):
    with pytest.raises(ValueError, match="at least three values that differ; got shape"):
        unimodality_test(np.array(values), np.random.default_rng(0))


def mode_of(truth, q, seed):
    return find_missed_mode(
        PreparedTable.of(PosteriorTable(truth, np.zeros((len(q), 1)), q), seed)
    )


def second_mode(rng, shape, share, at=6.0):
    """Standard normals, of which a share lies about another place; and which those are."""
    other = rng.random(shape) < share
    return rng.standard_normal(shape) + at * other, other


@pytest.mark.parametrize(("share", "at"), [(0.4, 6.0), (0.4, -5.0), (0.1, 6.0), (0.1, -8.0)])
@pytest.mark.parametrize("seed", range(3))
def test_a_mode_that_q_lacks_is_found_with_its_share_and_place(share, at, seed):
    rng = np.random.default_rng(seed)
    truth = rng.standard_normal((1000, 3))
    truth[:, 1], other = second_mode(rng, 1000, share, at)
    result = mode_of(truth, rng.standard_normal((1000, 50, 3)), seed)
    assert result.at == (1,)
    assert result.low <= other.mean() <= result.high
    assert result.value == pytest.approx(other.mean(), abs=0.015)
    assert result.level == pytest.approx(at, abs=0.5)
    assert result.right < 0.02


def test_a_mode_of_which_q_has_a_trace_is_still_missed():
    rng = np.random.default_rng(0)
    truth, _ = second_mode(rng, (1000, 1), 0.4)
    trace, _ = second_mode(rng, (1000, 50, 1), 0.02)
    enough, _ = second_mode(rng, (1000, 50, 1), 0.2)
    result = mode_of(truth, trace, 0)
    assert result.right == pytest.approx(0.02, abs=0.005)
    assert mode_of(truth, enough, 0) is None


@pytest.mark.parametrize("tail", ["outliers", "t"])
def test_long_tails_do_not_hide_a_missed_mode(tail):
    rng = np.random.default_rng(1)
    truth, other = second_mode(rng, (1000, 1), 0.4, 5.0)
    if tail == "t":
        truth = rng.standard_t(3, (1000, 1)) + 5.0 * other
    else:
        truth += 1e4 * rng.standard_normal((1000, 1)) * (rng.random((1000, 1)) < 0.03)
    result = mode_of(truth, rng.standard_normal((1000, 50, 1)), 0)
    assert result.value == pytest.approx(0.4, abs=0.05)


def test_the_largest_of_two_missed_modes_is_told():
    rng = np.random.default_rng(0)
    truth = rng.standard_normal((1000, 2))
    for i, share in enumerate((0.1, 0.3)):
        truth[:, i], _ = second_mode(rng, 1000, share)
    assert mode_of(truth, rng.standard_normal((1000, 50, 2)), 0).at == (1,)


def both_modes(rng, n, k):
    """A share of its own at each row, which truth and q have."""
    share = rng.uniform(0.1, 0.6, (n, 1, 1))
    draws = second_mode(rng, (n, k + 1, 2), share, 8.0)[0]
    return draws[:, 0], draws[:, 1:]


def alike(law):
    def made(rng, n, k):
        draws = law(rng, (n, k + 1, 2))
        return draws[:, 0], draws[:, 1:]

    return made


def beside_a_normal(law):
    return lambda rng, n, k: (law(rng, (n, 2)), rng.standard_normal((n, k, 2)))


WHOLE = {
    "an exact q": alike(lambda rng, shape: rng.standard_normal(shape)),
    "an exact skewed q": alike(lambda rng, shape: rng.exponential(size=shape)),
    "an exact q with heavy tails": alike(lambda rng, shape: rng.standard_t(2, shape)),
    "too narrow a q": beside_a_normal(lambda rng, shape: 3 * rng.standard_normal(shape)),
    "truths with heavy tails": beside_a_normal(lambda rng, shape: rng.standard_t(3, shape)),
    "skewed truths": beside_a_normal(lambda rng, shape: rng.exponential(2.0, shape)),
    "very skewed truths": beside_a_normal(lambda rng, shape: np.exp(1.5 * rng.normal(size=shape))),
    "far too narrow a q": beside_a_normal(lambda rng, shape: 20 * rng.standard_normal(shape)),
    "truths without moments": beside_a_normal(lambda rng, shape: 5 * rng.standard_cauchy(shape)),
    "a q that sits too low": beside_a_normal(lambda rng, shape: 3 + rng.standard_normal(shape)),
    "a q that is nowhere near": beside_a_normal(lambda rng, shape: 50 + rng.random(shape)),
    "truths all alike": beside_a_normal(lambda rng, shape: np.full(shape, 9.0)),
    "a bimodal posterior": both_modes,
}


@in_turn(8, 15)
@pytest.mark.parametrize("name", WHOLE)
def test_no_mode_is_missed_where_there_is_none(name, trials):
    missed = 0
    for seed in range(trials):
        rng = np.random.default_rng(seed)
        missed += mode_of(*WHOLE[name](rng, 400, 40), seed) is not None
    assert missed <= statistics.binomial_bounds(trials, LEVEL, 0.999)[1]
