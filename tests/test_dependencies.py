"""What NPT Lab stands on: ranges that let the next release in, and a lock of what CI tests."""

import ast
import re
import shutil
import subprocess
import sys
import tomllib
from datetime import date
from importlib import import_module
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.version import Version
from streamlit import config
from streamlit.runtime.scriptrunner import get_script_run_ctx
from streamlit.runtime.scriptrunner_utils.script_run_context import ScriptRunContext
from streamlit.testing.v1 import AppTest

from tests.conftest import ROOT
from validation_core.engine import start

PYTHONS = ("3.11", "3.12", "3.13", "3.14")
LOCKS = ("requirements.lock", "requirements-dev.lock")
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
PINNED = re.compile(r"^(\S+)==(\S+?)(?: ; ([^\\]+))? \\$", re.MULTILINE)

# Streamlit's own names that pages read beside what it documents: (owner, name, what for).
INTERNALS = (
    (ScriptRunContext, "is_history_navigation", "Back and Forward bring what the address says"),
    (ScriptRunContext, "fragment_ids_this_run", "a fragment's run leaves the rest of the address"),
    (AppTest, "switch_page", "tests open every page"),
    (config, "_server_mode", "who set where to listen: the launcher leaves that as it is"),
)


def ranges(lines):
    """Name -> requirement, of a list's lines without comments."""
    cleaned = (line.partition("  #")[0].strip() for line in lines)
    asked = [Requirement(line) for line in cleaned if line and not line.startswith("#")]
    return {requirement.name: requirement for requirement in asked}


RUNTIME = ranges((ROOT / "requirements.txt").read_text().splitlines())
TESTED = RUNTIME | {
    name: requirement
    for extra in ("dev", "dask", "sbi")
    for name, requirement in ranges(PROJECT["optional-dependencies"][extra]).items()
    if name != PROJECT["name"]
}


def locked(name):
    """Name -> its versions: more than one where they differ by Python or system."""
    versions: dict[str, set[str]] = {}
    for package, version, _ in PINNED.findall((ROOT / name).read_text()):
        versions.setdefault(package, set()).add(version)
    return versions


@pytest.mark.parametrize(("name", "asked"), [(LOCKS[0], RUNTIME), (LOCKS[1], TESTED)])
def test_every_direct_dependency_is_locked_inside_its_range(name, asked):
    lock = locked(name)
    missing = asked.keys() - lock.keys()
    assert not missing, "bash .ci/lock"
    outside = [
        f"{package} {version}"
        for package, requirement in asked.items()
        for version in lock[package]
        if not requirement.specifier.contains(version)
    ]
    assert outside == [], "bash .ci/lock"


def test_both_locks_agree():
    whole = locked("requirements-dev.lock")
    assert {name: whole[name] for name in locked("requirements.lock")} == locked(
        "requirements.lock"
    )


@pytest.mark.parametrize("name", LOCKS)
def test_a_lock_holds_versions_and_hashes_and_nothing_of_the_machine_that_wrote_it(name):
    text = (ROOT / name).read_text()
    first, second, *lines = text.splitlines()
    assert (first[0], second) == ("#", "#    bash .ci/lock")
    hashed = re.compile(r"    --hash=sha256:[0-9a-f]{64}( \\)?")
    odd = [line for line in lines if not PINNED.match(line) and not hashed.fullmatch(line)]
    assert odd == []
    assert len(PINNED.findall(text)) > 50
    assert "+" not in "".join(version for _, version, _ in PINNED.findall(text))


@pytest.mark.parametrize("name", sorted(TESTED))
def test_a_range_lets_the_next_release_in(name):
    """Security fixes come as patches, and as Streamlit's and torch's next minor releases."""
    if name == "ruff":
        pytest.skip("pinned: a new one brings new rules")
    release = max(map(Version, locked("requirements-dev.lock")[name]))
    patch = f"{release.major}.{release.minor}.{release.micro + 1}"
    assert TESTED[name].specifier.contains(patch)
    if release.major:
        assert TESTED[name].specifier.contains(f"{release.major}.{release.minor + 1}.0")


def test_what_is_shipped_was_made_with_the_locked_torch():
    """Elsewhere networks are as good, and not the same to the bit; a result names its torch.

    On a GPU they never are: what was made there names that, and need not be of this torch.
    """
    shipped = [entry for entry in start().store.entries() if entry.shipped]
    entries = [entry for entry in shipped if entry.meta.get("device") != "cuda"]
    assert len(entries) > 0.99 * len(shipped)
    made = {
        entry.meta["versions"]["torch"].partition("+")[0]
        for entry in entries
        if "torch" in entry.meta.get("versions", {})
    }
    assert made == locked("requirements.lock")["torch"]


def test_every_locked_package_was_looked_up():
    rows = [
        line.split("\t")
        for line in (ROOT / ".ci" / "audit.tsv").read_text().splitlines()
        if not line.startswith("#")
    ]
    known = {(name, version) for name, version, *_ in rows}
    wanted = {
        (name, version)
        for name, versions in locked("requirements-dev.lock").items()
        for version in versions
    }
    assert wanted - known == set(), "look them up, and write when in .ci/audit.tsv"
    assert known - wanted == set(), "these are not locked any more"
    assert all(date.fromisoformat(when) and where for _, _, when, where, _ in rows)


def test_streamlit_has_what_we_import_from_inside_it():
    files = [ROOT / "app.py", *(ROOT / "pages").rglob("*.py"), *(ROOT / "tests").rglob("*.py")]
    lost = [
        f"{path.relative_to(ROOT)}: {node.module}.{alias.name}"
        for path in files
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("streamlit.")
        for alias in node.names
        if not hasattr(import_module(node.module), alias.name)
    ]
    assert lost == []


@pytest.mark.parametrize(("owner", "name", "what_for"), INTERNALS, ids=lambda part: str(part)[:40])
def test_streamlit_has_the_names_that_we_read(owner, name, what_for):
    assert name in dir(owner), what_for
    assert get_script_run_ctx(suppress_warning=True) is None


def test_streamlit_knows_our_options():
    """It warns of an option that it does not know, and goes on without."""
    ours = tomllib.loads((ROOT / ".streamlit" / "config.toml").read_text())
    known = config.get_config_options()
    names = [
        f"{section}.{name}"
        for section, options in ours.items()
        for name, value in options.items()
        if not isinstance(value, dict)
    ]
    assert [name for name in names if name not in known] == []


def _uv():
    beside = Path(sys.executable).with_name("uv")
    return str(beside) if beside.exists() else shutil.which("uv")


@pytest.mark.slow
@pytest.mark.parametrize("python", PYTHONS)
@pytest.mark.parametrize("name", ["requirements.txt", "pyproject.toml", LOCKS[1]])
def test_it_resolves_on_every_python(name, python):
    """The dashboard from wheels alone; nothing is installed.

    The one lock is part of the other, whose answer holds for both.
    """
    if (uv := _uv()) is None:
        pytest.skip("uv is not installed")
    command = [uv, "pip", "compile", "--quiet", "--no-python-downloads"]
    command += ["--python-version", python, str(ROOT / name)]
    command += ["--only-binary", ":all:"] if name == "requirements.txt" else []
    command += ["--extra", "dev"] if name == "pyproject.toml" else []
    command += [f"--only-binary={part}" for part in locked(LOCKS[0])] if name in LOCKS else []
    answer = subprocess.run(command, capture_output=True, text=True, check=False)
    if re.search(
        r"Failed to fetch|error sending request|dns error|Could not connect", answer.stderr
    ):
        pytest.skip("no package index answers")
    assert answer.returncode == 0, answer.stderr[-3000:]
    assert re.search(r"^streamlit==", answer.stdout, re.MULTILINE)
