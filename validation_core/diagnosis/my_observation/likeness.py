"""How an observation ranks among simulations, and the warning where it is unlike them."""

from __future__ import annotations

from collections.abc import Sequence
from weakref import WeakKeyDictionary

import numpy as np

from validation_core.relabelling.claims import x_column_name
from validation_core.rng import stream
from validation_core.statistics.strangeness import FEWEST, Strangeness, strangeness
from validation_core.tables import TableUpload, Upload
from validation_core.text import begun_text, first_text, list_text, said_equals
from validation_core.types import Array, Integers

FAR = 0.01
"""p at which an observation is called unlike the simulations where nobody chose a level."""
FAR_AMONG = 0.05
"""The same where there are several: half of it is the share of wrong claims among single ones."""
_ROWS, _NUMBERS = 2000, 20_000_000  # simulations ranked among, and numbers of theirs, at most
_NAMED = 3  # coordinates in a sentence
_OUT = 0.05  # share of simulations as far out in any coordinate, to name one
_ranked: WeakKeyDictionary[Upload, Strangeness] = WeakKeyDictionary()


def rank_among(
    x: Array, x_o: Array, seed: int, summaries: tuple[Array, Array] | None = None
) -> Strangeness:
    """Rank observations (J, M) among simulations x (n, M), at most 2,000 taken at random."""
    rng = stream(seed, "observation", "strangeness")
    most = max(FEWEST, min(_ROWS, _NUMBERS // max(1, x.shape[1])))
    if len(x) > most:
        rows = np.sort(rng.permutation(len(x))[:most])
        x = x[rows]
        summaries = summaries and (summaries[0][rows], summaries[1])
    return strangeness(x, x_o, rng, summaries=summaries)


def independent_rows(upload: TableUpload, without: Sequence[int] = ()) -> Integers:
    """Rows whose x are independent of one another: of those that share their draws, and so their
    x, the first. An observation ranks among these alone.

    Args:
        upload: the table.
        without: rows that are left out.
    """
    groups = upload.groups
    rows = np.arange(upload.n) if groups is None else np.unique(groups, return_index=True)[1]
    return np.setdiff1d(rows, without)


def own_rank(upload: Upload) -> Strangeness | None:
    """The rank of a table's own observations; None without any, or with too few simulations."""
    if not isinstance(upload, TableUpload) or upload.observations is None:
        return None
    rows = independent_rows(upload)
    if len(rows) < FEWEST:
        return None
    if upload not in _ranked:
        _ranked[upload] = rank_among(upload.data.x[rows], upload.observations, 0)
    return _ranked[upload]


def unlike_text(ranked: Strangeness, x_names: Sequence[str]) -> str:
    """The warning of an observation that the simulator would hardly make, or of several."""
    if (total := len(ranked.pvalue)) > 1:
        found = ranked.unlike(FAR_AMONG)
        return (
            f"{len(found)} of your {total} observations {'is' if len(found) == 1 else 'are'} "
            f"unlike the simulations: {begun_text(list(map(str, found)), _NAMED)} (counted from "
            f"0). This diagnosis says nothing about q there."
        )
    p, where = said_equals(float(ranked.pvalue[0])), farthest_text(ranked, x_names)
    return (
        f"Your observation is unlike the simulations: {as_strange_text(ranked)} as strange "
        f"(p {p}){where}. This diagnosis says nothing about q there."
    )


def as_strange_text(ranked: Strangeness) -> str:
    """`none of 1,000 simulations is`, `1 of 1,000 simulations is`, `12 of 1,000 ... are`."""
    count = ranked.as_strange[0]
    number = f"{count:,}" if count else "none"
    return f"{number} of {ranked.n:,} simulations {'is' if count < 2 else 'are'}"


def farthest_text(ranked: Strangeness, x_names: Sequence[str]) -> str:
    """Which coordinates are farther out than those of simulations; empty where none is.

    Given the others, a coordinate seems off where only another one is: so those are named that
    are far out by themselves; where none is, the farthest given the others.
    """
    order = np.argsort(-outlyingness(ranked, 0), kind="stable")
    if not len(order) or ranked.coordinates[0, order[0]] > _OUT:
        return ""
    named = [x_column_name(int(each), x_names) for each in order if ranked.alone[0, each] <= _OUT]
    if not named:
        return f", farthest in {x_column_name(int(order[0]), x_names)} given the others"
    return (
        f", farthest in {first_text(named, _NAMED) if len(named) > _NAMED else list_text(named)}"
    )


def outlyingness(ranked: Strangeness, at: int) -> Array:
    """How far out each coordinate (M,) of an observation lies, by itself or given the others."""
    return np.maximum(np.abs(ranked.deviations[at]), np.abs(ranked.residuals[at]))
