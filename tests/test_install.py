"""What `pip install .` leaves: the core with its data and the command, away from the source."""

import json
import subprocess
import sys
import tomllib

import pytest

import nptlab
import validation_core as npt
from tests.conftest import ROOT
from tests.wheel import environment, install
from validation_core import cli
from validation_core.bayes import MODELS
from validation_core.cli.app import launcher
from validation_core.export import from_prior

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
    "pictures": [load_mnist_digits().shape, *(load_photograph(i).shape for i in range(10))],
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
    extras = {"automl", "dask", "images", "mcp", "sbi", "zarr", "dev"}
    assert set(project["project"]["optional-dependencies"]) == extras
    assert project["project"]["scripts"] == {"nptlab": "validation_core.cli:main"}
    assert [path.name for path in ROOT.glob("requirements*.txt")] == ["requirements.txt"]


@pytest.fixture(scope="module")
def installed(tmp_path_factory):
    return install(tmp_path_factory.mktemp("wheel"))


def run(installed, folder, *command):
    return subprocess.run(
        command, cwd=folder, env=environment(installed, folder / "c"), capture_output=True,
        text=True, check=True,
    ).stdout  # fmt: skip


@pytest.mark.slow
def test_the_front_door_works_from_a_wheel(installed, tmp_path):
    heard = json.loads(run(installed, tmp_path, sys.executable, "-c", ASK).splitlines()[-1])
    assert heard["home"].startswith(str(installed))
    assert (heard["verdict"], heard["page"]) == ("problem found", "<!doctype html>")
    assert len(heard["pictures"]) == 11
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
    top = {path.name for path in installed.iterdir() if not path.name.endswith(".dist-info")}
    assert top == {"validation_core", "nptlab.py", "bin", "__pycache__"}, "no pages, no app"


def test_the_dashboard_of_the_source_is_found(capsys):
    assert launcher() == ROOT / "app.py"
    with pytest.raises(SystemExit, match="2"):
        cli.main(["app", "--port", "0"])
    assert "a port is a whole number from 1 to 65535; got '0'; try 8501" in capsys.readouterr().err


def test_both_names_give_the_same_objects():
    assert nptlab.__all__ == npt.__all__
    assert dir(nptlab) == dir(npt)
    assert all(getattr(nptlab, name) is getattr(npt, name) for name in ("Table", "diagnose"))
    assert nptlab.export.from_prior is from_prior
