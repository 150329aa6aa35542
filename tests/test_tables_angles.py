"""Angles: recognised or named, counted from the middle of their row, and exact as before."""

import numpy as np
import pytest

import validation_core as npt
from validation_core.diagnosis import comparison
from validation_core.rng import stream
from validation_core.statistics import ks
from validation_core.tables import Upload, angles
from validation_core.types import PosteriorTable

TURN = 2 * np.pi


def directions(seed=0, n=400, k=40, low=0.0, period=TURN, concentration=4.0):
    """Angles with exact draws, both wrapped to the interval from `low`."""
    rng = stream(seed, "directions")
    seen = rng.uniform(0, TURN, n)
    theta = seen + rng.vonmises(0, concentration, n)
    q = seen[:, None] + rng.vonmises(0, concentration, (n, k))
    unit = period / TURN
    wrapped = [low + (a * unit - low) % period for a in (theta, q)]
    x = np.stack([np.cos(seen), np.sin(seen)], axis=1)
    return PosteriorTable(wrapped[0][:, None], x, wrapped[1][..., None])


def arrays(data):
    return {"theta": data.theta, "x": data.x, "theta_q": data.q}


@pytest.mark.parametrize(
    ("low", "period"), [(0.0, TURN), (-np.pi, TURN), (0.0, 360.0), (-90.0, 180.0), (0.0, np.pi)]
)
def test_angles_are_recognised_by_rows_that_cross_their_ends(low, period):
    assert angles.recognised(directions(low=low, period=period)) == pytest.approx([period])


def test_parameters_that_are_no_angles_are_left_alone():
    rng = stream(0, "box")
    theta = rng.uniform(0, TURN, (400, 1))
    near = np.clip(theta[:, None] + 0.5 * rng.standard_normal((400, 40, 1)), 0, TURN)
    flat = rng.uniform(0, TURN, (400, 40, 1))
    for q in (near, flat):
        assert not angles.recognised(PosteriorTable(theta, theta, q)).any()
        assert Upload.of({"theta": theta, "x": theta, "theta_q": q}).periods == ()


def test_unwrapped_ranks_of_a_correct_q_are_uniform_and_rows_hold_together():
    upload = Upload.of(arrays(directions(n=2000)))
    theta, q = upload.data.theta[:, 0], upload.data.q[..., 0]
    assert np.ptp(np.concatenate([theta[:, None], q], axis=1), axis=1).max() <= TURN * 1.001
    u = ((q < theta[:, None]).sum(1) + stream(0, "ties").random(len(q))) / (q.shape[1] + 1)
    assert ks(u).pvalue > 0.01
    assert "Read as angles: theta_1 (period 6.283)" in upload.notes[0]


def test_unwrapping_is_done_once_and_keeps_the_same_fingerprint():
    upload = Upload.of(arrays(directions()))
    assert Upload.of(upload.arrays()).digest == upload.digest


def test_a_user_names_angles_or_says_that_there_are_none(tmp_path):
    data = directions(concentration=30.0)
    assert npt.Table(data.theta, data.x, data.q, circular=()).upload.periods == ()
    named = npt.Table(data.theta, data.x, data.q, names=["phi"], circular=["phi"])
    assert named.upload.periods == pytest.approx((TURN,))
    with pytest.raises(ValueError, match="one of phi; got 'psi'"):
        npt.Table(data.theta, data.x, data.q, names=["phi"], circular=["psi"])
    file = tmp_path / "hours.npz"
    hours = directions(period=24.0)
    np.savez(file, **arrays(hours), periods=np.array([24.0]))
    assert npt.read(file).upload.periods == (24.0,)
    with pytest.raises(ValueError, match="among pi, 2 pi, 180 and 360"):
        angles.periods_of(["phi"], ["phi"], 1000 * data.theta, data.q)
    with pytest.raises(ValueError, match="one number for each of the 1 parameters"):
        Upload.of({**arrays(hours), "periods": np.array([24.0, 1.0])})


def test_two_tables_of_one_angle_are_compared_row_by_row():
    first = directions()
    other = directions(low=-np.pi)
    shifted = Upload.of({**arrays(other), "theta_q": other.q[:, ::-1] + 0.3})
    assert comparison.unlike(Upload.of(arrays(first)), shifted) is None
