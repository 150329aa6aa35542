"""Which methods a diagnosis runs: a few unasked, further ones when somebody asks for them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from validation_core.methods import DC, LC2ST, METHODS, AutoML, MMDFuse
from validation_core.types import Method

_DEFAULT = ("omnibus", "sbc", "tarp", "skl", "within_x", "multiple", "c2st", "uniform", "colt")

WHY_NOT_ALL = (
    "These stand beside the verdict, which already asks what they ask, and do not count in it. On "
    "two samples they do: there Holm's correction charges for each test that runs."
)


class Further(NamedTuple):
    """A method that runs when it is asked for, with options that suit a table."""

    method: Method
    seconds: float
    """What it takes on 1000 rows with 200 draws of two parameters, one core, training included."""
    adds: str
    """What it answers that the others do not, in a line."""


def further_methods() -> dict[str, Further]:
    """What runs when it is asked for, by name.

    Enough relabelings that one of these tests can find a problem by itself, all corrections
    included: the smallest p-value of B relabelings is 1 / (B + 1).
    """
    return {
        "dc": Further(
            DC(permutations=1999, net="within"), 2,
            "how far q is from the truth, as a divergence in nats with its interval",
        ),
        "automl": Further(
            AutoML(permutations=1999), 7,
            "trees, neighbours, a ridge and a network together, where one classifier sees nothing",
        ),
        "lc2st": Further(
            LC2ST(nulls=1000), 4,
            "whether q is wrong at one observation, and where among its draws there",
        ),
        "mmd_fuse": Further(
            MMDFuse(points=500, permutations=1999), 1,
            "kernels at ten scales; nothing is learnt, so that no rows are kept for training",
        ),
    }  # fmt: skip


def default_methods() -> tuple[Method, ...]:
    """What runs unasked, in the order of cost: what learns nothing comes first.

    A method that is registered beside the known ones runs.
    """
    added = [name for name in METHODS if name not in (*_DEFAULT, *further_methods())]
    return tuple(METHODS[name]() for name in (*_DEFAULT, *added) if name in METHODS)


def with_further(names: Sequence[str]) -> tuple[Method, ...]:
    """What runs unasked, then the further methods of these names."""
    further = further_methods()
    return (*default_methods(), *(further[name].method for name in further if name in names))
