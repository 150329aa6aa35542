"""A table with another observation of its own."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from validation_core import keys
from validation_core.tables import angles
from validation_core.tables.densities import read_observed
from validation_core.tables.float_type import match_precisions
from validation_core.tables.table import TableUpload
from validation_core.types import Array


def with_observation(upload: TableUpload, x_o: Array, theta_o: Array) -> TableUpload:
    """The table with this observation in place of any that came with it.

    Args:
        upload: the table.
        x_o: the observation (M,).
        theta_o: q's draws there (K, D).

    Raises:
        ValueError: for draws that do not fit the table.
    """
    d, m = upload.dims
    observed, told = read_observed({"x_o": x_o, "theta_o": theta_o}, m, d)
    if observed is None:
        raise ValueError(" ".join(told))
    data, periods = upload.data, upload.periods
    draws = match_precisions(
        {"theta": data.theta, "theta_q": data.q, "theta_o": observed[1]},
        {"theta": data.theta.dtype, "theta_q": data.q.dtype, "theta_o": theta_o.dtype},
    ).arrays["theta_o"]
    if periods:
        draws = angles.of_row(draws, periods)
    numbers = {"0": data.theta, "1": data.x, "2": data.q, **upload.densities}
    at = observed[0].astype(np.float64)
    return replace(
        upload,
        digest=keys.digest(**numbers, x_o=at, theta_o=draws),
        observed=(at, draws),
        warnings=(*upload.warnings, *told),
    )
