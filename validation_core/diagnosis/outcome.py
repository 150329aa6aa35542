"""A verdict as a gate of continuous integration reads it: passed, problem, too little power, or a
file to correct first."""

from __future__ import annotations

from typing import Literal

from validation_core.diagnosis.verdict import ENOUGH, Diagnosis

Outcome = Literal["passed", "problem", "too little power", "mistake"]
"""`mistake`: of the file, so that nothing is said of q."""

EXIT_CODES: dict[Outcome, int] = {"passed": 0, "problem": 1, "mistake": 2, "too little power": 3}
"""Of the command line; 2 is bad input of any kind."""


def outcome(found: Diagnosis, shift: float = ENOUGH) -> Outcome:
    """The outcome of a diagnosis, for a defect that it must be able to find.

    A correct q is called a problem with probability at most the diagnosis's level. `passed` means
    that no problem was found by a table that finds a bias of `shift` with power 0.8 or more; it
    does not mean that q is right.

    Args:
        found: the diagnosis.
        shift: bias of one parameter in posterior sds.

    Raises:
        ValueError: for a bias that is not above zero.
    """
    if not shift > 0:
        raise ValueError(
            f"A defect is a bias above 0 posterior sd; got {shift:g}. {ENOUGH:g} is usual."
        )
    if found.upload.unusable:
        return "mistake"
    if found.pvalue is not None and found.pvalue <= found.alpha:
        return "problem"
    if found.pending or found.shift is None or found.shift.size > shift:
        return "too little power"
    return "passed"
