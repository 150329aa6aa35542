"""Lesson 5, Four ways to fool yourself: its sizes against closed forms, tables and bounds."""

from pathlib import Path

import numpy as np
import pytest
from scipy.special import kolmogi, kolmogorov, ndtr, ndtri
from scipy.stats import kstest
from streamlit.testing.v1 import AppTest

from tests.test_page_weak import shown, unpacked
from validation_core import statistics
from validation_core.lessons import LESSONS, four_ways
from validation_core.lessons.four_ways import ALPHA, FOLDS, KS, SHARES, SIZES, TRIALS, TRIALS_SHOWN
from validation_core.rng import stream
from validation_core.store import SHIPPED, Store

MAIN = Path(__file__).parents[1] / "pages" / "main.py"
STUDY = LESSONS["four-ways"]


@pytest.fixture(scope="module")
def seen():
    return STUDY.load(Store(SHIPPED))


@pytest.fixture(scope="module")
def sizes(seen):
    """(4, 2, 5) shares rejected."""
    return (seen.pvalues <= ALPHA).mean(-1)


def _close(one, of_one, other, of_other):
    """Two shares of so many trials are within four sd of one another."""
    pooled = (one * of_one + other * of_other) / (of_one + of_other)
    sd = np.sqrt(np.maximum(pooled * (1 - pooled), 1e-4) * (1 / of_one + 1 / of_other))
    return np.all(np.abs(one - other) <= 4 * sd)


def test_every_right_way_keeps_its_level(sizes):
    low, high = statistics.binomial_bounds(TRIALS, ALPHA, 0.9999)
    right = np.round(sizes[:, 1] * TRIALS)
    assert right.min() >= low
    assert right.max() <= high


def test_sizes_of_r_over_k_are_those_of_the_table(sizes):
    """methods.md 9.4, N = 1000; and ranks by another road, tested by SciPy."""
    assert KS == (20, 50, 100, 200, 500)
    assert _close(sizes[0, 0], TRIALS, np.array([0.995, 0.215, 0.093, 0.066, 0.048]), 2000)
    rng = np.random.default_rng(3)
    pvalues = [kstest(rng.integers(0, 51, 1000) / 50, "uniform").pvalue for _ in range(400)]
    assert _close(sizes[0, 0, 1], TRIALS, np.mean(np.array(pvalues) <= ALPHA), 400)


def test_the_same_x_narrows_the_null_as_grade_correlation_says(seen, sizes):
    """Var T = 1 - rho_S, with rho_S = 6/pi asin(rho/2) for normal scores; methods.md 0.5."""
    sd = np.sqrt(1 - 6 / np.pi * np.arcsin(np.array(SHARES) / 2))
    np.testing.assert_allclose(seen.spread[0], sd, rtol=4 / np.sqrt(2 * TRIALS))
    for hits, level in zip(sizes[1, 0] * TRIALS, ndtr(-ndtri(1 - ALPHA) / sd), strict=True):
        low, high = statistics.binomial_bounds(TRIALS, level, 0.9999)
        assert low <= round(hits) <= high


def test_folds_reject_too_often_however_many(seen, sizes):
    """peers.md, finding 8: 12% for a random forest of as many points."""
    low, _ = statistics.wilson(sizes[2, 0] * TRIALS, TRIALS, 0.99)
    assert low.min() > ALPHA
    assert seen.spread[1].min() > 1.15
    np.testing.assert_allclose(sizes[2, 0], four_ways.actual_size(seen.spread[1]), atol=0.03)


@pytest.mark.parametrize("trial", range(3))
def test_neighbours_vote_as_all_distances_say(seen, trial):
    points = stream(STUDY.seed, "folds").standard_normal((TRIALS, 400, 2))[trial]
    apart = ((points[:, None] - points) ** 2).sum(-1)
    is_p, place = np.arange(400) < 200, np.arange(400)
    for i, folds in enumerate(FOLDS):
        right = 0
        for j in place:
            others = np.flatnonzero(place % folds != j % folds)
            nearest = others[np.argsort(apart[j, others])[:5]]
            right += (is_p[nearest].sum() >= 3) == is_p[j]
        p = 1 - ndtr((right / 400 - 0.5) * 2 * np.sqrt(400))
        assert seen.pvalues[2, 0, i, trial] == pytest.approx(p, rel=1e-4)


def test_one_calibration_set_is_a_test_of_two_samples(sizes):
    """Its distance is that of two samples; for large m its law is Kolmogorov's, sqrt(nm/(n+m))."""
    large = np.array([m for m in SIZES if m >= 200])
    level = kolmogorov(kolmogi(ALPHA) * np.sqrt(large / (large + 100)))
    assert _close(sizes[3, 0, -2:], TRIALS, level, 10_000)
    rng = np.random.default_rng(5)
    rejected = []
    for _ in range(400):
        calibration, test = np.sort(rng.standard_normal(20)), rng.standard_normal(100)
        u = (np.searchsorted(calibration, test) + rng.random(100)) / 21
        rejected.append(kstest(u, "uniform").pvalue <= ALPHA)
    assert _close(sizes[3, 0, SIZES.index(20)], TRIALS, np.mean(rejected), 400)


def test_page_opens_where_the_address_says(seen):
    page = AppTest.from_file(str(MAIN), default_timeout=120)
    page.query_params.update(lesson=STUDY.name, stage="5", trials="200", m="10")
    page.run().switch_page("learn/page.py").run()
    assert not page.exception
    nodes = [node for node in page.get("bidi_component") if node.proto.bytes]
    (head, numbers), *_ = (unpacked(node.proto.bytes) for node in nodes)
    at = {s["name"]: v for s, v in zip(head["sliders"], head["at"], strict=True)}
    assert (at["stage"], at["trials"], at["m"]) == (5, 200, 10)
    places = [s["values"].index(v) for s, v in zip(head["sliders"], head["at"], strict=True)]
    words = shown(head["lesson"]["stages"][5]["words"], numbers, places)
    count = np.count_nonzero(seen.pvalues[3, 0, 0, :200] <= ALPHA)
    low, high = statistics.wilson(count, 200)
    assert (
        f"{count} of 200 rejected, {count / 200:.1%} [{100 * low:.1f}, {100 * high:.1f}]" in words
    )


def test_counts_end_at_all_trials(seen, sizes):
    assert TRIALS_SHOWN[-1] == TRIALS
    np.testing.assert_allclose(four_ways.cumulative_rejections(seen)[..., -1] / TRIALS, sizes)
