"""`lessons` and `lecture`: lessons as HTML files that run without a server or a network."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from validation_core import Store, lessons
from validation_core.api.work import run_on_engine
from validation_core.cli.options import ProgressLines, make_folder
from validation_core.cli.process import tell
from validation_core.lessons import LESSONS
from validation_core.lessons.study import LessonStudy


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


def add_lecture(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the command."""
    parser.add_argument(
        "--html", type=Path, required=True, metavar="FOLDER", help="where the files go"
    )
    parser.set_defaults(run=_write_lecture)


def _write_lessons(chosen: argparse.Namespace) -> None:
    """Write each lesson's file.

    Raises:
        ValueError: when a lesson's numbers could not be computed, or the folder cannot be made.
    """
    make_folder(chosen.html)
    store = Store.usual()
    for name in chosen.only or LESSONS:
        study = _computed(name, store)
        text = lessons.lesson_html(study.lesson(study.load(store)))
        _write(chosen.html / f"{name}.html", text)


def _write_lecture(chosen: argparse.Namespace) -> None:
    """Write the lecture's scenes, notes, exercises and solutions.

    Raises:
        ValueError: when a lesson's numbers could not be computed, or the folder cannot be made.
    """
    from validation_core.lessons import lecture

    make_folder(chosen.html)
    store = Store.usual()
    for scene in lecture.SCENES:
        _computed(scene.lesson, store)
    for name, text in lecture.files(store).items():
        _write(chosen.html / name, text)


def _computed(name: str, store: Store) -> LessonStudy[Any]:
    """A lesson's study, after computing a result that neither the store nor the package has."""
    study = LESSONS[name]
    if not study.done(store):
        state = run_on_engine([study], store, ProgressLines(), study.title, None)
        if state.failures:
            raise ValueError(f"{study.title}: {'; '.join(state.failures.values())}")
    return study


def _write(path: Path, text: str) -> None:
    path.write_text(text, encoding="utf-8")
    tell(f"{path}: {path.stat().st_size / 1e3:.0f} kB")
