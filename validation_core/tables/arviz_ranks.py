"""The group `prior_sbc` of ArviZ files: ranks of true values, or PIT values, without the draws.

ArviZ-plots and simuk have a variable for each parameter, over chain and draw; so has the DataTree
that a diagnosis is saved as.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from validation_core.tables import roles
from validation_core.tables.arviz import Variable, group_variables
from validation_core.tables.hdf5_file import Hdf5File, HdfMember
from validation_core.tables.source import ArrayHeader, Order, label_header

GROUP = "prior_sbc"
_FLOAT = np.dtype(np.float64)


class ArviZRanks:
    """ranks (N, D) in the variables of the group `prior_sbc`.

    Args:
        file: the open file.
        groups: members of its root by name.

    Raises:
        ValueError: for variables of different lengths, or none.
    """

    order: Order | None = None

    def __init__(self, file: Hdf5File, groups: Mapping[str, HdfMember]) -> None:
        self._file = file
        self._variables = [v for v in group_variables(file, groups, GROUP) if _rows(v)]
        lengths = sorted({_rows(v) for v in self._variables})
        if len(lengths) != 1:
            raise ValueError(
                f"The group {GROUP} must hold variables over chain and draw, one rank for each "
                f"simulation; got {roles.names_text(map(str, lengths))} ranks. Save as many of "
                f"each."
            )
        self._n = lengths[0]
        self.notes: tuple[str, ...] = ()

    def headers(self) -> Mapping[str, ArrayHeader]:
        d = sum(v.columns for v in self._variables)
        return {"ranks": ArrayHeader((self._n, d), _FLOAT), "theta_names": label_header(d)}

    def load(self, name: str) -> NDArray[np.generic]:
        if name == "theta_names":
            return np.array([roles.label(label) for v in self._variables for label in v.labels])
        columns = [v.load(self._file).reshape(self._n, -1) for v in self._variables]
        self.notes += self._file.new_notes()
        return np.concatenate(columns, axis=1).astype(_FLOAT)

    def close(self) -> None:
        self._file.close()


def _rows(variable: Variable) -> int:
    """Ranks of each of a variable's numbers: of simulations, or over chain and draw."""
    return (variable.sims or 1) * (variable.draws or 1) if variable.sims or variable.draws else 0
