"""Where q is looked at, and how far that is from the rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal
from weakref import WeakKeyDictionary

import numpy as np

from validation_core import codec
from validation_core.diagnosis.my_observation import likeness
from validation_core.localization import neighbours
from validation_core.tables import TableUpload, Upload

Where = int | Sequence[float] | None
"""A row that was saved, counted from 0; an observation of M numbers; or None: the upload's own or
the middle."""
_standings: WeakKeyDictionary[Upload, neighbours.Standing] = WeakKeyDictionary()
_FAR, _APART = 3.0, 0.5


def unlike(upload: Upload) -> str | None:
    """A warning that the table's own observation is unlike the simulations; None where it is not.

    Two rules, of which either warns. Its nearest row is farther away than any looked-at row (300
    of them, or all) is from its own nearest other row, at least 3 times as far as is usual, and at
    least 0.5 sd a column. Or the exact test of `my_observation.likeness` has p of at most 0.01.
    If x_o came from the simulator, it would be exchangeable with the rows: the chance that the
    first warns is at most 1 / (n + 1), 0.3% for 300, that of the second at most 1%. Of several the
    second alone is asked, at a false discovery rate of 2.5%.
    """
    if not isinstance(upload, TableUpload) or upload.observations is None:
        return None
    if upload not in _standings:
        x = upload.observations[0]
        _standings[upload] = neighbours.standing(upload.data.x, np.asarray(x, np.float64))
    several = len(upload.observations) > 1
    apart = None if several else unlike_text(_standings[upload])
    if apart is not None:
        return apart
    ranked = likeness.own_rank(upload)
    line = likeness.FAR_AMONG if several else likeness.FAR
    if ranked is None or not len(ranked.unlike(line)):
        return None
    return likeness.unlike_text(ranked, upload.x_names)


def unlike_text(standing: neighbours.Standing | None) -> str | None:
    """The warning of an observation apart from all rows, by the first rule of `unlike`."""
    if standing is None or standing.farther > 0:
        return None
    if standing.nearest < max(_FAR * standing.usual, _APART):
        return None
    return (
        f"Your observation is unlike every simulation: its nearest is {standing.nearest:.2g} sd "
        f"away (usual: {standing.usual:.2g}). This diagnosis says nothing about q there."
    )


@dataclass(frozen=True)
class Site:
    """The observation that is looked at."""

    kind: Literal["row", "typed", "observed"]
    row: int
    """Whose draws serve, from 0; -1 for the upload's own. Of a study, among the rows that are
    tested; of an answer, among those that were saved."""
    columns: int
    x: tuple[float, ...]
    """The x at which q is looked at; empty where it is long."""
    asked: tuple[float, ...]
    """The x that was asked for."""
    standing: neighbours.Standing | None = field(metadata=codec.shown(flat=True), default=None)
    """Its distance from the rows beside theirs; None for one of them."""
