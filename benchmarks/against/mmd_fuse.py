"""Our MMD-FUSE beside its authors' package: a new process for each test, as it must compile.

`python -m benchmarks.against.mmd_fuse FILE` is our side: seconds, p-value and memory.
"""

from __future__ import annotations

import json
import resource
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks import rows as table
from benchmarks.against.peer import Peer
from benchmarks.against.turns import faster, saved, timed, turns
from benchmarks.lab import ROOT, Lab
from benchmarks.rows import Row
from validation_core.methods import MMDFuse
from validation_core.rng import stream
from validation_core.types import BlockScores, Outcome

POINTS, SIZE, PERMUTATIONS = 1000, 6, 2000
TIMES = 3
_MEMORY = 1024.0  # MB


def rows(lab: Lab) -> Iterator[Row]:
    """Normal rows of one spread, as the package leaves scales to the user, slightly apart."""
    rng = stream(0, "against", "mmd_fuse")
    p, q = rng.standard_normal((2, POINTS, SIZE), np.float32)
    file = saved(lab, "mmd_fuse", p=p, q=q + np.float32(0.05))
    theirs: list[dict[str, Any]] = []
    ours: list[dict[str, Any]] = []

    def peer() -> float:
        with Peer("fuse") as one:
            theirs.append(one.ask("test", file, permutations=PERMUTATIONS))
        return theirs[-1]["seconds"]

    def own() -> float:
        done = subprocess.run(
            [sys.executable, "-m", __name__, str(file)], cwd=ROOT, check=True,
            capture_output=True, text=True,
        )  # fmt: skip
        ours.append(json.loads(done.stdout))
        return ours[-1]["seconds"]

    seconds = turns(peer, own, TIMES)
    yield faster(
        f"MMD-FUSE, {POINTS} + {POINTS} rows of {SIZE}, B = {PERMUTATIONS}, against mmdfuse "
        "with its compile", 1.0, seconds,
        f"median of {TIMES} processes, theirs on all cores; p = {theirs[0]['pvalue']:.3f} against "
        f"{ours[0]['pvalue']:.3f}",
    )  # fmt: skip
    peak = max(one["peak"] for one in ours)
    note = f"the process with its imports; theirs {max(one['peak'] for one in theirs):.0f} MB"
    yield table.at_most("memory of that test", "MB", note, peak=(peak, _MEMORY))


def _alone(file: Path) -> dict[str, float]:
    with np.load(file, allow_pickle=False) as stored:
        sides = BlockScores(stored["p"].T, stored["q"].T)
    found: list[Outcome] = []
    method = MMDFuse(permutations=PERMUTATIONS)
    seconds = timed(lambda: found.append(method.test(sides, stream(0, "relabelings"))))
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    return {"seconds": seconds, "pvalue": float(found[0].pvalue), "peak": peak}


if __name__ == "__main__":
    print(json.dumps(_alone(Path(sys.argv[1]))))
