"""The conformal paper's power figure with all methods, and the type I errors of all tests.

    python -m benchmarks.figures [names] [--trials 200] [--cache FOLDER] [--html FILE]

Prints a table of powers with 95% Wilson intervals and says which levels break their bound. What a
cache holds is not run again; the figures ship, and made anew they take some hours on two cores,
two of them MMD-FUSE at the paper's size.

Share of 1000 true nulls rejected at 5%, n = 1000, (3, 3): C2ST .057, Multiple .049, Uniform(50)
.060, SBC .040, TARP .060, DC with our features .052, AutoML-style .049, MMD-FUSE with 250 rows of
each side .057, within x .051, TARP with references that follow x .062, binary DC .048, CoLT .051,
L-C2ST .061: all within the binomial bounds of 5%.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import plotly.graph_objects as go

from validation_core import statistics
from validation_core.api.work import run_on_engine
from validation_core.cli.options import ProgressLines
from validation_core.drawing import plotly, style
from validation_core.drawing.marks import Axis, Band, HLine, Line, Mark, Panel
from validation_core.panels.power import curves
from validation_core.store import Store
from validation_core.sweep import presets as comparisons
from validation_core.sweep import progress
from validation_core.sweep.plan import Sweep
from validation_core.sweep.progress import Progress

NAMES = (*(f"conformal_{name}" for name in comparisons.PERTURBATIONS), "type_one")


def compute(title: str, wanted: Sweep, store: Store, trials: int | None = None) -> Progress:
    """Run what is missing of a sweep and keep its finished curves."""
    if trials is not None:
        wanted = replace(wanted, design=replace(wanted.design, trials=trials))
    state = run_on_engine(progress.missing(wanted, store), store, ProgressLines(), title, "local")
    for why in set(state.failures.values()):
        print(f"{title}: {why}", file=sys.stderr)
    progress.keep_curves(wanted, store)
    return progress.collect(wanted, store)


def table(progress: Progress) -> str:
    """Methods by gammas, as Markdown: power with its interval."""
    gammas = sorted({cell.gamma for cell in progress.cells})
    labels = dict.fromkeys(cell.label for cell in progress.cells)
    at = {(cell.label, cell.gamma): cell for cell in progress.cells}
    lines = ["| test | " + " | ".join(f"gamma {gamma:g}" for gamma in gammas) + " |",
             "|---" * (len(gammas) + 1) + "|"]  # fmt: skip
    for label in labels:
        words = []
        for gamma in gammas:
            cell = at[label, gamma]
            low, high = statistics.wilson(cell.rejections, cell.trials)
            words.append(f"{cell.rate:.3f} [{float(low):.3f}, {float(high):.3f}]")
        lines.append(f"| {label} | " + " | ".join(words) + " |")
    return "\n".join(lines)


def figure(title: str, progress: Progress) -> go.Figure:
    """Power against gamma, a line and a band for each test."""
    marks: list[Mark] = [HLine(progress.cells[0].alpha)]
    for curve in curves(progress.cells, "gamma"):
        look = style.method_style(curve.method)
        rate, low, high = curve.rates
        marks += [
            Band(curve.x, low, high, color=look.color, opacity=0.08),
            Line(curve.x, rate, color=look.color, dash=look.dash, label=curve.label),
        ]
    gammas = [cell.gamma for cell in progress.cells]
    x = Axis((min(gammas), max(gammas) or 1.0), "gamma")
    y = Axis((0, 1.02), "share rejected", percent=True)
    built = plotly.figure(Panel(marks, x=x, y=y, height=380, margin=150))
    built.layout.title = {"text": title}
    return built


def main(arguments: Sequence[str] | None = None) -> int:
    """Compute, print, and draw; 1 where a level is broken."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.figures")
    parser.add_argument("names", nargs="*", default=NAMES, help="comparisons, by name")
    parser.add_argument("--trials", type=int, help="a point; the comparison's own otherwise")
    parser.add_argument("--cache", type=Path, help="keep what is computed in this folder")
    parser.add_argument("--html", type=Path, help="write the figures to this file")
    requests = parser.parse_args(arguments)
    pages: list[go.Figure] = []
    wrong: list[str] = []
    with tempfile.TemporaryDirectory() as temporary:
        store = Store(requests.cache or Path(temporary))
        for name in requests.names:
            by_name = comparisons.by_name(name)
            progress = compute(by_name.title, by_name.sweep, store, requests.trials)
            print(f"\n**{by_name.title}** {by_name.differs}\n\n{table(progress)}", flush=True)
            wrong += [
                f"{cell.label}: {cell.rejections} of {cell.trials}"
                for cell in comparisons.broken(by_name.sweep.benchmark, progress.cells)
            ]
            pages.append(figure(by_name.title, progress).to_html(
                include_plotlyjs=not pages, full_html=False
            ))  # fmt: skip
    if requests.html:
        requests.html.write_text("<meta charset='utf-8'>" + "\n".join(pages), encoding="utf-8")
    print("\nLevels broken: " + ("; ".join(wrong) or "none"))
    return int(bool(wrong))


if __name__ == "__main__":
    sys.exit(main())
