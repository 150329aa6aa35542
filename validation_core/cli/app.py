"""`app`: the dashboard in a browser, from the installed package or from the source."""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
from pathlib import Path

from validation_core import settings

_PACKAGE = Path(__file__).parents[1]
_FOLDERS = (_PACKAGE / "dashboard", _PACKAGE.parent)
"""Where app.py is: of a wheel beside the modules (setup.py), of the source above them."""


def add(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the command."""
    option = parser.add_argument
    option("--port", type=_port, default=8501, help="of this machine; default 8501")
    option(
        "--public",
        action="store_true",
        help="listen to other machines too, as NPTLAB_PUBLIC=1 does: docs/operating.md",
    )
    option(
        "--cache",
        type=Path,
        metavar="FOLDER",
        help="folder for trained networks and results, as NPTLAB_CACHE",
    )
    parser.set_defaults(run=_run)


def _port(text: str) -> int:
    """A port, for argparse."""
    if not text.isdecimal() or not 0 < int(text) < 2**16:
        raise argparse.ArgumentTypeError(
            f"a port is a whole number from 1 to 65535; got {text!r}; try 8501"
        )
    return int(text)


def launcher() -> Path:
    """The script that Streamlit runs.

    Raises:
        ValueError: where the package was installed without its dashboard.
    """
    for folder in _FOLDERS:
        if (folder / "app.py").is_file() and (folder / "pages").is_dir():
            return folder / "app.py"
    raise ValueError(
        f"The dashboard is app.py with its pages; got neither in {_FOLDERS[0]}. Install the whole "
        f"package: pip install nptlab."
    )


def _run(chosen: argparse.Namespace) -> int:
    """Become the server, which ends as it ends; on Windows, wait for it.

    Raises:
        ValueError: for an invalid setting, or where there is no dashboard.
    """
    script = launcher()
    if chosen.cache is not None:
        os.environ[settings.CACHE.name] = str(chosen.cache.absolute())
    if chosen.public:
        os.environ[settings.PUBLIC.name] = "1"
    settings.check(server=True)
    # -P: a module of the working directory stands in for nobody's
    command = [sys.executable, "-P", "-m", "streamlit", "run", str(script)]
    command += ["--server.port", str(chosen.port)]
    command += ["--server.address", "0.0.0.0"] if settings.PUBLIC.value() else []
    if os.name == "nt":
        return subprocess.call(command)
    os.execv(sys.executable, command)
