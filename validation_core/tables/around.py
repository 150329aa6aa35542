"""The mark of a table whose true values were drawn around its observation x_o."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from validation_core.tables.source import is_real

NOTE = (
    "theta was drawn around x_o, {width:.3g} times as wide as q there: with its weights the table "
    "tests q around x_o, not over the prior."
)
"""Of a table around x_o."""


def read_around(
    arrays: Mapping[str, NDArray[np.generic]], *, observed: bool, weighted: bool
) -> tuple[float | None, tuple[str, ...]]:
    """Width of the proposal in q's own at x_o, and warnings; None for a table of the prior.

    Args:
        arrays: the file's arrays by role.
        observed: whether x_o and theta_o were read.
        weighted: whether log weights of true values and draws were read.
    """
    if "around" not in arrays:
        return None, ()
    given = arrays["around"]
    width = float(given.reshape(-1)[0]) if is_real(given) and given.size == 1 else np.nan
    if np.isfinite(width) and width > 0 and observed and weighted:
        return width, ()
    return None, (
        "around must hold one number above 0, beside x_o, theta_o, log_w and log_w_draws; got "
        f"{given.dtype} of shape {given.shape}{'' if observed else ', no x_o with theta_o'}"
        f"{'' if weighted else ', no log_w'}. It was left unread: export.around saves them all.",
    )
