"""The shape of the house: what may not be imported, and what the top level holds.

Who may import whom is import-linter's: [tool.importlinter] in pyproject.toml.
"""

import ast
import functools
import subprocess
import sys
from functools import cache
from importlib import import_module

import validation_core as npt
from tests.conftest import ROOT

CORE = ROOT / "validation_core"
# What must do without some modules -> code of it, in the order that it runs: what is forbidden
# once may be imported further down.
HEAVY = {"torch", "streamlit"}
LIGHT = (
    (
        "help on the command line", {*HEAVY, "numpy"},
        "from validation_core.cli import parser\n"
        "parser().format_help()",
    ),
    (
        "the command diagnose before its file is read",
        {*HEAVY, "plotly", *(f"validation_core.{room}" for room in (
            "bayes", "benchmarks", "cli.power", "gallery", "explorers", "lessons", "report",
            "symmetric_divergence", "sweep",
        ))},
        "from validation_core.cli import parser\n"
        "parser().parse_args(['diagnose', 'table.npz'])",
    ),
    (
        "listing and simulating Bayesian models", {*HEAVY, "pandas"},
        "import numpy; from validation_core.bayes import MODELS\n"
        "for kind in MODELS.values(): kind().simulate(1, numpy.random.default_rng(0))",
    ),
    (
        "listing algorithms of inference", HEAVY,
        "import validation_core.bayes.inference, validation_core.bayes.posterior,"
        " validation_core.bayes.algorithms",
    ),
    (
        "reading a table, listing methods and drawing figures", {*HEAVY, "plotly"},
        "import validation_core.methods, validation_core.benchmarks,"
        " validation_core.sweep.trials, validation_core.tables, validation_core.store,"
        " validation_core.drawing",
    ),
    (
        "sampling a Bayesian model before its inference", HEAVY,
        "from validation_core import cli, sampling\n"
        "from validation_core.benchmarks import BayesModel\n"
        "from validation_core.rng import stream\n"
        "exact = BayesModel(inference='exact')\n"
        "drawn = sampling.table(exact, 0.0, 3, 2, stream(0))\n"
        "exact.log_ratio(drawn.theta, drawn.x, 0.0); BayesModel(model='hospitals').label",
    ),
    ("recipes of diffusion", HEAVY, "import validation_core.estimators.diffusion"),
    (
        "answers and their figures", {*HEAVY, "plotly"},
        "from importlib import import_module\n"
        "for name in ('over_x', 'in_theta', 'observation', 'cause'):\n"
        "    import_module(f'validation_core.diagnosis.questions.{name}')",
    ),
    (
        "parts of pages", {"torch"},
        "from pages.divergence import terms, opened, meaning, augmented, learned\n"
        "from pages.colt import papers, film, maps",
    ),
)  # fmt: skip


def _modules():
    return sorted(path for path in CORE.rglob("*.py"))


@functools.cache
def _tree(path):
    return ast.parse(path.read_text())


def _source(path, node):
    """The full name of the module that a `from ... import` reads."""
    if not node.level:
        return node.module
    parts = path.relative_to(ROOT).parts[: -node.level]
    return ".".join([*parts, *([node.module] if node.module else [])])


@cache
def _imported(path):
    """Local name, full name: of modules and of what they hold."""
    names = []
    for node in ast.walk(_tree(path)):
        if isinstance(node, ast.Import):
            names += [(one.asname or one.name, one.name) for one in node.names]
        elif isinstance(node, ast.ImportFrom):
            source = _source(path, node)
            names += [
                (alias.asname or alias.name, f"{source}.{alias.name}") for alias in node.names
            ]
    return names


def _imports(path):
    """Full names of modules."""
    for _, name in _imported(path):
        yield name if _is_module(name) else name.rpartition(".")[0] or name


def _is_module(name):
    path = ROOT / name.replace(".", "/")
    return path.is_dir() or path.with_suffix(".py").is_file()


def test_core_knows_no_page():
    """Nor does it pickle."""
    banned = {"streamlit", "pages", "app", "pickle"}
    texts = [
        f"{path.relative_to(CORE)} imports {name}"
        for path in _modules()
        for name in _imports(path)
        if name.split(".")[0] in banned
    ]
    assert texts == []


def test_pages_compute_nothing():
    """Forms, jobs and pictures: arrays and networks stay in the core."""
    for path in (ROOT / "pages").rglob("*.py"):
        used = {name.split(".")[0] for name in _imports(path)}
        assert not used & {"numpy", "scipy", "torch"}, path


def test_pages_and_commands_come_in_by_the_front_door():
    """What the package exports is imported from it, not from the room that it lives in."""
    around = [
        f"{path.relative_to(ROOT)} imports {name}"
        for path in [*(ROOT / "pages").rglob("*.py"), *(CORE / "cli").glob("*.py")]
        for own, name in _imported(path)
        if name.startswith("validation_core.")
        and own in npt.__all__
        and name != f"validation_core.{own}"
        and getattr(import_module(name.rpartition(".")[0]), own, None) is getattr(npt, own)
    ]
    assert around == []


def test_light_imports_stay_light():
    """Torch takes seconds of every process: who learns nothing does without it."""
    code = "import sys\n" + "".join(
        f"{source}\nfound = {sorted(banned)!r}\n"
        f"found = [name for name in found if name in sys.modules]\n"
        f"assert not found, f'{what}: imported {{found}}'\n"
        for what, banned, source in LIGHT
    )
    subprocess.run([sys.executable, "-c", code], cwd=ROOT, check=True)


def test_top_level_holds_what_it_should():
    listed = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT, capture_output=True, text=True, check=True,
    ).stdout.split()  # fmt: skip
    top = {name.split("/")[0] for name in listed}
    code = {"app.py", "pages", "validation_core", "tests", "benchmarks", "assets", "docs"}
    code |= {"nptlab.py", "setup.py"}
    documents = {"README.md", "ARCHITECTURE.md", "CONTRIBUTING.md", "CHANGELOG.md", "LICENSE"}
    documents |= {"CITATION.cff", "mkdocs.yml"}
    settings = {"requirements.txt", "pyproject.toml", ".gitignore", "Dockerfile", ".dockerignore"}
    settings |= {"MANIFEST.in"}
    settings |= {"requirements.lock", "requirements-cpu.lock", "requirements-dev.lock"}
    assert top <= code | documents | settings | {".streamlit", ".ci"}
    assert code <= top
