"""What a file declares, before any of its numbers are read."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

from validation_core.tables import roles, source, table
from validation_core.tables.reading import File, opened_file, refusals_in_words
from validation_core.tables.source import LIMIT, ArrayHeader


class _Declared(NamedTuple):
    """One array of a file: its name as shown, its role or None, and what its header says."""

    name: str
    role: str | None
    shape: tuple[int, ...]
    dtype: str


@dataclass(frozen=True, kw_only=True)
class _Preview:
    """Sizes of a file, as far as its headers tell."""

    arrays: tuple[_Declared, ...]
    nbytes: int
    """Bytes that its arrays take in memory."""
    n: int | None = None
    """Simulations, or points of the smaller of two samples."""
    k: int | None = None
    d: int | None = None
    m: int | None = None
    """Draws at each x, columns of theta and of x; None where they are not known."""
    problem: str | None = None
    """Why it will be refused, where the headers show it already."""


def preview(file: File, *, limit: int = LIMIT, name: str = "") -> _Preview:
    """The sizes that a file declares.

    Args:
        file: a path, the bytes of the file, or the file opened for reading.
        limit: bytes that its arrays may take in memory; more is a `problem`.
        name: what the file is called, where neither a path nor the opened file says so.

    Raises:
        ValueError: for a file whose headers cannot be read.
    """
    with refusals_in_words(), opened_file(file, name, limit) as reader:
        declared = reader.headers()
    known = roles.find_roles(declared).found
    by_name = {array: role for role, array in known.items()}
    problem = None
    try:
        source.check_headers(declared, limit)
        table.require_roles(known, {array: header.shape for array, header in declared.items()})
    except ValueError as refusal:
        problem = str(refusal)
    return _Preview(
        arrays=tuple(
            _Declared(roles.label(array), by_name.get(array), header.shape, str(header.dtype))
            for array, header in list(declared.items())[: source.ARRAYS]
        ),
        nbytes=sum(header.nbytes for header in declared.values()),
        problem=problem,
        **_sizes({role: declared[array] for role, array in known.items()}),
    )


def _sizes(headers: Mapping[str, ArrayHeader]) -> dict[str, int | None]:
    """N, K, D, M as the shapes of the arrays tell them."""
    shapes = {role: header.shape for role, header in headers.items() if header.shape}
    if "theta" not in shapes:
        pair = [shapes[role] for role in ("p", "q") if role in shapes]
        n = min((shape[0] for shape in pair), default=None)
        return {"n": n, "d": _columns(pair[0]) if pair else None}
    n, d = shapes["theta"][0], _columns(shapes["theta"])
    return {
        "n": n,
        "d": d,
        "m": _columns(shapes["x"]) if "x" in shapes else None,
        "k": _draws(shapes["theta_q"], n, d) if "theta_q" in shapes else None,
    }


def _columns(shape: tuple[int, ...]) -> int:
    columns = 1
    for length in shape[1:]:
        columns *= length
    return columns


def _draws(shape: tuple[int, ...], n: int, d: int) -> int | None:
    """K of draws in this shape; None where it does not fit."""
    if len(shape) == 1 or shape == (n, d):
        return 1 if d == 1 or (len(shape) == 2 and d > 1) else None
    first, second = shape[:2]
    if n not in (first, second):
        return None
    return second if first == n else first
