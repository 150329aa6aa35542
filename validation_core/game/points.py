"""Points of a round and of a game, and the link that holds the guesses.

played=b3--n1   round 1: biased, said after three plots; round 2: none; round 3: too narrow

A link holds the guesses, never points: opening it computes them again from the rounds
themselves. Nothing keeps a player from writing a better link.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from validation_core.game.plots import PLOTS
from validation_core.game.rounds import DEFECTS, ROUNDS, Defect, Level, deal

FULL = 100
"""Points for a defect that is named from the first plot alone."""
COST = 10
"""Points that each further plot costs."""
_LETTERS = {kind.letter: name for name, kind in DEFECTS.items()}
_CODE = re.compile(f"(?:--|[{''.join(_LETTERS)}][1-{len(PLOTS)}]){{0,{ROUNDS}}}", re.ASCII)


class Guess(NamedTuple):
    """A player's guess of a round, after so many plots."""

    defect: Defect
    plots: int


Game = tuple[Guess | None, ...]
"""Answers of the rounds of a game; None for one that is not answered."""


def correct(answer: Guess, seed: int, level: Level, number: int) -> bool:
    """Whether the guess names the defect of that round."""
    return deal(seed, level, number).defect == answer.defect


def points(answer: Guess | None, seed: int, level: Level, number: int) -> int:
    """Points of a guess: FULL less COST for each plot after the first; 0 if wrong or none."""
    if answer is None or not correct(answer, seed, level, number):
        return 0
    return FULL - COST * (answer.plots - 1)


def total(game: Game, seed: int, level: Level) -> int:
    """Total points over all rounds."""
    return sum(points(answer, seed, level, i + 1) for i, answer in enumerate(game))


def written(game: Game) -> str:
    """Encode a game for a link: two letters a round, up to the last one answered."""
    parts = [f"{DEFECTS[one.defect].letter}{one.plots}" if one else "--" for one in game]
    while parts and parts[-1] == "--":
        parts.pop()
    return "".join(parts)


def read(text: str) -> Game | None:
    """Decode a game from a link's text; None where the text is none."""
    if not _CODE.fullmatch(text):
        return None
    pairs = [text[i : i + 2] for i in range(0, len(text), 2)]
    game = [Guess(_LETTERS[one[0]], int(one[1])) if one != "--" else None for one in pairs]
    return (*game, *[None] * (ROUNDS - len(game)))
