"""Pictures of the bounds, of Geweke's test and of broad priors, from made-up numbers."""

import re

import numpy as np
import pytest

from tests.picture_reading import Picture
from validation_core.bayes import Hospitals
from validation_core.bayes.hospitals import MU, OBSERVED, OMEGA, OPERATIONS
from validation_core.bayes.model import log_joint
from validation_core.store import SHIPPED, Store
from validation_core.symmetric_divergence import MS, broad_priors, collect, views
from validation_core.symmetric_divergence.bounds import STATES, Bounds, BoundsStudy
from validation_core.symmetric_divergence.bounds_picture import bounds_payload
from validation_core.symmetric_divergence.broad_priors import WIDTHS, WidePrior
from validation_core.symmetric_divergence.geweke import (
    CHAINS,
    TURNS,
    JointChains,
    JointTestStudy,
    joint_test,
)
from validation_core.symmetric_divergence.geweke_picture import joint_payload
from validation_core.symmetric_divergence.runs import figure
from validation_core.symmetric_divergence.shipped import FIRST, shipped, shipped_terms


@pytest.fixture
def rng():
    return np.random.default_rng(0)


def test_the_headline_of_the_bounds_has_the_elbo_and_the_divergence(rng):
    evidence = rng.normal(-30, 5, 50)
    made = []
    for places in (MS, STATES):
        gap = 2.0 / np.array(places)[:, None]
        made.append(Bounds(evidence + gap / 2, evidence - gap / 2))
    message = bytes(bounds_payload(*made).message(())).decode("utf-8", "ignore")
    elbo = (evidence - 1).mean()
    assert f'{abs(elbo):.2f}"' in message
    assert '"gap":"2 nats (95% interval 2 to 2)"' in message
    assert "estimates the divergence" in message
    assert "at T = 64" in message
    np.testing.assert_allclose(made[0].gap.estimate, 2.0 / np.array(MS))


def test_the_picture_of_the_joint_test_names_the_farthest(rng):
    z = rng.standard_normal((4, 60, 2))
    z[1:, :, 1] += np.array([0.5, 1.0, 3.0])[:, None]
    test = joint_test(JointChains(z, np.zeros(3, np.int64)), ("a", "b"))
    message = str(joint_payload(test).message((3.0,)))
    assert "Farthest from the prior" in message
    assert "b" in test.names[int(np.abs(test.drift[-1]).argmax())]
    assert test.pvalue[-1] == 1 / 2000
    assert "evidence that q is not p" in message
    exact = str(joint_payload(test, correct=True).message((3.0,)))
    assert "low by chance, since q is exact" in exact
    assert "evidence that q is not p" not in exact


def test_a_prior_of_width_1_is_the_papers():
    usual, wide = Hospitals(), Hospitals(width=3.0)
    assert (usual.omega, usual.mu) == (OMEGA, MU)
    assert wide.mu == (-9.0, 9.0)
    assert wide.omega == pytest.approx((0.25, 2.5))
    assert wide.label != usual.label
    with pytest.raises(ValueError, match="factor above 0"):
        Hospitals(width=0.0)


@pytest.mark.parametrize("width", [1.0, 4.0])
def test_a_wide_prior_has_the_density_that_it_simulates(width, rng):
    """E[p(z, y) / p'(z, y)] = 1 over draws of p', the prior of width 5 / 4 as wide, whose support
    holds that of p: importance weights of the joint densities average to 1.
    """
    broad = Hospitals(width=1.25 * width)
    own = Hospitals(width=width)
    pairs = broad.simulate(40_000, rng)
    # The coordinates are logits of places in the intervals: the same omega and mu in both.
    z = pairs.theta.copy()
    place = 1 / (1 + np.exp(-z[:, :2]))
    for i, (there, here) in enumerate(((broad.omega, own.omega), (broad.mu, own.mu))):
        value = there[0] + (there[1] - there[0]) * place[:, i]
        place[:, i] = (value - here[0]) / (here[1] - here[0])
    inside = ((place > 0) & (place < 1)).all(1)
    z[inside, :2] = np.log(place[inside] / (1 - place[inside]))
    jacobian = np.zeros(len(z))
    for i, (there, here) in enumerate(((broad.omega, own.omega), (broad.mu, own.mu))):
        before = 1 / (1 + np.exp(-pairs.theta[inside, i]))
        after = place[inside, i]
        jacobian[inside] += np.log((there[1] - there[0]) * before * (1 - before))
        jacobian[inside] -= np.log((here[1] - here[0]) * after * (1 - after))
    ratio = np.zeros(len(z))
    ratio[inside] = np.exp(
        log_joint(own, z[inside], pairs.x[inside])
        + jacobian[inside]
        - log_joint(broad, pairs.theta[inside], pairs.x[inside])
    )
    assert abs(ratio.mean() - 1) < 5 * ratio.std() / np.sqrt(len(z))


def test_data_sets_that_resemble_the_real_one_are_told_by_y_alone(rng):
    rates = np.tile(OBSERVED / OPERATIONS, (3, 1))
    rates[1, 0], rates[2, :4] = 0.0, 1.0
    prior = WidePrior(rates, np.array([1.0, 50.0, 900.0]))
    assert prior.extreme.tolist() == [0, 1, 4]
    assert prior.alike.tolist() == [True, False, False]
    message = str(broad_priors.broad_payload([prior] * len(WIDTHS)).message((1.0,)))
    assert (
        "50 nats over all 3 data sets, and 1 nat over the only one that resembles the real one"
        in message
    )
    none = prior._replace(rates=rates[[1, 1, 2]])
    message = str(broad_priors.broad_payload([none] * len(WIDTHS)).message((1.0,)))
    assert "none of them resembles" in message


def test_the_first_visit_has_them_all(tmp_path):
    """Shipped: bounds and joint test of the run that opens first, and every width of the prior."""
    store = Store(tmp_path, gallery=SHIPPED)
    priors = broad_priors.load(store)
    assert priors is not None
    assert len(priors) == len(WIDTHS)
    extreme = [prior.extreme.mean() for prior in priors]
    assert extreme == sorted(extreme)
    every, alike = (
        [float(np.median(prior.d[rows(prior)])) for prior in priors]
        for rows in (lambda p: np.isfinite(p.d), lambda p: p.alike & np.isfinite(p.d))
    )
    assert every[-1] > 100 * every[0], "the broad prior's mean is of data that nobody sees"
    assert all(a <= b for a, b in zip(alike, every, strict=True))
    found = BoundsStudy(of=FIRST).load(store)
    assert found.truth.shape == (len(STATES), FIRST.datasets)
    gaps = (found.truth - found.draws).mean(1)
    assert gaps[-1] < 0.2 * gaps[0], "annealing closes the gap"
    chains = JointTestStudy.about(FIRST).load(store)
    assert chains.z.shape == (TURNS + 1, CHAINS, 14)
    assert {study.key for study in shipped_terms()} < {study.key for study in shipped()}


def test_one_nat_is_one():
    """In every sentence of the shipped views and sections."""
    store = Store(None, gallery=SHIPPED)
    for number, view in ((1, "iterations"), (3, "each-m"), (3, "over-m")):
        plan = figure(number)
        said = Picture(views.payload(view, plan, collect(plan, store, {}))).texts()
        assert not [text for text in said if re.search(r"(?<![\d.,−])\b1 nats", text)]
