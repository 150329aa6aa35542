"""Theory of CoLT: both distances in closed form, doubling, and the view that shows them."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import norm

from validation_core import keys
from validation_core.benchmarks.gaussian import Gaussian
from validation_core.localization import BallTheoryStudy, GammaMapsStudy, ball_theory
from validation_core.panels.colt import ball_theory as view
from validation_core.panels.colt.ball_theory import TrainingRun
from validation_core.rng import stream
from validation_core.scores.localizer import Localizer
from validation_core.store import Store
from validation_core.types import TableScores

RECIPE = Localizer(anchors=40, draws=30, hidden=16)
MAPS = GammaMapsStudy(benchmark=Gaussian(), recipe=RECIPE, n=300, k=50, places=4)
STUDY = BallTheoryStudy(maps=MAPS)
WIDE = 1.6
"""p = N(0, 1) and q = N(0, WIDE^2), balls around 0: P(|p| <= R) - P(|q| <= R)."""


def _quiet(fraction, live):
    pass


def _scores(n, k, *names):
    rng = stream(0, "balls", *names)
    return TableScores(
        np.abs(rng.standard_normal((1, n))), np.abs(WIDE * rng.standard_normal((1, n, k)))
    )


def _largest():
    radius = np.sqrt(2 * np.log(WIDE) / (1 - WIDE**-2))  # where both densities meet
    return 2 * (norm.cdf(radius) - norm.cdf(radius / WIDE))


@pytest.fixture(scope="module")
def measured(tmp_path_factory):
    store = Store(tmp_path_factory.mktemp("store"))
    STUDY.run(store, _quiet)
    assert (store.root / "results" / f"{STUDY.key}.npz").stat().st_size < 40_000
    return STUDY.load(store)


def test_the_largest_ball_difference_in_closed_form():
    rows = ball_theory.difference_by_radius(_scores(20_000, 20, "closed"))
    assert (rows[:, 0] == 0).all()
    assert (rows[:, -1] == 0).all()
    mass = np.linspace(0, 1, 101)[1:-1]
    radius = WIDE * norm.ppf((1 + mass) / 2)
    np.testing.assert_allclose(
        rows.mean(0)[1:-1], 2 * norm.cdf(radius) - 1 - mass, atol=4 * 0.5 / np.sqrt(20_000)
    )
    estimate, low, high = ball_theory.largest_difference(rows, 0)
    assert low < _largest() < high
    assert high - low < 0.04
    assert estimate == pytest.approx(_largest(), abs=0.012)


def test_its_interval_covers():
    """At least 18 of 20 times of 200, and where q is p it holds 0 as often."""
    shifted = nothing = 0
    for repeat in range(200):
        scores = _scores(300, 10, repeat)
        same = TableScores(scores.draws[..., 0], scores.draws[..., 1:])
        for name, one in (("shifted", scores), ("nothing", same)):
            rows = ball_theory.difference_by_radius(one)
            _, low, high = ball_theory.largest_difference(rows, repeat)
            if name == "shifted":
                shifted += low <= _largest() <= high
            else:
                nothing += low <= 0
    assert shifted >= 180
    assert nothing >= 180


@pytest.mark.parametrize("dim", [1, 2])
def test_uniform_balls_double_by_two_to_the_dimension(dim):
    """Draws uniform in a ball: 2^D until the larger ball holds all of them, then 1 / mass."""
    rng = stream(0, "double", dim)
    far = rng.random((3, 200_000)) ** (1 / dim)
    expected = np.minimum(2.0**dim, 1 / ball_theory.INNER)
    np.testing.assert_allclose(
        ball_theory.doubling_ratios(far), np.tile(expected, (3, 1)), rtol=0.06
    )


def test_both_distances_are_small_at_p_and_below_the_total_variation(measured):
    assert measured.acld[0, 1] == measured.distance[0, 1] == measured.variation[0, 0] == 0
    for name in ("acld", "distance"):
        estimate, low, high = np.moveaxis(getattr(measured, name), -1, 0)
        assert (low <= estimate).all()
        assert (estimate <= high).all()
        assert (low <= measured.variation[:, 0] + 4 * measured.variation[:, 1]).all()
    assert measured.one_radius.shape == measured.one_mass.shape == (7, 101)
    np.testing.assert_allclose(np.abs(measured.one_radius).max(1), measured.acld[:, 0], atol=1e-6)
    assert (measured.doubling >= 1).all()
    assert (measured.doubling[:, 1] >= measured.doubling[:, 0]).all()


def test_the_view_claims_nothing_where_chance_may_be_all(measured):
    better, worse = (
        TrainingRun(name, np.clip(measured.distance + more, 0, 1))
        for name, more in (("fourier 1", 0.1), ("fourier 0", 0.0))
    )
    payload = view.theory_payload(measured, [worse, better], 3, 0.15)
    assert "with q the same as p" in payload.head
    assert payload.head.index("fourier 1") < payload.head.index("fourier 0")
    alone = view.theory_payload(measured, [worse], 3, 0.15)
    assert "The one run that is stored here" in alone.head


def test_a_q_without_a_gamma_has_its_theory_too(tmp_path):
    """The blind prior: there is no slider, and no sentence speaks of gamma."""
    study = BallTheoryStudy(maps=replace(MAPS, benchmark=Gaussian(perturbation="blind_prior")))
    study.run(store := Store(tmp_path), _quiet)
    theory = study.load(store)
    payload = view.theory_payload(theory, [TrainingRun("fourier 0", theory.distance)], 3, 1.0)
    assert payload.sliders == ()
    assert "The ACLD is" in payload.head
    assert "gamma" not in payload.head + view.how_to_read(300, several=False)


def test_the_study_reads_back():
    assert keys.read(keys.canonical_text(STUDY)) == STUDY
