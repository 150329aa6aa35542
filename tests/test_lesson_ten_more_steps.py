"""Lesson 2, Ten more steps: what it says against closed forms and bounds."""

from pathlib import Path

import numpy as np
import pytest
from scipy.special import ndtr, ndtri
from scipy.stats import binom
from streamlit.testing.v1 import AppTest

from tests.test_page_weak import shown, unpacked
from validation_core import sampling, statistics
from validation_core.benchmarks import Boundary
from validation_core.benchmarks.boundary import GAMMA
from validation_core.lessons import LESSONS, ten_more_steps
from validation_core.lessons.ten_more_steps import ALPHA, BEADS, SCORES, STEPS, TRIALS, M, N
from validation_core.rng import common, stream
from validation_core.store import SHIPPED, Store

MAIN = Path(__file__).parents[1] / "pages" / "main.py"
STUDY = LESSONS["ten-more-steps"]
CONSTANT = SCORES.index("constant")


@pytest.fixture(scope="module")
def seen():
    return STUDY.load(Store(SHIPPED))


def _logit(network, rows):
    """The perceptron once more, in numpy."""
    for i in range(2):
        rows = rows @ network[f"weight{i}"] + network[f"bias{i}"]
        rows = rows / (1 + np.exp(-rows))
    return (rows @ network["weight2"] + network["bias2"])[:, 0]


def test_ranks_of_the_first_batch(seen):
    seed = STUDY.seed
    drawn = sampling.blocks(Boundary(), GAMMA, TRIALS * N * M, TRIALS * N, common(seed, "test"))
    *_, network = ten_more_steps.training_snapshots(seed)
    q = _logit(network, np.c_[drawn.q.theta, drawn.q.x][:N])
    p = _logit(network, np.c_[drawn.p.theta, drawn.p.x][: N * M]).reshape(N, M)
    xi = stream(seed, "ties").random((TRIALS, N))[0]
    expected = [
        (sum(s < own for s in row) + v) / (M + 1) for own, row, v in zip(q, p, xi, strict=True)
    ]
    # single precision may put a calibration point on the other side of a test point
    away = np.abs(seen.looks.ranks[0, -1, 0] - expected)
    assert (away < 1e-6).mean() > 0.97
    assert away.max() < 2.01 / (M + 1)


def test_training_comes_near_the_best_area_and_passes_it_never(seen):
    best, auc = ndtr(GAMMA / np.sqrt(2)), seen.looks.auc[0]
    assert auc.max() < best + 3 * np.sqrt(1 / (12 * TRIALS * N) * 2)
    assert abs(auc[0] - 0.5) < 0.03
    assert auc[-1] > best - 0.02
    power = seen.looks.uniform[0, :, 0] / TRIALS
    assert power[0] < 0.15
    assert power[-1] > 0.9


def test_uniform_keeps_its_level_whatever_the_score(seen):
    low, high = statistics.binomial_bounds(TRIALS, ALPHA, 0.9999)
    false = seen.looks.uniform[..., 1]
    assert low <= false.min()
    assert false.max() <= high
    assert seen.looks.flat.min() > 1e-3


def test_a_shift_changes_no_rank(seen):
    counts = seen.looks.counts
    for shifted in (1, 2):
        assert np.abs(counts[shifted] - counts[0]).max() <= 1e-4 * TRIALS * N


def test_c2st_rejects_a_true_null_as_often_as_two_binomials_say(seen):
    """methods.md 0.4: with class counts fixed, the null's sd is sqrt(4 a (1 - a)) nominal ones."""
    looks, hits = seen.looks, np.arange(2 * N + 1)
    for a, sd, rejected in zip(
        looks.above.ravel(), ten_more_steps.relative_null_sd(looks.null).ravel(),
        looks.c2st[..., 1].ravel(), strict=True,
    ):  # fmt: skip
        law = np.convolve(binom.pmf(hits[: N + 1], N, a), binom.pmf(hits[: N + 1], N, 1 - a))
        level = law[hits / (2 * N) > 0.5 + ndtri(1 - ALPHA) / np.sqrt(8 * N)].sum()
        low, high = statistics.binomial_bounds(TRIALS, min(level, 1), 0.9999)
        assert low <= rejected <= high
        assert sd == pytest.approx(np.sqrt(4 * a * (1 - a)), rel=0.1, abs=0.02)
    assert looks.c2st[CONSTANT].max() == 0
    assert looks.null[CONSTANT, :, N].min() == TRIALS


def test_the_test_point_counts_up(seen):
    below, equal, u = ten_more_steps.rank_among_beads(seen)
    assert (below[0], below[-1], equal[0], equal[-1]) == (0, BEADS, 0, 0)
    assert (np.diff(below) >= 0).all()
    assert equal.max() >= 2
    np.testing.assert_allclose(u * (BEADS + 1), below + seen.xi[:, None] * (1 + equal))


def test_page_opens_where_the_address_says(seen):
    page = AppTest.from_file(str(MAIN), default_timeout=120)
    page.query_params.update(lesson=STUDY.name, stage="1", steps="100", source="0")
    page.run().switch_page("learn/page.py").run()
    assert not page.exception
    nodes = [node for node in page.get("bidi_component") if node.proto.bytes]
    (head, numbers), *_ = (unpacked(node.proto.bytes) for node in nodes)
    names = [slider["name"] for slider in head["sliders"]]
    at = dict(zip(names, head["at"], strict=True))
    assert (at["stage"], at["steps"], at["source"]) == (1, 100, 0)
    places = [s["values"].index(v) for s, v in zip(head["sliders"], head["at"], strict=True)]
    rate = seen.looks.uniform[0, STEPS.index(100), 0] / TRIALS
    words = shown(head["lesson"]["stages"][1]["words"], numbers, places)
    assert f"After 100 steps, test points from q: Uniform rejects {rate:.1%}" in words
