"""A finished game of Name that defect as an image to pass on."""

from __future__ import annotations

from validation_core.drawing.image import png_of
from validation_core.drawing.letters import PAPER, svg_line
from validation_core.game.points import BEST, LIVES, GameScore
from validation_core.game.rounds import ROUNDS, Level

WORDS: dict[Level, str] = {"easy": "Easy", "middle": "Medium", "hard": "Hard"}
_WIDTH, _HEIGHT, _STEP = 600, 315, 52
_LEFT = 40
_SOFT, _RIGHT, _WRONG, _OPEN = "#57606A", "#1F9D63", "#C8402F", "#D5D9DE"


def sentence(score: GameScore, seed: int, level: Level) -> str:
    """A game in one line, with a sign for each round."""
    signs = "".join("●" if right else "○" for right in score.right)
    return (
        f"Name that defect, {WORDS[level].lower()} game {seed}: {score.points} of {BEST} points, "
        f"{sum(score.right)} of {len(score.right)} right, {score.longest} in a row {signs}"
    )


def png(score: GameScore, seed: int, level: Level) -> bytes:
    """The card of a game of this number and level, 1,200 pixels across."""
    dots = []
    for i in range(ROUNDS):
        x, color = _LEFT + 12 + i * _STEP, _OPEN
        if i < len(score.right):
            color = _RIGHT if score.right[i] else _WRONG
        sign = ""
        if i < len(score.right):
            way = "M-6 0l4 5 8-10" if score.right[i] else "M-5 -5l10 10M5 -5l-10 10"
            sign = f'<path d="{way}" fill="none" stroke="{PAPER}" stroke-width="2.5"/>'
        dots.append(f'<g transform="translate({x} 176)"><circle r="17" fill="{color}"/>{sign}</g>')
    lost = LIVES - score.lives
    facts = f"{sum(score.right)} of {len(score.right)} right · {score.longest} in a row · " + (
        f"{lost} of {LIVES} lives lost" if lost else "no life lost"
    )
    return png_of(
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{_WIDTH}" height="{_HEIGHT}" '
        f'viewBox="0 0 {_WIDTH} {_HEIGHT}" font-family="NPT Card">'
        f'<rect width="{_WIDTH}" height="{_HEIGHT}" fill="{PAPER}"/>'
        f'<rect width="8" height="{_HEIGHT}" fill="{_RIGHT}"/>'
        + svg_line(_LEFT, 50, "Name that defect", 22, bold=True)
        + svg_line(_LEFT, 80, f"{WORDS[level]} · game {seed}", 16, _SOFT)
        + svg_line(_LEFT, 136, f"{score.points} of {BEST} points", 34, bold=True)
        + "".join(dots)
        + svg_line(_LEFT, 232, facts, 17)
        + svg_line(_LEFT, 262, "Same ten rounds for everybody: can you beat it?", 16, _SOFT)
        + svg_line(_LEFT, 290, "NPT Lab", 14, _SOFT)
        + "</svg>"
    )
