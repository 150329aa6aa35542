"""Put the dashboard into the wheel, as it lies in the source. Everything else: pyproject.toml."""

import shutil
from pathlib import Path

from setuptools import setup
from setuptools.command.build_py import build_py

SOURCE = Path(__file__).parent
# Inside the package: `pages` and `app` are no names to take from everybody's site-packages.
DASHBOARD = Path("validation_core", "dashboard")


class BuildWithDashboard(build_py):
    """Copies the modules, then the files of the dashboard beside them."""

    def run(self) -> None:
        super().run()
        if self.editable_mode:  # it is run from the source
            return
        target = Path(self.build_lib) / DASHBOARD
        shutil.rmtree(target, ignore_errors=True)
        for name in (".streamlit", "pages"):
            ignored = shutil.ignore_patterns("__pycache__")
            shutil.copytree(SOURCE / name, target / name, ignore=ignored)
        for name in ("app.py", "assets/icon.svg"):
            (target / name).parent.mkdir(exist_ok=True)
            shutil.copy(SOURCE / name, target / name)


setup(cmdclass={"build_py": BuildWithDashboard})
