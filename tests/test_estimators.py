"""Estimators that learn a posterior from pairs: densities, draws, training, store."""

from dataclasses import replace

import numpy as np
import pytest
import torch
from scipy.stats import norm

from validation_core.benchmarks.trained import SimulatorPairs, Trained
from validation_core.estimators import (
    ESTIMATORS,
    DiffusionPosterior,
    FlowEnsemble,
    FlowMatching,
    MaskedAutoregressiveFlow,
    NeuralSplineFlow,
    ProductOfMarginals,
    flow_training,
    transport_training,
)
from validation_core.estimators.base import TrainingDiverged
from validation_core.estimators.fitting import Course, fit, split
from validation_core.rng import stream
from validation_core.scores import trained_scores
from validation_core.scores.trained_scores import Simulated, Training
from validation_core.simulators import SIMULATORS, GaussianLinear
from validation_core.store import Store
from validation_core.types import Joint

TASK = GaussianLinear(dimensions=2)
PAIRS = TASK.pairs(400, stream(0, "pairs"))
SHORT = {
    "maf": MaskedAutoregressiveFlow(epochs=4, hidden=16),
    "nsf": NeuralSplineFlow(epochs=4, hidden=16, transforms=2),
    "diffusion": DiffusionPosterior(epochs=40, hidden=16, layers=2, steps=20),
    "flow_matching": FlowMatching(epochs=40, hidden=16, layers=2, steps=20),
    "ensemble": FlowEnsemble(epochs=4, hidden=16, transforms=2, members=2),
    "marginals": ProductOfMarginals(epochs=4, hidden=16, transforms=2),
}


@pytest.fixture(scope="module", params=SHORT)
def short(request):
    return SHORT[request.param].learn(PAIRS, 0)


def test_each_estimator_has_a_short_training_here():
    assert set(SHORT) == set(ESTIMATORS)


def shipped(task, name):
    """The estimator that learnt from 100,000 simulations."""
    benchmark = Trained(task=task, estimator=name)
    return trained_scores.load(Store.usual(), trained_scores.network_at(benchmark, 100_000.0))


def over_a_square(estimator, x, side):
    """A grid (n, 2) of these sides, log q there at one x, and the mass of each cell."""
    grid = np.stack(np.meshgrid(side, side, indexing="ij"), axis=-1).reshape(-1, 2)
    log_q = estimator.log_density(grid, np.repeat(x, len(grid), axis=0))
    return grid, log_q, (side[1] - side[0]) ** 2 * np.exp(log_q)


def test_density_integrates_to_one_and_draws_follow_it(short):
    x = PAIRS.x[:1]
    grid, _, mass = over_a_square(short, x, np.linspace(-2.5, 2.5, 41))
    assert mass.sum() == pytest.approx(1, abs=0.01)
    draws = short.draws(x, 4000, stream(1))[0]
    for function in (lambda t: t[:, 0], lambda t: t[:, 1], lambda t: t[:, 0] * t[:, 1]):
        drawn = function(draws)
        assert drawn.mean() == pytest.approx(mass @ function(grid), abs=4.5 * drawn.std() / 63)
    between = 0.1875  # two diagonals of the grid
    share = mass[grid.sum(axis=1) > between].sum()
    assert (draws.sum(axis=1) > between).mean() == pytest.approx(share, abs=0.04)


@pytest.mark.parametrize("name", ["diffusion", "flow_matching"])
def test_density_integrates_to_one_where_the_ode_is_steep(name):
    """After 100,000 simulations the mixture's narrow half is a tenth of the wide one: summed over
    the steps, the ODE's divergence gave 1.053 and 1.021."""
    trained, x = shipped("gaussian_mixture", name), np.zeros((1, 2))
    draws = trained.draws(x, 2000, stream(1))[0]
    _, log_q, mass = over_a_square(trained, x, np.linspace(-6, 6, 181))
    assert mass.sum() == pytest.approx(1, abs=0.003)
    drawn = trained.log_density(draws, np.repeat(x, len(draws), axis=0))
    assert drawn.mean() == pytest.approx(mass @ log_q, abs=4 * drawn.std() / len(draws) ** 0.5)


@pytest.mark.parametrize(("task", "nats"), [("two_moons", 0.01), ("gaussian_mixture", 0.001)])
@pytest.mark.parametrize("name", ["diffusion", "flow_matching"])
def test_draws_go_the_way_forth_and_have_the_density_of_the_way_back(task, nats, name):
    """Their own density by central differences of where the noise is carried."""
    trained = shipped(task, name)
    x = trained.scales.x(SIMULATORS[task]().pairs(2000, stream(3, "x")).x)
    noise, step = stream(4, "noise").standard_normal((2000, 2)), 1e-3
    sides = [
        [transport_training.carry(trained, noise + sign * step * axis, x) for sign in (1, -1)]
        for axis in np.eye(2)
    ]
    volume = np.linalg.slogdet(np.stack([a - b for a, b in sides], axis=-1) / (2 * step))[1]
    own = norm.logpdf(noise).sum(axis=1) - volume
    theta = transport_training.carry(trained, noise, x)
    assert abs((own - transport_training.log_density(trained, theta, x)).mean()) < nats


@pytest.mark.parametrize("name", SHORT)
def test_an_estimator_comes_back_from_the_store(name, store):
    recipe = replace(SHORT[name], simulations=100, epochs=2)
    source = Simulated(benchmark=SimulatorPairs(simulator=TASK), gamma=0.0)
    training = Training(source=source, recipe=recipe)
    trained = trained_scores.trained(store, training)
    back = trained_scores.load(store, training)
    theta, x = PAIRS.theta[:50], PAIRS.x[:50]
    np.testing.assert_array_equal(back.log_density(theta, x), trained.log_density(theta, x))
    np.testing.assert_array_equal(back.draws(x, 2, stream(1)), trained.draws(x, 2, stream(1)))
    network = {n: a for n, a in trained.arrays().items() if n.startswith("network.")}
    assert network
    assert all(array.dtype == np.float32 for array in network.values())
    assert not any("mask" in each for each in network)  # they come with the flow that is built


@pytest.mark.parametrize("recipe", [SHORT["maf"], SHORT["ensemble"], SHORT["flow_matching"]])
def test_side_by_side_they_take_the_steps_that_they_take_alone(recipe):
    """What a GPU does with several seeds, here on a processor."""
    recipe = replace(recipe, epochs=6, patience=2, lr=0.02)
    data = [TASK.pairs(200, stream(seed, "pairs")) for seed in (0, 1, 2)]
    together = recipe.learn_side_by_side(data, (0, 1, 2))
    for seed, (pairs, beside) in enumerate(zip(data, together, strict=True)):
        alone = recipe.learn(pairs, seed)
        for name, weights in alone.network.items():
            np.testing.assert_allclose(beside.network[name], weights, atol=2e-4)
        for name, course in alone.history.items():
            np.testing.assert_allclose(beside.history[name], course, atol=1e-3)


@pytest.mark.parametrize("name", ["maf", "nsf"])
def test_draws_of_a_flow_undo_it_as_zuko_does(name):
    task = GaussianLinear(dimensions=3)
    trained = SHORT[name].learn(task.pairs(200, stream(0, "pairs")), 0)
    (flow,) = flow_training.modules(trained)
    z, x = (stream(1, what).normal(size=(50, 3)).astype(np.float32) for what in "zx")
    theta = flow_training.from_normal(flow, 3 * z, x)  # some beyond the splines' ends
    with torch.inference_mode():
        transform = flow.flow(torch.from_numpy(x)).transform
        assert theta == pytest.approx(transform.inv(torch.from_numpy(3 * z)).numpy(), abs=1e-6)
        back = transform(torch.from_numpy(theta.astype(np.float32)))
    assert back.numpy() == pytest.approx(3 * z, abs=1e-4)


def test_two_dimensions_are_learnt():
    recipe = MaskedAutoregressiveFlow(hidden=32, transforms=2, epochs=40).for_simulations(2000)
    trained = recipe.learn(TASK.pairs(2000, stream(0, "pairs")), 0)
    fresh = TASK.pairs(4000, stream(1, "fresh"))
    nats = TASK.log_posterior(fresh.theta, fresh.x) - trained.log_density(fresh.theta, fresh.x)
    assert -0.01 < nats.mean() < 0.1


def test_an_early_end_keeps_the_best_epoch_and_fewer_epochs_begin_more():
    recipe = MaskedAutoregressiveFlow(hidden=64, simulations=100, lr=0.01, batch=32, patience=8)
    pairs = TASK.pairs(100, stream(0, "pairs"))
    seen = {}
    trained = recipe.learn(pairs, 0, watch=seen.__setitem__)
    held_out = trained.history["held_out"]
    best = 1 + int(np.argmin(held_out))
    assert len(held_out) == best + 8 < recipe.epochs
    for name, weights in trained.network.items():
        np.testing.assert_array_equal(weights, seen[best].network[name])
    held, _ = split(100, stream(0, "order"))
    again = -trained.log_density(pairs.theta[held], pairs.x[held]).mean()
    assert again == pytest.approx(held_out.min(), abs=1e-3)
    fewer = replace(recipe, epochs=5, patience=0).learn(pairs, 0)
    np.testing.assert_array_equal(fewer.history["held_out"], held_out[:5])
    for name, weights in fewer.network.items():
        np.testing.assert_array_equal(weights, seen[5].network[name])


def test_training_tells_every_epoch():
    told, seen = [], []
    SHORT["maf"].learn(
        PAIRS,
        0,
        report=lambda fraction, live: told.append((fraction, live["epoch"], live["held_out"])),
        watch=lambda epoch, now: seen.append(
            (epoch, now.log_density(PAIRS.theta, PAIRS.x).mean())
        ),
    )
    assert [each[:2] for each in told] == [(0.25, 1), (0.5, 2), (0.75, 3), (1.0, 4)]
    assert [epoch for epoch, _ in seen] == [0, 1, 2, 3, 4]
    assert seen[4][1] > seen[0][1]


def test_marginals_are_right_and_the_joint_is_wrong():
    """Parameters that are one given x but for a little: their product forgets it."""
    rng = stream(0, "correlated")
    x = rng.standard_normal((2000, 1))
    common = 0.5 * rng.standard_normal((2000, 1))
    theta = x + common + 0.1 * rng.standard_normal((2000, 2))
    recipe = ProductOfMarginals(hidden=32, transforms=1, epochs=30).for_simulations(2000)
    draws = recipe.learn(Joint(theta, x), 0).draws(x, 1, stream(1))[:, 0] - x
    own = theta - x
    np.testing.assert_allclose(draws.std(axis=0), own.std(axis=0), rtol=0.1)
    assert np.corrcoef(own.T)[0, 1] > 0.9
    assert abs(np.corrcoef(draws.T)[0, 1]) < 0.1


def test_options_are_checked():
    with pytest.raises(ValueError, match=r"hidden lies between 4 and 1,024; got 2. Choose within"):
        NeuralSplineFlow(hidden=2)
    with pytest.raises(ValueError, match=r"batch is a whole number; got 64.5. Round it"):
        FlowMatching(batch=64.5)
    for name, kind in ESTIMATORS.items():
        usual, many = kind(), kind().for_simulations(100_000)
        assert usual.name == name
        assert many.simulations == 100_000
        assert 0.5 < usual.cost() < many.cost() < 1200


def test_what_cannot_be_learnt_is_refused():
    theta = PAIRS.theta.copy()
    theta[7, 1] = np.nan
    with pytest.raises(ValueError, match=r"finite numbers; got .*nan.* for theta of row 7"):
        SHORT["maf"].learn(Joint(theta, PAIRS.x), 0)


def test_a_loss_that_is_no_number_ends_the_training():
    weight = torch.ones(1, requires_grad=True)
    course = Course(
        {"weight": weight},
        lambda s, rows, rng: (rows[:, None].astype(np.float32),),
        lambda rows: weight.sum().log() / 0 * rows.mean(),
        lambda parameters, rows: rows.mean(),
        [0.0],
    )
    with pytest.raises(
        TrainingDiverged, match=r"stays finite; got nan in epoch 1 at .*0\.004\. Tr"
    ):
        fit(course, SHORT["maf"], 100, [stream(0)])
