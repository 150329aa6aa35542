"""Names under which files number their simulations and draws: of axes and of columns."""

from __future__ import annotations

import re
from collections.abc import Iterable

SIMULATIONS = frozenset(
    {"sim", "sims", "sim_id", "simulation", "simulations", "simulation_id", "dataset", "datasets"}
)
"""Names of the axis of simulations."""
DRAWS = frozenset({"draw", "draws", "sample", "samples"})
"""Names of the axis of draws."""
CHAINS = frozenset({"chain", "chains"})
"""Names of the axis of chains."""
SIMULATION_COLUMNS = SIMULATIONS | {
    "sim_idx", "sim_index", "sim_no", "simulation_idx", "simulation_index", "dataset_id",
    "data_set", "event", "event_id", "replicate", "replication", "rep", "trial", "trial_id",
    "obs_id", "observation_id",
}  # fmt: skip
"""Names of the column of simulations; an axis may be of trials within one."""
DRAW_COLUMNS = DRAWS | {
    "draw_id", "draw_idx", "draw_index", "draw_no", "sample_id", "sample_idx", "sample_index",
    "posterior_sample", "posterior_draw",
}  # fmt: skip
"""Names of the column of draws."""
CHAIN_COLUMNS = CHAINS | {"chain_id", "iteration", "iterations", "iter"}
"""Names of columns that number draws together, or beside one of draws."""
NUMBERS = frozenset({"index", "id", "row", "row_id", "row_number"})
"""Names of a column that numbers rows of whatever."""
_ROW_LABEL = re.compile(r"|unnamed: \d+|level_\d+|\.\.\.1")


def plain_name(column: str) -> str:
    """A column's name without capitals, blanks and R's leading point."""
    return column.strip().lower().lstrip(".")


def starting(names: Iterable[str], stem: str) -> tuple[str, ...]:
    """Return the columns `stem`, and those of its parts: `stem_1`, R's `stem.1`, `stem[1]`."""
    return tuple(name for name in names if re.match(rf"{stem}(?:[_.[]|$)", name))


def is_row_label(column: str) -> bool:
    """Whether a column's name is that under which pandas or R save the labels of rows."""
    return _ROW_LABEL.fullmatch(column.strip().lower()) is not None
