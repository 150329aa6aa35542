"""`gallery`: list or make the shipped results and networks."""

from __future__ import annotations

import argparse
import os
from pathlib import Path

from validation_core import Store, gallery
from validation_core.cli.options import ProgressLines
from validation_core.cli.process import tell
from validation_core.gallery import FOLDER, Part
from validation_core.settings import DEVICE
from validation_core.text import count_text


def add(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the command."""
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
    """List the state of the gallery, or make it.

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
        work = part.work(shipped)
        files = count_text(work.untimed, "file")
        untimed = f" and of {files} without a record of it" * bool(work.untimed)
        tell(
            f"{part.title}: {total - len(missing)} of {total} files are there, the work of "
            f"{work.seconds / 3600:.1f} hours of a core{untimed}"
        )
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
