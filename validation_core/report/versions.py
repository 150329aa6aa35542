"""What a result was made with."""

from __future__ import annotations

import platform
from importlib import metadata

from validation_core import __version__

_PACKAGES = ("numpy", "scipy", "torch", "plotly")


def versions() -> dict[str, str]:
    """Version by name of the program, of Python, and of the packages that numbers depend on.

    Read from what is installed: nothing is imported for it.
    """
    installed = {"nptlab": __version__, "python": platform.python_version()}
    for name in _PACKAGES:
        try:
            installed[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            continue
    return installed
