"""The epidemics of the shipped tables: their simulator, and how a flow learns them."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.integrate import solve_ivp

from validation_core import gallery
from validation_core.diagnosis import comparison, epidemic, examples
from validation_core.diagnosis.epidemic import EpidemicStudy
from validation_core.rng import stream
from validation_core.simulators.epidemic_curve import DAYS, infected_share
from validation_core.store import Store


@pytest.mark.parametrize("rates", [(0.4, 0.125), (1.2, 0.2), (0.1, 0.15)])
def test_the_infected_follow_the_equations(rates):
    """Kermack, McKendrick (1927), by another solver."""
    beta, gamma = rates

    def slope(_, state):
        infections = beta * state[0] * state[1]
        return [-infections, infections - gamma * state[1]]

    solved = solve_ivp(slope, (0, DAYS[-1]), [1 - 1e-6, 1e-6], t_eval=DAYS, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(infected_share(np.array([rates]))[0], solved.y[1], atol=1e-5)


def test_counts_are_binomial_about_the_share_of_infected():
    theta, x = epidemic.simulate_epidemics(4000, stream(0, "test epidemic"))
    share = np.clip(infected_share(theta), 0, 1)
    z = (x - 1000 * share).sum(1) / np.sqrt((1000 * share * (1 - share)).sum(1))
    assert abs(z.mean()) < 4 / np.sqrt(len(z))
    assert 0.93 < z.std() < 1.07
    medians = np.exp(np.median(np.log(theta), axis=0))
    np.testing.assert_allclose(medians, [0.4, 0.125], rtol=0.05)


def test_rounding_keeps_every_draw_within_its_bits():
    draws = stream(0, "test rounding").lognormal(size=1000)
    rounded = epidemic.round_mantissa(draws)
    assert np.abs(rounded / draws - 1).max() <= 2.0**-epidemic.MANTISSA_BITS
    assert (rounded.view(np.uint32) & 0xFF == 0).all(), "a byte of each is zero: it packs"


def test_a_flow_stops_where_held_out_simulations_fare_worse(tmp_path, monkeypatch):
    for name, value in {"_ROWS": 60, "_DRAWS": 8, "_MOST": 200, "_PATIENCE": 5}.items():
        monkeypatch.setattr(epidemic, name, value)
    study, store = EpidemicStudy(simulations=100), Store(tmp_path)
    study.run(store, lambda fraction, live: None)
    drawn = study.load(store)
    assert drawn.q.shape == (60, 8, 2)
    assert (drawn.q > 0).all()
    assert len(drawn.held_out) - 1 - drawn.held_out.argmin() == 5
    again = study.compute(store, lambda fraction, live: None)
    np.testing.assert_array_equal(again.q, drawn.q)
    other = replace(study, seed=1).compute(store, lambda fraction, live: None)
    assert not np.array_equal(other.theta, drawn.theta)
    more = replace(study, simulations=50).compute(store, lambda fraction, live: None)
    np.testing.assert_array_equal(more.theta, drawn.theta), "all sizes share their simulations"


def test_the_shipped_tables_are_alike_and_more_simulations_are_nearer(tmp_path):
    store = Store(tmp_path, gallery=gallery.FOLDER)
    (_, first), *others = examples.flows()
    assert all(comparison.unlike(first, upload) is None for _, upload in others)
    assert all(upload.warnings == () for _, upload in examples.flows())
    assert first.names == ("infection rate", "recovery rate")
    scores = [comparison.studies(upload)[0].load(store) for _, upload in examples.flows()]
    ranking = comparison.ranking(scores)
    assert ranking.order == (2, 1, 0)
    assert ranking.tied == ()
    assert examples.wrong() is first
