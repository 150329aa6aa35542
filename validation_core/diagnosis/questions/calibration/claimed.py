"""Which errors of single parameters the verdict claims by themselves."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from validation_core.diagnosis.questions.calibration.result import ClaimedErrors, ParameterErrors
from validation_core.relabelling.claims import Claims
from validation_core.relabelling.families import Family

_OF_PARAMETERS: tuple[Family, ...] = ("means", "widths", "shapes")


def claimed_errors(
    parameters: Sequence[ParameterErrors], claims: Claims
) -> tuple[ClaimedErrors, ...]:
    """Parameters that are off under the verdict's error rate, in their order, with what is
    claimed of each."""
    off = [one for one in parameters if claims.parameter(one.index) <= claims.alpha]
    named = _named_families(claims) if off else {}
    return tuple(ClaimedErrors.of(one, named.get(one.index, ())) for one in off)


def _named_families(claims: Claims) -> Mapping[int, Sequence[Family]]:
    """Of each parameter the families of its claims over all x that are true by themselves.

    As in the verdict's list of claims, a width is not claimed where a clearer change of the
    parameter's place over x explains it.
    """
    named: dict[int, list[Family]] = {}
    clear = claims.result.minus_log_p
    widths: dict[int, float] = {}
    moves: dict[int, float] = {}
    for at, claim in enumerate(claims.result.claims):
        if claims.named[at] > claims.level or len(claim.which) != 1:
            continue
        which = claim.which[0]
        if claim.family == "over_x" and claim.kind == "mean":
            moves[which] = max(moves.get(which, 0.0), float(clear[at]))
        elif claim.family in _OF_PARAMETERS and claim.along is None:
            named.setdefault(which, []).append(claim.family)
            if claim.family == "widths":
                widths[which] = max(widths.get(which, 0.0), float(clear[at]))
    return {
        which: [
            family
            for family in families
            if family != "widths" or moves.get(which, 0.0) < widths[which]
        ]
        for which, families in named.items()
    }
