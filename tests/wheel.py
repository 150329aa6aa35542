"""The wheel's content in a folder: nothing is downloaded, nothing is built in the source."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

from tests.conftest import ROOT

_FOLDERS = ("validation_core", "pages", "tests", "assets", ".streamlit")
_FILES = (
    "pyproject.toml", "setup.py", "MANIFEST.in", "requirements.txt", "README.md", "LICENSE",
    "app.py", "nptlab.py",
)  # fmt: skip


def install(folder: Path) -> Path:
    """Build the wheel of a copy of the source and unpack it; its commands are in `bin`."""
    source, target = folder / "source", folder / "target"
    for name in _FOLDERS:
        ignored = shutil.ignore_patterns("__pycache__", "*.pyc")
        shutil.copytree(ROOT / name, source / name, ignore=ignored)
    for name in _FILES:
        shutil.copy(ROOT / name, source)
    pip = [sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    offline = ["--no-deps", "--no-build-isolation", "--no-index", "--target", str(target)]
    subprocess.run([*pip, *offline, str(source)], check=True)
    return target


def environment(installed: Path, cache: Path) -> dict[str, str]:
    """Variables of a process that imports what is installed, and keeps its results in a folder."""
    return {**os.environ, "PYTHONPATH": str(installed), "NPTLAB_CACHE": str(cache)}
