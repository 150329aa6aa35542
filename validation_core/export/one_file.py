"""This package as one file, for the environment of a user's model."""

from __future__ import annotations

import ast
from collections import defaultdict
from pathlib import Path

PARTS = (
    "arrays",
    "table_sizes",
    "draws_table",
    "time_limit",
    "progress",
    "run",
    "sbi",
    "bayesflow",
    "dingo",
    "ltu_ili",
    "swyft",
    "any_sampler",
    "weighted",
    "simulating",
    "targeted",
    "__init__",
)
"""Modules of the package, each after those that it imports."""


def one_file() -> str:
    """Return the text of `export.py`: every part in turn, their imports at the top."""
    docstring, modules, bodies = "", set[str](), []
    names: defaultdict[str, set[str]] = defaultdict(set)
    for part in PARTS:
        text = (Path(__file__).parent / f"{part}.py").read_text(encoding="utf-8")
        tree = ast.parse(text)
        docstring = ast.get_docstring(tree, clean=False) or ""  # the package's, which is the last
        imports = [node for node in tree.body if isinstance(node, ast.Import | ast.ImportFrom)]
        for node in imports:
            if isinstance(node, ast.Import):
                modules.add(ast.unparse(node))
            elif not node.level:
                names[node.module or ""] |= {alias.name for alias in node.names}
        bodies.append("\n".join(text.splitlines()[imports[-1].end_lineno :]).strip())
    names.pop("__future__")
    from_modules = [f"from {of} import {', '.join(sorted(names[of]))}" for of in sorted(names)]
    top = "\n".join((*sorted(modules), *from_modules))
    head = f'"""{docstring}"""\n\nfrom __future__ import annotations\n\n{top}'
    return "\n\n\n".join((head, *bodies)) + "\n"
