"""Documents against the program: what exists is listed, what is listed exists, and it runs.

CONTRIBUTING.md's examples are run by test_contributing.py, the notebooks by test_notebooks.py.
"""

import re
import tomllib

import numpy as np
import pytest

import validation_core as npt
from tests.conftest import ROOT, few_trials
from validation_core.benchmarks import BENCHMARKS, Images
from validation_core.benchmarks.perturbations import PERTURBATIONS
from validation_core.cli import main
from validation_core.diagnosis import examples
from validation_core.lessons import LESSONS
from validation_core.limits import Limits
from validation_core.methods import METHODS

DOCUMENTS = ("README.md", "ARCHITECTURE.md", "CONTRIBUTING.md", "CHANGELOG.md")


def text_of(name):
    return (ROOT / name).read_text(encoding="utf-8")


def one_line(name):
    """A document's text without its breaks."""
    return " ".join(text_of(name).split())


README = text_of("README.md")
SETTING = re.compile(r"\bNPTLAB_[A-Z0-9]+\b")
RUN = (
    "python3 -m venv .venv && .venv/bin/pip install -r requirements.txt "
    "&& .venv/bin/streamlit run app.py"
)
TEST = (
    'python3 -m venv .venv-test && .venv-test/bin/pip install -e ".[dev]" '
    '&& .venv-test/bin/python -m pytest -n logical --dist worksteal -m "not slow and not browser"'
)


def source_files():
    folders = [ROOT / name for name in ("pages", "validation_core", "tests", "benchmarks")]
    return [ROOT / "app.py", *(path for folder in folders for path in folder.rglob("*.py"))]


def _blocks(language):
    return re.findall(rf"```{language}\n(.*?)```", README, re.DOTALL)


def table_rows(document, heading):
    """The cells of the tables under a heading, without their first two lines."""
    section = text_of(document).split(f"\n## {heading}\n")[1].split("\n## ")[0]
    lines = [line for line in section.splitlines() if line.startswith("|")]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines[2:]]


@pytest.mark.parametrize("command", [RUN, TEST], ids=["run", "test"])
def test_each_command_is_one_line(command):
    assert any(block.strip().startswith(command) for block in _blocks("sh"))


@pytest.mark.parametrize("name", METHODS)
def test_methods_are_listed(name):
    kind = METHODS[name]
    (row,) = [cells for cells in table_rows("README.md", "Methods") if f"`{name}`" in cells[0]]
    assert all(row)
    assert str(kind.paper.year) in row[2]


@pytest.mark.parametrize("name", BENCHMARKS)
def test_benchmarks_are_listed(name):
    rows = [cells for cells in table_rows("README.md", "Benchmarks") if f"`{name}`" in cells[0]]
    assert rows
    assert all(all(cells) for cells in rows)
    assert str(BENCHMARKS[name].paper.year) in rows[0][3]
    if name != "gaussian":  # by perturbation, below
        gammas = BENCHMARKS[name]().gammas
        low, high = (np.format_float_positional(end(gammas), trim="-") for end in (min, max))
        assert rows[0][2].replace(",", "") == f"{low} to {high}"


@pytest.mark.parametrize("name", PERTURBATIONS)
def test_perturbations_are_listed(name):
    (row,) = [
        cells
        for cells in table_rows("README.md", "Benchmarks")
        if re.search(rf"\b{name}\b", cells[0])
    ]
    gammas = PERTURBATIONS[name].gammas
    ends = f"{min(gammas):g} to {max(gammas):g}" if len(gammas) > 1 else f"{gammas[0]:g}"
    assert row[2] == ends


def test_counts_in_the_readme_hold():
    quoted = one_line("README.md")
    words = {5: "five", 9: "nine", 10: "ten"}
    notebooks = list((ROOT / "assets" / "notebooks").glob("*.ipynb"))
    for count, of in (
        (len(LESSONS), "lessons"),
        (len(notebooks), "notebooks"),
        (len(Images().names), "photographs"),
    ):
        assert re.search(rf"\b{words[count]} {of}\b", quoted, re.IGNORECASE), (count, of)


def test_what_a_machine_of_some_memory_may_do_is_described():
    rows = table_rows("docs/operating.md", "Open it to others")
    by_memory = [cells for cells in rows if re.match(r"\d+ GB", cells[0])]
    assert by_memory
    for memory, *said, readers in by_memory:
        limits = Limits.of(int(memory.split()[0]) * 10**9)
        quotas = (limits.jobs, limits.pages, limits.uploads, limits.tables)
        assert said == [*(f"{one.own}/{one.all}" for one in quotas), str(limits.workers)]
        room = f"{limits.readers}, in {limits.reader_memory / 1e9:.2g} GB"
        assert readers.removesuffix(" each") == room


def test_nothing_is_listed_that_is_not_there():
    listed = {re.findall(r"`(\w+)", cells[0])[0] for cells in table_rows("README.md", "Methods")}
    assert listed == set(METHODS)
    listed = {
        re.findall(r"`(\w+)", cells[0])[0] for cells in table_rows("README.md", "Benchmarks")
    }
    assert listed == set(BENCHMARKS)


def test_the_readme_is_short():
    lines = README.splitlines()
    assert len(lines) <= 175
    assert [line for line in lines if len(line) > 120] == [TEST]


@pytest.mark.usefixtures("short_training")
def test_the_twelve_lines_run_as_shown(tmp_path, monkeypatch):
    (source,) = _blocks("python")
    assert len([line for line in source.splitlines() if line]) <= 12
    monkeypatch.chdir(tmp_path)
    few_trials(monkeypatch)
    names = {}
    exec(compile(source.replace("400", "150"), "README.md", "exec"), names)
    assert names["result"].verdict == "problem found"
    assert (tmp_path / "report.html").stat().st_size > 100_000


def test_the_real_table_is_the_shipped_example():
    """README quotes what a diagnosis of it says."""
    upload = examples.wrong()
    result = npt.diagnose(upload, questions=["over_x"], progress=False)
    quoted = " ".join(README.split())
    assert f"{examples.FEW} simulations" in quoted
    assert f"{upload.n} fresh simulations" in quoted
    assert "if q were correct, at most 1 in 1,000 tables would look this wrong" in quoted
    assert result.sentences[0].startswith("If q were correct, at most 1 in 1,000 tables")
    rejects = {record.name: record.pvalue <= 0.05 for record in result.diagnosis.records
               if record.pvalue is not None}  # fmt: skip
    assert rejects["sbc"]
    assert not any(rejects[name] for name in ("tarp", "c2st", "multiple"))
    assert "q's infection rate sits 0.76" in " ".join(result["where_x"].sentences)


def test_every_setting_is_described():
    used = {name for path in source_files() for name in SETTING.findall(path.read_text("utf-8"))}
    described = {
        name
        for cells in table_rows("docs/operating.md", "Settings")
        for name in SETTING.findall(" ".join(cells))
    }
    assert used == described


@pytest.mark.parametrize(
    "path", [*DOCUMENTS, *(str(path.relative_to(ROOT)) for path in ROOT.glob("docs/*.md"))]
)
def test_links_lead_somewhere(path):
    """Pictures and files that are named."""
    linked = re.findall(r"\]\(([^)#:]+)\)", text_of(path))
    assert [name for name in linked if not (ROOT / path).parent.joinpath(name).exists()] == []


def test_pictures_are_small():
    for name in ("playground.png", "card.png"):
        assert (ROOT / "assets" / name).stat().st_size < 300_000


def test_commands_that_the_readme_shows_have_those_options(capsys):
    lines = [line for block in _blocks("sh") for line in block.splitlines() if "nptlab" in line]
    assert len(lines) == 6
    for line in lines:
        command = line.split()[1]
        with pytest.raises(SystemExit):
            main([command, "--help"])
        answer = capsys.readouterr().out
        assert [option for option in re.findall(r"--\w+", line) if option not in answer] == []


def test_the_architecture_names_every_room():
    """Folders and files of the core, as the layers of pyproject.toml have them, and no other."""
    core = ROOT / "validation_core"
    rooms = {path.name for path in core.iterdir() if (path / "__init__.py").is_file()}
    rooms |= {path.stem for path in core.glob("*.py") if not path.stem.startswith("__")}
    named = {
        room
        for cells in table_rows("ARCHITECTURE.md", "Wings and rooms")
        for room in re.findall(r"`(\w+)/?`", cells[1])
    }
    assert named - {"pages"} == rooms
    layers = tomllib.loads(text_of("pyproject.toml"))["tool"]["importlinter"]["contracts"]
    held = {
        room.strip().removeprefix("validation_core.")
        for contract in layers
        for line in contract.get("layers", ())
        for room in line.split(":")
    }
    assert rooms <= held


def test_the_architecture_names_files_that_exist():
    named = re.findall(r"`([\w/.]+(?:\.py|/))`", text_of("ARCHITECTURE.md"))
    places = [ROOT, ROOT / "validation_core"]
    missing = [
        name
        for name in named
        if "NAME" not in name and not any((place / name).exists() for place in places)
    ]
    assert len(named) > 20
    assert missing == []


def test_the_reference_has_every_exported_name():
    """Methods, benchmarks and questions have pages that are made of their registries."""
    page = text_of("docs/reference/python.md")
    registered = {kind.__name__ for kind in (*METHODS.values(), *BENCHMARKS.values())}
    registries = {"METHODS", "BENCHMARKS", "MODELS", "ALGORITHMS"}
    wanted = set(npt.__all__) - registered - registries
    assert {name for name in wanted if not re.search(rf"^::: \S+\.{name}$", page, re.M)} == set()


def test_the_changelog_and_the_citation_name_the_version():
    assert f"## [{npt.__version__}]" in text_of("CHANGELOG.md")
    assert f"\nversion: {npt.__version__}\n" in text_of("CITATION.cff")
