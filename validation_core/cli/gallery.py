"""`gallery`: what the package ships, and how it is made; `lessons`: each as an HTML file."""

from __future__ import annotations

import argparse
import os
from pathlib import Path

from validation_core import Store, gallery, lessons
from validation_core.api.work import run_on_engine
from validation_core.cli import tell
from validation_core.cli.options import ProgressLines
from validation_core.gallery import FOLDER, Part
from validation_core.lessons import LESSONS
from validation_core.settings import DEVICE


def add(parser: argparse.ArgumentParser) -> None:
    """Its arguments."""
    option = parser.add_argument
    option("--make", action="store_true", help="compute what is missing, and ship it")
    option("--only", metavar="NAME", help="one part: playground, conformal, colt, ...")
    option("--again", action="store_true", help="also what is there: with an empty cache folder")
    option(
        "--device", choices=("cpu", "cuda"), help="where networks run; where there is a GPU, it"
    )
    option("--engine", default="local", metavar="local|serial|dask:ADDRESS[,local]")
    option("--into", type=Path, default=FOLDER, metavar="FOLDER", help="the package's own")
    parser.set_defaults(run=_run)


def _run(chosen: argparse.Namespace) -> None:
    """Say how it stands, or make it.

    Raises:
        ValueError: for an unknown part, or when something is missing, stale or failed.
    """
    chosen_parts = (gallery.part(chosen.only),) if chosen.only else gallery.parts()
    if chosen.device:
        os.environ[DEVICE.name] = chosen.device
    problems = []
    store = Store(gallery=None if chosen.again else chosen.into)
    for part in chosen_parts:
        if chosen.make:
            problems += _made(part, store, chosen.into, chosen.engine)
        shipped = Store(chosen.into)
        missing, total = part.missing(shipped), len(set(part.entries()))
        tell(f"{part.title}: {total - len(missing)} of {total} files are there")
        if missing:
            problems.append(f"{part.name} lacks {len(missing)} files")
    if not chosen.only:
        unasked = gallery.stale(chosen.into)
        for path in unasked:
            tell(f"nothing asks for {path.relative_to(chosen.into)}")
            if chosen.make:
                path.unlink()
        if unasked and not chosen.make:
            problems.append(f"{len(unasked)} files are out of date")
    if problems:
        raise ValueError(
            "The gallery holds what pages ask for, and nothing else; got: "
            f"{'; '.join(problems)}. Run nptlab gallery --make."
        )


def _made(part: Part, store: Store, folder: Path, engine: str) -> list[str]:
    problems = part.make(store, ProgressLines(), engine)
    tell(f"{part.title}: {part.ship(store, folder)} files copied")
    return [f"{part.name}: {problem}" for problem in dict.fromkeys(problems)]


# ---- `lessons`: each lesson as one HTML file that runs without a server or a network ----


def add_lessons(parser: argparse.ArgumentParser) -> None:
    """Its arguments."""
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
    """Write the files, computing first what neither the store nor the package has.

    Raises:
        ValueError: when a lesson's numbers could not be computed.
        OSError: when the folder cannot be written.
    """
    store = Store.usual()
    chosen.html.mkdir(parents=True, exist_ok=True)
    for name in chosen.only or LESSONS:
        kind = LESSONS[name]
        if not kind.study.done(store):
            state = run_on_engine([kind.study], store, ProgressLines(), kind.title, None)
            if state.failures:
                raise ValueError(f"{kind.title}: {'; '.join(state.failures.values())}")
        numbers = kind.study.load(store)
        path = chosen.html / f"{name}.html"
        path.write_text(lessons.html(kind.lesson(numbers)), encoding="utf-8")
        tell(f"{path}: {path.stat().st_size / 1e3:.0f} kB")
