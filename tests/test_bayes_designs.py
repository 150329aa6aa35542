"""Covariates: the shipped files are the real ones, the stand-in beside them, and their keys."""

import dataclasses
import hashlib

import numpy as np
import pytest

from tests.conftest import ROOT
from validation_core import keys
from validation_core.bayes import MODELS, covariates
from validation_core.bayes.regressions import Concrete, Ionosphere
from validation_core.benchmarks.bayes_model import BayesModel

KINDS = {"ionosphere": Ionosphere, "concrete": Concrete}
DIGESTS = {
    "ionosphere": "9d86319bae0bd5e1a4259207c3742783",
    "concrete": "705badbb318e202101b5b49f7c8697bb",
}
each_name = pytest.mark.parametrize("name", list(KINDS))
each_design = pytest.mark.parametrize("design", ["real", "stand-in"])


def test_the_files_are_those_of_the_repository():
    """Counts and means that its pages give: 225 good returns, 1030 mixtures of mean 35.818 MPa."""
    folder = ROOT / "validation_core" / "data" / "uci"
    labels = [line[-1] for line in (folder / "ionosphere.data").read_text().split()]
    assert (len(labels), labels.count("g"), labels.count("b")) == (351, 225, 126)
    with (folder / "Concrete_Data.csv").open(encoding="utf-8-sig") as file:
        strengths = np.loadtxt(file, delimiter=",", skiprows=1)[:, -1]
    assert len(strengths) == 1030
    assert strengths.mean() == pytest.approx(35.818, abs=5e-4)


def test_their_authors_licence_and_changes_stand_beside_them():
    said = (ROOT / "validation_core" / "data" / "uci" / "README.md").read_text()
    for words in (
        "10.24432/C5W01B",
        "10.24432/C5PK67",
        "Sigillito",
        "Yeh",
        "CC BY 4.0",
        "Changes",
    ):
        assert words in said
    for shape in covariates.SHAPES.values():
        assert f"`{shape.file}`" in said


@each_name
def test_what_is_read_of_them_is_what_their_keys_say(name):
    raw = covariates.real_covariates(name)
    rows, columns, constant = covariates.SHAPES[name][:3]
    assert raw.shape == (rows, columns)
    assert np.flatnonzero(np.ptp(raw, axis=0) == 0).tolist() == [1] * constant
    content = f"raw{raw.shape}{raw.dtype.str}".encode() + raw.tobytes()
    assert hashlib.sha256(content).hexdigest()[:32] == DIGESTS[name]
    assert covariates.digest(name, "real") == DIGESTS[name]


def test_a_row_of_each():
    np.testing.assert_array_equal(
        covariates.real_covariates("ionosphere")[0, :6],
        [1, 0, 0.99539, -0.05889, 0.85243, 0.02306],
    )
    np.testing.assert_array_equal(
        covariates.real_covariates("concrete")[0], [540, 0, 0, 162, 2.5, 1040, 676, 28]
    )


@each_name
@each_design
def test_columns_are_standardised_and_an_intercept_comes_first(name, design):
    model = KINDS[name](design=design)
    d, n = model.dims
    assert (d, n) == {"ionosphere": (34, 351), "concrete": (9, 1030)}[name]
    x = model.covariates
    assert x.shape == (n, d)
    assert (x[:, 0] == 1).all()
    np.testing.assert_allclose(x[:, 1:].mean(0), 0, atol=1e-12)
    np.testing.assert_allclose(x[:, 1:].std(0), 1, rtol=1e-12)
    assert np.linalg.matrix_rank(x) == d
    with pytest.raises(ValueError, match="read-only"):
        x[0, 0] = 2
    # Each kept column is a raw one, moved and scaled, in its order.
    raw = (
        covariates.real_covariates(name)
        if design == "real"
        else covariates.synthetic_covariates(name)
    )
    remaining = np.delete(raw, 1, axis=1) if name == "ionosphere" else raw
    np.testing.assert_allclose(
        x[:, 1:] * remaining.std(0) + remaining.mean(0), remaining, atol=1e-9
    )


@each_name
def test_the_stand_in_is_always_the_same_of_the_same_shape_and_correlated(name):
    first = covariates.synthetic_covariates(name)
    assert np.array_equal(first, covariates.synthetic_covariates(name))
    assert first.shape == covariates.real_covariates(name).shape
    still = np.flatnonzero(np.ptp(first, axis=0) == 0)
    assert still.tolist() == ([1] if name == "ionosphere" else [])
    related = np.corrcoef(np.delete(first, still, axis=1).T)
    assert np.abs(related - np.eye(len(related))).max() > 0.3


@each_name
def test_real_ones_are_taken_and_a_stand_in_is_asked_for_and_says_so(name):
    real, stand_in = KINDS[name](), KINDS[name](design="stand-in")
    assert real.design == "real"
    assert "stand-in" not in real.label
    assert "stand-in" in stand_in.label
    a, b = (item.simulate(3, np.random.default_rng(0)) for item in (real, stand_in))
    assert np.array_equal(a.theta, b.theta)  # the prior is one
    assert not np.array_equal(a.x, b.x)


@each_name
def test_keys_name_the_numbers_and_a_stand_in_keeps_the_key_it_had(name):
    real, stand_in = KINDS[name](), KINDS[name](design="stand-in")
    assert keys.canonical_text(stand_in) == f'{{"design":"","type":"{name}","version":1}}'
    assert (
        keys.canonical_text(real) == f'{{"design":"{DIGESTS[name]}","type":"{name}","version":1}}'
    )
    for model in (real, stand_in):
        assert keys.read(keys.canonical_text(model)) == model
        assert dataclasses.replace(model) == model


@pytest.mark.parametrize("model", list(MODELS))
def test_a_benchmark_s_key_names_them_too(model):
    benchmark = BayesModel(model=model)
    assert f'"design":"{DIGESTS.get(model, "")}"' in keys.canonical_text(benchmark)
    assert keys.read(keys.canonical_text(benchmark)) == benchmark
    assert benchmark.of == MODELS[model]()
    if model in DIGESTS:
        stand_in = BayesModel(model=model, design="stand-in")
        assert '"design":""' in keys.canonical_text(stand_in)
        assert keys.read(keys.canonical_text(stand_in)) == stand_in
        assert stand_in.of == MODELS[model](design="stand-in")
        assert "stand-in" in stand_in.label


@each_name
@pytest.mark.parametrize("other", ["0" * 32, "REAL", "ionosphere.data"])
def test_other_covariates_are_refused(name, other):
    for make in (KINDS[name], lambda design: BayesModel(model=name, design=design)):
        with pytest.raises(ValueError, match="design is real or stand-in; got"):
            make(design=other)
    with pytest.raises(ValueError, match="design is real or stand-in"):
        keys.read(f'{{"design":"{"0" * 32}","type":"{name}","version":1}}')
