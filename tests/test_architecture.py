"""The shape of the house: who may import whom, and what the top level holds."""

import ast
import subprocess
import sys

import pytest

from tests.conftest import ROOT

CORE = ROOT / "validation_core"
# Each layer may import itself and the layers above it in this list.
LAYERS = (
    {"types", "keys", "rng", "hashing", "narrow"},
    {"statistics", "nets", "optim"},
    {"sampling", "omnibus"},
    {"training", "scores", "diffusion", "bayes"},
    {"benchmarks", "methods"},
    {"store"},
    {"models", "power", "trials", "uploads"},
    {"tasks", "diagnosis", "maps", "simulations"},
    {"answers"},
    {"sweep"},
    {"advice", "comparisons", "costs", "export", "looks"},
    {"engine", "figures", "papers", "workbench", "toy", "panels", "report"},
    {"worker", "command"},
    {"__main__"},
)


def _modules():
    return sorted(path for path in CORE.rglob("*.py"))


def _imports(path):
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield node.module
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def _part(path):
    return path.relative_to(CORE).parts[0].removesuffix(".py")


def _level(part):
    return next((i for i, layer in enumerate(LAYERS) if part in layer), None)


@pytest.mark.parametrize("path", _modules(), ids=lambda p: str(p.relative_to(CORE)))
def test_imports_run_one_way(path):
    part = _part(path)
    if part == "__init__":
        return
    assert _level(part) is not None, f"{part} is in no layer: give it a place in LAYERS"
    for name in _imports(path):
        if name.startswith("validation_core."):
            other = name.split(".")[1]
            if _level(other) is not None:
                assert _level(other) <= _level(part), f"{part} imports {other}, which is above it"


@pytest.mark.parametrize("path", _modules(), ids=lambda p: str(p.relative_to(CORE)))
def test_core_knows_no_page(path):
    used = {name.split(".")[0] for name in _imports(path)}
    assert not used & {"streamlit", "pages", "app", "pickle"}


def test_light_imports_stay_light():
    """Reading a table, listing methods and drawing figures need no torch."""
    code = (
        "import sys, validation_core.methods, validation_core.benchmarks, validation_core.power,"
        "validation_core.uploads, validation_core.store, validation_core.figures;"
        "assert 'torch' not in sys.modules and 'streamlit' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], cwd=ROOT, check=True)


def test_top_level_holds_what_it_should():
    listed = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT, capture_output=True, text=True, check=True,
    ).stdout.split()  # fmt: skip
    top = {name.split("/")[0] for name in listed}
    code = {"app.py", "pages", "validation_core", "tests", "assets"}
    documents = {"README.md", "LICENSE"}
    extras = {f"requirements-{extra}.txt" for extra in ("automl", "dask", "sbi")}
    settings = {"requirements.txt", "requirements-dev.txt", "pyproject.toml", ".gitignore"}
    assert top <= code | documents | settings | extras | {".streamlit", ".ci"}
    assert code <= top
