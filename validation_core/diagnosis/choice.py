"""Which methods a diagnosis runs: a few unasked, further ones when somebody asks for them."""

from __future__ import annotations

from collections.abc import Sequence

from validation_core.methods import METHODS
from validation_core.methods.base import Further, Method

WHY_NOT_ALL = (
    "These stand beside the verdict, which already asks what they ask, and do not count in it. On "
    "two samples they do: there Holm's correction charges for each test that runs."
)


def further_methods() -> dict[str, Further]:
    """What runs when it is asked for, by name.

    Enough relabelings that one of these tests can find a problem by itself, all corrections
    included: the smallest p-value of B relabelings is 1 / (B + 1).
    """
    kinds = sorted(METHODS.items(), key=lambda named: named[1].turn)
    return {name: further for name, kind in kinds if (further := kind.further()) is not None}


def default_methods() -> tuple[Method, ...]:
    """What runs unasked, in the order of cost: what learns nothing comes first."""
    unasked = (kind for kind in METHODS.values() if kind.further() is None)
    return tuple(kind() for kind in sorted(unasked, key=lambda kind: kind.turn))


def with_further(names: Sequence[str]) -> tuple[Method, ...]:
    """What runs unasked, then the further methods of these names."""
    further = further_methods()
    return (*default_methods(), *(further[name].method for name in further if name in names))
