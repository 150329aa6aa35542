"""The files of a mend: the function's arrays, its text, and the table with its weights."""

from __future__ import annotations

import io
from collections.abc import Callable, Mapping

import numpy as np

from validation_core.keys import Arrays
from validation_core.mending.function_file import function_file
from validation_core.mending.result import Mended
from validation_core.mending.reweighting import weighed_table
from validation_core.tables import TableUpload


def mend_files(mended: Mended, table: TableUpload) -> Mapping[str, Callable[[], bytes]]:
    """What makes the bytes of each file, by its name; none where no mend is offered."""
    if not mended.offered:
        return {}
    return {
        "mend.npz": lambda: _npz(mended.function),
        "mend.py": lambda: function_file().encode("utf-8"),
        "weighted.npz": lambda: _npz(weighted_arrays(mended, table)),
    }


def weighted_arrays(mended: Mended, table: TableUpload) -> Arrays:
    """The table's weighed draws with log_w (N,) and log_w_draws (N, K'), as a file for a diagnosis
    holds them.

    Both were learned without the row, and with the true value among the row's slots: under the
    mended law the true value is a slot with chance in proportion to its weight.
    """
    data, log_weight = weighed_table(table.data), mended.log_weight
    names = {"theta_names": table.names, "x_names": table.x_names}
    return {
        "theta": data.theta,
        "x": data.x,
        "theta_q": data.q,
        "log_w": log_weight[:, 0],
        "log_w_draws": log_weight[:, 1:],
        **{name: np.array(texts) for name, texts in names.items() if len(texts)},
    }


def _npz(arrays: Arrays) -> bytes:
    out = io.BytesIO()
    np.savez_compressed(out, allow_pickle=False, **arrays)
    return out.getvalue()
