"""The Python that works an answer out again."""

from __future__ import annotations

import re

from validation_core.report.numbers import text

_PATH = re.compile(r"""(["']?)\{path\}\1""")


def code(template: str, *, path: str, seed: int) -> str:
    """A script that reads the file and gives its answer; the path may hold anything."""
    written = repr(text(path))  # with its quotes: names may hold those too
    return _PATH.sub(lambda found: written, template.replace("{seed}", str(seed)))
