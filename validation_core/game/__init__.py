"""Name that defect: rounds with a hidden defect of q, plots that tell of it, and the score."""

from validation_core.game.plots import PLOTS, Plot, Seen, panel, seen
from validation_core.game.power import REPEATS, Telling, telling
from validation_core.game.rounds import DEFECTS, LEVELS, ROUNDS, Defect, Level, Round, deal
from validation_core.game.score import (
    COST,
    FULL,
    Game,
    Guess,
    correct,
    points,
    read,
    total,
    written,
)

__all__ = [
    "COST",
    "DEFECTS",
    "FULL",
    "LEVELS",
    "PLOTS",
    "REPEATS",
    "ROUNDS",
    "Defect",
    "Game",
    "Guess",
    "Level",
    "Plot",
    "Round",
    "Seen",
    "Telling",
    "correct",
    "deal",
    "panel",
    "points",
    "read",
    "seen",
    "telling",
    "total",
    "written",
]
