"""`compare FILE FILE...`: which of several posteriors of the same simulations is nearer."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from validation_core import uploads
from validation_core.answers import posteriors
from validation_core.answers.posteriors import Measure, number
from validation_core.command.options import json_option, tell, writable, write
from validation_core.diagnosis import tasks
from validation_core.store import Store


def add(parser: argparse.ArgumentParser) -> None:
    """Its arguments."""
    option = parser.add_argument
    option("files", type=Path, nargs="+", metavar="FILE", help="tables of the same simulations")
    option("--seed", type=int, default=0)
    option("--order", choices=("NKD", "KND"), help="axes of theta_q, where N = K leaves it open")
    json_option(parser)
    parser.set_defaults(run=run)


def run(chosen: argparse.Namespace) -> None:
    """Read the files, score each row, and print the differences from the first file.

    Raises:
        ValueError: for fewer than two files, files that cannot be read, or other simulations.
    """
    if len(chosen.files) < 2:
        raise ValueError(
            f"A comparison needs at least two tables; got {len(chosen.files)}. Name another file."
        )
    writable(chosen.json)
    given = [uploads.read(path, order=chosen.order) for path in chosen.files]
    for path, other in zip(chosen.files[1:], given[1:], strict=True):
        if reason := posteriors.unlike(given[0], other):
            raise ValueError(f"{path.name}: {reason}")
    store, methods = Store(), posteriors.methods()
    records, scores = [], []
    for path, upload in zip(chosen.files, given, strict=True):
        tasks.hold(upload)
        asked = (*tasks.tasks(upload, methods, chosen.seed),
                 *posteriors.tasks(upload, chosen.seed))  # fmt: skip
        for task in asked:
            if not task.done(store):
                tell(f"{path.name}: {task.label}")
                task.run(store, lambda fraction, live: None)
        records.append(tasks.records(store, upload, methods, chosen.seed)[0])
        scores.append(next((t.load(store) for t in posteriors.tasks(upload, chosen.seed)), None))
    found = posteriors.measures(given, records, scores)
    labels = _labels(chosen.files)
    write(_plain(found, labels), chosen.json, lambda: _read_aloud(found, labels))


def _labels(files: Sequence[Path]) -> list[str]:
    """File names, with their folders where names alone are the same."""
    names = [path.name for path in files]
    return names if len(set(names)) == len(names) else [str(path) for path in files]


def _plain(found: Sequence[Measure], labels: Sequence[str]) -> dict[str, Any]:
    return {
        "tables": list(labels),
        "reference": labels[0],
        "sentences": list(posteriors.say(found, labels)),
        "measures": [
            {
                "name": one.name, "title": one.title, "about": one.about,
                "higher_is_better": one.higher_is_better,
                "values": [value._asdict() for value in one.values],
                "differences": [value._asdict() for value in one.differences],
                "closer": [one.closer(i) if i else None for i in range(len(labels))],
            }
            for one in found
        ],
    }  # fmt: skip


def _read_aloud(found: Sequence[Measure], labels: Sequence[str]) -> None:
    for said in posteriors.say(found, labels):
        print(said)
    print()
    for one in found:
        print(f"{one.title}: {one.about}")
        for i, label in enumerate(labels):
            less = f"   less {labels[0]}: {number(one.differences[i])}" if i else ""
            print(f"  {label:<32} {number(one.values[i])}{less}")
