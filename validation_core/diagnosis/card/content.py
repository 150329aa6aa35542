"""The states of a card, and what it shows under its title: facts, next steps and a picture."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from validation_core.drawing.drawn import Drawn

CardState = Literal["mistake", "problem", "silent", "unlike", "too little", "testing"]
"""`mistake`: of the file, so that nothing is said of q. `unlike`: no problem at the simulations,
which are all unlike the user's own observation."""


@dataclass(frozen=True)
class Fact:
    """One line of the card."""

    label: str
    text: str
    """It may hold names that a user chose."""


Content = tuple[tuple[Fact, ...], tuple[str, ...], Callable[[], Drawn | None]]
"""Facts, next steps, and what draws the picture."""
