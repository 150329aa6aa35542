"""Points, lives and streak of a game, and the link that holds the answers.

played=bnc   round 1: biased; round 2: too narrow; round 3: correct

A link holds the answers, never points: opening it computes them again from the rounds
themselves. Nothing keeps a player from writing a better link.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

from validation_core.game.deal import deal
from validation_core.game.rounds import DEFECTS, ROUNDS, Defect, Level

LIVES = 3
"""Wrong answers that end a game."""
BEST = ROUNDS * (ROUNDS + 1) // 2
"""Points of a game without a wrong answer: each right one is worth as many as its streak."""
_LETTERS = {kind.letter: name for name, kind in DEFECTS.items()}
_CODE = re.compile(f"[{''.join(_LETTERS)}]{{0,{ROUNDS}}}", re.ASCII)

Game = tuple[Defect, ...]
"""Answers of the rounds of a game so far, in their order."""


class GameScore(NamedTuple):
    """How a game stands."""

    right: tuple[bool, ...]
    """Whether each answer is right."""
    points: int
    streak: int
    """Right answers in a row, up to the last one."""
    longest: int
    lives: int

    @property
    def over(self) -> bool:
        """Whether the game has ended."""
        return self.lives == 0 or len(self.right) == ROUNDS


def score(game: Game, seed: int, level: Level) -> GameScore:
    """Score a game; answers after the last life do not count."""
    right: list[bool] = []
    points, streak, longest, lives = 0, 0, 0, LIVES
    for number, answer in enumerate(game[:ROUNDS], 1):
        if lives == 0:
            break
        right.append(deal(seed, level, number).round.defect == answer)
        streak = streak + 1 if right[-1] else 0
        points, longest = points + streak, max(longest, streak)
        lives -= not right[-1]
    return GameScore(tuple(right), points, streak, longest, lives)


def written(game: Sequence[Defect]) -> str:
    """Encode a game for a link: a letter for each answer."""
    return "".join(DEFECTS[one].letter for one in game)


def read(text: str) -> Game | None:
    """Decode a game from a link's text; None where the text is none."""
    return tuple(_LETTERS[letter] for letter in text) if _CODE.fullmatch(text) else None
