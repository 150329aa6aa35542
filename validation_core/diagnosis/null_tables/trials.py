"""Limits of self-made tables: uploads and methods that they suit, draws kept, their number."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from validation_core.diagnosis.plan import method_obstacle, upload_obstacle
from validation_core.methods.base import Method
from validation_core.methods.sbc import SBC
from validation_core.tables import TableUpload, Upload

TRIALS = 200
"""Self-made tables behind a rate: it is then known to about 3 points near 5%, 6 near 80%."""
_FEWEST_TRIALS = 40  # trials of the widest tables
_RANKED = 100_000  # ranks of one trial that allow all trials; larger tables get fewer
NUMBERS_SCORED = 3_000_000
"""Numbers of q's draws that are scored: 5000 rows of 10 parameters keep 60 draws."""
FEWEST_DRAWS = 20
"""Draws at each x that are kept whatever the size, and that power is told of: of fewer, one of
which plays the true value, the others tell neither q's centre nor its width."""


def trial_count(n: int, d: int, ranked: int = _RANKED) -> int:
    """Number of self-made tables of n rows with d parameters that are looked at: 200, or fewer.

    Args:
        n: rows.
        d: parameters.
        ranked: ranks of one table that allow all 200.
    """
    return min(TRIALS, max(_FEWEST_TRIALS, TRIALS * ranked // max(1, n * d)))


def self_made_obstacle(upload: Upload) -> str | None:
    """Why no table can be made of an upload's own draws; None where it can."""
    if not isinstance(upload, TableUpload):
        return (
            f"A draw of q takes the true value's place at its x; got {upload.held}. Upload theta, "
            "x and theta_q."
        )
    if upload.k < 2:
        return (
            "A draw of q takes the true value's place, so each row needs at least 2; got "
            f"{upload.k}. Upload more draws at each x."
        )
    return method_obstacle(SBC(), upload) or upload_obstacle(upload)


def injection_obstacle(upload: Upload) -> str | None:
    """Why no defect of a known size can be put into an upload's own draws; None where it can."""
    reason = self_made_obstacle(upload)
    if reason or upload.k >= FEWEST_DRAWS:
        return reason
    return (
        f"It measures defects by the centre and the width of q's draws at each x, which takes at "
        f"least {FEWEST_DRAWS}; got {upload.k}. Upload more draws at each x."
    )


def thin_draws(upload: TableUpload) -> TableUpload:
    """The upload, of large tables with fewer draws at each x, evenly spaced in their order.

    A test's level does not depend on how many draws there are, and its power hardly beyond 60:
    scoring all draws of a large table would take longer than everything else.
    """
    data = upload.data
    n, k, d = data.q.shape
    most = min(k, max(FEWEST_DRAWS, NUMBERS_SCORED // (n * d)))
    if most == k:
        return upload
    places = np.arange(most) * k // most
    return replace(upload, data=replace(data, q=data.q[:, places]))


@dataclass(frozen=True)
class ExcludedMethod:
    """A method that is not asked about self-made tables."""

    label: str
    reason: str

    def __str__(self) -> str:
        return f"{self.label} was left out: {self.reason}."


def partition_methods(
    upload: Upload, methods: Sequence[Method]
) -> tuple[list[Method], tuple[ExcludedMethod, ...]]:
    """The methods that are asked, and why others that the diagnosis runs are not.

    Methods that cannot run on the upload at all are in neither.
    """
    eligible: list[Method] = []
    left: dict[str, str] = {}
    for method in methods:
        if method_obstacle(method, upload) is None:
            reason = method.unfit(upload.k)
            if reason is None:
                eligible.append(method)
            else:
                left[method.label] = reason
    return eligible, tuple(ExcludedMethod(label, reason) for label, reason in left.items())
