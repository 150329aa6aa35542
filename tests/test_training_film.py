"""The film of a training: its frames, its floor, what is said of them, and true nats."""

from dataclasses import dataclass, replace
from types import SimpleNamespace

import numpy as np
import pytest

from validation_core.drawing.over_sliders import freeze_sliders
from validation_core.estimators import ESTIMATORS
from validation_core.estimators.fitting import split
from validation_core.estimators.flows import MaskedAutoregressiveFlow
from validation_core.explorers.training import film, pictures
from validation_core.explorers.training.ball import largest_balls
from validation_core.explorers.training.film import FilmStudy
from validation_core.explorers.training.fresh_table import FreshTableStudy
from validation_core.explorers.training.nats import describe_nats, true_nats
from validation_core.explorers.training.places import choose_places
from validation_core.rng import stream
from validation_core.scores import trained_scores
from validation_core.simulators import GaussianLinear, TwoMoons
from validation_core.store import Store
from validation_core.text import interval_text

STUDY = FilmStudy(
    simulator=GaussianLinear(dimensions=2),
    recipe=MaskedAutoregressiveFlow(simulations=120, epochs=7, transforms=1, hidden=8),
)


@pytest.fixture(scope="module")
def filmed(tmp_path_factory):
    """A short film, its store, and what was reported meanwhile."""
    store, reports = Store(tmp_path_factory.mktemp("film")), []
    STUDY.run(store, lambda fraction, live: reports.append(live))
    return SimpleNamespace(film=STUDY.load(store), store=store, reports=reports)


@dataclass(frozen=True)
class NormalEstimator:
    """q = N(x / 2 + shift, variance I), for a linear Gaussian."""

    shift: float
    variance: float

    def draws(self, x, k, rng):
        noise = rng.standard_normal((len(x), k, x.shape[1]))
        return (x / 2 + self.shift)[:, None] + np.sqrt(self.variance) * noise

    def log_density(self, theta, x):
        off = theta - x / 2 - self.shift
        return -(off**2).sum(1) / (2 * self.variance) - np.log(2 * np.pi * self.variance)


def test_frames_are_taken_from_before_the_first_epoch_to_the_last_and_at_the_best(filmed):
    epochs = filmed.film.epochs.tolist()
    assert {0, 1, 2, 3, 5, 7} <= set(epochs)
    assert epochs == sorted(epochs)
    assert epochs[filmed.film.best] == 1 + int(filmed.film.held_out.argmin())
    assert filmed.film.q.shape == (len(epochs), film.PLACES, 200, 2)
    assert filmed.film.ratios[-1].mean() < filmed.film.ratios[0].mean()  # it has learnt


def test_the_network_is_stored_for_everybody_and_is_the_filmed_one(filmed):
    network = trained_scores.load(filmed.store, STUDY.training)
    assert np.array_equal(network.history["loss"], filmed.film.loss)
    fresh = STUDY.simulator.pairs(film.PAIRS, stream(0, "film", "fresh pairs"))
    ratios = STUDY.simulator.log_posterior(fresh.theta, fresh.x) - network.log_density(
        fresh.theta, fresh.x
    )
    assert filmed.film.ratios[filmed.film.best] == pytest.approx(ratios, abs=1e-4)


def test_the_floor_is_the_exact_loss_on_the_very_pairs_that_are_held_out(filmed):
    data = STUDY.training.source.training_set(STUDY.recipe, 0, filmed.store)
    held = split(len(data), stream(0, "order"))[0]
    theta, x = data.theta[held], data.x[held]
    network = trained_scores.load(filmed.store, STUDY.training)
    apart = STUDY.simulator.log_posterior(theta, x) - network.log_density(theta, x)
    lowest = float(filmed.film.held_out.min())
    assert lowest - filmed.film.floor == pytest.approx(apart.mean(), abs=1e-4)


def test_a_running_film_reports_each_frame_as_it_is_taken(filmed):
    so_far = [film.decoded(live["film"]) for live in filmed.reports[:-1]]
    newest = {len(one.loss): int(one.epochs[-1]) for one in so_far}
    assert {0: 0, 1: 1, 2: 2, 3: 3, 5: 5}.items() <= newest.items()
    assert len(newest) == len(so_far)


def test_a_running_film_reports_its_frames_so_far(filmed):
    first, last = (film.decoded(filmed.reports[i]["film"]) for i in (0, -2))
    assert first.epochs.tolist() == [0]
    assert len(first.loss) == 0  # the exact posterior and the untrained q come before any epoch
    assert len(last.loss) == 7
    for part in (first, last):
        shown = pictures.learning_payload(part, STUDY.simulator)
        assert shown.sliders[0] == (float(part.epochs[-1]),)


def test_a_known_network_gives_a_film_of_one_frame_without_training(filmed, monkeypatch):
    monkeypatch.setattr(MaskedAutoregressiveFlow, "learn", None)
    still = FilmStudy(simulator=STUDY.simulator, recipe=STUDY.recipe, still=True)
    shown = still.compute(filmed.store, lambda fraction, live: None)
    assert shown.epochs.tolist() == [filmed.film.epochs[filmed.film.best]]
    assert still.kept_epoch(shown) == STUDY.kept_epoch(filmed.film) == shown.epochs[0]
    assert pictures.changes(shown) == ["The held-out loss is lowest here."]
    assert shown.ratios[0] == pytest.approx(filmed.film.ratios[filmed.film.best], abs=1e-5)


def test_what_is_said_of_an_epoch_is_said_with_its_interval(filmed):
    rng, best = np.random.default_rng(0), filmed.film.best
    ratios = filmed.film.ratios.copy()
    ratios[best] = rng.normal(0.5, 0.1, film.PAIRS)
    ratios[-1] = ratios[best] + rng.normal(0.3, 0.1, film.PAIRS)
    ratios[0] = ratios[best] + rng.normal(2, 0.1, film.PAIRS)
    many = filmed.film._replace(
        ratios=ratios, epochs=filmed.film.epochs, held_out=filmed.film.held_out
    )
    said = pictures.changes(many)
    assert said[best] == "The held-out loss is lowest here."
    assert "farther" in said[0]
    if best != len(said) - 1:
        assert "overfits" in said[-1]
    ratios[-1] = ratios[best] + rng.normal(0, 5, film.PAIRS)
    noisy = pictures.changes(many._replace(ratios=ratios))
    assert "overfits" not in noisy[-1]


def test_the_number_said_is_the_number_drawn(filmed):
    shown = pictures.panels(filmed.film, STUDY.simulator)
    nats = next(panel for panel in shown if panel.title == "KL(p‖q), nats")
    frame = {"epoch": len(filmed.film.epochs) - 1, "x": 0}
    drawn = freeze_sliders(nats, frame).marks[-1].y[0]
    assert drawn == pytest.approx(filmed.film.ratios[-1].mean(), rel=1e-5)


def test_every_picture_is_made_for_data_of_many_dimensions(filmed):
    rng = np.random.default_rng(0)
    wide = filmed.film._replace(places=rng.standard_normal((film.PLACES, 10)))
    wide = wide._replace(x=rng.standard_normal((film.PAIRS, 10)))
    wide = wide._replace(floor=float("nan"))  # and for losses that are no nats
    assert pictures.payload(wide, STUDY.simulator, 0).body


def test_the_ball_is_chosen_and_counted_on_different_draws():
    rng = np.random.default_rng(1)
    p, q = rng.standard_normal((2, 8, 400, 2))
    same = largest_balls(p, q)
    assert np.abs(same.p - same.q).mean() < 0.06  # chosen on the same draws it would be .15
    moved = largest_balls(p, q + np.array([2.0, 0.0]))
    assert (np.abs(moved.p - moved.q) > 0.4).all()


def test_places_are_different_rows_of_x():
    x = np.random.default_rng(0).standard_normal((300, 3))
    places = choose_places(x, 9, np.random.default_rng(1))
    assert len(np.unique(places, axis=0)) == 9
    assert all((x == place).all(1).any() for place in places)


def test_nats_of_a_normal_estimator_are_those_of_the_closed_form():
    simulator, rng = GaussianLinear(dimensions=2), np.random.default_rng(0)
    shift, variance = 0.1, 0.08
    estimator, fresh = NormalEstimator(shift, variance), simulator.pairs(4000, rng)
    found = true_nats(simulator, estimator, fresh.theta, fresh.x, estimator.draws(fresh.x, 5, rng))
    ratio = 0.05 / variance
    exact = (ratio + shift**2 / variance - 1 - np.log(ratio), 1 / ratio + shift**2 / 0.05 - 1
             + np.log(ratio))  # fmt: skip
    for estimate, true in zip((found.forward, found.backward), exact, strict=True):
        assert abs(estimate.value - true) < 4 * estimate.error
    assert found.outside == 0
    assert "infinite" not in " ".join(describe_nats(found))


def test_leakage_is_said_and_what_is_left_is_counted_by_itself():
    simulator, rng = TwoMoons(), np.random.default_rng(0)

    class Box:
        """Uniform on twice the prior's box: the prior itself once what leaks is left out."""

        def log_density(self, theta, x):
            return np.full(len(theta), -np.log(16.0))

    fresh = simulator.pairs(60, rng)
    draws = rng.uniform(-2, 2, (60, 20, 2))
    found = true_nats(simulator, Box(), fresh.theta, fresh.x, draws)
    assert found.outside > 0.7
    said = describe_nats(found)
    assert "infinite" in said[1]
    low, high = found.backward.interval()
    assert interval_text((found.backward.value, low, high)) in said[1]


def test_a_fresh_table_has_simulations_that_the_estimator_never_saw(filmed):
    table = FreshTableStudy(training=STUDY.training, n=40, k=10)
    drawn = table.compute(filmed.store, lambda fraction, live: None)
    data = STUDY.training.source.training_set(STUDY.recipe, 0, filmed.store)
    assert drawn.q.shape == (40, 10, 2)
    assert not np.isin(drawn.theta[:, 0], data.theta[:, 0]).any()


@pytest.mark.parametrize("name", ESTIMATORS)
def test_every_estimator_has_a_film(name, store):
    recipe = replace(ESTIMATORS[name](), simulations=60, epochs=1)
    if hasattr(recipe, "hidden"):
        recipe = replace(recipe, hidden=8)
    study = FilmStudy(simulator=GaussianLinear(dimensions=2), recipe=recipe)
    shown = study.compute(store, lambda fraction, live: None)
    assert shown.epochs.tolist() == [0, 1]
    assert np.isfinite(shown.floor) == recipe.nats
    assert np.isfinite(shown.ratios).all()
    assert store.has("models", study.training.key)


def test_one_parameter_is_drawn_too(tmp_path):
    """Draws lie one above the other, the ball is an interval, each x a line."""
    simulator, store = GaussianLinear(dimensions=1), Store(tmp_path)
    study = replace(STUDY, simulator=simulator)
    study.run(store, lambda *_: None)
    one = study.load(store)
    task = pictures.task_payload(film.filmed_task(simulator, 0), simulator)
    for payload in (task, pictures.payload(one, simulator, 0, sweep=True)):
        assert "Draws of one parameter lie one above the other." in str(payload)
        assert "Each x is one number" in str(payload)
