"""Theory of Conformal C2ST: closed forms, inequalities on draws, and the view that shows them."""

import re
from dataclasses import replace

import numpy as np
import pytest
from scipy.special import expit
from scipy.stats import norm

from tests.picture_reading import Picture
from validation_core import gallery, keys, statistics
from validation_core.benchmarks.gaussian import Gaussian
from validation_core.explorers.conformal import theory_panels
from validation_core.explorers.conformal import theory_study as theory
from validation_core.explorers.conformal.study import Learned
from validation_core.explorers.conformal.theory_study import ConformalTheoryStudy
from validation_core.rng import stream
from validation_core.scores.classifier import Classifier
from validation_core.statistics import areas
from validation_core.store import Store
from validation_core.types import BlockScores

LEARNED = Learned(
    benchmark=Gaussian(), recipe=Classifier(train=10_000, epochs=8, lr=6e-3, hidden=24)
)
STUDY = ConformalTheoryStudy(learned=LEARNED, betas=(0.0, 0.5, 1.0), power_betas=(0.0, 0.9))
SHIFT = 0.5


def _quiet(fraction, live):
    pass


@pytest.fixture(scope="module")
def measured(tmp_path_factory):
    store = Store(tmp_path_factory.mktemp("store"))
    STUDY.run(store, _quiet)
    size = (store.root / "results" / f"{STUDY.key}.npz").stat().st_size
    assert size < 40_000
    return STUDY.load(store)


def test_no_score_beats_the_oracle(measured):
    """Lemma 3.2, within four standard errors."""
    loss, error = np.moveaxis(measured.loss, -1, 0)
    assert (loss > -4 * error).all()
    assert (loss[-1] > 0).all()
    np.testing.assert_allclose(
        loss, measured.oracle_auc[:, None, 0] - measured.auc[..., 0], atol=1e-6
    )


def test_the_oracles_mean_rank_is_lemma_a4_and_below_the_bound(measured):
    rank, rank_error = measured.spread.T
    oracle, oracle_error = measured.oracle_auc.T
    assert (np.abs(rank - (1 - oracle)) <= 4 * np.hypot(rank_error, oracle_error)).all()
    variation, variation_error = measured.total_variation.T
    assert (rank <= 0.5 - variation / 2 + 4 * (rank_error + variation_error / 2)).all()
    assert (measured.gammas[0], rank[0], variation[0]) == (0, 0.5, 0)
    assert np.isinf(measured.near[0])


def test_degrading_costs_rank_and_the_ratio_is_bounded(measured):
    assert (measured.loss[-1, 2, 0] > measured.loss[-1, 0, 0]).all()
    ratio = measured.loss[5:, :, 0] / measured.error[5:] ** (2 / 3)
    assert ratio.max() < 0.5
    assert ((measured.tail >= 0.01) & (measured.tail <= 1)).all()


def test_multiple_grows_as_the_square_root_of_n(measured):
    line = measured.slope[..., None] * np.sqrt(theory.SIZES)
    repeats = np.minimum(20, theory.ROWS // np.array(theory.SIZES))
    away = np.abs(measured.multiple[..., 0].astype(float) - line)
    assert (away < 5 / np.sqrt(repeats)).all()
    assert measured.multiple[..., 1].astype(float).mean() == pytest.approx(1, abs=0.15)


def test_a_wrong_ratio_costs_a_share_of_multiples_statistic(measured):
    """Theorem 4.2 (ii), of the slopes of T against sqrt(n)."""
    oracle = theory.oracle_slopes(LEARNED)
    assert oracle[0] == 0
    lost = 1 - measured.slope[5:] / oracle[5:, None]
    assert (lost[:, 0] < lost[:, 1]).all()
    assert (lost[:, 0] > -0.02).all()
    assert (lost / measured.error[5:] ** (2 / 3)).max() < 4
    blind = replace(LEARNED, benchmark=Gaussian(perturbation="blind_prior"))
    assert np.isnan(theory.oracle_slopes(blind)).all()


def test_the_slope_in_closed_form():
    """Scores N(SHIFT, 1) of p and N(0, 1) of q; sigma^2 by quadrature of Phi^2."""
    rng = stream(0, "slope")
    p, q = SHIFT + rng.standard_normal(100_000), rng.standard_normal(100_000)
    grid = np.linspace(-8, 8, 20_001)
    law, weight = norm.cdf(grid), norm.pdf(grid, SHIFT)
    moments = [np.trapezoid(law**power * weight, grid) for power in (1, 2)]
    assert moments[0] == pytest.approx(norm.cdf(SHIFT / np.sqrt(2)))
    exact = (moments[0] - 0.5) / np.sqrt(moments[1] - moments[0] ** 2 + 1 / 12)
    assert theory.multiple_slope(areas.placements(p, q)) == pytest.approx(exact, rel=0.02)
    t = theory.multiple_over_n(BlockScores(p[None, :20_000], q[None, :20_000]), seed=0)
    assert np.abs(t[0, :, 0] - exact * np.sqrt(theory.SIZES)).max() < 1.5


def test_the_error_of_a_ratio():
    ratio = np.array([1.0, 2.0, 3.0, 4.0])
    assert theory.ratio_error(ratio, ratio) == (0, 0)
    error, largest = theory.ratio_error(ratio + np.array([1, 0, 0, 7]), ratio)
    assert error == pytest.approx(np.sqrt(50 / 4))
    assert largest == pytest.approx(49 / 50)


def test_density_near_zero_is_the_integral_of_the_squared_density():
    """int f^2 is 1/2 of exponential ratios, and 1 / 3 of uniform ones on [0, 3]."""
    rng = stream(0, "near")
    assert theory.density_near_zero(rng.exponential(size=20_000)) == pytest.approx(0.5, rel=0.05)
    assert theory.density_near_zero(3 * rng.random(20_000)) == pytest.approx(1 / 3, rel=0.05)
    assert theory.density_near_zero(np.ones(5)) == np.inf


def test_coarser_scores_take_few_values():
    score = stream(0, "coarse").standard_normal(5000) * 2
    exact, *others = theory.coarser(score)
    np.testing.assert_allclose(exact, expit(score))
    rounded, clipped = others[: len(theory.LEVELS)], others[len(theory.LEVELS) :]
    assert [len(np.unique(each)) for each in rounded] == list(theory.LEVELS)
    for clip, each in zip(theory.CLIPS, clipped, strict=True):
        assert (each.min(), each.max()) == (clip, 1 - clip)
        inside = (exact > clip) & (exact < 1 - clip)
        np.testing.assert_array_equal(each[inside], exact[inside])


def test_coarse_scores_lose_and_never_win(measured):
    auc = measured.coarse_auc.astype(float)
    np.testing.assert_allclose(auc[:, 0, 0], measured.auc[:, 0, 0], atol=2e-3)
    three = 1 + theory.LEVELS.index(3)
    assert auc[-1, 1, three] < auc[-1, 1, 0] - 0.05, "a shy score rounds to one value"
    _, high = statistics.binomial_bounds(theory.TRIALS, theory.LEVEL, 0.99999)
    assert (measured.rejections[0] <= high).all(), "at gamma = 0 q is p"
    assert (measured.rejections[-1, 0, 0] > theory.TRIALS / 2).all()


def test_the_view_claims_nothing_where_q_is_p(measured):
    payload = theory_panels.theory_payload(LEARNED, measured)
    assert [len(values) for values in payload.sliders] == [len(LEARNED.gammas), 21]
    assert len(payload.body) < 400_000
    for words in ("Here q is p", "no ranking can be lost", "q is p: T does not grow", "T is lost"):
        assert words in payload.head
    before = theory_panels.theory_payload(LEARNED, None)
    assert before.sliders == payload.sliders


SHIPPED = Store(None, gallery=gallery.FOLDER)


@pytest.mark.parametrize(
    "study", theory.shipped(), ids=lambda study: study.learned.benchmark.label
)
def test_every_sentence_is_that_of_its_numbers(study):
    """At every gamma and beta that ships: C holds as written, and signs are told."""
    seen = study.load(SHIPPED)
    picture = Picture(theory_panels.theory_payload(study.learned, seen))
    betas = [float(f"{beta:g}") for beta in seen.betas]
    for g, gamma in enumerate(seen.gammas):
        for b, beta in enumerate(betas):
            said = " ".join(picture.texts(gamma=float(gamma), beta=beta))
            assert not re.search(r"(?<!\w)-\d", said), said
            constant = re.search(r"at every beta with C = ([\d.]+) or more", said)
            if constant:
                most = float(constant[1]) * seen.error[g] ** (2 / 3)
                assert (seen.loss[g, :, 0] <= most + 1e-7).all()
            slope = float(seen.slope[g, b])
            if seen.total_variation[g, 0] > 0:
                assert ("wrong way round" in said) == (slope < -0.02), said
                assert bool(re.search("Its slope [^ ]+ may be", said)) == (abs(slope) < 0.02), said


def test_a_share_of_the_oracles_t_is_never_said_to_be_none():
    for kept, said in ((1.2, "Less than 1%"), (0.999, "Less than 1%"), (0.6, "40%"), (0.004, "99"),
                       (-0.2, "All")):  # fmt: skip
        assert theory_panels.share_lost(kept).startswith(said)


def test_the_study_reads_back_and_ships():
    assert keys.read(keys.canonical_text(STUDY)) == STUDY
    shipped = theory.shipped()
    assert len(shipped) == 7
    assert set(shipped) <= set(gallery.part("conformal").studies)
    assert replace(STUDY, learned=Learned(benchmark=Gaussian())).key not in {
        study.key for study in shipped
    }


@pytest.mark.parametrize(
    "study", theory.shipped(), ids=lambda study: study.learned.benchmark.label
)
def test_what_ships_obeys_the_theory(study, tmp_path):
    """Lemmas 3.2, 3.3 and A.4 at every gamma and beta, within five standard errors."""
    shipped = study.load(Store(tmp_path, gallery=gallery.FOLDER))
    assert (shipped.loss[..., 0] > -5 * shipped.loss[..., 1]).all()
    rank, error = shipped.spread.T
    best, best_error = shipped.oracle_auc.T
    assert (np.abs(rank + best - 1) <= 5 * np.hypot(error, best_error)).all()
    variation, variation_error = shipped.total_variation.T
    assert (rank <= 0.5 - variation / 2 + 5 * (error + variation_error)).all()
