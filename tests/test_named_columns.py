"""Names of columns in memory: frames, dicts and datasets whose columns come in another order."""

import numpy as np
import pandas as pd
import pytest
import xarray

import validation_core as npt
from tests.files import table

NAMES = ["mass", "spin"]
BACK = NAMES[::-1]


def given():
    """A table whose two parameters differ in scale, so that an exchange shows."""
    arrays = table()
    scale = np.array([1.0, 30.0])
    return arrays["theta"] * scale, arrays["x"], arrays["theta_q"] * scale


def frames(draws, names=NAMES):
    """A frame for each row, its columns in this order."""
    return [pd.DataFrame(rows, columns=NAMES)[list(names)] for rows in draws]


def digest(*arrays, **named):
    return npt.Table(*arrays, **named).upload.digest


def test_frames_of_draws_are_read_by_the_names_of_their_columns():
    theta, x, q = given()
    right = digest(theta, x, q, names=NAMES)
    named = pd.DataFrame(theta, columns=NAMES)
    assert digest(named, x, frames(q)) == right
    assert digest(named, x, frames(q, BACK)) == right
    assert digest(theta, x, frames(q, BACK), names=NAMES) == right
    mixed = frames(q[:1], BACK) + frames(q[1:])
    found = npt.Table(named, x, mixed)
    assert found.upload.digest == right
    assert "Columns of theta_q were taken by name, in the order mass, spin." in found.notes
    assert npt.Table(named, x, frames(q)).notes == ()


def test_draws_in_a_dict_follow_the_names_that_are_given():
    theta, x, q = given()
    drawn = {"spin": q[..., 1], "mass": q[..., 0]}
    assert digest(theta, x, drawn, names=NAMES) == digest(theta, x, q, names=NAMES)


def test_frames_of_other_columns_are_read_as_they_come_or_refused():
    theta, x, q = given()
    named = pd.DataFrame(theta, columns=NAMES)
    other = [frame.rename(columns={"mass": "m", "spin": "s"}) for frame in frames(q)]
    assert npt.Table(named, x, other).names == ("mass", "spin")
    assert npt.Table(theta, x, other).names == ("m", "s")
    assert npt.Table(theta, x, [pd.DataFrame(rows) for rows in q]).names == ("theta_1", "theta_2")
    more = [frame.assign(log_l=0.0) for frame in frames(q, BACK)]
    found = npt.Table(named, x, more)
    assert found.upload.digest == digest(theta, x, q, names=NAMES)
    assert "log_l: left unread, no parameters." in found.notes
    with pytest.raises(ValueError, match="got mass without spin"):
        npt.Table(named, x, [frame[["mass"]] for frame in frames(q)])


def test_names_in_another_order_than_the_columns_are_refused():
    theta, x, q = given()
    named = pd.DataFrame(theta, columns=NAMES)
    with pytest.raises(ValueError, match="names must be in the order of theta's columns"):
        npt.Table(named, x, q, names=BACK)
    assert npt.Table(named, x, q, names=["M", "a"]).names == ("M", "a")
    data = pd.DataFrame(x[:, :2], columns=["u", "v"])
    with pytest.raises(ValueError, match="x_names must be in the order of x's columns"):
        npt.Table(theta, data, q, x_names=["v", "u"])


def test_an_observation_and_its_draws_follow_the_tables_columns():
    theta, x, q = given()
    named = pd.DataFrame(theta, columns=NAMES)
    data = pd.DataFrame(x[:, :2], columns=["u", "v"])
    right = npt.Table(named, data, q, x_o=[1.0, 9.0], theta_o=q[0]).arrays()
    drawn = pd.DataFrame(q[0], columns=NAMES)[BACK]
    found = npt.Table(named, data, q, x_o={"v": 9.0, "u": 1.0}, theta_o=drawn).arrays()
    for name in ("x_o", "theta_o"):
        assert np.array_equal(found[name], right[name]), name


def test_ranks_samples_and_classes_are_taken_from_frames():
    theta, _, q = given()
    counted = (q < theta[:, None]).sum(1)
    ranks = npt.Table.ranks(pd.DataFrame(counted, columns=NAMES), q.shape[1])
    assert ranks.names == ("mass", "spin")
    assert ranks.upload.digest == npt.Table.ranks(counted, q.shape[1], names=NAMES).upload.digest
    p, drawn = pd.DataFrame(theta, columns=NAMES), pd.DataFrame(q[:, 0], columns=NAMES)
    plain = npt.Table.samples(theta, q[:, 0], names=NAMES)
    assert npt.Table.samples(p, drawn[BACK]).upload.digest == plain.upload.digest
    with pytest.raises(ValueError, match="p and q must have the same columns"):
        npt.Table.samples(p, drawn.rename(columns={"mass": "m"}))
    chances = np.full((60, 3), 1 / 3)
    classes = npt.Table.classes(pd.DataFrame(chances, columns=list("ABC")), np.arange(60) % 3)
    assert classes.names == ("A", "B", "C")


@pytest.mark.parametrize("axis", ["p", "q", "x", "theta", "parameter"])
def test_axes_of_a_dataset_may_have_any_name_and_their_labels_name_the_parameters(axis):
    theta, x, q = given()
    dims = {"theta": ("sim", axis), "data": ("sim", "datum"), "theta_q": ("sim", "draw", axis)}
    arrays = {"theta": theta, "data": x, "theta_q": q}
    right = digest(theta, x, q)
    saved = xarray.Dataset({name: (dims[name], array) for name, array in arrays.items()})
    assert npt.read(saved).upload.digest == right
    if axis != "theta":  # where xarray itself takes a name for one or the other
        assert npt.read(saved.assign_coords({axis: NAMES})).names == ("mass", "spin")


def test_what_holds_no_draws_is_told_from_draws():
    theta, x, _ = given()
    with pytest.raises(ValueError, match="theta_q must be an array of numbers; got function"):
        npt.Table(theta, x, lambda n: n)


def test_rows_that_are_left_out_are_told():
    theta, x, q = given()
    q[3, 1, 0] = np.nan
    found = npt.Table(theta, x, q)
    assert "1 row was left out: NaN or infinite values in theta_q." in found.notes
    assert repr(npt.Table(theta[:, 0], x, q[..., 0])).endswith("1 parameter, 3 data)")


def test_huge_numbers_are_not_called_whole():
    theta, x, q = given()
    assert not npt.Table(theta * 1e100, x, q * 1e100).warnings
