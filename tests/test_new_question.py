"""A question of the diagnosis is a file and its line: page, report and command line show it."""

import json
import os
import shutil
import subprocess
import sys

import numpy as np
import pytest

from tests.conftest import ROOT

FILE = '''
"""Farthest: in which row the truth lies farthest from q."""

from dataclasses import dataclass

import numpy as np

from validation_core.diagnosis.questions.base import Question, TableStudy
from validation_core.drawing.marks import Axis, Bars, Panel
from validation_core.drawing.outcome import Drawn


@dataclass(frozen=True, eq=False)
class FarRow:
    row: int
    sd: float
    off: np.ndarray


@dataclass(frozen=True, kw_only=True)
class FarRowStudy(TableStudy[FarRow], spec="farthest"):
    about = "Farthest row"

    def answer(self, upload, store, report):
        q, theta = upload.data.q, upload.data.theta
        off = np.abs((theta - q.mean(1)) / q.std(1)).max(1)
        return FarRow(int(off.argmax()), float(off.max()), off)


class Farthest(Question[FarRow]):
    name = "farthest"
    title = "Which row is farthest?"
    reading_guide = "Bars count rows. If q were correct, few would lie beyond 3."

    def obstacle(self, upload):
        return None if upload.k else "It needs x; got two samples. Upload a table."

    def studies(self, upload, methods, seed):
        return (FarRowStudy(digest=upload.digest, seed=seed),)

    def gather(self, results):
        return results[0]

    def describe(self, result, names, claims):
        return (f"Row {result.row} is {result.sd:.2f} sd from q's mean of {names.theta[0]}.",)

    def notes(self, result, names):
        return (f"Distances are in sds of q's draws, of {len(result.off)} rows.",)

    def rows(self, result, names, claims):
        return [{"row": result.row, "sd from q's mean": result.sd}]

    def figures(self, result, names, claims):
        counts, edges = np.histogram(result.off, 18, (0, 9))
        bars = Bars(edges, counts, color="#8A8F98")
        panel = Panel([bars], x=Axis((0, 9), "sd"), y=Axis((0, 60), "rows"))
        return (Drawn("How far rows lie", panel, self.reading_guide),)
'''
IMPORT = "from validation_core.diagnosis.questions.farthest import Farthest\n"
LINE = "    Farthest(),\n"

COMMANDS = """
import sys
from validation_core.cli import main

assert main(sys.argv[1:]) == 0
print("HELP", flush=True)
main(["diagnose", "--help"])
"""
PAGE = """
import sys
from concurrent.futures import Future
from streamlit.testing.v1 import AppTest
from pages.diagnose import rows, takeaway, view
from pages.ui.services import services
from validation_core.diagnosis import learning, questions
from validation_core.scores.classifier import Classifier

# Small networks, and no question that trains more of them.
learning.RECIPE = Classifier(epochs=4, batch=64, hidden=8, layers=2)
learning.LOCALIZER = {"steps": 8, "batch": 16, "draws_step": 4, "hidden": 8, "layers": 1,
                      "start": "origin"}
few = tuple(each for each in questions.QUESTIONS if each.name in ("size", "farthest"))
for module in (questions, rows, takeaway, view):
    module.QUESTIONS = few

at = AppTest.from_file(sys.argv[1], default_timeout=120)
services().engine.executor.submit = lambda *arguments: Future()  # the example may wait
at.run()
services.clear()
at.file_uploader[0].upload("table.npz", open(sys.argv[2], "rb").read()).run()
for _ in range(20):  # until what was begun has been answered
    if any("sd from q's mean" in part.label for part in at.expander):
        break
    at.run()
assert not at.exception, at.exception
print(*[part.label for part in at.expander], sep="\\n")
"""


@pytest.fixture(scope="module")
def house(tmp_path_factory):
    """A copy of the house with one question more."""
    place = tmp_path_factory.mktemp("house")
    for name in ("validation_core", "pages"):
        shutil.copytree(ROOT / name, place / name)  # with what is compiled: dates stay
    shutil.copy(ROOT / "app.py", place)
    room = place / "validation_core" / "diagnosis" / "questions"
    (room / "farthest.py").write_text(FILE)
    registry = (room / "__init__.py").read_text()
    start = registry.index("QUESTIONS: ")
    start = registry.index("\n)", start) + 1
    registry = registry[:start] + LINE + registry[start:]
    (room / "__init__.py").write_text(
        registry.replace("from validation_core.tables", IMPORT + "from validation_core.tables", 1)
    )
    rng = np.random.default_rng(0)
    table = {"theta": rng.standard_normal((60, 2)), "x": rng.standard_normal((60, 3)),
             "theta_q": rng.standard_normal((60, 8, 2))}  # fmt: skip
    np.savez(place / "table.npz", **table, theta_names=np.array(["mass", "spin"]))
    return place


def run(house, *arguments):
    environment = {**os.environ, "PYTHONPATH": str(house), "NPTLAB_CACHE": str(house / "cache")}
    done = subprocess.run(
        [sys.executable, *arguments], cwd=house, env=environment, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_the_command_line_and_the_report_answer_it(house):
    options = ["--method", "sbc", "--answers", "farthest", "--report", "report.html"]
    command = ["diagnose", "table.npz", *options, "--json", "a.json"]
    result, helped = run(house, "-c", COMMANDS, *command).split("HELP")
    assert "farthest" in helped
    numbers = json.loads((house / "a.json").read_text())["answers"]["farthest"]
    assert set(numbers) == {"sentences", "notes", "row", "sd"}
    sentence = f"Row {numbers['row']} is {numbers['sd']:.2f} sd from q's mean of mass."
    assert numbers["sentences"] == [sentence]
    assert numbers["notes"] == ["Distances are in sds of q's draws, of 60 rows."]
    report = (house / "report.html").read_text()
    assert "Which row is farthest?" in report
    assert sentence.replace("'", "&#x27;") in report
    assert "How far rows lie" in report
    assert numbers["notes"][0].replace("'", "&#x27;") in report
    assert result == "" or sentence in result


def test_the_page_shows_it(house):
    result = run(house, "-c", PAGE, str(house / "pages" / "diagnose" / "page.py"), "table.npz")
    (line,) = (label for label in result.splitlines() if "Which row is farthest?" in label)
    assert line.endswith("sd from q's mean of mass.")
