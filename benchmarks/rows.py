"""A row of the table: what, must reach, measured, ok."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np


class Row(NamedTuple):
    """One requirement and what was found; `ok` is None where it is told but not judged."""

    what: str
    must: str
    measured: str
    ok: bool | None
    numbers: Mapping[str, Any]


def at_most(what: str, unit: str, note: str = "", **limits: tuple[float, float]) -> Row:
    """Numbers that must not pass their limits: name=(measured, limit)."""
    return _row(what, unit, note, "<=", limits, all(got <= most for got, most in limits.values()))


def at_least(what: str, unit: str, note: str = "", **limits: tuple[float, float]) -> Row:
    """Numbers that must reach their limits: name=(measured, limit)."""
    return _row(
        what, unit, note, ">=", limits, all(got >= least for got, least in limits.values())
    )


def told(what: str, measured: str, ok: bool | None = None, must: str = "", **numbers: Any) -> Row:
    """A figure in words, judged by the caller or not at all."""
    return Row(what, must, measured, ok, numbers)


def latency(what: str, seconds: Sequence[float], median: float, p95: float, note: str = "") -> Row:
    """Median and 95th percentile in ms, with all the times behind them."""
    times = 1000 * np.asarray(seconds)
    row = at_most(
        what, "ms", f"{len(times)} times{', ' * bool(note)}{note}",
        median=(float(np.median(times)), median), p95=(float(np.quantile(times, 0.95)), p95),
    )  # fmt: skip
    return row._replace(numbers={**row.numbers, "ms": times.round(1).tolist()})


def _row(
    what: str, unit: str, note: str, sign: str, limits: Mapping[str, tuple[float, float]], ok: bool
) -> Row:
    by_name = len(limits) > 1
    must, got = [], []
    for name, (value, limit) in limits.items():
        text = f"{name} " if by_name else ""
        must.append(f"{text}{sign} {limit:.4g} {unit}")
        visible = f"{value:.0f}" if value >= 100 else f"{value:.3g}"
        got.append(f"{text}{visible} {unit}")
    measured = ", ".join(got) + (f" ({note})" if note else "")
    numbers = {name: value for name, (value, _) in limits.items()}
    return Row(what, ", ".join(must), measured, bool(ok), numbers)


def table(rows: Sequence[Row]) -> str:
    """The rows as a Markdown table."""
    words = {True: "yes", False: "NO", None: "-"}
    cells = [("what", "must reach", "measured", "ok")]
    cells += [(row.what, row.must, row.measured, words[row.ok]) for row in rows]
    widths = [max(len(row[i]) for row in cells) for i in range(4)]
    lines = ["| " + " | ".join(map(str.ljust, row, widths)) + " |" for row in cells]
    lines.insert(1, "|" + "|".join("-" * (width + 2) for width in widths) + "|")
    return "\n".join(lines)
