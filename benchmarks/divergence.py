"""The table of docs/divergence.md and Figures 1 to 3, of the runs that are shipped.

    python -m benchmarks.divergence [--html FILE]

Nothing is run: `python -m validation_core gallery` makes what is shipped.
"""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from tests.conftest import ROOT
from validation_core.api.divergence import TITLE, DivergenceResult
from validation_core.report.document import sheet
from validation_core.store import Store
from validation_core.symmetric_divergence import GRID, MS, collect, figure, importance_sample_size
from validation_core.symmetric_divergence.nats_text import format_number
from validation_core.symmetric_divergence.runs import summarise_terms

LAST = GRID[-1]


def shipped(folder: Path) -> DivergenceResult:
    """Figures 1 to 3, as the page has them."""
    store = Store(folder, gallery=ROOT / "validation_core" / "data" / "gallery")
    plans = {number: figure(number) for number in (1, 2, 3)}
    terms = {number: collect(plan, store) for number, plan in plans.items()}
    return DivergenceResult(plans, terms)


def table(result: DivergenceResult) -> str:
    """Medians of d after the last iterations, means behind them, as Markdown."""
    plan, terms = result.plans[1], result.terms[1]
    lines = [
        f"| nats after {LAST:,} iterations | " + " | ".join(m.title for m in plan.models) + " |",
        "|---" * (len(plan.models) + 1) + "|",
    ]
    for j, inference in enumerate(plan.inferences):
        cells = []
        for i in range(len(plan.models)):
            d = terms[i, j].d[
                plan.iterations.index(LAST), MS.index(importance_sample_size(inference))
            ]
            found = summarise_terms(d)
            mark = "†" * bool(found.dominated)
            numbers = f"{_short(float(found.median))} ({_short(float(found.mean))}{mark})"
            cells.append(numbers if np.isfinite(found.mean) else "not shipped")
        lines.append(f"| {inference.label} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def _short(nats: float) -> str:
    """Two digits, as far as a thousandth of a nat."""
    return format_number(float(np.round(nats, 3)) + 0.0)


def main(arguments: Sequence[str] | None = None) -> None:
    """Print the table; write the figures."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.divergence")
    parser.add_argument("--html", type=Path, help="Figures 1 to 3 in one file, for offline")
    asked = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory() as folder:
        result = shipped(Path(folder))
    print(table(result))
    if asked.html:
        page = sheet(TITLE, result.sentences, result.figures(), {}, {})
        asked.html.write_text(page, encoding="utf-8")


if __name__ == "__main__":
    main()
