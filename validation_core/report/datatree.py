"""A diagnosis as an ArviZ DataTree: ranks, verdict and p-values.

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
from typing import TYPE_CHECKING, Any

import numpy as np

from validation_core import statistics
from validation_core.diagnosis import Diagnosis
from validation_core.report.numbers import dumps, library_versions
from validation_core.rng import stream
from validation_core.scores.quantities import QUANTITIES
from validation_core.tables import RanksUpload, SamplesUpload, TableUpload, Upload
from validation_core.text import utf8_text
from validation_core.types import Array

if TYPE_CHECKING:
    import xarray

GROUP = "prior_sbc"
_TAKEN = ("chain", "draw")  # names of dimensions cannot be variables of two dimensions
_LONGEST = 80
_SEPARATE = 200  # parameters with a variable of their own


def datatree(diagnosis: Diagnosis, upload: Upload) -> bytes:
    """The tree of a diagnosis as a netCDF-4 file.

    Raises:
        ValueError: for two plain samples, which have no ranks.
    """
    tree = as_datatree(diagnosis, upload)
    buffer = io.BytesIO()
    squeezed = {name: {"zlib": True, "complevel": 4} for name in tree[GROUP].data_vars}
    tree.to_netcdf(buffer, engine="h5netcdf", encoding={f"/{GROUP}": squeezed})
    return buffer.getvalue()


def as_datatree(diagnosis: Diagnosis, upload: Upload) -> xarray.DataTree:
    """The verdict, p-values and ranks of a diagnosis, in the groups of ArviZ.

    `prior_sbc` holds the randomised ranks of the truths among q's draws, (rank + v (1 + ties)) /
    (K + 1): uniform on [0, 1] if q is right. There is a variable for each parameter, with
    dimensions chain (1) and draw (N), named after the parameter as far as netCDF allows;
    `long_name` is the user's name. More than 200 parameters share one variable, theta, with a
    third dimension, parameter. Where SBC ran these are the ranks that it tested. `verdict` holds
    the verdict and its p-value, `pvalues` those of each test that ran. The attributes of the tree
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
    version = library_versions()["nptlab"]
    about = {
        "created_by": "NPT Lab",
        "version": version,
        "creation_library": "NPT Lab",
        "creation_library_version": version,
        "creation_library_language": "Python",
        "n": upload.n,
        "k": upload.k,
        "seed": diagnosis.seed,
        "level": diagnosis.alpha,
        "digest": upload.digest,
        "verdict": diagnosis.verdict,
    }
    kind = "randomised ranks of true values among q's draws, divided by K + 1: PIT in [0, 1]"
    ranks_about = {**about, "values": kind, "sample_dims": ["chain", "draw"]}
    root = xarray.Dataset(attrs={**about, "diagnosis": _attribute(dumps(diagnosis.to_json()))})
    return xarray.DataTree.from_dict(
        {
            "/": root,
            f"/{GROUP}": xarray.Dataset(arrays, places, ranks_about),
            "/verdict": xarray.Dataset(_verdict(diagnosis), attrs=about),
            "/pvalues": xarray.Dataset(*_pvalues(diagnosis), about),
        }
    )


def _verdict(diagnosis: Diagnosis) -> dict[str, Any]:
    """The verdict in words, and its p-value: NaN without a test."""
    pvalue = np.nan if diagnosis.pvalue is None else diagnosis.pvalue
    return {
        "verdict": diagnosis.verdict,
        "sentence": _attribute(diagnosis.sentence),
        "pvalue": pvalue,
    }


def _pvalues(diagnosis: Diagnosis) -> tuple[dict[str, Any], dict[str, Any]]:
    """p-values and statistics over the tests that ran, and their labels."""
    ran = [record for record in diagnosis.records if record.pvalue is not None]
    columns = {
        "pvalue": [record.pvalue for record in ran],
        "pvalue_adjusted": [diagnosis.adjusted.get(record.label, np.nan) for record in ran],
        "statistic": [record.statistic for record in ran],
    }
    variables = {name: ("test", np.array(column, float)) for name, column in columns.items()}
    return variables, {"test": np.array([record.label for record in ran], object)}


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
