"""Pictures of one method's record, each with a title and how to read it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from validation_core.diagnosis import Record
from validation_core.drawing.drawn import Drawn
from validation_core.methods.base import Method, RecordView
from validation_core.types import Budget, Outcome

if TYPE_CHECKING:
    from validation_core.sweep.trial_detail import TrialDetail


def pictures(
    record: Record, *, alpha: float = 0.05, names: Sequence[str] = (), only: int | None = None
) -> tuple[Drawn, ...]:
    """Pictures of a record; none for a method that did not run or draws nothing.

    Args:
        record: of one method.
        alpha: level whose critical value is marked.
        names: of the parameters.
        only: index of the ranked quantity to draw; by default the worst ones.
    """
    if record.status != "ran":
        return ()
    return tuple(record.kind.pictures(record, RecordView(alpha, names, only)))


def trial_figures(method: Method, look: TrialDetail, *, alpha: float) -> tuple[Drawn, ...]:
    """Pictures of one test of a sweep, and of its network's training."""
    outcome = Outcome(
        np.asarray(look.statistic),
        np.asarray(look.pvalue),
        Budget(look.draws_p, look.draws_q),
        look.arrays,
        look.effect,
    )
    record = Record.ran(method, outcome, look.seconds, arrays={"theta_q": look.theta})
    return (*pictures(record, alpha=alpha), *method.training_figures(look.learned))
