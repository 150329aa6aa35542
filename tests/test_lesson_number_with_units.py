"""Lesson 8, A number with units: what it says against closed forms and by other paths."""

from pathlib import Path

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.special import ndtri
from scipy.stats import norm
from scipy.stats import t as student
from streamlit.testing.v1 import AppTest

from tests.test_page_weak import shown, unpacked
from validation_core import sampling
from validation_core.bayes.two_stage_normal import POSTERIOR, TwoStageNormal
from validation_core.lessons import LESSONS, number_with_units
from validation_core.lessons.number_with_units import (
    FREEDOMS,
    GAMMAS,
    MS,
    PAIRS,
    REPEATS,
    WEIGHED,
    exact_divergence,
    heavy_tailed_benchmark,
    heavy_tailed_exact_divergence,
)
from validation_core.rng import common
from validation_core.store import SHIPPED, Store

MAIN = Path(__file__).parents[1] / "pages" / "main.py"
STUDY = LESSONS["number-with-units"]
DOMKE = {2: 0.1030, 5: 0.0365, 20: 0.00867}
"""Bounds with M draws weighed, by quadrature (methods.md, 10.1)."""


@pytest.fixture(scope="module")
def seen():
    return STUDY.load(Store(SHIPPED))


@pytest.fixture(scope="module")
def shifted():
    """d (G, N) of a shift by hand, from the same draws, and the last pair of all."""
    rows = []
    for gamma in GAMMAS:
        rng = common(STUDY.seed, "pairs", 0)
        drawn = sampling.table(number_with_units.benchmark_of_kind(0), gamma, PAIRS[-1], 1, rng)
        theta, other = drawn.theta[:, 0], drawn.q[:, 0, 0]
        p, q = norm(0, 1).logpdf, norm(gamma, 1).logpdf
        rows.append(p(theta) - q(theta) - p(other) + q(other))
    return np.array(rows), (theta[-1], other[-1])


def test_means_are_of_differences_of_normal_log_densities(seen, shifted):
    d, last = shifted
    for v, n in enumerate(PAIRS):
        mean, sd = d[:, :n].mean(-1), d[:, :n].std(-1, ddof=1)
        reach = ndtri(0.975) * sd / np.sqrt(n)
        np.testing.assert_allclose(
            seen.means[:, 0, :, v], [mean, mean - reach, mean + reach], atol=1e-9
        )
    np.testing.assert_allclose(seen.last[0, -1, -1], last, atol=1e-9)


def test_terms_of_a_wide_q_are_those_of_its_chi_squares(seen):
    """d = gamma / (2 (1 + gamma)) (z'^2 - z^2), z in sd of p: the first two pairs' mean."""
    family, rng = number_with_units.benchmark_of_kind(1), common(STUDY.seed, "pairs", 1)
    drawn = sampling.table(family, 1.0, PAIRS[-1], 1, rng)
    sd = np.abs(drawn.x @ family.fixed.w2) ** 0.5
    z, other = (
        (side - drawn.x @ family.fixed.w1.T)[:, 0] / sd for side in (drawn.theta, drawn.q[:, 0])
    )
    d = (other**2 - z**2) / 4
    np.testing.assert_allclose(seen.means[0, 1, -1], [d[:n].mean() for n in PAIRS], atol=1e-6)


@pytest.mark.parametrize("kind", [0, 1])
def test_the_interval_of_all_pairs_holds_the_closed_form(seen, kind):
    estimate, low, high = seen.means[:, kind, :, -1]
    for g, gamma in enumerate(GAMMAS):
        p, q = (norm(0, 1), norm(gamma, 1) if kind == 0 else norm(0, np.sqrt(1 + gamma)))
        by_hand = quad(
            lambda at, p=p, q=q: (p.pdf(at) - q.pdf(at)) * (p.logpdf(at) - q.logpdf(at)), -12, 12
        )[0]
        assert exact_divergence(kind, gamma) == pytest.approx(by_hand, abs=1e-8)
        reach = 2 * (high - low)[g] + 1e-12  # four standard errors, about
        assert abs(estimate[g] - by_hand) <= reach


def test_weighed_draws_come_nearer(seen):
    estimate, low, high = seen.weighed.T
    four = (high - low) / (2 * ndtri(0.975)) * 4
    assert abs(estimate[0] - TwoStageNormal().skl()) < four[0]
    for m, bound in DOMKE.items():
        assert abs(estimate[MS.index(m)] - bound) < four[MS.index(m)] + 5e-5
    assert (np.diff(estimate) < 0).all()
    middle = np.linspace(-3, 3, seen.picked.shape[1] + 1)
    middle = (middle[1:] + middle[:-1]) / 2
    means = seen.picked @ middle / seen.picked.sum(-1)
    assert means[0] == pytest.approx(TwoStageNormal().shift, abs=0.03)
    assert means[-1] == pytest.approx(0.0, abs=4 * np.sqrt(POSTERIOR / WEIGHED) + 0.02)


def test_heavy_tails(seen):
    truth = [heavy_tailed_exact_divergence(freedom) for freedom in FREEDOMS]
    for freedom, value in zip(FREEDOMS, truth, strict=True):
        # E log p has a closed form on both sides, as has E log q under q.
        kept = norm.expect(student(freedom).logpdf)
        entropy = float(student(freedom).entropy())
        by_hand = -0.5 + freedom / (freedom - 2) / 2 - kept - entropy
        assert value == pytest.approx(by_hand, rel=2e-3)
    theta = np.linspace(-6, 6, 50)
    family, x = heavy_tailed_benchmark(), np.ones((50, 1))
    placed = family.mean(x) + np.sqrt(family.scale(x))[:, None] * theta[:, None]
    np.testing.assert_allclose(
        family.log_ratio(placed, x, 1 / 5), norm.logpdf(theta) - student(5).logpdf(theta)
    )
    intervals = number_with_units.heavy_tailed_intervals(STUDY.seed)
    np.testing.assert_allclose(seen.heavy, intervals[:, : seen.heavy.shape[1]])
    for i, value in enumerate(truth):
        holding = [low <= value <= high for _, low, high in intervals[i]]
        assert seen.holding[i] == sum(holding)
        assert seen.below[i] == (intervals[i, :, 2] < value).sum()
    covers = seen.holding / REPEATS
    assert covers[0] > 0.9
    assert (np.diff(covers) < 0).all()
    assert covers[-1] < 0.5
    light = intervals[0, :, 0]
    assert abs(light.mean() - truth[0]) < 4 * light.std() / np.sqrt(REPEATS)


def test_page_opens_where_the_address_says(shifted):
    page = AppTest.from_file(str(MAIN), default_timeout=120)
    page.query_params.update(lesson=STUDY.name, stage="1", gamma="1.0", pairs="2000")
    page.run().switch_page("learn/page.py").run()
    assert not page.exception
    nodes = [node for node in page.get("bidi_component") if node.proto.bytes]
    (head, numbers), *_ = (unpacked(node.proto.bytes) for node in nodes)
    names = [slider["name"] for slider in head["sliders"]]
    at = dict(zip(names, head["at"], strict=True))
    assert (at["stage"], at["gamma"], at["pairs"]) == (1, 1.0, 2000)
    places = [s["values"].index(v) for s, v in zip(head["sliders"], head["at"], strict=True)]
    d = shifted[0][-1]
    reach = 1.96 * d.std(ddof=1) / np.sqrt(2000)
    words = shown(head["lesson"]["stages"][1]["words"], numbers, places)
    assert f"over 2,000 pairs is {d.mean():.3f} ± {reach:.3f} nats" in words
    assert "the closed form says 1.000" in words
