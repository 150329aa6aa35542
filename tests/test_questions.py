"""The registry of panels: every answer keeps its contract on one table, told, drawn and listed."""

import json
from dataclasses import replace

import numpy as np
import pytest

from tests.conftest import few_trials
from validation_core import diagnosis, report
from validation_core.diagnosis import learning, questions, tasks
from validation_core.diagnosis.questions.sensitivity import SensitivityStudy
from validation_core.rng import stream
from validation_core.scores.classifier import Classifier
from validation_core.store import Store
from validation_core.tables import Upload

SMALL = {"steps": 8, "batch": 16, "draws_step": 4, "hidden": 8, "layers": 1, "start": "origin"}
NAMES = ("zeta", "<b>spin")


@pytest.fixture(scope="module")
def answered(tmp_path_factory):
    """A table that is too narrow, its verdict and every answer that is quick."""
    patch = pytest.MonkeyPatch()
    patch.setattr(learning, "RECIPE", Classifier(epochs=4, lr=1e-2, batch=64, hidden=8, layers=2))
    patch.setattr(learning, "LOCALIZER", SMALL)
    few_trials(patch)
    rng = stream(0, "panels test")
    theta = rng.standard_normal((160, 2))
    x = theta + 0.5 * rng.standard_normal((160, 2))
    q = 0.8 * x[:, None] + 0.25 * rng.standard_normal((160, 30, 2))
    upload = Upload.of({"theta": theta, "x": x, "theta_q": q, "theta_names": np.array(NAMES),
                        "x_names": np.array(["left", "right"])})  # fmt: skip
    store, methods = Store(tmp_path_factory.mktemp("panels")), diagnosis.default_methods()
    tasks.hold(upload)
    for task in tasks.tasks(upload, methods, 0):
        task.run(store, lambda fraction, live: None)
    for task in questions.studies(questions.QUESTIONS, upload, methods, 0):
        if not (isinstance(task, SensitivityStudy) and task.stage):
            task.run(store, lambda fraction, live: None)
    records, _ = tasks.records(store, upload, methods, 0)
    found = diagnosis.verdict(records, upload)
    yield found, questions.answered(store, upload, methods, 0), store
    patch.undo()


def test_every_panel_answers(answered):
    found, answers, _ = answered
    assert set(answers) == {panel.name for panel in questions.QUESTIONS}
    assert found.verdict == "problem found"


@pytest.mark.parametrize("panel", questions.QUESTIONS, ids=lambda panel: panel.name)
def test_a_panel_is_told_drawn_and_listed(panel, answered):
    found, answers, _ = answered
    answer = answers[panel.name]
    said = answer.describe(found)
    assert said
    assert all(sentence.strip().endswith((".", "!")) for sentence in said), said
    assert not any(
        word in sentence.split() for sentence in said for word in ("nan", "None", "inf")
    )
    drawn = answer.figures(found)
    assert drawn
    assert all(one.caption.endswith(".") and len(one.caption) > 60 for one in drawn)
    assert not any("<b>spin" in one.figure.to_json() for one in drawn)
    listed = answer.rows(found)
    assert listed
    assert all(isinstance(value, str | int | float) or value is None
               for row in listed for value in row.values())  # fmt: skip
    assert len(panel.reading_guide.split(". ")) > 1
    assert "{path}" in panel.code


def test_plain_numbers_are_json(answered):
    _, answers, _ = answered
    for name, answer in answers.items():
        text = json.dumps(answer.to_json())
        assert "zeta" not in text, f"{name} holds a parameter's name"


def test_names_of_x_are_told(answered):
    found, answers, _ = answered
    said = " ".join(answers["observation"].describe(found))
    assert "left" in said
    assert "x_1" not in said


def test_one_json_for_page_and_command_line(answered):
    found, answers, _ = answered
    told = json.loads(report.as_json(found, answers))
    assert told["verdict"] == "problem found"
    assert told["cause"][0]["cause"] == answers["cause"].to_json()["cause"] or not told["cause"]
    kinds = [one["kind"] for one in told["sensitivity"]]
    assert kinds[0] == "shift"
    assert "bias" in kinds
    assert {"over_x", "in_theta", "observation"} <= {one["method"] for one in told["where"]}


def test_a_panel_is_found_by_its_name():
    assert questions.by_name("size").title == "How wrong"
    with pytest.raises(ValueError, match="one of size"):
        questions.by_name("why")


def test_two_samples_say_why_not():
    rng = np.random.default_rng(0)
    upload = Upload.of({"p": rng.standard_normal((80, 2)), "q": rng.standard_normal((80, 2))})
    for panel in questions.QUESTIONS:
        reason = panel.obstacle(upload)
        assert reason
        assert "two samples" in reason.lower() or "two plain samples" in reason.lower()
    assert questions.studies(questions.QUESTIONS, upload, diagnosis.default_methods(), 0) == []


def test_what_the_verdict_does_not_find_is_a_hint(answered):
    """Without relabelling each panel has a level of its own: a claim is then told as less."""
    found, answers, _ = answered
    found = replace(found, claims=None)
    quiet = replace(found, verdict="no problem found")
    claims = {"size", "over_x", "in_theta", "observation", "cause"}
    for panel in questions.QUESTIONS:
        hinted = "take this for a hint" in " ".join(answers[panel.name].describe(quiet))
        assert hinted <= (panel.name in claims)
        assert "hint" not in " ".join(answers[panel.name].describe(found))
        waiting = answers[panel.name].describe(replace(quiet, pending=1))
        assert "take this for a hint" not in " ".join(waiting)
    assert "take this for a hint" in answers["size"].describe(quiet)[-1]


def test_a_panel_claims_no_more_than_the_verdict(answered):
    """With p at 1 for everything no panel says that q is wrong anywhere."""
    found, answers, _ = answered
    assert found.claims is not None
    result = found.claims.result
    silent = replace(result, adjusted=np.ones_like(result.adjusted))
    quiet = replace(
        found, verdict="no problem found", claims=replace(found.claims, result=silent)
    )  # fmt: skip
    wrong = ("q is wrong", "mass is wrong in theta", "q's error changes over x", "is the worst",
             "objects to q", "Most likely", "is wider than the prior", "q puts too")  # fmt: skip
    for panel in questions.QUESTIONS:
        said = " ".join(answers[panel.name].describe(quiet))
        assert not any(words in said for words in wrong), said
    loud = answers["size"].describe(found)
    assert "is the worst" in loud[0]
    assert found.claims.parameter(0) == found.parameters[0].pvalue_adjusted
