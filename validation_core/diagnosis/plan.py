"""Which methods a diagnosis runs, and what keeps a method from a table."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from validation_core.methods import METHODS
from validation_core.methods.base import LEARN_ROWS, RANK_ROWS, Further, Method
from validation_core.scores.slots import FEWEST_DRAWS
from validation_core.tables import (
    ProbabilitiesUpload,
    RanksUpload,
    SamplesUpload,
    TableUpload,
    Upload,
)
from validation_core.tables.ranges import Range
from validation_core.text import begun_text, count_text


def why_not_all(upload: Upload) -> str:
    """Why the further methods do not run unasked."""
    if isinstance(upload, SamplesUpload):
        return "Each of these counts in the verdict: Holm's correction grows with every test."
    return (
        "These are shown for comparison: the verdict already asks what they ask, and they do not "
        "count in it."
    )


def further_methods() -> dict[str, Further]:
    """The methods that run when they are asked for, by name.

    Enough relabelings that one of these tests can find a problem by itself, all corrections
    included: the smallest p-value of B relabelings is 1 / (B + 1).
    """
    kinds = ((name, METHODS[name]) for name in further_names())
    return {name: further for name, kind in kinds if (further := kind.further()) is not None}


def further_names() -> tuple[str, ...]:
    """Names of what runs when it is asked for, in the order of cost."""
    asked_for = (name for name, kind in METHODS.items() if not kind.runs_unasked)
    return tuple(sorted(asked_for, key=lambda name: METHODS[name].turn))


def default_methods() -> tuple[Method, ...]:
    """The methods that run unasked, in the order of cost: those that learn nothing come first."""
    unasked = (kind for kind in METHODS.values() if kind.runs_unasked)
    return tuple(kind() for kind in sorted(unasked, key=lambda kind: kind.turn))


def with_further(names: Sequence[str]) -> tuple[Method, ...]:
    """The methods that run unasked, then the further methods of these names."""
    further = further_methods()
    return (*default_methods(), *(further[name].method for name in further if name in names))


_RANGE = "which must lie below 1e150 and vary by more than 1e-150"
_RESCALE = "Change the unit of the column or take its logarithm."
_SHOWN = 3


def method_obstacle(method: Method, upload: Upload) -> str | None:
    """Why a method cannot run on this upload, known before anything is computed; or None."""
    if isinstance(upload, RanksUpload) and not method.tests_ranks:
        return (
            "It compares true values with q's draws; got ranks alone. Save theta, x and theta_q "
            "to run it."
        )
    if isinstance(upload, ProbabilitiesUpload):
        return (
            "It compares true values with draws; got probabilities of classes, which have a test "
            "of their own: npt.reliability(table)."
        )
    if isinstance(upload, SamplesUpload) and (method.layout == "table" or method.learns_anew):
        return (
            "It compares true values with q's draws at the same x; two samples p and q have "
            "no x. Upload theta, x and theta_q to run it."
        )
    if isinstance(upload, TableUpload) and not upload.dims[1] and method.needs_x:
        return "It learns at which x q is wrong, and this table holds no x. Save x to run it."
    if not method.pools_groups and (reason := _dependent(upload)):
        return reason  # relabelling takes rows that share their draws for one pool
    if upload.n < RANK_ROWS:
        return f"It needs at least {RANK_ROWS} rows; got {upload.n}."
    return _too_few(method, upload) or method.obstacle(upload) or _too_far(method, upload)


def slots_obstacle(upload: Upload) -> str | None:
    """Why no score is learnt that sees each draw among the others at its x; or None."""
    if not isinstance(upload, TableUpload):
        return (
            f"It sees each draw among the others at its x; got {upload.held}. Upload theta, x and "
            "theta_q."
        )
    if upload.n < LEARN_ROWS:
        return f"It learns on half of the rows and needs at least {LEARN_ROWS}; got {upload.n}."
    if upload.k < FEWEST_DRAWS:
        return (
            f"It sees each draw among at least {FEWEST_DRAWS} others at its x; got {upload.k}. "
            "Upload more draws."
        )
    return upload_obstacle(upload)


def _too_few(method: Method, upload: Upload) -> str | None:
    """Whether half of the rows, or as many as the method keeps, are too few for it."""
    least, does = method.least_rows(table=isinstance(upload, TableUpload))
    if upload.n >= least:
        return None
    return f"It {does} and needs at least {least} rows; got {upload.n}."


def _dependent(upload: Upload) -> str | None:
    """Why rows of an upload cannot be counted as independent; or None."""
    if upload.groups is None:
        return None
    sizes = np.bincount(upload.groups)
    several = sizes[sizes > 1]
    return (
        f"Rows must be independent, each with draws of q of its own; got {several.sum():,} rows "
        f"that share {count_text(len(several), 'set')} of draws. Sample q anew at "
        f"every row, or keep one row of each set."
    )


def upload_obstacle(upload: Upload) -> str | None:
    """Why no answer beyond the ranks can be told of this upload; or None."""
    return _dependent(upload) or _unsquarable_table(upload)


def _unsquarable_table(upload: Upload) -> str | None:
    """Why nothing that squares this upload's numbers can be told of it; or None."""
    return _unsquarable([extreme for columns in upload.extreme for extreme in columns])


def _too_far(method: Method, upload: Upload) -> str | None:
    """Whether a column reaches where the method's arithmetic ends."""
    if not method.in_spreads:
        return _unsquarable(method.squared(upload))
    wide = [extreme for columns in upload.extreme for extreme in columns if extreme.infinite]
    if not wide:
        return None
    return (
        f"It measures every column in units of its spread, which must be finite; got "
        f"{_some(wide)}. {_RESCALE}"
    )


def _unsquarable(extremes: Sequence[Range]) -> str | None:
    return f"It squares numbers, {_RANGE}; got {_some(extremes)}. {_RESCALE}" if extremes else None


def _some(found: Sequence[Range]) -> str:
    return begun_text([str(extreme) for extreme in found], _SHOWN)
