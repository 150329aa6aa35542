"""What the pages of Diagnose show before there is a table: shipped diagnoses, and no work."""

import json

import pytest
from streamlit.testing.v1 import AppTest

from pages.ui import jobs
from pages.ui.services import services
from tests.conftest import ROOT, Idle
from validation_core.diagnosis import comparison, examples, tasks
from validation_core.diagnosis.questions import QUESTIONS
from validation_core.scores.trained_scores import TrainTask
from validation_core.study import Study

pytestmark = pytest.mark.usefixtures("_new_server")


def _visit(path):
    page = AppTest.from_file(str(ROOT / "pages" / path), default_timeout=60).run()
    assert not page.exception
    return page


def _words(page):
    return " ".join(text.value for text in page.markdown).replace("\\", "")


def _computed():
    return [entry for entry in services().store.entries() if not entry.shipped]


def test_my_posterior_opens_with_a_finished_example():
    page = _visit("diagnose/page.py")
    card = json.loads(page.get("bidi_component")[0].proto.json)["html"]
    assert "<h2>Problem found</h2>" in card
    assert "infection rate: q sits 0." in card
    assert any("trained on 200 simulations" in text.value for text in page.caption)
    assert not services().engine.jobs()
    assert {entry.kind for entry in _computed()} <= {"tables"}
    services().engine.executor = Idle()  # a map that nobody ships would be learnt by then
    for question in QUESTIONS:
        if not question.long:
            page.session_state[f"row-{question.name}"] = True
    page.run()
    assert not page.exception
    assert len(page.get("plotly_chart")) > 8


def test_what_is_asked_for_begins_when_its_row_is_opened():
    page = _visit("diagnose/page.py")
    assert not services().engine.jobs()
    services().engine.executor = Idle()
    page.session_state["row-mend"] = True
    page.run()
    assert not page.exception
    assert services().engine.jobs()


def test_compare_posteriors_opens_with_three_finished_tables():
    page = _visit("posteriors.py")
    assert page.header[0].value == "Nearest to the true posterior\\: 20,000 simulations."
    words = _words(page)
    assert words.index("lower than that of 1,000") < words.index("lower than that of 200")
    assert len(page.get("plotly_chart")) == 1
    for key in ("every-measure", "in-order"):
        page.session_state[key] = True
    page.run()
    assert not page.exception
    assert len(page.get("plotly_chart")) == 1 + 4 + 5
    assert not services().engine.jobs()
    assert {entry.kind for entry in _computed()} <= {"tables"}


@pytest.mark.parametrize(
    ("system", "words"),
    [
        ("Images", "p draws 32 × 32 crops of ten photographs"),
        ("Lensing", "A network reconstructs a galaxy"),
        ("Digits", "5,000 digits of MNIST"),
        ("Sphere flow", "p is a normalizing flow"),
    ],
)
def test_high_dimensions_opens_with_every_system(system, words):
    page = AppTest.from_file(str(ROOT / "pages/highdim/page.py"), default_timeout=60)
    page.query_params["system"] = system
    page.run()
    assert not page.exception
    assert words in _words(page) + " ".join(text.value for text in page.caption)
    assert not services().engine.jobs()
    assert not _computed()


def test_what_is_shipped_is_what_the_pages_ask_for():
    store = services().store
    assert all(study.done(store) for study in examples.studies())
    assert len(examples.studies()) > 50


def test_a_network_is_wanted_where_something_that_reads_it_is_missing(monkeypatch):
    store, upload = services().store, examples.wrong()
    work = tasks.tasks(upload, comparison.methods(), 7)
    trainings = [task for task in work if isinstance(task, TrainTask)]
    monkeypatch.setattr(jobs.st, "session_state", {})
    asked = iter(range(9))
    assert jobs.lacking("a", next(asked), lambda: work) == tuple(work)
    assert jobs.lacking("a", next(asked), lambda: trainings) == ()
    monkeypatch.setattr(Study, "done", lambda self, store: True)
    assert jobs.lacking("a", next(asked), lambda: work) == ()
    assert not any(task.done(store) for task in trainings)


def test_what_was_missing_stays_the_same_until_all_is_done(monkeypatch):
    done = set()

    class Task:
        def __init__(self, key):
            self.key = key

        def done(self, store):
            return self.key in done

    one, two = Task("one"), Task("two")
    monkeypatch.setattr(jobs.st, "session_state", {})
    assert jobs.lacking("a", "both", lambda: [one, two]) == (one, two)
    done.add("one")
    assert jobs.lacking("a", "both", lambda: [one, two]) == (one, two)
    assert jobs.lacking("a", "again", lambda: [one, two]) == (two,)
    done.add("two")
    assert jobs.lacking("a", "both", lambda: [one, two]) == ()
