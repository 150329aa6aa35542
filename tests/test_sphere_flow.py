"""Sphere flow: the law of its scores, both flows, and power against that law."""

import dataclasses
import json

import numpy as np
import pytest
from scipy.stats import binom, kstest, multivariate_normal

from validation_core import keys, sampling
from validation_core.benchmarks import SphereFlow
from validation_core.benchmarks import sphere_flow as benchmark
from validation_core.explorers.highdim.rejections import LEVEL
from validation_core.explorers.highdim.sphere_flow import pictures
from validation_core.explorers.highdim.sphere_flow import study as sphere_flow
from validation_core.explorers.highdim.sphere_flow.study import SphereStudy, other_tests
from validation_core.rng import stream
from validation_core.scores import trained_scores
from validation_core.store import Store
from validation_core.sweep import progress

SPHERE = SphereFlow()


@pytest.fixture(scope="module")
def flow():
    """A flow that has hardly learnt: what is tested holds for any."""
    recipe = benchmark.ConditionalFlow(pairs=1024, epochs=1)
    pairs = recipe.sample(SPHERE, 0.0, stream(0, "pairs"))
    return recipe.learn_all([pairs], [0])[0]


def test_auc_of_the_noisy_score():
    assert sphere_flow.exact_auc(np.array([0.5]), np.array([1.0])) == pytest.approx(
        0.5628, abs=1e-3
    )
    # |g|^2 = .25 at beta = 1 in methods 1.7: d = .25 / sqrt(1.25).
    assert sphere_flow.standardised_distance(np.array([0.5]), np.array([1.0])) == pytest.approx(
        0.25 / 1.25**0.5
    )


@pytest.mark.parametrize(("points", "uniform"), [("even", np.cos), ("paper", lambda phi: phi)])
def test_both_definitions_of_the_angle(points, uniform):
    x = SphereFlow(points=points).x(4000, stream(1, "x"))
    values = uniform(np.pi * x[:, 0])
    low, high = sorted((uniform(0.0), uniform(np.pi)))
    assert kstest((values - low) / (high - low), "uniform").pvalue > 1e-3
    assert kstest(x[:, 1], "uniform").pvalue > 1e-3
    other = np.cos if points == "paper" else (lambda phi: phi)
    values = other(np.pi * x[:, 0])
    low, high = sorted((other(0.0), other(np.pi)))
    assert kstest((values - low) / (high - low), "uniform").pvalue < 1e-9


def test_the_ratio_is_that_of_two_normals():
    rng = stream(2, "ratio")
    x = SPHERE.x(5, rng)
    theta = SPHERE.q(x, 0.4, rng)
    mean = benchmark.sphere_points(x) @ benchmark.sphere_axes()
    law = multivariate_normal(np.zeros(100), benchmark.NOISE**2 * np.eye(100))
    p = law.logpdf(theta - mean)
    q = law.logpdf(theta - mean - 0.4 * benchmark.NOISE * SPHERE.shift)
    np.testing.assert_allclose(SPHERE.log_ratio(theta, x, 0.4), p - q, rtol=1e-9)
    np.testing.assert_allclose(SPHERE.log_p(theta, x, 0.4), p, rtol=1e-9)


def test_there_and_back(flow):
    rng = stream(3, "there")
    x, z = SPHERE.x(20, rng), rng.standard_normal((20, 100))
    theta = flow.inverse(z, x)
    np.testing.assert_allclose(flow.forward(theta, x)[0], z, atol=2e-4)


def test_the_volume_is_that_of_the_jacobian(flow):
    import torch

    x, theta = np.array([[0.3, 0.7]]), stream(4, "theta").standard_normal((1, 100))
    transform = benchmark.build_flow(flow.network)(torch.tensor(x, dtype=torch.float32)).transform
    at = torch.tensor(theta[0] / flow.scale, dtype=torch.float32)
    jacobian = torch.autograd.functional.jacobian(lambda row: transform(row[None])[0], at)
    _, volume = np.linalg.slogdet(jacobian.numpy() / flow.scale)
    assert flow.forward(theta, x)[1][0] == pytest.approx(volume, rel=1e-3)


def test_a_stored_flow_is_the_same_to_the_bit(flow):
    again = benchmark.ConditionalFlow().read(flow.arrays(), seconds=1.0, device="cpu")
    x, theta = np.array([[0.3, 0.7]]), stream(5, "theta").standard_normal((1, 100))
    np.testing.assert_array_equal(flow.forward(theta, x)[0], again.forward(theta, x)[0])


def test_training_is_the_same_to_the_bit_and_lowers_the_loss():
    recipe = benchmark.ConditionalFlow(pairs=1024, epochs=3)
    pairs = recipe.sample(SPHERE, 0.0, stream(0, "pairs"))
    one, other = recipe.learn_all([pairs, pairs], [3, 3])
    for name, part in one.network.items():
        np.testing.assert_array_equal(part, other.network[name])
    assert one.history["loss"][-1] < one.history["loss"][0]


def test_the_shipped_flow_has_learnt_the_sphere():
    """Its density at new pairs is near that of the law they are from, which is best."""
    trained, store = SphereFlow(flow="trained"), Store.usual()
    if not store.has("models", trained_scores.network_behind(trained).key):
        pytest.skip("the gallery is not made yet")
    trained_scores.ready(store, trained)
    rows = sampling.pairs(SPHERE, 0.0, 500, stream(6, "new"))
    behind = SPHERE.log_p(rows.theta, rows.x, 0.0) - trained.log_p(rows.theta, rows.x, 0.0)
    assert 0 < behind.mean() < 5  # nats, in 100 dimensions
    own = sampling.pairs(trained, 0.0, 500, stream(7, "own"))
    z = trained.base(own.theta, own.x)
    assert kstest(z.ravel()[:2000], "norm").pvalue > 1e-3


def test_without_a_network_it_says_what_to_do(monkeypatch):
    monkeypatch.setattr(benchmark, "LOADED_FLOWS", {})
    trained = SphereFlow(flow="trained")
    with pytest.raises(ValueError, match=r"Let trained_scores\.ready fetch"):
        trained.theta(SPHERE.x(2, stream(8, "x")), 0.0, stream(8, "theta"))
    assert keys.read(keys.canonical_text(trained)) == trained
    with pytest.raises(ValueError, match="Choose among those"):
        SphereFlow(points="odd")


@pytest.fixture(scope="module")
def seen():
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sphere_flow, "LAW_TRIALS", 400)
        patch.setattr(sphere_flow, "HISTOGRAM_DRAWS", 4000)
        patch.setattr(sphere_flow, "BETAS", (0.0, 0.5))
        study = SphereStudy(benchmark=SPHERE, n=200, trials=100)
        return study, study.compute(None, lambda fraction, live: None)


def test_power_is_what_the_law_of_the_scores_says(seen):
    """Each count lies where a binomial of the expected rate may; Uniform's rate has its own
    error."""
    study, sphere = seen
    room = np.array([0.004, 0.02, 0.06])[:, None, None]  # C2ST is exact, Multiple a limit
    for sign, tail in ((-1, binom.cdf), (1, lambda k, n, p: binom.sf(k - 1, n, p))):
        rate = np.clip(sphere.expected + sign * room, 0, 1)
        assert (tail(sphere.rejections, study.trials, rate) > 1e-4).all()


def test_level_where_nothing_moved(seen):
    _, sphere = seen
    low, high = binom.ppf([0.0005, 0.9995], sphere.trials, LEVEL)
    at_zero = sphere.rejections[:, 1, 0]
    assert ((at_zero >= low) & (at_zero <= high)).all()


def test_measured_auc_is_the_exact_one(seen):
    _, sphere = seen
    exact = sphere_flow.exact_auc(sphere.gammas, np.array([0.0, 0.5]))
    np.testing.assert_allclose(sphere.auc, exact, atol=0.025)


def test_no_two_components_show_what_moved(seen):
    """The clouds' means stay within what 600 draws of 100 allow."""
    _, sphere = seen
    apart = np.abs(sphere.q.astype(float).mean(1) - sphere.p.astype(float).mean(0))
    assert (apart < 4 * 8 / np.sqrt(300)).all()


def test_what_is_shipped_is_each_flow_with_each_angle():
    shipped = sphere_flow.shipped()
    assert len({study.key for study in shipped}) == 4
    assert {dataclasses.astuple(study.benchmark) for study in shipped} == {
        (points, flow) for points in ("even", "paper") for flow in ("closed form", "trained")
    }


def test_other_tests_stand_beside_those_of_the_score(tmp_path):
    """Figure 5's tests that read no given score have a panel of their own once they have run."""
    kept = Store(tmp_path)
    study, wanted = SphereStudy(benchmark=SphereFlow()), other_tests()
    sweep = dataclasses.replace(
        wanted,
        methods=wanted.methods[:2],
        design=dataclasses.replace(wanted.design, trials=10, n=60, k=10),
    )
    for task in progress.missing_of_all((sweep,), kept):
        task.run(kept, lambda *_: None)
    cells = progress.collect(sweep, kept).cells
    sphere = study.load(Store.usual())
    counts = [len(json.loads(pictures.payload(study, sphere, found).head)["panels"])
              for found in ((), cells)]  # fmt: skip
    assert counts == [5, 6]
    last = json.loads(pictures.payload(study, sphere, cells).head)["panels"][-1]
    assert [key["label"] for key in last["legend"]] == ["SBC", "TARP", "level"]
    assert "10 trials a point" in last["caption"]
