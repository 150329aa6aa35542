"""What `pip install .` leaves: the core with its data and the command, away from the source."""

import json
import os
import shutil
import subprocess
import sys
import tomllib

import pytest

from tests.conftest import ROOT
from validation_core.bayes import MODELS

ASK = """
import json, sys
import validation_core as npt
from validation_core.engine import start
from validation_core.benchmarks.digits import load_mnist_digits
from validation_core.benchmarks.image_sources import load_photograph
from validation_core.tables.samples import sample_path
result = npt.diagnose(sample_path("sample_undertrained"), ["sbc"], ["calibration"])
print(json.dumps({
    "home": npt.__file__,
    "verdict": result.verdict,
    "page": result.document()[:15],
    "pictures": [load_mnist_digits().shape, *(load_photograph(i).shape for i in range(8))],
    "covariates": npt.MODELS["ionosphere"]().key,
    "gallery": len(start(npt.Store()).store.entries()),
    "shipped": len(start().store.entries()),
}))
"""


def test_metadata_reads_the_one_list_of_requirements():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    assert project["tool"]["setuptools"]["dynamic"]["dependencies"] == {
        "file": ["requirements.txt"]
    }
    extras = {"automl", "dask", "images", "sbi", "zarr", "dev"}
    assert set(project["project"]["optional-dependencies"]) == extras
    assert project["project"]["scripts"] == {"nptlab": "validation_core.cli:main"}
    assert [path.name for path in ROOT.glob("requirements*.txt")] == ["requirements.txt"]


@pytest.fixture(scope="module")
def installed(tmp_path_factory):
    """A folder with the wheel's content: nothing is downloaded, nothing is built in the source."""
    source, target = tmp_path_factory.mktemp("source"), tmp_path_factory.mktemp("target")
    for name in ("validation_core", "pages", "tests", "assets"):
        ignored = shutil.ignore_patterns("__pycache__", "*.pyc")
        shutil.copytree(ROOT / name, source / name, ignore=ignored)
    for name in ("pyproject.toml", "requirements.txt", "README.md", "LICENSE", "app.py"):
        shutil.copy(ROOT / name, source)
    pip = [sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    offline = ["--no-deps", "--no-build-isolation", "--no-index", "--target", str(target)]
    subprocess.run([*pip, *offline, str(source)], check=True)
    return target


def run(installed, folder, *command):
    environment = {**os.environ, "PYTHONPATH": str(installed), "NPTLAB_CACHE": str(folder / "c")}
    return subprocess.run(
        command, cwd=folder, env=environment, capture_output=True, text=True, check=True
    ).stdout


@pytest.mark.slow
def test_the_front_door_works_from_a_wheel(installed, tmp_path):
    heard = json.loads(run(installed, tmp_path, sys.executable, "-c", ASK).splitlines()[-1])
    assert heard["home"].startswith(str(installed))
    assert (heard["verdict"], heard["page"]) == ("problem found", "<!doctype html>")
    assert len(heard["pictures"]) == 9
    assert heard["covariates"] == MODELS["ionosphere"]().key, "the files came along"
    assert heard["shipped"] - heard["gallery"] > 400


@pytest.mark.slow
def test_the_command_works_from_a_wheel(installed, tmp_path):
    command = str(installed / "bin" / "nptlab")
    methods = json.loads(run(installed, tmp_path, command, "methods", "--json", "-"))
    assert {"c2st", "colt"} <= {method["name"] for method in methods}
    helped = run(installed, tmp_path, command, "--help")
    assert "usage: nptlab" in helped
    assert run(installed, tmp_path, command) == helped
    assert not {"pages", "tests", "benchmarks", "assets", "app.py"} & {
        path.name for path in installed.iterdir()
    }
