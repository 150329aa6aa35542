"""Results of bilby: a simulation each, its true values in `injection_parameters`."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from validation_core.tables import roles, source
from validation_core.tables.hdf5_file import Hdf5File, HdfMember, is_dataset
from validation_core.tables.memory_arrays import MemoryArrays
from validation_core.tables.records import records_of

if TYPE_CHECKING:
    import h5py

POSTERIOR, TRUTHS, SEARCHED = "posterior", "injection_parameters", "search_parameter_keys"
"""Members of a result: the draws, the true values, and names of the sampled parameters."""
_NOTE = "Read as a result of bilby: one simulation."


def result_arrays(
    draws: Mapping[str, NDArray[np.generic]], truths: Mapping[str, float], others: Collection[str]
) -> MemoryArrays:
    """Return theta (1,) and draws (1, K) as records.

    Args:
        draws: of each parameter that has a true value (K,).
        truths: true values.
        others: names of all draws and of all true values, for the refusal.

    Raises:
        ValueError: where no parameter has draws and a true value, or draws differ in number.
    """
    theta = records_of({name: np.array([truths[name]], float) for name in draws}, 1)
    q = records_of({name: values[None] for name, values in draws.items()}, 2)
    if theta is None or q is None:
        raise ValueError(
            f"A result of bilby must hold draws and true values of the same parameters; got "
            f"{roles.names_text(others)}. Add the missing injection_parameters."
        )
    return MemoryArrays({"theta": theta, "theta_q": q}, (_NOTE,))


def hdf5_result(
    file: Hdf5File, members: Mapping[str, HdfMember], limit: int
) -> MemoryArrays | None:
    """Return the arrays of a result in HDF5; None for other files.

    Args:
        file: the open file.
        members: members of its root by name.
        limit: bytes that its arrays may take in memory.

    Raises:
        ValueError: as `result_arrays` does.
    """
    if any(name not in members or is_dataset(members[name]) for name in (POSTERIOR, TRUTHS)):
        return None
    frame, true = (_numbers(file.members(members[name])) for name in (POSTERIOR, TRUTHS))
    searched = members.get(SEARCHED)
    text = searched is not None and is_dataset(searched) and searched.dtype.kind == "O"
    wanted = list(map(str, file.texts(searched))) if text else []
    names = [name for name in (wanted or frame) if name in frame and name in true]
    used = {
        f"{group}/{name}": file.header(datasets[name], name)
        for group, datasets in ((POSTERIOR, frame), (TRUTHS, true))
        for name in names
    }
    source.check_headers(used, limit)
    scalars = {name: true[name] for name in names if used[f"{TRUTHS}/{name}"].shape == ()}
    truths = {name: float(file.load(one, name)) for name, one in scalars.items()}
    draws = {name: file.load(frame[name], name) for name in truths}
    return result_arrays(draws, truths, [*frame, *true])


def _numbers(members: Mapping[str, HdfMember]) -> dict[str, h5py.Dataset]:
    """The members that are arrays of real numbers."""
    return {
        name: member
        for name, member in members.items()
        if is_dataset(member) and member.dtype.kind in "fiu"
    }
