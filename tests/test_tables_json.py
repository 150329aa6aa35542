"""JSON: arrays, parameters by name, records, frames of pandas, results of bilby; hostile ones."""

import json

import h5py
import numpy as np
import pytest

import validation_core as npt
from tests.files import K, N, npy, npz, refusal, table
from validation_core import tables
from validation_core.tables import guarded_file


def lists(arrays):
    return {name: np.asarray(array).tolist() for name, array in arrays.items()}


def text(value):
    return json.dumps(value).encode()


def same(upload):
    assert (
        upload.digest == tables.read(npz({n: a.astype(float) for n, a in table().items()})).digest
    )


def by_name(array):
    return {name: array[..., j].tolist() for j, name in enumerate(("mass", "spin"))}


ARRAYS = lists(table())
FORMS = {
    "arrays": ARRAYS,
    "in an object of a role's name": {"data": ARRAYS},
    "in an object": {"about": {"seed": 1}, "run": ARRAYS},
    "parameters by name": {
        "theta": by_name(table()["theta"]), "x": ARRAYS["x"],
        "theta_q": by_name(table()["theta_q"]),
    },
    "records": [dict(zip(ARRAYS, row, strict=True)) for row in zip(*ARRAYS.values(), strict=True)],
    "simulations by name": {
        f"event {i}": dict(zip(ARRAYS, row, strict=True))
        for i, row in enumerate(zip(*ARRAYS.values(), strict=True))
    },
}  # fmt: skip


@pytest.mark.parametrize("form", FORMS.values(), ids=FORMS)
def test_json_of_every_form_reads_the_same_numbers(form):
    same(tables.read(text(form)))
    same(tables.read(json.dumps(form, indent=1).encode("utf-8-sig")))


def test_lines_of_json_are_records():
    same(tables.read(b"\n".join(text(row) for row in FORMS["records"])))


def test_parameters_by_name_name_the_columns():
    assert tables.read(text(FORMS["parameters by name"])).names == ("mass", "spin")


def test_draws_without_names_beside_names_in_several_orders_are_refused():
    arrays = lists(table())
    rows = [
        {**dict(zip(arrays, row, strict=True)), "theta": {"mass": row[0][0], "spin": row[0][1]}}
        for row in zip(*arrays.values(), strict=True)
    ]
    assert tables.read(text(rows)).names == ("mass", "spin")
    rows[7]["theta"] = dict(reversed(rows[7]["theta"].items()))
    assert "must name theta in one order; got mass, spin and spin, mass" in refusal(text(rows))


def test_null_and_nan_are_missing_values():
    arrays = lists(table())
    arrays["theta"][3][0], arrays["x"][5][1] = None, float("inf")
    upload = tables.read(text(arrays))
    assert upload.n == N - 2
    assert sum(upload.dropped.values()) == 2


def result(i, k=K):
    """A result of bilby: one simulation."""
    arrays = table()
    content = by_name(arrays["theta_q"][i, :k]) | {"log_likelihood": [0.0] * k}
    truths = dict(zip(("mass", "spin"), arrays["theta"][i].tolist(), strict=True))
    return {"label": f"event_{i}", "search_parameter_keys": ["mass", "spin"],
            "injection_parameters": truths | {"fixed": 1.0, "name": "a"},
            "posterior": {"__dataframe__": True, "content": content}}  # fmt: skip


def test_results_of_bilby_are_the_rows_of_one_table(tmp_path):
    for i in range(N):
        (tmp_path / f"event_{i}_result.json").write_bytes(text(result(i, K - (i == 7))))
    without = npt.read(tmp_path)
    assert (without.n, without.upload.dims) == (N, (2, 0))
    (tmp_path / "x.npy").write_bytes(npy(table()["x"]))
    found = npt.read(tmp_path)
    assert (found.n, found.k, found.names) == (N, K - 1, ("mass", "spin"))
    np.testing.assert_allclose(found.arrays()["theta"], table()["theta"])
    kept = found.arrays()["theta_q"][7]
    np.testing.assert_allclose(kept, table()["theta_q"][7, :-1])  # all that it has, in their order
    assert "Files hold one simulation each: 60 rows." in found.notes
    assert tables.read(text(result(0))).n == 1


def test_results_of_bilby_in_hdf5_are_read_as_those_in_json(tmp_path):
    for i in range(3):
        content = result(i, K - (i == 2))
        frame = content["posterior"].pop("content")
        with h5py.File(tmp_path / f"event_{i}_result.hdf5", "w") as file:
            file["search_parameter_keys"] = [b"mass", b"spin"]  # texts of no fixed length
            for group, values in (("posterior", frame), ("injection_parameters", {
                **content["injection_parameters"], "name": b"a"})):  # fmt: skip
                for name, value in values.items():
                    file[f"{group}/{name}"] = value
        (tmp_path / f"json_{i}.json").write_bytes(text(result(i, K - (i == 2))))
    found, wanted = (npt.read(sorted(tmp_path.glob(of))) for of in ("*.hdf5", "*.json"))
    assert found.upload.digest == wanted.upload.digest
    assert (found.names, found.notes) == (wanted.names, wanted.notes)


def ragged(arrays, few):
    """Lists whose rows are as long as few says, of x and of all that is at the draws."""
    cut = {name: lists({name: array})[name] for name, array in arrays.items()}
    for name, k in few.items():
        cut[name] = [row[: k + i % 3] for i, row in enumerate(cut[name])]
    return cut


@pytest.mark.parametrize("at", [text, lambda value: value], ids=["file", "memory"])
def test_rows_of_different_lengths_are_padded_and_what_is_at_draws_goes_with_them(at):
    rng = np.random.default_rng(0)
    beside = {
        "quantity_own": rng.normal(size=N), "quantity_own_draws": rng.normal(size=(N, K)),
        "log_likelihood": rng.normal(size=N), "log_likelihood_draws": rng.normal(size=(N, K)),
    }  # fmt: skip
    few = dict.fromkeys(("theta_q", "quantity_own_draws", "log_likelihood_draws"), K - 2)
    found = npt.read(as_file(at(ragged(table(**beside), few))))
    assert (found.n, found.k) == (N, K - 2)
    assert list(found.upload.own_quantities) == ["log p(x | theta)", "own"]
    assert all(quantity.complete for quantity in found.upload.own_quantities.values())
    assert any("10 of each are kept" in note for note in found.notes)
    trials = npt.read(as_file(at(ragged(table(), {"x": 1}))))
    assert (trials.n, trials.upload.dims) == (N, (2, 4))


def as_file(value):
    return value if isinstance(value, dict | bytes) else text(value)


def test_a_ragged_list_that_would_fill_the_memory_is_refused():
    wide = {**lists(table()), "x": [[0]] * 4000 + [[0] * 400_000]}
    assert "memory" in refusal(text(wide), limit=10**8)


def test_a_result_without_true_values_says_how_to_add_them():
    content = result(0) | {"injection_parameters": None}
    assert "Run the sampler with injection_parameters=..." in refusal(text(content))
    content["injection_parameters"] = {"other": 1.0}
    assert "Add the missing injection_parameters" in refusal(text(content))


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b'{"theta": [[1, 2], [3', "must be whole; got text that is not (line 1, column"),
        (b"[" * 100_000, "nested at most a few deep"),
        (b'{"a":' * 100_000, "nested at most a few deep"),
        (b'{"theta": [1], "theta": [2]}', "got theta twice"),
        (b'{"theta": [[1, 2], [3]]}', "lists of equal lengths; got 'theta'"),
        (b'{"theta": [1, "a"]}', "lists of equal lengths; got 'theta'"),
        (b'{"theta": [[[]]]}', "missing: x"),
        (b"[]", "missing: theta"),
        (b"{}", "missing: theta"),
        (b"[1, 2", "must be whole"),
        (b'[{"a": 1}, {"b": 1}]', "must have the same names; got some without a, b"),
        (b'{"theta": ' + b"9" * 2_000_000 + b"}", "missing: x"),
        (b'{"theta": [1e999, -1e999, NaN]}', "missing: x"),
        (b'{"th\\ud800eta": [1]}', "missing: theta"),
        (b'{"\xff": 1}', "UTF-8"),
        (b'{"a": 1}\n{"a": ', "one on each line"),
    ],
)  # fmt: skip
def test_hostile_json_is_refused_by_its_rule(content, words):
    assert words in refusal(content)


def test_json_that_takes_too_much_memory_or_time_is_told_as_that_bound(monkeypatch):
    assert "must have at most 8.39 MB; got" in refusal(b"[" + b"1," * 5_000_000 + b"1]",
                                                       limit=2**20)  # fmt: skip
    monkeypatch.setattr(guarded_file, "MEMORY", 300_000_000)
    content = b"[" + b"[1.5]," * 4_000_000 + b"[1]]"
    assert "at most 300 MB of memory" in refusal(content)
    monkeypatch.setattr(guarded_file, "SECONDS", 0.01)
    assert "at most 0.01 s" in refusal(content)


def test_plain_arrays_of_a_real_file_are_read(shared):
    table = npt.read(shared / "cases/arrays.json")
    assert (table.n, table.k) == (60, 20)
    assert npt.diagnose(table, questions=()).verdict == "problem found"
