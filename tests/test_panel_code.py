"""The Python beside each panel: it runs as it stands, on a file, and prints what the panel
says."""

import contextlib
import html
import io
import math
import re
import runpy

import numpy as np
import pytest

import validation_core as npt
from tests.conftest import QUICK, few_trials
from tests.fixed_claims import asked_alone
from tests.reports import code_of, table
from validation_core import diagnosis, report, tables
from validation_core.diagnosis import questions, tasks
from validation_core.rng import stream
from validation_core.scores.upload_training import trained_by
from validation_core.store import Store
from validation_core.tables import Upload

SEED = 3
# The code of sensitivity goes through all stages: its own tests run it.
PANELS = [panel for panel in questions.QUESTIONS if panel.name != "sensitivity"]


@pytest.fixture(scope="module")
def asked(tmp_path_factory):
    """A file with a name that needs care, and what all panels that can be quick say of it."""
    patch = pytest.MonkeyPatch()
    few_trials(patch)
    rng = stream(0, "code test")
    theta = rng.standard_normal((120, 2))
    x = theta + 0.5 * rng.standard_normal((120, 2))
    q = 0.8 * x[:, None] + 0.25 * rng.standard_normal((120, 20, 2))
    path = tmp_path_factory.mktemp("code") / 'it\'s {seed} a "table".npz'
    np.savez(path, theta=theta, x=x, theta_q=q, theta_names=np.array(["mass", "{path}"]))
    upload, store = tables.read(path), Store(tmp_path_factory.mktemp("store"))
    tasks.register_upload(upload)
    methods = diagnosis.default_methods()
    with trained_by(QUICK):
        for task in questions.question_studies(PANELS, upload, methods, SEED):
            task.run(store, lambda fraction, live: None)
        yield path, upload, store, questions.answered_questions(store, upload, methods, SEED)
    patch.undo()


@pytest.mark.parametrize("panel", PANELS, ids=lambda panel: panel.name)
def test_the_code_of_a_panel_prints_what_it_says(panel, asked, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)  # some code writes files where it runs
    path, upload, store, answers = asked
    script, heard = tmp_path / "script.py", io.StringIO()
    script.write_text(code_of(panel, path, SEED), encoding="utf-8")
    with contextlib.redirect_stdout(heard):
        runpy.run_path(str(script), run_name="__main__")
    printed = heard.getvalue()
    answer = answers[panel.name]
    claims = asked_alone(panel, upload, SEED, store)
    text = panel.describe(answer.result, questions.Names(upload.names, upload.x_names), claims)
    assert text
    assert [sentence for sentence in text if sentence not in printed.splitlines()] == []


def saved(path, n=40, k=12):
    """A file whose arrays have names of their own, and no parameter the order of its axes."""
    rng = stream(1, "how a file is read")
    theta, q = (np.append(rng.uniform(1, 6, (*m, 2)), rng.integers(3, size=(*m, 1)), axis=-1)
                for m in ((n,), (k, n)))  # fmt: skip
    np.savez(path, true=theta, obs=rng.standard_normal((n, 3)), post=q)
    return path


OPTIONS = {
    "arrays": {"theta": "true", "x": "obs", "theta_q": "post"},
    "order": "KND",
    "circular": {"theta_1": np.float64(6.5)},
    "logarithms": (),
    "bounds": {"theta_2": (0, math.inf)},
    "discrete": ("theta_3",),
    "corrections": ("thin=2",),
    "missing": "drop",
}


def run_python(text):
    """What a script prints."""
    heard = io.StringIO()
    with contextlib.redirect_stdout(heard):
        exec(text, {})
    return heard.getvalue()


def test_the_code_reads_a_file_as_it_was_read(tmp_path):
    table = npt.read(saved(tmp_path / "a.npz"), **OPTIONS)
    written = report.code("t = {table}", path=table.files, upload=table.upload)
    names = {"npt": npt}
    exec(written, names)
    again = names["t"].upload
    assert again.digest == table.upload.digest
    assert again.said == table.upload.said
    assert again.read_as == table.upload.read_as
    assert again.corrected == table.upload.corrected
    assert again.as_meant().as_saved is False  # nothing was mistaken


def test_the_code_of_several_files_reads_them_as_they_were_read(tmp_path):
    with np.load(saved(tmp_path / "a.npz")) as file:
        paths = [tmp_path / f"{name}.npy" for name in file]
        for name, at in zip(file, paths, strict=True):
            np.save(at, file[name])
    table = npt.read(paths, **OPTIONS)
    names = {"npt": npt}
    exec(report.code("t = {table}", path=table.files, upload=table.upload), names)
    assert names["t"].upload.digest == table.upload.digest


def test_the_code_of_a_file_that_is_meant_as_saved_runs(tmp_path):
    table = gross(tmp_path / "a.npz")
    assert table.upload.unusable
    meant = table.as_meant()
    written = report.code("t = {table}", path=table.files, upload=meant.upload)
    assert written.endswith("'a.npz').as_meant()".replace("a.npz", str(tmp_path / "a.npz")))


def gross(path):
    """A table whose draws have their columns exchanged."""
    rng = stream(2, "columns exchanged")
    theta = rng.normal((0, 50), (1, 2), (200, 2))
    q = (theta + 0.1 * rng.standard_normal((200, 2)))[:, None, ::-1]
    q = q + 0.1 * rng.standard_normal((200, 30, 2))
    np.savez(path, theta=theta, x=theta, theta_q=q)
    return npt.read(path)


def test_a_table_of_no_options_is_read_by_its_name_alone(tmp_path):
    upload = npt.read(saved(tmp_path / "a.npz"), arrays=OPTIONS["arrays"], corrections=[]).upload
    written = report.code("{table}", path="a.npz", upload=upload)
    assert written == f"npt.read('a.npz', arrays={OPTIONS['arrays']})"
    arrays = table(n=60, k=10).arrays()
    assert (
        report.code("{table}", path=(), upload=Upload.of(arrays)) == "npt.read('your_table.npz')"
    )


def test_the_code_in_a_report_says_what_the_report_says(tmp_path):
    table = npt.read(saved(tmp_path / "a.npz", n=60), **OPTIONS)
    store = Store(tmp_path / "store")
    how = {"methods": ["sbc"], "alpha": 0.2, "seed": 3, "store": store, "progress": False}
    result = npt.diagnose(table, questions=["size"], **how)
    codes = [html.unescape(c) for c in re.findall("<code>(.*?)</code>", result.document(), re.S)]
    (script,) = [text for text in codes if "ask(" in text]
    for option in ("alpha=0.2", "seed=3", "methods=['sbc']"):
        assert option in script
    said = run_python(script).splitlines()
    assert [sentence for sentence in result["size"].sentences if sentence not in said] == []
