"""How a file is read, in the form of My posterior: what it shows, and what its changes say."""

import math

import numpy as np
import pandas as pd

import validation_core as npt
from pages.diagnose.how_read import ReadAs, changed, parameters


def table(**options):
    rng = np.random.default_rng(0)
    x = rng.normal(size=(60, 1))
    theta, q = x + rng.normal(size=(60, 3)), x[:, None] + rng.normal(size=(60, 12, 3))
    for values in (theta, q):
        values[..., 0] = np.exp(3 * values[..., 0])
        values[..., 1] = values[..., 1] > 0
    return npt.Table(theta, x, q, names=["mass", "model", "phase"], **options)


def test_the_form_shows_what_was_understood_and_reading_by_it_changes_nothing():
    bounds = {"mass": (0.0, math.inf), "phase": (-9.0, 9.0)}
    read = table(bounds=bounds, discrete=["model"], circular={"phase": 30.0})
    frame = parameters(read.upload)
    assert frame["Parameter"].tolist() == ["mass", "model", "phase"]
    assert frame["Logarithm"].tolist() == [True, False, False]
    assert frame["Discrete"].tolist() == [False, True, False]
    assert frame["Greatest"].tolist()[2] == 9.0
    assert pd.isna(frame["Greatest"]).tolist() == [True, True, False]
    assert frame["Period"].tolist()[2] == 30.0
    known = ReadAs(bounds=bounds, discrete=("model",), circular={"phase": 30.0})
    assert changed(frame, {}, known) == known
    again = table(**changed(frame, {}, known)._asdict())
    assert again.upload.digest == read.upload.digest


def test_what_is_changed_in_the_form_is_said_and_the_rest_is_recognised():
    frame = parameters(table().upload)
    edits = {"0": {"Logarithm": False, "Least": 0.0}, "1": {"Discrete": True}, "2": {"Period": 24}}
    said = changed(frame, edits, ReadAs())
    assert said.logarithms == ()
    assert said.discrete == ("model",)
    assert said.circular == {"phase": 24.0}
    assert said.bounds["mass"] == (0.0, math.inf)
    upload = table(**said._asdict()).upload
    assert upload.names == ("mass", "model", "phase")
    assert {"model is discrete", "phase is an angle", "within the prior's bounds"} <= {
        *upload.read_as
    }
    assert changed(frame, {0: {"Least": None}}, said).bounds["mass"] == (-math.inf, math.inf)
