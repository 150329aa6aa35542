"""Every output of a diagnosis, for each kind of table that is not plain."""

import json

import numpy as np
import pytest

import validation_core as npt
from validation_core.diagnosis.verdict import read_line

N, K = 60, 12


def _arrays():
    rng = np.random.default_rng(5)
    theta = rng.normal(size=(N, 2))
    x = theta + rng.normal(size=(N, 2))
    q = x[:, None] / 2 + np.sqrt(0.5) * rng.normal(size=(N, K, 2))
    return theta, x, q


def _gaps():
    theta, x, q = _arrays()
    x[::3, 1] = np.nan
    return npt.Table(theta, x, q, missing="mask")


def _ranks(shift):
    theta, _, q = _arrays()
    return npt.Table.ranks((q < theta[:, None] + shift).sum(axis=1), K, names=["mu", "tau"])


KINDS = {
    "no x": lambda: npt.Table(_arrays()[0], None, _arrays()[2]),
    "wrong without x": lambda: npt.Table(_arrays()[0], None, _arrays()[2] + 2),
    "ranks": lambda: _ranks(0.0),
    "wrong ranks": lambda: _ranks(2.0),
    "pit": lambda: npt.Table.ranks(np.random.default_rng(0).random((N, 2))),
    "wrong pit": lambda: npt.Table.ranks(np.random.default_rng(0).random((N, 2)) ** 3),
    "few ranks": lambda: npt.Table.ranks([[0.1], [0.5], [0.7]]),
    "gaps": _gaps,
    "complex": lambda: npt.Table(_arrays()[0], _arrays()[1] + 1j, _arrays()[2]),
}
HELD = {"no x": "no x", "ranks": "ranks among 12 draws", "pit": "PIT values"}


@pytest.fixture(scope="module", params=KINDS)
def kind(request):
    return request.param


@pytest.fixture(scope="module")
def result(kind, tmp_path_factory):
    store = npt.Store(tmp_path_factory.mktemp("store"))
    # What learns is left out: it takes seconds, and says nothing else of these tables.
    methods = ["sbc", "mmd_fuse"]
    return npt.diagnose(KINDS[kind](), methods, "size", store=store, progress=False)


def test_every_output_is_written(result, tmp_path):
    for ending in ("html", "json", "csv", "nc"):
        assert result.save(tmp_path / f"out.{ending}").stat().st_size > 0
    assert all(drawn.figure.data is not None for drawn in result.figures())
    assert json.loads(result.to_json())["n"] == result.diagnosis.upload.n


def test_what_was_read_is_said_in_one_line(kind, result):
    held = HELD.get(kind.removeprefix("wrong ").replace("without", "no"), "")
    assert held in read_line(result.diagnosis)
    assert held in result.card.loaded
    assert held in repr(npt.Table.of(result.diagnosis.upload))
    assert "0 draws" not in read_line(result.diagnosis)


def test_no_sentence_speaks_of_two_samples(result):
    reasons = [record.reason or "" for record in result.records]
    said = " ".join([*result.sentences, *result.card.next_steps, *reasons])
    assert "two samples" not in said.lower()
    assert "both have one law" not in said


def test_a_wrong_table_is_found_and_a_right_one_is_not(kind, result):
    if kind == "few ranks":
        assert result.verdict == "not enough data"
    else:
        assert (result.verdict == "problem found") == kind.startswith("wrong")


def test_ranks_have_a_picture_of_their_own(kind, result):
    if kind in ("wrong ranks", "wrong pit"):
        assert "True values below each quantile of q" in result.card.picture.title
