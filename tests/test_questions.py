"""The registry of panels: every answer keeps its contract on one table, told, drawn and listed."""

import json
from dataclasses import replace

import numpy as np
import pytest

from tests.conftest import QUICK, few_trials
from validation_core import diagnosis, report
from validation_core.diagnosis import questions, tasks
from validation_core.diagnosis.questions.sensitivity.study import SensitivityStudy
from validation_core.rng import stream
from validation_core.scores.upload_training import trained_by
from validation_core.store import Store
from validation_core.tables import Upload

NAMES = ("zeta", "<b>spin")


@pytest.fixture(scope="module")
def answered(tmp_path_factory):
    """A table that is too narrow, its verdict and every answer that is quick."""
    patch = pytest.MonkeyPatch()
    few_trials(patch)
    rng = stream(0, "panels test")
    theta = rng.standard_normal((160, 2))
    x = theta + 0.5 * rng.standard_normal((160, 2))
    q = 0.8 * x[:, None] + 0.25 * rng.standard_normal((160, 30, 2))
    upload = Upload.of({"theta": theta, "x": x, "theta_q": q, "theta_names": np.array(NAMES),
                        "x_names": np.array(["left", "right"])})  # fmt: skip
    store, methods = Store(tmp_path_factory.mktemp("panels")), diagnosis.default_methods()
    tasks.register_upload(upload)
    with trained_by(QUICK):
        for task in tasks.tasks(upload, methods, 0):
            task.run(store, lambda fraction, live: None)
        for task in questions.question_studies(questions.QUESTIONS, upload, methods, 0):
            if not (isinstance(task, SensitivityStudy) and task.stage):
                task.run(store, lambda fraction, live: None)
        records, _ = tasks.records(store, upload, methods, 0)
        verdict = diagnosis.verdict(records, upload)
        yield verdict, questions.answered_questions(store, upload, methods, 0), store
    patch.undo()


def test_every_panel_answers(answered):
    result, answers, _ = answered
    assert set(answers) == {panel.name for panel in questions.QUESTIONS}
    assert result.verdict == "problem found"


@pytest.mark.parametrize("panel", questions.QUESTIONS, ids=lambda panel: panel.name)
def test_a_panel_is_told_drawn_and_listed(panel, answered):
    result, answers, _ = answered
    answer = answers[panel.name]
    sentences = answer.describe(result)
    assert sentences
    assert all(sentence.strip().endswith((".", "!")) for sentence in sentences), sentences
    assert not any(
        word in sentence.split() for sentence in sentences for word in ("nan", "None", "inf")
    )
    drawings = answer.figures(result)
    assert drawings
    assert all(item.caption.endswith(".") and len(item.caption) > 60 for item in drawings)
    assert not any("<b>spin" in item.figure.to_json() for item in drawings)
    listed = answer.rows(result)
    assert listed
    assert all(isinstance(value, str | int | float) or value is None
               for row in listed for value in row.values())  # fmt: skip
    assert len(panel.reading_guide.split(". ")) > 1
    assert "{table}" in panel.code


def test_how_an_answer_was_got_stands_in_its_notes(answered):
    result, answers, _ = answered
    for panel in questions.QUESTIONS:
        answer = answers[panel.name]
        notes = answer.notes(result)
        assert all(note.endswith((".", "!")) for note in notes)
        assert not set(notes) & set(answer.describe(result))
        assert len(answer.describe(result)[0]) < 320
    for name, words in (
        ("over_x", "null tables each"), ("in_theta", "held-out rows were scored"),
        ("observation", "null classifiers"), ("sensitivity", "Power of the verdict at level"),
    ):  # fmt: skip
        assert words in " ".join(answers[name].notes(result))
        assert words not in " ".join(answers[name].describe(result))
    numbers = json.loads(report.as_json(result, answers))["answers"]
    assert numbers["over_x"]["notes"] == list(answers["over_x"].notes(result))


def test_plain_numbers_are_json(answered):
    _, answers, _ = answered
    for name, answer in answers.items():
        text = json.dumps(answer.to_json())
        assert "zeta" not in text, f"{name} holds a parameter's name"


def test_names_of_x_are_told(answered):
    result, answers, _ = answered
    text = " ".join(answers["observation"].describe(result))
    assert "left" in text
    assert "x_1" not in text


def test_one_json_for_page_and_command_line(answered):
    result, answers, _ = answered
    data = json.loads(report.as_json(result, answers))
    assert data["verdict"] == "problem found"
    assert data["cause"][0]["cause"] == answers["cause"].to_json()["cause"] or not data["cause"]
    kinds = [item["kind"] for item in data["sensitivity"]]
    assert kinds[0] == "shift"
    assert "bias" in kinds
    assert {"over_x", "in_theta", "observation"} <= {item["method"] for item in data["where"]}


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
    assert (
        questions.question_studies(questions.QUESTIONS, upload, diagnosis.default_methods(), 0)
        == []
    )


def test_what_the_verdict_does_not_find_is_a_hint(answered):
    """Where tests named by a user are the verdict, what only relabelling finds is a hint."""
    result, answers, _ = answered
    others = [record for record in result.records if not record.kind.decides]
    result = replace(result, records=tuple(others))
    assert not result.relabelled
    quiet = replace(result, verdict="no problem found")
    claims = {"size", "over_x", "in_theta", "observation", "cause"}
    for panel in questions.QUESTIONS:
        hinted = "Take this as a hint" in " ".join(answers[panel.name].describe(quiet))
        assert hinted <= (panel.name in claims)
        assert "hint" not in " ".join(answers[panel.name].describe(result))
        waiting = answers[panel.name].describe(replace(quiet, pending=1))
        assert "Take this as a hint" not in " ".join(waiting)
    assert "Take this as a hint" in answers["size"].describe(quiet)[-1]


def test_a_panel_claims_no_more_than_the_verdict(answered):
    """With p at 1 for everything no panel says that q is wrong anywhere."""
    outcome, answers, _ = answered
    assert outcome.relabelled
    result = outcome.claims.result
    silent = replace(result, adjusted=np.ones_like(result.adjusted))
    quiet = replace(
        outcome, verdict="no problem found", claims=replace(outcome.claims, result=silent)
    )  # fmt: skip
    wrong = ("q is wrong", "mass is wrong in theta", "q's error changes over x", "is the worst",
             "looks wrong", "Most likely", "is wider than the prior", "q puts", "too little (p",
             "too much (p", "The error looks the same", "No single cause")  # fmt: skip
    for panel in questions.QUESTIONS:
        text = " ".join(answers[panel.name].describe(quiet))
        assert not any(words in text for words in wrong), text
        other = panel.name in ("sensitivity", "checker", "in_nats", "mend")  # something else
        assert answers[panel.name].finds(quiet) is (None if other else False)
        assert (answers[panel.name].finds(outcome) is None) == other
    loud = answers["size"].describe(outcome)
    assert answers["size"].finds(outcome)
    assert "is the worst" in loud[0]
    assert outcome.claims.parameter(0) == outcome.parameters[0].pvalue_adjusted
