"""`lessons`: each lesson as one HTML file that runs without a server or a network."""

from __future__ import annotations

import argparse
from pathlib import Path

from validation_core import Store, lessons
from validation_core.api.work import run_on_engine
from validation_core.cli.options import ProgressLines
from validation_core.cli.process import tell
from validation_core.lessons import LESSONS


def add_lessons(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the command."""
    option = parser.add_argument
    option("--html", type=Path, required=True, metavar="FOLDER", help="where the files go")
    option(
        "--only",
        action="append",
        choices=list(LESSONS),
        metavar="NAME",
        help=f"one of {', '.join(LESSONS)}; may be given again",
    )
    parser.set_defaults(run=_write_lessons)


def _write_lessons(chosen: argparse.Namespace) -> None:
    """Write the files, after computing results that neither the store nor the package has.

    Raises:
        ValueError: when a lesson's numbers could not be computed.
        OSError: when the folder cannot be written.
    """
    store = Store.usual()
    chosen.html.mkdir(parents=True, exist_ok=True)
    for name in chosen.only or LESSONS:
        study = LESSONS[name]
        if not study.done(store):
            state = run_on_engine([study], store, ProgressLines(), study.title, None)
            if state.failures:
                raise ValueError(f"{study.title}: {'; '.join(state.failures.values())}")
        numbers = study.load(store)
        path = chosen.html / f"{name}.html"
        path.write_text(lessons.lesson_html(study.lesson(numbers)), encoding="utf-8")
        tell(f"{path}: {path.stat().st_size / 1e3:.0f} kB")
