"""The text of mend.py: what mends new draws, in one file that needs NumPy alone."""

from __future__ import annotations

import ast
from pathlib import Path

from validation_core import learn, mending, pieces, scores

_HEAD = '''\
"""Weights that mend draws of q, as NPT Lab learned them. It needs NumPy, and mend.npz beside it.

    python mend.py draws.npz mended.npz      x (n, M) and theta_q (n, K, D) in draws.npz

    from mend import load
    function = load()                        # of mend.npz
    log_w = function.log_weights(x, theta_q)  # (n, K): exp(log_w) sums to 1 at each x

The draws must come from the q that was mended, at x from the simulator that made its table.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any, NamedTuple
from zipfile import BadZipFile

import numpy as np
from numpy.typing import ArrayLike, NDArray

Array = NDArray[np.floating]
Float = NDArray[np.float64]


class PosteriorTable(NamedTuple):
    """One slot (n, D) at each x (n, M), and the others (n, K, D)."""

    theta: Array
    x: Array
    q: Array

'''
_FOOT = '''

def load(path: str | Path = Path(__file__).with_name("mend.npz")) -> MendFunction:
    """The function kept in mend.npz."""
    if not Path(path).is_file():
        raise ValueError(f"Weights are read from mend.npz; got no {path}. Copy it there.")
    with np.load(path, allow_pickle=False) as file:
        return MendFunction.read(dict(file))


def read_draws(path: str) -> tuple[Array, Array]:
    """x (n, M) and theta_q (n, K, D) of a file.

    Raises:
        ValueError: for a file that does not hold them.
    """
    rule = "Draws are read from an .npz file with x (n, M) and theta_q (n, K, D)"
    remedy = "Save one by np.savez(PATH, x=x, theta_q=theta_q)."
    try:
        file = np.load(path, allow_pickle=False)
        held = list(getattr(file, "files", ["an array without a name"]))
        if "x" in held and "theta_q" in held:
            return file["x"], file["theta_q"]
    except (OSError, ValueError, EOFError, BadZipFile) as error:
        raise ValueError(f"{rule}; got {path}, not readable ({error}). {remedy}") from error
    raise ValueError(f"{rule}; got {path} with {', '.join(held) or 'nothing'}. {remedy}")


def main(draws: str, mended: str) -> None:
    """Mend the draws of one file into another: log_w_draws, and as many mended draws."""
    function = load()
    x, theta_q = read_draws(draws)
    theta_q = theta_q[None] if theta_q.ndim == 2 else theta_q
    log_w = function.log_weights(x, theta_q)
    rng = np.random.default_rng(0)
    picked = pick_by_weight(theta_q, np.exp(log_w), theta_q.shape[1], rng)
    np.savez(mended, x=x, theta_q=picked, log_w_draws=log_w)


if __name__ == "__main__":
    try:
        if len(sys.argv) != 3:
            raise ValueError(
                f"It takes two files; got {len(sys.argv) - 1}. "
                "Write: python mend.py draws.npz mended.npz"
            )
        main(*sys.argv[1:])
    except (ValueError, OSError) as error:
        print(f"error: {error}", file=sys.stderr)
        sys.exit(2)
'''
_ROOTS = ("MendFunction", "pick_by_weight")
_GIVEN = ("PosteriorTable",)  # the head's own, smaller
Definition = ast.ClassDef | ast.FunctionDef | ast.Assign


def function_file() -> str:
    """Return the text: the definitions that weights need, as this package has them."""
    texts, found = {}, dict[str, Definition]()
    for path in _sources():
        text = path.read_text(encoding="utf-8")
        for node in ast.parse(text).body:
            for name in _defined(node):
                assert isinstance(node, Definition)
                found[name], texts[name] = node, text
    wanted: list[str] = []
    _collect(_ROOTS, found, wanted)
    used = [name for name in found if name in wanted and name not in _GIVEN]
    blocks = dict.fromkeys(_source(texts[name], found[name]) for name in used)
    return _HEAD + "\n\n" + "\n\n\n".join(blocks) + "\n" + _FOOT


def _sources() -> tuple[Path, ...]:
    """Modules that hold the definitions, each after those that it reads."""
    learned, score, own = (Path(str(room.__file__)).parent for room in (learn, scores, mending))
    return (
        Path(pieces.__file__),
        learned / "scaling.py",
        score / "slot_features.py",
        score / "trees.py",
        score / "slot_network.py",
        own / "function.py",
    )


def _defined(node: ast.stmt) -> list[str]:
    """Names that a statement at the top of a module defines."""
    if isinstance(node, ast.ClassDef | ast.FunctionDef):
        return [node.name]
    if isinstance(node, ast.Assign):
        names = [part for target in node.targets for part in ast.walk(target)]
        return [part.id for part in names if isinstance(part, ast.Name)]
    return []


def _collect(names: tuple[str, ...], found: dict[str, Definition], wanted: list[str]) -> None:
    """Add these names and all that their definitions read."""
    for name in names:
        if name in found and name not in wanted:
            wanted.append(name)
            read = [part.id for part in ast.walk(found[name]) if isinstance(part, ast.Name)]
            _collect(tuple(read), found, wanted)


def _source(text: str, node: Definition) -> str:
    """The lines of a definition, its decorators and the text under a constant included."""
    decorators = getattr(node, "decorator_list", [])
    first = min([node.lineno, *(each.lineno for each in decorators)])
    return "\n".join(text.splitlines()[first - 1 : node.end_lineno])
