"""The Python beside each panel: it runs as it stands, on a file, and prints what the panel
says."""

import contextlib
import io
import runpy

import numpy as np
import pytest

from tests.conftest import QUICK, few_trials
from tests.fixed_claims import asked_alone
from validation_core import diagnosis, report, tables
from validation_core.diagnosis import questions, tasks
from validation_core.rng import stream
from validation_core.scores.upload_training import trained_by
from validation_core.store import Store

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
    script.write_text(report.code(panel.code, path=str(path), seed=SEED), encoding="utf-8")
    with contextlib.redirect_stdout(heard):
        runpy.run_path(str(script), run_name="__main__")
    printed = heard.getvalue()
    answer = answers[panel.name]
    claims = asked_alone(panel, upload, SEED, store)
    text = panel.describe(answer.result, questions.Names(upload.names, upload.x_names), claims)
    assert text
    assert [sentence for sentence in text if sentence not in printed.splitlines()] == []
