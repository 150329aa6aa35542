"""Which errors of single parameters the verdict claims by themselves."""

from __future__ import annotations

from collections.abc import Sequence

from validation_core.diagnosis.questions.calibration.result import ClaimedErrors, ParameterErrors
from validation_core.relabelling.claims import Claims


def claimed_errors(
    parameters: Sequence[ParameterErrors], claims: Claims
) -> tuple[ClaimedErrors, ...]:
    """Parameters that are off under the verdict's error rate, in their order, with what is
    claimed of each."""
    return tuple(
        ClaimedErrors.of(one, claims.named_of_parameter(one.index))
        for one in parameters
        if claims.parameter(one.index) <= claims.alpha
    )
