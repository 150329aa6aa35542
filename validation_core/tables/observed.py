"""One's own observation beside a table: from a file, and in place of the table's own."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from validation_core import keys
from validation_core.tables import angles
from validation_core.tables.densities import read_observed
from validation_core.tables.float_type import match_precisions
from validation_core.tables.reading import File, opened_file, refusals_in_words
from validation_core.tables.source import check_headers
from validation_core.tables.uploads import TableUpload
from validation_core.types import Array

BESIDE = ("x_o", "theta_o", "x_rep", "log_q_o", "log_joint_o", "x_summary", "x_summary_o")
"""Arrays of an observation's file."""
_LIMIT = 200_000_000  # bytes of them


def read_observation(file: File, name: str = "") -> Mapping[str, NDArray[np.generic]]:
    """Read the arrays of an observation's file by their names; a single one of any name is x_o.

    Args:
        file: a path, the bytes of the file, or the file opened for reading.
        name: of the file, where neither a path nor the opened file has one.

    Raises:
        ValueError: for a file that cannot be read or holds no such array.
    """
    with refusals_in_words(), opened_file(file, name, _LIMIT) as source:
        present = list(check_headers(source.headers(), _LIMIT))
        names = {array: array for array in present if array in BESIDE}
        numbers = [array for array in present if not array.endswith("_names")]
        if not names and (len(numbers) == 1 or source.columns):
            names = {"x_o": numbers[0]}  # of columns, all of them together
        if not names:
            raise ValueError(
                f"An observation's file holds any of {', '.join(BESIDE)}; got "
                f"{', '.join(present) or 'nothing'}. Save them by these names."
            )
        return {role: source.load(array) for role, array in names.items()}


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
    own = read_observed({"x_o": x_o, "theta_o": theta_o}, m, d)
    observed, told = own.first, own.warnings
    if observed is None:
        raise ValueError(" ".join(told))
    data, periods = upload.data, upload.periods
    draws = match_precisions(
        {"theta": data.theta, "theta_q": data.q, "theta_o": observed[1]},
        {"theta": data.theta.dtype, "theta_q": data.q.dtype, "theta_o": theta_o.dtype},
    ).arrays["theta_o"]
    if periods:
        draws = angles.of_row(draws, periods)
    at = observed[0].astype(np.float64)
    table = np.frombuffer(bytes.fromhex(upload.digest), np.uint8)
    return replace(
        upload,
        digest=keys.digest(table=table, x_o=at, theta_o=draws),
        observed=(at, draws),
        observations=at[None],
        x_rep=None,
        around=upload.around if upload.is_around(at) else None,
        warnings=(*upload.warnings, *told),
    )
