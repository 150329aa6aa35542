"""The Python that works an answer out again."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from validation_core.report.numbers import text

if TYPE_CHECKING:
    from validation_core.panels import Panel

_PATH = re.compile(r"""(["']?)\{path\}\1""")


def code(panel: Panel, *, path: str, seed: int) -> str:
    """A script that reads the file and gives the panel's answer; the path may hold anything."""
    written = repr(text(path))  # with its quotes: names may hold those too
    return _PATH.sub(lambda found: written, panel.module.CODE.replace("{seed}", str(seed)))
