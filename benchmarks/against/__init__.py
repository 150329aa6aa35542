"""Our methods beside those of other packages: the same arrays, in turns, in one run.

The peers have an environment of their own (requirements.txt) and take the threads that they take
by themselves. Ours have one, as in the product.
"""

from __future__ import annotations

from collections.abc import Iterator
from importlib import import_module

from benchmarks import rows as table
from benchmarks.against.peer import Absent
from benchmarks.lab import Lab
from benchmarks.rows import Row

PARTS = {
    "sbc": "SBC against sbi",
    "mmd_fuse": "MMD-FUSE against mmdfuse",
    "dc": "DC against DiscCalibration",
    "lc2st": "L-C2ST against sbi",
    "npe": "trained posteriors against sbi's NPE",
}


def rows(lab: Lab) -> Iterator[Row]:
    """Where a peer is missing its rows say so, and the others run."""
    for part, what in PARTS.items():
        try:
            yield from import_module(f"{__name__}.{part}").rows(lab)
        except Absent as why:
            yield table.told(what, f"not run: {why}")
