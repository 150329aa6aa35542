"""Names under which files number their simulations and draws: of axes and of columns."""

from __future__ import annotations

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
