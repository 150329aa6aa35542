"""Kinds of tables in twos and threes, and each with every output: what crosses is said right."""

import io
import json
import re
from contextlib import redirect_stdout
from itertools import combinations

import jsonschema
import numpy as np
import pytest

import validation_core as npt
from pages.diagnose.mistakes import correct
from tests.conftest import ROOT
from tests.files import npz
from validation_core import tables
from validation_core.cli.diagnose import print_diagnosis
from validation_core.diagnosis import comparison
from validation_core.store import Store
from validation_core.tables import Upload

N, K = 60, 16
SCHEMA = json.loads((ROOT / "validation_core/report/diagnosis.schema.json").read_text())
ODD = re.compile(r"\b(nan|inf|None)\b")


def plain(table):
    return table


def whole_numbers(table):
    rounded = {name: np.clip(np.rint(table[name]), -2, 2) for name in ("theta", "theta_q")}
    return table | rounded | {"discrete": np.array([0.0, 1.0])}


def quantity(table):
    truth, draws = (np.square(table[name]).sum(-1) for name in ("theta", "theta_q"))
    return table | {"quantity_energy": truth, "quantity_energy_draws": draws}


def likelihood(table):
    truth, draws = (-np.abs(table[name]).sum(-1) for name in ("theta", "theta_q"))
    return table | {"log_likelihood": truth, "log_likelihood_draws": draws}


def weights(table):
    rng = np.random.default_rng(1)
    return table | {
        "log_w": 0.5 * rng.normal(size=N), "log_w_draws": 0.5 * rng.normal(size=(N, K))
    }  # fmt: skip


def observed(table):
    draws = np.abs(np.random.default_rng(2).normal(size=(50, 2)))
    return table | {"x_o": table["x"][0] + 0.1, "theta_o": draws}


def bounds(table):
    return table | {"bounds": np.array([[-99.0, 9999.0], [-99.0, 9999.0]])}


def standardised(table):
    return table | {"theta": 50 + 14 * table["theta"], "theta_q": table["theta_q"] / 1.414}


def decades(table):
    return table | {name: np.exp(2 * table[name]) for name in ("theta", "theta_q")}


def missing(table):
    gaps = np.random.default_rng(3).random((N, 1)) < 0.1 * np.arange(2)
    return table | {"x": np.where(gaps, np.nan, table["x"])}


def ragged(table):
    few = np.random.default_rng(4).integers(K - 3, K + 1, N)
    return table | {
        name: [row[:k] for row, k in zip(table[name], few, strict=True)]
        for name in table if name == "theta_q" or name.endswith("_draws")
    }  # fmt: skip


def without_x(table):
    return {name: array for name, array in table.items() if name not in ("x", "x_o", "theta_o")}


KINDS = (
    whole_numbers, quantity, likelihood, weights, observed, bounds, standardised, decades, missing,
    ragged, without_x,
)  # fmt: skip
"""Each makes another kind of a table; in this order they go together."""
APART = ({decades, whole_numbers}, {decades, standardised}, {whole_numbers, standardised})
PAIRS = [set(pair) for pair in combinations(KINDS, 2) if set(pair) not in APART]
THREES = [
    {weights, quantity, ragged}, {weights, without_x, quantity}, {weights, missing, ragged},
    {standardised, weights, without_x}, {decades, weights, observed}, {ragged, quantity, missing},
    {whole_numbers, weights, without_x}, {standardised, ragged, quantity},
]  # fmt: skip


def made(kinds):
    rng = np.random.default_rng(0)
    x = rng.normal(size=(N, 2))
    table = {
        "theta": x + rng.normal(size=(N, 2)), "x": x,
        "theta_q": x[:, None] + rng.normal(size=(N, K, 2)),
    }  # fmt: skip
    for kind in KINDS:
        table = kind(table) if kind in kinds else table
    return table


def ids(kinds):
    return "-".join(kind.__name__ for kind in KINDS if kind in kinds) or "plain"


def check_read(upload, kinds):
    """What each kind leaves in the upload, whatever it goes together with."""
    assert (upload.weighting is not None) == (weights in kinds)
    own = [*["log p(x | theta)"] * (likelihood in kinds), *["energy"] * (quantity in kinds)]
    assert list(upload.own_quantities)[: len(own)] == own
    assert all(one.complete for one in upload.own_quantities.values())
    shapes = {one.draws.shape for one in upload.own_quantities.values()}
    assert shapes <= {upload.data.q.shape[:2]}
    assert ("theta_2 is discrete" in upload.read_as) == (whole_numbers in kinds)
    assert [one.name for one in upload.mistakes] == ["scale"] * (standardised in kinds)
    assert (upload.dims[1] == 0) == (without_x in kinds)
    by_log = [name.startswith("log10 ") for name in upload.names]
    assert by_log == [decades in kinds] * 2
    assert not any(np.isnan(array).any() for array in upload.arrays().values())
    assert (upload.bounds is not None) == (bounds in kinds)
    if ragged in kinds:
        assert any("13 of each are kept" in note for note in upload.notes)


@pytest.mark.parametrize("kinds", [*PAIRS, *THREES], ids=ids)
def test_kinds_together_are_read_as_each_alone(kinds):
    arrays = made(kinds)
    upload = npt.read(arrays).upload
    check_read(upload, kinds)
    again = Upload.of(upload.arrays(), order="NKD", logarithms=())  # as a link opens it
    assert again.digest == upload.digest
    if ragged not in kinds:
        assert npt.read(npz(arrays)).upload.digest == upload.digest
    if upload.mistakes:
        corrected = correct(upload, ("scale",))
        assert not corrected.mistakes
        assert [one.name for one in corrected.corrected] == ["scale"]
        assert (corrected.weighting is None) == (weights not in kinds)


def test_weights_and_quantities_are_no_densities_of_a_logarithm():
    arrays = made({quantity, likelihood, weights, decades})
    by_log, as_saved = (npt.read(arrays, logarithms=how).upload for how in (None, ()))
    assert by_log.weighting.effective == as_saved.weighting.effective
    for name, (truth, draws) in as_saved.own_quantities.items():
        np.testing.assert_array_equal(by_log.own_quantities[name].truth, truth)
        np.testing.assert_array_equal(by_log.own_quantities[name].draws, draws)


def test_weights_go_with_no_rows_that_were_moved():
    rng = np.random.default_rng(0)
    x, n = rng.normal(size=(300, 2)), 300
    q = x[:, None] + rng.normal(size=(n, K, 2))
    arrays = {
        "theta": x + rng.normal(size=(n, 2)), "x": x, "theta_q": np.roll(q, 1, axis=0),
        "log_w": rng.normal(size=n) / 2, "log_w_draws": rng.normal(size=(n, K)) / 2,
    }  # fmt: skip
    assert [one.name for one in npt.read(arrays).mistakes] == ["rows"]
    with pytest.raises(ValueError, match="and weights with it"):
        npt.read(arrays, corrections=["rows"])


def outputs(result, folder):
    """Every output of a diagnosis as text, its JSON as the schema has it."""
    found = json.loads(result.to_json())
    jsonschema.validate(found, SCHEMA)
    printed = io.StringIO()
    with redirect_stdout(printed):
        print_diagnosis(result)
    page = re.sub(r"<(script|style|svg).*?</\1>", "", result.document(), flags=re.S)
    written = {ending: result.save(folder / f"result{ending}") for ending in (".md", ".xml")}
    return found, {
        "printed": printed.getvalue(), "sentences": " ".join(result.sentences), "page": page,
        **{ending: path.read_text() for ending, path in written.items()},
    }  # fmt: skip


def ranks(rng, most=20):
    return npt.Table.ranks(rng.integers(0, most + 1, (N, 2)), most)


TABLES = {
    ids(kinds): (lambda kinds=kinds: npt.read(made(kinds)), kinds)
    for kinds in (
        {weights, ragged, quantity}, {whole_numbers, quantity, without_x},
        {standardised, weights, without_x}, {missing, observed, likelihood},
    )
} | {
    "ranks": (lambda: ranks(np.random.default_rng(0)), {without_x}),
    "ranks that are all 0": (lambda: npt.Table.ranks(np.zeros((N, 2), int), 9), {without_x}),
    "two samples": (
        lambda: npt.Table.samples(*np.random.default_rng(0).normal(size=(2, N, 2))), {without_x}
    ),
}  # fmt: skip


@pytest.mark.parametrize("kind", TABLES)
@pytest.mark.usefixtures("quick_training")
def test_every_output_of_what_crosses_is_whole_and_says_what_it_is(kind, tmp_path):
    make, kinds = TABLES[kind]
    table, store = make(), Store(tmp_path)
    methods = ["omnibus"] if table.k and isinstance(table.upload, tables.TableUpload) else None
    result = npt.diagnose(table, methods=methods, questions="none", store=store, progress=False)
    found, texts = outputs(result, tmp_path)
    for name, text in texts.items():
        assert not ODD.search(text), (name, ODD.search(text))
    assert (found["verdict"], found["n"]) == (result.verdict, table.n)
    if weights in kinds:
        assert found["weights"]["draws"] == table.k
        assert "effective" in texts["printed"]
        assert "effective" in texts["page"]
    if standardised in kinds:
        assert result.card.state == "mistake"
        assert all("draws are standardised" in texts[name] for name in ("printed", "page"))
    elif quantity in kinds:
        assert "own" in {family["family"] for family in found["families"]}
    if without_x in kinds:
        with pytest.raises(ValueError, match="An observation is an x; got"):
            npt.observation(table, 3, local=False, store=store, progress=False)
    if isinstance(table.upload, tables.TableUpload):
        assert result.datatree()[:4] == b"\x89HDF"
        assert comparison.unlike(table.upload, table.upload) is None
        (study,) = comparison.studies(table.upload)
        scores = study.answer(table.upload, store, print)
        (energy,) = comparison.measures([table.upload] * 2, [[]] * 2, [scores] * 2)
        assert energy.differences[1].estimate == 0
        told = comparison.left_out([table.upload] * 2, "ab")
        assert bool(told) == (weights in kinds)
