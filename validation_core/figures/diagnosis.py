"""The pictures of one method's record: which figures, under which name, read how."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from validation_core.diagnosis import Record
from validation_core.figures.outcome import Drawn
from validation_core.methods.base import Method, kind_of
from validation_core.sweep.plan import TrialDetail
from validation_core.types import Array, Budget, Outcome


def pictures(
    record: Record, *, alpha: float = 0.05, names: Sequence[str] = (), only: int | None = None
) -> tuple[Drawn, ...]:
    """What a record looks like; nothing for a method that did not run or draws nothing.

    Args:
        record: of one method.
        alpha: level whose critical value is marked.
        names: of the parameters.
        only: index of the quantity to draw, where a method ranks several; else the worst ones.
    """
    if record.status != "ran":
        return ()
    return tuple(record.kind.pictures(record, alpha=alpha, names=names, only=only))


def of_look(method: Method, look: TrialDetail, *, alpha: float) -> tuple[Drawn, ...]:
    """What one test of a sweep looks like, and what its network learnt."""
    outcome = Outcome(
        np.asarray(look.statistic),
        np.asarray(look.pvalue),
        Budget(look.draws_p, look.draws_q),
        look.arrays,
        look.effect,
    )
    record = Record.ran(method, outcome, look.seconds, {}, {"theta_q": look.theta})
    return (*pictures(record, alpha=alpha), *learned(method.name, look.learned))


def figures(name: str, arrays: Mapping[str, Array], names: Sequence[str] = ()) -> list[Drawn]:
    """The figures of a method's outcome, in reading order; none for one that has only numbers.

    Args:
        name: the method's.
        arrays: its outcome's, no leading axes.
        names: of the parameters.
    """
    return kind_of(name).figures(arrays, names)


def learned(name: str, summary: Mapping[str, float]) -> list[Drawn]:
    """What the training of a method's network said of it, where that can be drawn."""
    return kind_of(name).training_figures(summary)
