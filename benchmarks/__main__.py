"""Runs the benchmarks and prints one table: `python -m benchmarks [names]`."""

from __future__ import annotations

import argparse
import json
import os
import platform
import sys
import tempfile
import traceback
from collections.abc import Sequence
from importlib import import_module
from pathlib import Path
from typing import Any

from benchmarks import rows as tables
from benchmarks.lab import Lab, say
from benchmarks.rows import Row

GROUPS = {
    "ranks": "ranks and their statistics",
    "power": "a power cell; pooled against fresh protocol",
    "presets": "interactive against paper preset",
    "verdict": "a verdict on an uploaded table, and its memory",
    "verdict_level": "false alarms of the whole verdict on exact posteriors of five shapes",
    "verdict_power": "errors that the verdict finds, with and without learned scores",
    "verdict_flow": "a spline flow on two moons whose error is known in nats: found or missed",
    "mended": "mends of twelve trained posteriors: gain claimed and the fall of KL(p || q)",
    "large": "a 200 MB table and the usual one on the command line: time and memory",
    "slot_scores": "the score within x: power beside the classifier and DC, seconds, memory",
    "sensitivity": "what the tests would have caught on a table, and their level there",
    "cause": "the cause named for random defects, confusion table",
    "startup": "server start, first page",
    "pages": "what each page costs the server for one interaction",
    "crowd": "20 clients on the workbench",
    "crowd_hard": "40 clients on all pages; 30 while one uploads and five train",
    "lessons": "lessons in Chromium: redraws, frames, files; 30 clients on them",
    "small_memory": "five visitors with large files in 4 GB, and in 1 GB (Linux, root)",
    "sessions": "what a server gives back when its visitors have gone",
    "crowd_playground": "30 clients on the home page, and the server's memory",
    "playground": "the home page in Chromium: first picture, sliders, another benchmark",
    "browser": "sliders in Chromium, released and dragged",
    "train": "an estimator in Chromium: film opened, press to picture, trained, verdict",
    "card": "My posterior in Chromium: verdict, whole card, every row, layout shift",
    "upload": "a table of 40 MB in Chromium, to what was read of it",
    "lensing": "lensing draws by the reverse diffusion, against the closed form",
    "features": "features of 10,000 images: seconds and memory",
    "colt": "training and testing localizers, divergences, memory",
    "simulations": "symmetric divergence: first panel, Figure 1 complete",
    "sweep": "eight methods over a grid: first picture, resumed, shared out, on a cluster",
    "against": "SBC, MMD-FUSE, DC and L-C2ST beside other packages' own",
    "inference": "Bayesian inference: data sets as one batch against a loop over them",
    "gpu": "21 classifiers as one batch, the whole power figure",
}


def main(arguments: Sequence[str] | None = None) -> int:
    """Run what is asked for; 1 when a requirement is missed."""
    requests = _arguments(arguments)
    result: dict[str, list[Row]] = {}
    with tempfile.TemporaryDirectory(prefix="nptlab-benchmarks-") as folder:
        lab = Lab(
            Path(folder),
            full=requests.full,
            kept=requests.cache,
            shared=requests.shared,
            seconds=requests.seconds,
            minutes=requests.minutes,
            pages=requests.page,
        )
        for name in requests.names or GROUPS:
            say(f"{name}: {GROUPS[name]}")
            result[name] = _group(name, lab)
    whole = [row for rows in result.values() for row in rows]
    print(tables.table(whole))
    print(f"\n{_machine()}")
    if requests.json:
        requests.json.write_text(json.dumps(_plain(result), indent=1))
    return int(any(row.ok is False for row in whole))


def _arguments(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="name", help=f"of {', '.join(GROUPS)}")
    parser.add_argument("--full", action="store_true", help="all perturbations, all fresh trials")
    parser.add_argument("--json", type=Path, help="write every number to this file")
    parser.add_argument("--cache", type=Path, help="keep trained classifiers in this folder")
    parser.add_argument(
        "--shared", type=int, metavar="TABLES",
        help="how many tables one training serves in verdict_level; 0 trains for each",
    )  # fmt: skip
    parser.add_argument(
        "--seconds", type=float, default=120.0, help="that crowd_playground lasts; 600 for memory"
    )
    parser.add_argument(
        "--minutes", type=float, default=20.0,
        help="that crowd_hard's forty stay, and twice what its thirty do; 2 for a look",
    )  # fmt: skip
    parser.add_argument(
        "--page", action="append", default=[], help="path of a page that playground drags on alone"
    )
    requests = parser.parse_args(arguments)
    if unknown := set(requests.names) - set(GROUPS):
        parser.error(f"a name is one of {', '.join(GROUPS)}; got {', '.join(sorted(unknown))}")
    if requests.shared is not None and requests.shared < 0:
        parser.error(f"--shared is 0 or a number of tables; got {requests.shared}")
    for name in ("seconds", "minutes"):
        if getattr(requests, name) <= 0:
            parser.error(f"--{name} is above 0; got {getattr(requests, name)}")
    return requests


def _group(name: str, lab: Lab) -> list[Row]:
    """A group's rows; one that fails leaves its error in the table and the others run."""
    result: list[Row] = []
    try:
        for row in import_module(f"benchmarks.{name}").rows(lab):
            say(f"{row.what}: {row.measured}")
            result.append(row)
    except Exception as error:
        traceback.print_exc()
        why = " ".join(str(error).split())[:200]
        result.append(tables.told(GROUPS[name], f"failed: {why}", ok=False))
    return result


def _machine() -> str:
    load = ", ".join(f"{value:.1f}" for value in os.getloadavg())
    return f"{platform.platform()}, {os.cpu_count()} cores, load {load} at the end"


def _plain(found: dict[str, list[Row]]) -> dict[str, Any]:
    groups = {name: [row._asdict() for row in rows] for name, rows in found.items()}
    return {"machine": _machine(), "python": platform.python_version(), "groups": groups}


if __name__ == "__main__":
    sys.exit(main())
