"""`compare` on the command line."""

import json

import numpy as np
import pytest

from validation_core import cli as command


@pytest.fixture(autouse=True)
def _small(monkeypatch, tmp_path, quick_training):
    monkeypatch.setenv("NPTLAB_CACHE", str(tmp_path / "cache"))


def saved(path, *, width=1.0, rows=0, n=80):
    rng = np.random.default_rng(rows)
    x = rng.standard_normal((n, 2))
    theta = x + rng.standard_normal((n, 2))
    np.savez(path, theta=theta, x=x, theta_q=x[:, None] + width * rng.standard_normal((n, 12, 2)))
    return str(path)


def test_the_nearer_one_is_said(tmp_path, capsys):
    files = [saved(tmp_path / "wide.npz", width=3.0), saved(tmp_path / "exact.npz")]
    assert command.main(["compare", *files]) == 0
    printed = capsys.readouterr()
    first, second, *_ = printed.out.splitlines()
    assert first == "Nearest to the true posterior: exact.npz."
    assert "lower than that of wide.npz" in second
    assert "exact.npz is nearer than wide.npz" in printed.out
    assert "Scores of each row" in printed.err


def test_json_holds_every_measure(tmp_path, capsys):
    files = [saved(tmp_path / "a.npz"), saved(tmp_path / "b.npz", width=2.0)]
    assert command.main(["compare", *files, "--json", "-"]) == 0
    data = json.loads(capsys.readouterr().out)
    assert data["reference"] == "a.npz"
    names = {item["name"]: item for item in data["measures"]}
    assert {"energy", "sbc", "tarp", "within_x", "colt"} <= set(names)
    energy = names["energy"]
    assert energy["closer"] == [None, False]
    assert energy["differences"][1]["low"] > 0


def test_arrays_of_other_names_are_mapped(tmp_path, capsys):
    files = []
    for name in ("a", "b"):
        arrays = dict(np.load(saved(tmp_path / f"{name}.npz", width=1.0 + len(files) / 2)))
        np.savez(tmp_path / f"{name}.npz", params=arrays["theta"], obs=arrays["x"],
                 theta_q=arrays["theta_q"])  # fmt: skip
        files.append(str(tmp_path / f"{name}.npz"))
    assert command.main(["compare", *files]) == 2
    assert "got: params (80, 2), obs (80, 2)" in capsys.readouterr().err
    assert command.main(["compare", *files, "--map", "theta=params,x=obs", "--json", "-"]) == 0
    ranking = json.loads(capsys.readouterr().out)["ranking"]
    assert [item["table"] for item in ranking] == ["a.npz", "b.npz"]


@pytest.mark.parametrize(
    ("files", "words"), [(["a"], "at least two"), (["a", "other"], "other values of")]
)
def test_what_cannot_be_compared_is_refused(tmp_path, capsys, files, words):
    built = {"a": saved(tmp_path / "a.npz"), "other": saved(tmp_path / "other.npz", rows=1)}
    assert command.main(["compare", *(built[name] for name in files)]) == 2
    assert words in capsys.readouterr().err


def test_a_correction_is_made_in_the_files_that_need_it(tmp_path, capsys):
    exact = saved(tmp_path / "exact.npz", n=200)
    arrays = dict(np.load(exact))
    np.savez(tmp_path / "cols.npz", **{**arrays, "theta_q": arrays["theta_q"][..., ::-1]})
    files = [exact, str(tmp_path / "cols.npz")]
    assert command.main(["compare", *files]) == 2
    told = capsys.readouterr().err
    assert "error: cols.npz: Columns of theta_q are not in theta's order" in told
    assert "--correct columns" in told
    assert command.main(["compare", *files, "--correct", "columns"]) == 2
    assert "got the same in all of exact.npz and cols.npz" in capsys.readouterr().err
    assert command.main(["compare", *files, "--as-saved"]) == 0
    assert "Nearest to the true posterior: exact.npz." in capsys.readouterr().out
    assert command.main(["compare", *files, "--correct", "columns,rows"]) == 2
    assert "got rows, of which this table shows no sign" in capsys.readouterr().err


def test_a_table_is_not_compared_with_itself(tmp_path, capsys):
    file = saved(tmp_path / "a.npz")
    assert command.main(["compare", file, file]) == 2
    told = capsys.readouterr()
    assert "A comparison needs tables with different draws; got the same in all of" in told.err
    assert not told.out
