"""What a round deals: a hidden defect, the one plot that gives it away, and four answers."""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache
from itertools import count
from typing import NamedTuple

from validation_core.game.plots import Plot, simulate_plots
from validation_core.game.rounds import DEFECTS, LEVELS, ROUNDS, Defect, Level, Round
from validation_core.game.tells import TELLS, alike
from validation_core.rng import stream

ANSWERS = 4
"""Answers to choose from in a round."""
_LEVEL = 0.05
_TRIES = 30  # for a plot, before another takes its turn


class Deal(NamedTuple):
    """One round as it is played."""

    round: Round
    plot: Plot
    answers: tuple[Defect, ...]
    """ANSWERS of them, the right one among them, in the order in which they are shown."""

    @property
    def chosen_text(self) -> str:
        """What the round's p-value was chosen for, to follow "here"."""
        side = "above" if self.round.defect == "none" else "at most"
        return f", in a round dealt until p was {side} {_LEVEL:.0%}"

    @property
    def tell(self) -> str:
        """What gives the defect away in the plot, as the end of a sentence."""
        return TELLS[self.plot][self.round.defect]


@lru_cache(maxsize=256)
def deal(seed: int, level: Level, number: int) -> Deal:
    """Deal the round of a number (1 to 10) in the game of a seed: all defects are equally likely.

    The plot is one that can tell the defect from the other answers. Simulations are drawn anew
    until its own test rejects at 5%, and for a correct q until it does not, so that there is
    something to be seen: where one plot's test does not in 30 tries, another that can tell the
    defect takes its turn.

    Raises:
        ValueError: for a number outside the game, or a level that it has not.
    """
    if not 1 <= number <= ROUNDS or level not in LEVELS:
        raise ValueError(
            f"A game has rounds 1 to {ROUNDS} and levels {', '.join(LEVELS)}; got round {number}, "
            f"{level!r}. Choose among these."
        )
    rng = stream(seed, "game", level, number)
    defect = list(DEFECTS)[int(rng.integers(len(DEFECTS)))]
    up = bool(rng.integers(2))
    plots = [plot for plot, tells in TELLS.items() if defect in tells]
    start = int(rng.integers(len(plots)))
    in_turn = (*plots[start:], *plots[:start])
    first = Round(defect, level, seed, number, up)
    tries = (
        (replace(first, number=number + ROUNDS * i), in_turn[i // _TRIES % len(in_turn)])
        for i in count()
    )
    hidden, plot = next((one, seen) for one, seen in tries if _shows(one, seen))
    others = [d for d in DEFECTS if d != defect and not alike(plot, d, defect)]
    chosen = [others[i] for i in rng.permutation(len(others))[: ANSWERS - 1]]
    answers = tuple(d for d in DEFECTS if d in {defect, *chosen})
    return Deal(hidden, plot, answers)


def _shows(hidden: Round, plot: Plot) -> bool:
    rejected = simulate_plots(hidden).pvalues[plot] <= _LEVEL
    return rejected != (hidden.defect == "none")
