"""A lecture of 45 minutes: five lessons, what to say about each, and an exercise on each.

Every number of the notes and of the solutions is computed from the lessons' shipped results.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from scipy.stats import norm

from validation_core import lessons, statistics
from validation_core.benchmarks.boundary import GAMMA
from validation_core.drawing import html
from validation_core.lessons import (
    bag_lottery,
    blind_prior,
    could_you_have_seen_it,
    rain,
    same_or_different,
)
from validation_core.lessons.lesson import Lesson
from validation_core.store import Store
from validation_core.text import equals, share_text

TITLE = "Can this posterior be trusted?"
WRAP_UP = 3
"""Minutes at the end, for the exercise sheet."""


class Exercise(NamedTuple):
    """A question on a lesson, and its solution, in Markdown."""

    question: str
    solution: str


@dataclass(frozen=True)
class LectureScene:
    """A lesson as part of the lecture.

    Args:
        lesson: its name.
        minutes: how long it takes.
        point: the one thing to take home.
        notes: what to do and say, in order; `{names}` are numbers of `numbers`.
        numbers: computes them, as text, from the lesson's result.
        question: of the exercise.
        solution: of the exercise.
    """

    lesson: str
    minutes: int
    point: str
    notes: Sequence[str]
    numbers: Callable[[Any], dict[str, str]]
    question: str
    solution: str


def _accuracy(result: Any) -> dict[str, str]:
    n, g = (same_or_different.SIZES.index(100), same_or_different.GAMMAS.index(GAMMA))
    seen = float(result.observed[n, g])
    z = (seen - 0.5) * np.sqrt(8 * 100)
    small = round(float(result.expected[same_or_different.GAMMAS.index(0.25)]), 3)
    return {
        "gamma": f"{GAMMA:g}",
        "expected": f"{result.expected[g]:.0%}",
        "seen": f"{seen:.1%}",
        "z": f"{z:.2f}",
        "normal": f"{norm.sf(z):.3f}",
        "monte_carlo": equals(
            float(same_or_different.monte_carlo_pvalues(result)[-1, n, g])
        ).removeprefix("= "),
        "samples": str(same_or_different.SAMPLES),
        "small": f"{small:.1%}",
        "need": f"{(1.645 / (small - 0.5)) ** 2 / 8:.0f}",
    }


def _ranks(result: Any) -> dict[str, str]:
    narrow, wide = (bag_lottery.rank_probabilities(0.0, width) for width in (0.5, 2.0))
    right, half = bag_lottery.BIASES.index(0.0), bag_lottery.WIDTHS.index(0.5)
    ends = np.isin(result.ranks[:, right, half], [0, bag_lottery.DRAWS]).sum()
    return {
        "draws": str(bag_lottery.DRAWS),
        "balls": str(bag_lottery.BALLS),
        "even": f"{2 / bag_lottery.BALLS:.0%}",
        "narrow": f"{narrow[0] + narrow[-1]:.1%}",
        "wide": f"{wide[0] + wide[-1]:.1%}",
        "ends": str(ends),
        "trials": str(bag_lottery.TRIALS),
        "share": f"{ends / bag_lottery.TRIALS:.1%}",
    }


def _pvalues(result: Any) -> dict[str, str]:
    hits = (result.pvalues <= 0.05).sum(-1)
    weak, strong = (rain.GAMMAS.index(gamma) for gamma in (0.15, 0.3))
    low, high = map(float, statistics.wilson(hits[strong], rain.TRIALS))
    return {
        "guilty": str(result.guilty[0]),
        "rains": str(rain.SUSPECTS),
        "any": f"{1 - 0.95**rain.SUSPECTS:.0%}",
        "trials": str(rain.TRIALS),
        "false": f"{hits[0] / rain.TRIALS:.1%}",
        "hits": str(hits[strong]),
        "power": f"{hits[strong] / rain.TRIALS:.1%}",
        "low": f"{low:.1%}",
        "high": f"{high:.1%}",
        "weak": f"{hits[weak] / rain.TRIALS:.1%}",
    }


def _blind(result: Any) -> dict[str, str]:
    n = blind_prior.SIZES.index(100)
    rates = blind_prior.rejection_rates(result)[:, -1, 0, -1, n]
    sbc = round(float(rates[0]) * blind_prior.TRIALS)
    low, high = statistics.binomial_bounds(blind_prior.TRIALS, blind_prior.ALPHA, 0.95)
    return {
        "trials": str(blind_prior.TRIALS),
        "sbc": share_text(rates[0]),
        "count": str(sbc),
        "low": str(low),
        "high": str(high),
        "inside": "inside" if low <= sbc <= high else "outside",
        "tarp": share_text(rates[1]),
        "colt": share_text(rates[3]),
        "c2st": share_text(rates[4]),
    }


def _power(result: Any) -> dict[str, str]:
    rate = result.rejected.mean(-1)
    need = could_you_have_seen_it.simulations_needed(rate)[0]
    large, small = (could_you_have_seen_it.GAMMAS.index(g) for g in (0.2, 0.1))
    hundred = could_you_have_seen_it.BUDGETS.index(100)
    return {
        "need": f"{need[large]:.0f}",
        "four": f"{4 * need[large]:,.0f}",
        "small": f"{need[small]:,.0f}",
        "ratio": f"{need[small] / need[large]:.1f}",
        "hundred": f"{rate[0, large, hundred]:.1%}",
        "missed": f"{1 - rate[0, large, hundred]:.1%}",
    }


SCENES: tuple[LectureScene, ...] = (
    LectureScene(
        "same-or-different",
        8,
        "A number means nothing without its null.",
        (
            "Say what p and q are: the true posterior, and the one that a network gives.",
            "Ask for a show of hands: how often is the best line right? Drag the bar to the "
            "median. It is {expected}.",
            "Reveal. Play the null samples: this is what chance alone does. Here {seen}, "
            "p = {monte_carlo}.",
            "Break it: gamma to 0. q is now correct; p is no longer small, or is by chance.",
        ),
        _accuracy,
        "q's mean is {gamma} standard deviations off. On 100 draws of p and 100 of q the best "
        "line gets {seen} right. (a) Find z and the one-sided p-value by the normal "
        "approximation. (b) At gamma = 0.25 its accuracy is {small}. About how many draws of each "
        "does it take until the expected accuracy reaches the 5% threshold?",
        "(a) z = ({seen} − 50%) √(8 · 100) = {z}, p = {normal}; {samples} null samples give "
        "{monte_carlo}. (b) 1.645 / √(8n) = {small} − 50%, so n is about {need}. There, half of "
        "all samples still miss it.",
    ),
    LectureScene(
        "bag-lottery",
        9,
        "If q is correct, the true value is one of its draws: all ranks are equally likely.",
        (
            "Draw the bag on the board: one true ball, {draws} of q.",
            "Ask which of the four pictures they expect. The hill tempts: should the true value "
            "not lie in the middle? It should not.",
            "Reveal, and say the sentence once more: from inside the bag nobody can tell.",
            "Break it: width 0.5 is a valley, 2 a hill, a bias a slope. Let them name each "
            "before you move on.",
        ),
        _ranks,
        "There are {draws} draws of q beside the true value. (a) How likely is it, if q is "
        "correct, that the true value is the lowest or the highest of all {balls}? (b) And if q "
        "is half as wide as it should be? Guess first, then set the width to 0.5 and count.",
        "(a) {even}: two of {balls} places. (b) {narrow} by integration; in the lesson's "
        "{trials} bags {ends} of them, {share}. If q were twice too wide, {wide}.",
    ),
    LectureScene(
        "rain",
        8,
        "Flat is lumpy. One small p-value is what a correct q gives one time in twenty.",
        (
            "Let everybody pick a rain, and vote. Pick the favourite.",
            "Reveal: it is rain {guilty} in the first line-up. Say how many were fooled by a "
            "lump.",
            "Break it: at gamma = 0, {false} of {trials} trials have p at most 5%. Then move "
            "gamma while it rains.",
        ),
        _pvalues,
        "(a) You test {rains} correct posteriors at the 5% level. How likely is it that at least "
        "one is rejected? (b) At gamma = 0.3, {hits} of {trials} trials have p at most 5%. Give "
        "the power with a 95% interval.",
        "(a) 1 − 0.95^{rains} = {any}. (b) {power}, {low} to {high} (Wilson). At gamma = 0.15 it "
        "is {weak}.",
    ),
    LectureScene(
        "blind-prior",
        10,
        "A q that never looks at x passes SBC. Ask at each x, not over all of them.",
        (
            "Show the picture: orange does not follow blue. Everybody sees that q is useless.",
            "Ask which of the four tests object. Move all four bars.",
            "Reveal: SBC {sbc}, TARP {tarp}, CoLT {colt}, C2ST {c2st} at n = 100. Explain why: "
            "averaged over x the prior is right.",
            "Break it: CoLT. A centre that does not move with x is as blind as SBC.",
        ),
        _blind,
        "q is the prior, whatever x. SBC rejects it in {count} of {trials} batches of 100 "
        "simulations. (a) Is that more than a test at the 5% level rejects a correct q? (b) CoLT "
        "rejects in {colt}. What does it ask that SBC does not?",
        "(a) No: with a correct q, 95 of 100 such counts lie from {low} to {high}, and {count} is "
        "{inside}. (b) Whether a ball whose centre follows x holds as many true values as "
        "draws of q. Ranks pooled over all x do not.",
    ),
    LectureScene(
        "could-you-have-seen-it",
        7,
        "Not rejected says nothing until you know the power.",
        (
            "A bias of 0.2 posterior standard deviations. How many simulations? Drag the bar.",
            "Reveal: 100 simulations find it in {hundred} of checks. About {need} reach 80%.",
            "Spend: let someone from the audience spend as little as they can.",
            "Close with their own table: Diagnose, My posterior.",
        ),
        _power,
        "SBC with 20 draws finds a bias of 0.2 posterior standard deviations with 80% power from "
        "about {need} simulations. (a) How many for a bias of 0.1? (b) A paper tests 100 "
        "simulations, finds p = 0.4 and says that q is calibrated. What is wrong?",
        "(a) Half the bias takes four times as many, about {four}; measured: {small}, {ratio} "
        "times as many. (b) With 100 simulations a bias of 0.2 goes unnoticed in {missed} of "
        "checks: finding nothing says little of such a bias, and does not show that q is "
        "calibrated.",
    ),
)
"""The lecture's five scenes, in their order."""


def _numbers(scene: LectureScene, store: Store) -> dict[str, str]:
    study = lessons.LESSONS[scene.lesson]
    return scene.numbers(study.load(store))


def exercises(store: Store) -> list[Exercise]:
    """The exercises, each with its solution, from results in the store."""
    found = []
    for scene in SCENES:
        numbers = _numbers(scene, store)
        found.append(Exercise(scene.question.format(**numbers), scene.solution.format(**numbers)))
    return found


def scene_notes(scene: LectureScene, store: Store) -> list[str]:
    """What to do and say in a scene, with its numbers."""
    numbers = _numbers(scene, store)
    return [line.format(**numbers) for line in scene.notes]


def with_notes(lesson: Lesson, store: Store) -> Lesson:
    """A lesson with the lecturer's notes, which a key shows; without, if no scene has it."""
    for scene in SCENES:
        if scene.lesson == lesson.name:
            notes = (f"{scene.minutes} minutes. {scene.point}", *scene_notes(scene, store))
            return replace(lesson, notes=notes)
    return lesson


def notes_markdown(store: Store) -> str:
    """The lecturer's notes as a Markdown document."""
    parts = [
        f"# A lecture in 45 minutes: {TITLE}",
        "Open the page **Lecture** of NPT Lab and press **Start**. The arrow keys or a "
        "presenter's remote turn the five scenes, the buttons of a scene its stages, **N** shows "
        "these notes. Without a server or a network: `nptlab lecture --html FOLDER`.",
    ]
    at = 0
    for number, scene in enumerate(SCENES, 1):
        study = lessons.LESSONS[scene.lesson]
        parts += [
            f"## {number}. {study.title} (minute {at} to {at + scene.minutes})",
            f"*{study.question}* **{scene.point}**",
            "\n".join(f"{i}. {line}" for i, line in enumerate(scene_notes(scene, store), 1)),
        ]
        at += scene.minutes
    parts += [
        f"## The end (minute {at} to {at + WRAP_UP})",
        "Hand out the exercise sheet, and leave the page's code on the screen.",
    ]
    return "\n\n".join(parts) + "\n"


def exercises_markdown(store: Store) -> str:
    """The exercise sheet as a Markdown document."""
    return _sheet("Exercises", [one.question for one in exercises(store)])


def solutions_markdown(store: Store) -> str:
    """The solutions as a Markdown document."""
    return _sheet("Solutions", [one.solution for one in exercises(store)])


def _sheet(title: str, texts: Sequence[str]) -> str:
    parts = [f"# {title}: {TITLE}"]
    for number, (scene, text) in enumerate(zip(SCENES, texts, strict=True), 1):
        parts += [f"## {number}. {lessons.LESSONS[scene.lesson].title}", text]
    return "\n\n".join(parts) + "\n"


def lecture_html(store: Store) -> str:
    """The five scenes as one HTML file that runs without a server or a network."""
    scenes = []
    for scene in SCENES:
        study = lessons.LESSONS[scene.lesson]
        lesson = with_notes(study.lesson(study.load(store)), store)
        scenes.append(html.Scene(study.title, lesson.payload))
    foot = "NPT Lab. Arrow keys turn scenes, N shows notes."
    return html.html(f"{TITLE} · NPT Lab", scenes, foot)


def files(store: Store) -> dict[str, str]:
    """The lecture as files: their names and texts."""
    return {
        "lecture.html": lecture_html(store),
        "notes.md": notes_markdown(store),
        "exercises.md": exercises_markdown(store),
        "solutions.md": solutions_markdown(store),
    }
