"""Lesson 9, Could you have seen it?: its shares against exact powers and bounds."""

from pathlib import Path

import numpy as np
import pytest
from scipy.special import ndtr
from scipy.stats import kstest
from streamlit.testing.v1 import AppTest

from tests.test_lessons import drawn
from tests.test_lessons_said import followed, said
from tests.test_page_weak import shown, unpacked
from validation_core import statistics
from validation_core.benchmarks import boundary
from validation_core.lessons import LESSONS, could_you_have_seen_it
from validation_core.lessons.could_you_have_seen_it import (
    ALPHA,
    BUDGETS,
    GAMMAS,
    POWER,
    TESTS,
    TRIALS,
    rows_tested,
    simulations_needed,
)
from validation_core.store import SHIPPED, Store

MAIN = Path(__file__).parents[1] / "pages" / "main.py"
STUDY = LESSONS["could-you-have-seen-it"]


@pytest.fixture(scope="module")
def rejected():
    return STUDY.load(Store(SHIPPED)).rejected.astype(bool)


def _exact_c2st():
    return np.array([
        [float(boundary.c2st_power(0.0, 0.0, budget // 2, gamma=gamma)) for budget in BUDGETS]
        for gamma in GAMMAS
    ])  # fmt: skip


def test_c2st_rejects_as_often_as_its_binomials_say(rejected):
    hits = rejected[TESTS.index("C2ST")].sum(-1)
    exact = _exact_c2st()
    for count, power in zip(hits.ravel(), exact.ravel(), strict=True):
        low, high = statistics.binomial_bounds(TRIALS, min(power, 1.0), 0.9999)
        assert low <= count <= high
    need, truth = simulations_needed(hits / TRIALS), simulations_needed(exact)
    known = np.isfinite(truth) & np.isfinite(need)
    np.testing.assert_allclose(need[known], truth[known], rtol=0.15)


def test_a_correct_q_is_rejected_as_often_as_the_level_says(rejected):
    low, high = statistics.binomial_bounds(TRIALS, ALPHA, 0.9999)
    exact_tests = [i for i, test in enumerate(TESTS) if test != "C2ST"]
    hits = rejected[exact_tests, 0].sum(-1)
    assert low <= hits.min()
    assert hits.max() <= high


def test_power_of_sbc_by_other_draws(rejected):
    """Ranks among K draws are binomial given the true value: drawn anew, KS by scipy."""
    rng, trials = np.random.default_rng(7), 300
    for k, test in ((20, 0), (4, 1)):
        for gamma, budget in ((0.2, 100), (0.2, 250), (0.3, 100)):
            theta = rng.standard_normal((trials, budget))
            below = rng.binomial(k, ndtr(theta - gamma))
            u = (below + rng.random(below.shape)) / (k + 1)
            other = np.mean([kstest(row, "uniform").pvalue <= ALPHA for row in u])
            ours = rejected[test, GAMMAS.index(gamma), BUDGETS.index(budget)].mean()
            spread = np.sqrt(other * (1 - other) * (1 / trials + 1 / TRIALS))
            assert abs(ours - other) < 4 * spread + 1e-9


def test_power_of_uniform_by_other_draws(rejected):
    """A test point's score is -(theta - 1/4), of q; p's are above it with chance Phi(theta)."""
    rng, trials = np.random.default_rng(8), 300
    for m, test in ((5, 3), (20, 4)):
        for gamma, budget in ((0.2, 2000), (0.3, 1000)):
            n = budget // (m + 1)
            theta = gamma + rng.standard_normal((trials, n))
            below = rng.binomial(m, ndtr(-theta))
            u = (below + rng.random(below.shape)) / (m + 1)
            other = np.mean([kstest(row, "uniform").pvalue <= ALPHA for row in u])
            ours = rejected[test, GAMMAS.index(gamma), BUDGETS.index(budget)].mean()
            spread = np.sqrt(other * (1 - other) * (1 / trials + 1 / TRIALS))
            assert abs(ours - other) < 4 * spread + 1e-9


def test_a_trial_computed_once_more(rejected):
    seed, g = STUDY.seed, GAMMAS.index(0.3)
    for t in (0, 17):
        u = could_you_have_seen_it.sbc_ranks(0.3, 20, seed, t)
        for i in (2, 6, 12):
            p = kstest(u[: BUDGETS[i]], "uniform").pvalue
            assert rejected[0, g, i, t] == (p <= ALPHA)


def test_nobody_spends_more_than_the_budget():
    for budget in BUDGETS:
        sbc, _, c2st, *uniform = rows_tested(budget)
        assert sbc == budget
        assert 2 * c2st <= budget
        for m, n in zip((5, 20), uniform, strict=True):
            assert n * (m + 1) <= budget < (n + 1) * (m + 1)


def test_needed():
    rate = np.zeros((3, len(BUDGETS)))
    rate[0, 5:] = 1.0
    rate[1, 3:] = POWER
    rate[1, 7] = 0.5  # falls back: only what stays counts
    rate[1, 8:] = POWER
    need = simulations_needed(rate)
    assert BUDGETS[4] < need[0] < BUDGETS[5]
    assert need[1] == pytest.approx(BUDGETS[8])
    assert np.isnan(need[2])


def test_a_need_below_the_smallest_budget_is_told_as_a_bound(rejected):
    need = simulations_needed(rejected.mean(-1))
    least = np.argwhere(np.isclose(need, BUDGETS[0]))
    assert len(least)
    lesson = drawn(STUDY.name)
    spend, why = lesson.stages[3], lesson.stages[4]
    for test, gamma in least:
        at = {**dict.fromkeys(followed(spend.words), 0), "test": test, "gamma": gamma}
        words = [said(spend.words, {**at, "n": n}) for n in range(len(BUDGETS))]
        assert words[0].endswith(f"Well spent: {BUDGETS[0]} or fewer are needed.")
        over = BUDGETS[-1] - BUDGETS[0]
        assert words[-1].endswith(
            f"Enough, but at least {over:,} are wasted: {BUDGETS[0]} or fewer would do."
        )
        assert said(why.formula.values["need"], at) == f"≤ {BUDGETS[0]}"


def test_page_opens_where_the_address_says(rejected):
    page = AppTest.from_file(str(MAIN), default_timeout=120)
    page.query_params.update(lesson=STUDY.name, stage="3", n="600", test="2", gamma="0.3")
    page.run().switch_page("learn/page.py").run()
    assert not page.exception
    nodes = [node for node in page.get("bidi_component") if node.proto.bytes]
    (head, numbers), *_ = (unpacked(node.proto.bytes) for node in nodes)
    names = [slider["name"] for slider in head["sliders"]]
    at = dict(zip(names, head["at"], strict=True))
    assert (at["stage"], at["n"], at["test"], at["gamma"]) == (3, 600, 2, 0.3)
    places = [s["values"].index(v) for s, v in zip(head["sliders"], head["at"], strict=True)]
    share = rejected[2, GAMMAS.index(0.3), BUDGETS.index(600)].mean()
    words = shown(head["lesson"]["stages"][3]["words"], numbers, places)
    assert f"You spend 600 on C2ST: power {share:.1%}" in words
    assert "Enough, but" in words
