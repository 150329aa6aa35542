"""CONTRIBUTING.md's examples, as they stand there: each is a file and a line, and is found."""

import json
import os
import re
import shutil
import subprocess
import sys
import types

import numpy as np
import pytest

from tests.conftest import ROOT
from validation_core import keys, methods, statistics
from validation_core.benchmarks import BENCHMARKS
from validation_core.methods import METHODS
from validation_core.sweep import trials

TEXT = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")


def _titled_blocks(language):
    """Path -> the text of its block."""
    return dict(re.findall(rf'```{language} title="(.+?)"\n(.*?)```', TEXT, re.DOTALL))


FILES = _titled_blocks("python")
CHANGES = _titled_blocks("diff")
ADDED = {
    "method": "validation_core/methods/weighed.py",
    "benchmark": "validation_core/benchmarks/slope.py",
    "picture": "validation_core/drawing/distances.py",
    "question": "validation_core/diagnosis/questions/farthest.py",
    "page": "pages/farthest.py",
    "lesson": "validation_core/lessons/false_alarms.py",
}

COMMANDS = """
import json, sys
from validation_core.cli import main

for words in json.load(sys.stdin):
    try:
        assert main(words) == 0, words
    except SystemExit as end:
        assert not end.code, words
"""
# Small networks, and no question that trains more of them.
DIAGNOSE_PAGE = """
import sys
from concurrent.futures import Future
from streamlit.testing.v1 import AppTest
from pages.diagnose import rows, takeaway, view
from pages.ui.services import services
from validation_core.diagnosis import questions
from validation_core.scores.classifier import Classifier
from validation_core.scores.upload_training import UploadTraining, trained_by

trained_by(UploadTraining(
    classifier=Classifier(epochs=4, batch=64, hidden=8, layers=2),
    localizer={"steps": 8, "batch": 16, "draws_step": 4, "hidden": 8, "layers": 1,
               "start": "origin"},
)).__enter__()
few = tuple(each for each in questions.QUESTIONS if each.name in ("size", "farthest"))
for module in (questions, rows, takeaway, view):
    module.QUESTIONS = few

at = AppTest.from_file("pages/diagnose/page.py", default_timeout=120)
services().engine.executor.submit = lambda *arguments: Future()  # the example may wait
at.run()
services.clear()
at.file_uploader[0].upload("table.npz", open("table.npz", "rb").read()).run()
for _ in range(20):  # until what was begun has been answered
    if any("sd from q's mean" in part.label for part in at.expander):
        break
    at.run()
assert not at.exception, at.exception
print(*[part.label for part in at.expander], sep="\\n")
"""
OTHER_PAGES = """
from streamlit.testing.v1 import AppTest

home = AppTest.from_file("pages/main.py", default_timeout=120).run()
for name in ("catalogue.py", "farthest.py", "learn/page.py"):
    page = home.switch_page(name).run()
    assert not page.exception, page.exception
    print(name, *[table.value.to_string() for table in page.table],
          *[part.value for part in page.markdown],
          *[option for group in page.button_group for option in group.options])
"""


def _changed(text, change):
    """The text after the hunks of a change, each of which fits in one place."""
    for hunk in re.split(r"^@@.*\n", change, flags=re.MULTILINE)[1:]:
        lines = hunk.splitlines(keepends=True)
        before = "".join(line[1:] for line in lines if line[0] in " -")
        after = "".join(line[1:] for line in lines if line[0] in " +")
        assert text.count(before) == 1, f"CONTRIBUTING.md changes what is not there: {before}"
        text = text.replace(before, after)
    return text


@pytest.fixture(scope="module")
def house(tmp_path_factory):
    """A copy of the house with all examples of the page in it, and a table."""
    place = tmp_path_factory.mktemp("house")
    for name in ("validation_core", "pages"):
        shutil.copytree(ROOT / name, place / name)  # with what is compiled: dates stay
    shutil.copytree(ROOT / "assets", place / "assets")
    shutil.copy(ROOT / "app.py", place)
    shutil.copy(ROOT / "pyproject.toml", place)
    for path, text in FILES.items():
        (place / path).write_text(text, encoding="utf-8")
    for path, change in CHANGES.items():
        text = (place / path).read_text(encoding="utf-8")
        (place / path).write_text(_changed(text, change), encoding="utf-8")
    rng = np.random.default_rng(0)
    table = {"theta": rng.standard_normal((60, 2)), "x": rng.standard_normal((60, 3)),
             "theta_q": rng.standard_normal((60, 8, 2))}  # fmt: skip
    np.savez(place / "table.npz", **table, theta_names=np.array(["mass", "spin"]))
    return place


def _run(house, code, *, said=""):
    environment = {**os.environ, "PYTHONPATH": str(house), "NPTLAB_CACHE": str(house / "cache")}
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=house, env=environment, input=said,
        capture_output=True, text=True,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_each_kind_of_addition_is_one_file_and_one_change():
    assert set(FILES) == set(ADDED.values())
    assert [path for path in FILES if (ROOT / path).exists()] == []
    assert len(CHANGES) == len(FILES) - 1, "a picture is shown by the question that follows"
    for change in CHANGES.values():
        hunks = re.split(r"^@@.*\n", change, flags=re.MULTILINE)[1:]
        assert len(hunks) <= 2, "its import and its line"
        assert all(hunk.count("\n+") == 1 for hunk in hunks)


def test_examples_are_short_and_in_our_style(house):
    assert all(len(text.splitlines()) <= 90 for text in FILES.values())
    paths = list(FILES)
    for check in (["check"], ["format", "--check"]):
        ruff = [sys.executable, "-m", "ruff", *check, *paths]
        done = subprocess.run(ruff, cwd=house, capture_output=True, text=True)
        assert done.returncode == 0, done.stdout + done.stderr


def test_the_command_line_finds_each(house):
    words = [
        ["methods", "--json", "methods.json"],
        ["benchmarks", "--json", "benchmarks.json"],
        ["lessons", "--html", "lessons", "--only", "false-alarms"],
        ["power", "--benchmark", "slope", "--set", "noise=2", "--gamma", "3", "--method", "sbc",
         "--trials", "4", "--n", "200", "--engine", "serial", "--json", "power.json"],
        ["diagnose", "table.npz", "--method", "sbc", "--questions", "farthest",
         "--report", "report.html", "--json", "a.json"],
    ]  # fmt: skip
    _run(house, COMMANDS, said=json.dumps(words))

    def names(file):
        return [entry["name"] for entry in json.loads((house / file).read_text())]

    assert "weighed" in names("methods.json")
    assert "slope" in names("benchmarks.json")
    assert '"slope"' in (house / "power.json").read_text()
    assert "False alarms" in (house / "lessons" / "false-alarms.html").read_text()
    numbers = json.loads((house / "a.json").read_text())["answers"]["farthest"]
    assert set(numbers) == {"sentences", "notes", "row", "sd"}
    sentence = f"Row {numbers['row']} is {numbers['sd']:.2f} sd from q's mean of mass."
    assert numbers["sentences"] == [sentence]
    assert numbers["notes"] == ["Distances are in sds of q's draws, of 60 rows."]
    report = (house / "report.html").read_text()
    for words in ("Which row is farthest?", "How far rows lie", sentence, numbers["notes"][0]):
        assert words.replace("'", "&#39;") in report


def test_my_posterior_shows_the_question(house):
    labels = _run(house, DIAGNOSE_PAGE).splitlines()
    (line,) = (label for label in labels if "Which row is farthest?" in label)
    assert line.endswith("sd from q's mean of mass.")


def test_pages_show_the_method_the_benchmark_the_page_and_the_lesson(house):
    catalogue, farthest, lessons = re.split(
        r"^(?:farthest|learn/page).py ", _run(house, OTHER_PAGES), flags=re.MULTILINE
    )
    assert "Within x, Cramér-von Mises" in catalogue
    assert "Slope of a line" in catalogue
    assert re.search(r"Row \d+ is [\d.]+ sd from q's mean of intercept", farthest)
    assert "10 Alarms" in lessons


@pytest.fixture
def example(monkeypatch):
    """A function: path of an example -> the one class of its file, which tests may register."""
    monkeypatch.setattr(keys, "SPECIFICATIONS", dict(keys.known_specifications()))

    def load(path):
        module = types.ModuleType(path.removesuffix(".py").replace("/", "."))
        monkeypatch.setitem(sys.modules, module.__name__, module)
        exec(compile(FILES[path], path, "exec"), module.__dict__)
        (kind,) = (
            kind
            for kind in vars(module).values()
            if getattr(kind, "__module__", "") == module.__name__
        )
        return kind

    return load


def _wiggle(theta, x):
    """A fixed score that has nothing to do with any truth."""
    return np.sin(3 * theta[:, 0] + x[:, 0]) + 0.1 * theta[:, -1]


def test_the_method_holds_its_level_and_finds_a_fault(example, monkeypatch):
    kind = example(ADDED["method"])
    monkeypatch.setattr(methods, "METHODS", {**METHODS, kind.name: kind})
    method = kind()
    assert keys.read(keys.canonical_text(method)) == method
    benchmark = BENCHMARKS["gaussian"](perturbation="covariance_scaling")
    design = trials.TrialDesign(trials=600, n=50, k=19)
    (null,) = trials.run_trials(benchmark, 0.0, _wiggle, [method], design)
    low, high = statistics.binomial_bounds(600, 0.05, 0.999)
    assert low <= (null.pvalues <= 0.05).sum() <= high

    def oracle(theta, x):
        return benchmark.log_ratio(theta, x, 1.4)

    (found,) = trials.run_trials(
        benchmark, 1.4, oracle, [method], trials.TrialDesign(trials=20, n=300, k=20)
    )
    assert (found.pvalues <= 0.05).mean() >= 0.8


def test_the_benchmark_has_a_name_in_stored_keys_and_words_by_default(example):
    slope = example(ADDED["benchmark"])
    assert keys.read(keys.canonical_text(slope(noise=2.0))) == slope(noise=2.0)
    assert slope().label == "Slope of a line"
    assert slope().axis == "perturbation strength gamma"
    assert slope().place(0.5) == "gamma = 0.5"
    assert slope().log_ratio(np.zeros((1, 1)), np.zeros((1, 1)), 0.0) is None
    design = trials.TrialDesign(trials=20, n=200, k=20)
    method = METHODS["sbc"]()
    rates = []
    for gamma in slope().gammas:
        (found,) = trials.run_trials(slope(), gamma, None, [method], design)
        rates.append((found.pvalues <= 0.05).mean())
    assert rates[0] < 0.5
    assert rates[1] == 1.0
