"""The README against the program: what exists is listed, what is listed exists, and it runs."""

import dataclasses
import re
import sys
import types

import numpy as np
import pytest

from benchmarks import samples
from tests.conftest import ROOT, few_trials
from validation_core import keys, methods, statistics
from validation_core.benchmarks import BENCHMARKS
from validation_core.benchmarks.perturbations import PERTURBATIONS
from validation_core.cli import main
from validation_core.diagnosis import learning
from validation_core.methods import METHODS
from validation_core.scores import classifier
from validation_core.sweep import trials

README = (ROOT / "README.md").read_text(encoding="utf-8")
SETTING = re.compile(r"\bNPTLAB_[A-Z0-9]+\b")
RUN = (
    "python3 -m venv .venv && .venv/bin/pip install -r requirements.txt "
    "&& .venv/bin/streamlit run app.py"
)
TEST = (
    'python3 -m venv .venv-test && .venv-test/bin/pip install -e ".[dev]" '
    '&& .venv-test/bin/python -m pytest -n logical --dist worksteal -m "not slow"'
)


def source_files():
    folders = [ROOT / name for name in ("pages", "validation_core", "tests", "benchmarks")]
    return [ROOT / "app.py", *(path for folder in folders for path in folder.rglob("*.py"))]


def _section(heading):
    return README.split(f"\n## {heading}\n")[1].split("\n## ")[0]


def _blocks(language):
    return re.findall(rf"```{language}\n(.*?)```", README, re.DOTALL)


def readme_table_rows(heading):
    """The cells of the tables under a heading, without their first two lines."""
    lines = [line for line in _section(heading).splitlines() if line.startswith("|")]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines[2:]]


@pytest.mark.parametrize("command", [RUN, TEST], ids=["run", "test"])
def test_each_command_is_one_line(command):
    assert any(block.strip().startswith(command) for block in _blocks("sh"))


@pytest.mark.parametrize("name", METHODS)
def test_methods_are_listed(name):
    kind = METHODS[name]
    (row,) = [cells for cells in readme_table_rows("Methods") if f"`{name}`" in cells[0]]
    assert all(row)
    assert str(kind.paper.year) in row[3]
    assert all(f"`{field.name}`" in " ".join(row) for field in dataclasses.fields(kind))


@pytest.mark.parametrize("name", BENCHMARKS)
def test_benchmarks_are_listed(name):
    rows = [cells for cells in readme_table_rows("Benchmarks") if f"`{name}`" in cells[0]]
    assert rows
    assert all(all(cells) for cells in rows)
    assert str(BENCHMARKS[name].paper.year) in rows[0][3]
    for field in dataclasses.fields(BENCHMARKS[name]):
        assert field.name in _section("Benchmarks")


@pytest.mark.parametrize("name", PERTURBATIONS)
def test_perturbations_are_listed(name):
    (row,) = [
        cells for cells in readme_table_rows("Benchmarks") if re.search(rf"\b{name}\b", cells[0])
    ]
    gammas = PERTURBATIONS[name].gammas
    ends = f"{min(gammas):g} to {max(gammas):g}" if len(gammas) > 1 else f"{gammas[0]:g}"
    assert row[2] == ends


def test_nothing_is_listed_that_is_not_there():
    listed = {re.findall(r"`(\w+)", cells[0])[0] for cells in readme_table_rows("Methods")}
    assert listed == set(METHODS)
    listed = {re.findall(r"`(\w+)", cells[0])[0] for cells in readme_table_rows("Benchmarks")}
    assert listed <= set(BENCHMARKS) | set(PERTURBATIONS)


def test_it_is_short():
    assert len(README.splitlines()) <= 210


def test_the_front_door_runs_as_shown(tmp_path, monkeypatch):
    """Its lines, on a small table that is there."""
    (source,) = [block for block in _blocks("python") if "import validation_core as npt" in block]
    assert len(source.splitlines()) <= 10
    arrays = samples.arrays("sample_undertrained")
    rows = {name: arrays[name][:100] for name in ("theta", "x", "theta_q")}
    np.savez(tmp_path / "table.npz", **rows)
    monkeypatch.chdir(tmp_path)
    few_trials(monkeypatch)
    for name in ("steps", "blur_steps"):
        monkeypatch.setitem(learning.LOCALIZER, name, 20)
    monkeypatch.setattr(classifier, "RECIPE", dataclasses.replace(classifier.RECIPE, epochs=20))
    source = source.replace("gamma=[0, 0.3]", "gamma=[0.3], trials=10, n=50, k=20")
    exec(compile(source, "README.md", "exec"), {})
    assert (tmp_path / "report.html").stat().st_size > 100_000


def test_every_setting_is_described():
    used = {name for path in source_files() for name in SETTING.findall(path.read_text("utf-8"))}
    described = {
        name
        for cells in readme_table_rows("Settings")
        for name in SETTING.findall(" ".join(cells))
    }
    assert used == described


def test_links_lead_somewhere():
    """Pictures and files that are named."""
    linked = re.findall(r"\]\(([^)#]+)\)", README)
    named = [*linked, "LICENSE", "requirements.txt", ".ci/run"]
    assert [name for name in named if not (ROOT / name).exists()] == []
    picture = ROOT / "assets" / "playground.png"
    assert picture.stat().st_size < 300_000


def test_layout_names_what_exists():
    words = re.findall(r"^  ([a-z_][\w, /]*?)  ", _section("Layout"), re.MULTILINE)
    parts = {part.strip() for line in words for part in line.split(",")}
    missing = [
        part
        for part in parts
        if not (ROOT / "validation_core" / part.strip("/")).is_dir()
        and not (ROOT / "validation_core" / f"{part}.py").is_file()
    ]
    assert len(parts) > 12
    assert missing == []


@pytest.mark.parametrize("command", ["diagnose", "power", "methods", "benchmarks", "store"])
def test_the_command_line_is_what_the_readme_says(command, capsys):
    """Every option that it shows for a command is one of the command's own."""
    usage = next(block for block in _blocks("sh") if "diagnose FILE" in block)
    lines = usage.split("python -m validation_core ")[1:]
    (shown,) = [line for line in lines if re.search(rf"\b{command}\b", line.split("[")[0])]
    with pytest.raises(SystemExit):
        main([command, "--help"])
    answer = capsys.readouterr().out
    assert [option for option in re.findall(r"--\w+", shown) if option not in answer] == []


@pytest.fixture
def example(monkeypatch):
    """The method that the README adds, in a copy of the registry."""
    (source,) = [block for block in _blocks("python") if "class " in block]
    module = types.ModuleType("validation_core.methods.weighed")
    monkeypatch.setitem(sys.modules, module.__name__, module)
    monkeypatch.setattr(keys, "SPECIFICATIONS", dict(keys.known_specifications()))
    exec(compile(source, "README.md", "exec"), module.__dict__)
    kinds = [
        kind
        for kind in vars(module).values()
        if getattr(kind, "__module__", "") == module.__name__
    ]
    (kind,) = kinds
    monkeypatch.setattr(methods, "METHODS", {**METHODS, kind.name: kind})
    return kind


def _wiggle(theta, x):
    """A fixed score that has nothing to do with any truth."""
    return np.sin(3 * theta[:, 0] + x[:, 0]) + 0.1 * theta[:, -1]


def test_the_example_is_short():
    (source,) = [block for block in _blocks("python") if "class " in block]
    assert len([line for line in source.splitlines() if line.strip()]) <= 36


def test_the_example_holds_its_level_and_finds_a_fault(example):
    method = methods.METHODS["weighed"]()
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
