"""Ranks of a diagnosis as an ArviZ DataTree.

Its group `prior_sbc` is the input of `plot_ecdf_pit`.

References:
    arviz-plots, plot_ecdf_pit: probability integral transforms in [0, 1], one variable for each
    parameter, over the dimensions chain and draw.
"""

from __future__ import annotations

import io
import re
import unicodedata
from collections.abc import Sequence
from typing import Any

import numpy as np

from validation_core import statistics
from validation_core.diagnosis import Diagnosis
from validation_core.report.numbers import dumps, library_versions
from validation_core.rng import stream
from validation_core.scores.quantities import QUANTITIES
from validation_core.tables import RanksUpload, SamplesUpload, TableUpload, Upload
from validation_core.text import utf8_text
from validation_core.types import Array

GROUP = "prior_sbc"
_TAKEN = ("chain", "draw")  # names of dimensions cannot be variables of two dimensions
_LONGEST = 80
_SEPARATE = 200  # parameters with a variable of their own


def datatree(diagnosis: Diagnosis, upload: Upload) -> bytes:
    """A netCDF-4 file with one group, `prior_sbc`.

    Its variables are the randomised ranks of the truths among q's draws, (rank + v (1 + ties)) /
    (K + 1): uniform on [0, 1] if q is right. There is one for each parameter, with dimensions
    chain (1) and draw (N), named after the parameter as far as netCDF allows; `long_name` is the
    user's name. More than 200 parameters share one variable, theta, with a third dimension,
    parameter. Where SBC ran these are the ranks that it tested. The attributes of the tree
    identify the table and hold the whole diagnosis as JSON.

    Raises:
        ValueError: for two plain samples, which have no ranks.
    """
    import xarray  # imported here: most reports need no netCDF

    u = pit_values(diagnosis, upload)
    safe = netcdf_names(upload.names)
    arrays: dict[str, Any]
    places: dict[str, Any] = {"chain": np.arange(1), "draw": np.arange(u.shape[1])}
    if len(u) <= _SEPARATE:
        arrays = {
            name: (("chain", "draw"), ranks[None], {"long_name": _attribute(label)})
            for name, ranks, label in zip(safe, u, upload.names, strict=True)
        }
    else:  # a file takes seconds for each hundred of variables
        arrays = {"theta": (("chain", "draw", "parameter"), u.T[None], {"long_name": "theta"})}
        places["parameter"] = safe
    about = {
        "created_by": "NPT Lab",
        "version": library_versions()["nptlab"],
        "n": upload.n,
        "k": upload.k,
        "seed": diagnosis.seed,
        "level": diagnosis.alpha,
        "digest": upload.digest,
        "verdict": diagnosis.verdict,
    }
    kind = "randomised ranks of true values among q's draws, divided by K + 1: PIT in [0, 1]"
    group = xarray.Dataset(arrays, places, {**about, "values": kind})
    root = xarray.Dataset(attrs={**about, "diagnosis": _attribute(dumps(diagnosis.to_json()))})
    tree = xarray.DataTree.from_dict({"/": root, f"/{GROUP}": group})
    buffer = io.BytesIO()
    squeezed = {name: {"zlib": True, "complevel": 4} for name in arrays}
    tree.to_netcdf(buffer, engine="h5netcdf", encoding={f"/{GROUP}": squeezed})
    return buffer.getvalue()


def pit_values(diagnosis: Diagnosis, upload: Upload) -> Array:
    """Randomised ranks (D, N) of the truths; those that SBC tested, where it ran.

    Raises:
        ValueError: for two plain samples.
    """
    if isinstance(upload, SamplesUpload):
        raise ValueError(
            f"A DataTree holds ranks of true values among q's draws at each x; got {upload.held}. "
            "Save another kind of file, or upload theta, x and theta_q."
        )
    d = upload.dims[0]
    first = list(QUANTITIES).index("marginals")
    for record in diagnosis.records:
        if (
            record.kind.ranks_parameters
            and record.status == "ran"
            and first in record.arrays["kinds"]
        ):
            return np.asarray(record.arrays["u"][:d], float)  # parameters come before products
    rng = stream(diagnosis.seed, "report", "ranks")
    if isinstance(upload, RanksUpload):
        return upload.data.randomised(rng)
    assert isinstance(upload, TableUpload)
    theta, q = upload.data.theta, upload.data.q
    return statistics.conformal_ranks(theta.T, np.moveaxis(q, -1, 0), rng)


def netcdf_names(names: Sequence[str]) -> list[str]:
    """Distinct valid netCDF names of letters, digits and underscores."""
    used_names = set(_TAKEN)
    safe_names = []
    for i, name in enumerate(names):
        identifier = re.sub(r"\W+", "_", unicodedata.normalize("NFKC", utf8_text(name))).strip("_")
        stem = identifier[:_LONGEST] or f"theta_{i + 1}"
        chosen, again = stem, 2
        while chosen in used_names:
            chosen, again = f"{stem}_{again}", again + 1
        used_names.add(chosen)
        safe_names.append(chosen)
    return safe_names


def _attribute(value: str) -> str:
    """Text as a valid HDF5 attribute."""
    return utf8_text(value).replace("\0", "") or " "
