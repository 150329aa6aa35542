"""The page that compares posteriors, under AppTest: files in, differences out."""

import io

import numpy as np
import pytest
from streamlit.testing.v1 import AppTest

from pages.ui.services import services
from tests.conftest import ROOT
from validation_core.diagnosis import learning
from validation_core.diagnosis.questions import example
from validation_core.scores.classifier import Classifier

PAGE = str(ROOT / "pages" / "posteriors.py")
QUICK = Classifier(epochs=4, lr=1e-2, batch=64, hidden=8, layers=2)
SMALL = {"steps": 8, "batch": 16, "draws_step": 4, "hidden": 8, "layers": 1, "start": "origin"}


@pytest.fixture(autouse=True)
def _small(monkeypatch):
    monkeypatch.setattr(learning, "RECIPE", QUICK)
    monkeypatch.setattr(learning, "LOCALIZER", SMALL)
    monkeypatch.setattr(example, "pair", list)  # what a first visit shows: test_first_visits
    services.clear()
    yield
    services.clear()


def packed(*, width=1.0, rows=0, n=80):
    rng = np.random.default_rng(rows)
    x = rng.standard_normal((n, 2))
    theta = x + rng.standard_normal((n, 2))
    q = x[:, None] + width * rng.standard_normal((n, 12, 2))
    file = io.BytesIO()
    np.savez(file, theta=theta, x=x, theta_q=q)
    return file.getvalue()


@pytest.fixture
def page():
    at = AppTest.from_file(PAGE, default_timeout=90).run()
    assert not at.exception
    return at


def send(at, files):
    at.file_uploader[0].set_value([(name, content, "application/octet-stream")
                                   for name, content in files]).run()  # fmt: skip
    assert not at.exception
    return at


def texts(at):
    parts = [*at.title, *at.subheader, *at.markdown, *at.caption, *at.warning, *at.error, *at.info]
    return "\n".join(part.value for part in parts)


def finished(at):
    """Run until nothing is worked on any more."""
    for _ in range(200):
        engine = services().engine
        jobs = [job for job in engine.jobs() if job.snapshot().active]
        for job in jobs:
            engine.wait(job.key, "test", timeout=60)
        at.run()
        if not jobs:
            return at
    raise AssertionError("the work never ended")


def test_two_tables_are_compared(page):
    at = finished(send(page, [("wide.npz", packed(width=3.0)), ("exact.npz", packed())]))
    text = texts(at)
    assert "exact" in text
    assert "is closer than" in text
    frame = at.dataframe[0].value
    assert {"energy score", "distance of ranks"} <= set(frame["Measure"])
    assert (frame[frame["Measure"] == "energy score"]["Nearer the truth"] == "yes").any()


def test_other_simulations_are_not_compared(page):
    at = send(page, [("a.npz", packed()), ("b.npz", packed(rows=1))])
    assert "cannot be compared" in texts(at)
    assert not at.dataframe


def test_one_table_asks_for_another(page):
    at = send(page, [("a.npz", packed())])
    assert "add another one" in texts(at)


def test_a_refusal_is_said_in_a_line(page):
    at = send(page, [("a.npz", b"not an archive"), ("b.npz", packed())])
    assert len(at.error) == 1
    assert "got" in at.error[0].value
