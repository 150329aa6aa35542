"""What lessons say: no difference of a correct q, and no number but the one that is drawn."""

import itertools
import re

import numpy as np
import pytest

from validation_core.drawing.marks import Line, Over, Points, Text, VLine
from validation_core.drawing.over_sliders import freeze_sliders
from validation_core.lessons import LESSONS, rain
from validation_core.store import Store
from validation_core.text import share_text

CORRECT = {
    "same-or-different": {"gamma": 0},
    "ten-more-steps": {"source": 1},
    "bag-lottery": {"bias": 0, "width": 1},
    "rain": {"gamma": 0},
    "four-ways": {},
    "hunt": {"preset": 2},
    "blind-prior": {"alpha": 0},
    "number-with-units": {"gamma": 0},
    "could-you-have-seen-it": {"gamma": 0},
}
"""Sliders at which q is correct; in the fifth lesson it always is."""
CLAIM = re.compile(
    r"\brejects q\b|is not level|off, \d+ reject|is found in|is the power|is blind (at|in)"
)
"""Words that only a wrong q earns."""
LUCK = re.compile(
    r"one correct q in twenty|one fair lottery in twenty|lucky ones among|is correct"
)


def said(words, at):
    """Words with the sliders at these indices."""
    if isinstance(words, Over):
        return str(words.values[tuple(at[name] for name in words.sliders)])
    if isinstance(words, Text):
        return words.template.format_map({k: said(v, at) for k, v in words.parts.items()})
    return str(words)


def followed(words):
    """Names of the sliders that words follow."""
    if isinstance(words, Text):
        return set().union(*map(followed, words.parts.values()))
    return set(words.sliders) if isinstance(words, Over) else set()


@pytest.fixture(scope="module", params=LESSONS)
def lesson(request):
    study = LESSONS[request.param]
    return study.lesson(study.load(Store.usual()))


def places(lesson, stage):
    """Indices of all sliders as a stage is entered."""
    values = lesson.entered([stage])
    return {
        slider.name: int(np.argmin(np.abs(np.array(slider.grid) - value)))
        for slider, value in zip(lesson.all_sliders, values, strict=True)
    }


def sentences_where_q_is_correct(lesson):
    """Each stage's words at the values of q's sliders that make it correct, all others running."""
    grids = {slider.name: np.array(slider.grid) for slider in lesson.all_sliders}
    fixed = {
        name: int(np.argmin(np.abs(grids[name] - value)))
        for name, value in CORRECT[lesson.name].items()
    }
    for i, stage in enumerate(lesson.stages):
        moved = followed(stage.words)
        if fixed and not moved & set(fixed):
            continue  # a sentence about all q, or about one that the stage fixes
        at = places(lesson, i) | fixed
        free = sorted(moved - set(fixed))
        runs = [range(len(grids[name])) for name in free]
        for run in itertools.islice(itertools.product(*runs), 0, None):
            yield said(stage.words, at | dict(zip(free, run, strict=True)))


def test_a_correct_q_is_said_to_be_no_different(lesson):
    found = set(sentences_where_q_is_correct(lesson))
    assert found or lesson.name == "four-ways"
    for sentence in found:
        if claim := CLAIM.search(sentence):
            assert LUCK.search(sentence[claim.start() :]), sentence


def test_a_lucky_ball_is_said_to_be_luck():
    study = LESSONS["hunt"]
    lesson = study.lesson(study.load(Store.usual()))
    at = places(lesson, 1)
    assert "36 of 100" in said(lesson.stages[1].words, at)
    notes = [said(lesson.stages[1].words, at | {"place": place}) for place in range(225)]
    lucky = [note for note in notes if "Nothing is wrong" in note]
    assert all(f"it is one of {len(lucky)} lucky ones among 225." in note for note in lucky)
    assert "Nothing is wrong" in said(lesson.stages[1].words, at)


def built(name):
    study = LESSONS[name]
    result = study.load(Store.usual())
    return result, study.lesson(result)


def marks(lesson, panel, at, kind):
    return [m for m in freeze_sliders(lesson.panels[panel], at).marks if isinstance(m, kind)]


def test_the_accuracy_said_is_the_line_drawn():
    _, lesson = built("same-or-different")
    for n, g in itertools.product(range(5), range(21)):
        at = places(lesson, 1) | {"n": n, "gamma": g}
        seen = [float(np.ravel(m.x)[0]) for m in marks(lesson, 1, at, VLine)]
        (told,) = re.findall(r"Here it gets ([\d.]+)% right", said(lesson.stages[1].words, at))
        assert any(f"{100 * x:.1f}" == told for x in seen)


def test_the_wrong_rain_is_named_and_its_bars_are_those_said():
    result, lesson = built("rain")
    for lineup, guilty in enumerate(result.guilty):
        for guess in range(rain.SUSPECTS + 1):
            at = places(lesson, 1) | {"lineup": lineup, "guess": guess}
            answer = said(lesson.prediction.answer, at)
            assert re.search(rf"\b[Rr]ain {guilty} is the one with a wrong q", answer)
            assert answer.startswith("Right") == (guess == guilty)
            assert ("you picked none" in answer) == (guess == 0)
        first = [
            int(freeze_sliders(lesson.panels[j], at).marks[0].heights[0])
            for j in range(rain.SUSPECTS)
        ]
        others = [count for j, count in enumerate(first) if j != guilty - 1]
        told = said(lesson.stages[1].words, at)
        assert f"holds {min(others)} to {max(others)} p-values" in told
        assert told.endswith(f"in this one {first[guilty - 1]}.")


def test_rain_says_nothing_before_its_first_trial():
    _, lesson = built("rain")
    words = said(lesson.stages[2].words, places(lesson, 2))
    assert not re.search(r"\d", words.replace("gamma", ""))


def test_divergences_said_are_those_drawn_and_all_of_one_q():
    _, lesson = built("number-with-units")
    for m in range(7):
        at = places(lesson, 3) | {"m": m}
        words = said(lesson.stages[3].words, at)
        value, low, high = (
            float(np.ravel(each)[0])
            for each in (lambda p: (p.y, p.low, p.high))(marks(lesson, 3, at, Points)[-1])
        )
        assert f"{value:.3f} nats" in words
        assert f"{low:.3f} to {high:.3f}" in words
    exact = said(lesson.stages[1].words, places(lesson, 1))
    assert "the closed form says 0.250" in exact
    assert "M = 1 is q itself" in said(lesson.stages[3].words, places(lesson, 3))
    assert "exactly 0.250" in said(lesson.stages[3].words, places(lesson, 3))


def test_the_estimate_of_a_shifted_q_holds_its_exact_divergence():
    _, lesson = built("number-with-units")
    words = said(lesson.stages[3].words, places(lesson, 3))
    low, high = map(float, re.findall(r"interval ([\d.]+) to ([\d.]+)", words)[0])
    assert low <= 0.25 <= high


def test_power_said_is_the_point_drawn():
    _, lesson = built("could-you-have-seen-it")
    for test, gamma, n in itertools.product((0, 2), range(5), (0, 5, 9)):
        at = places(lesson, 2) | {"test": test, "gamma": gamma, "n": n}
        words = said(lesson.stages[2].words, at)
        drawn = [100 * float(np.ravel(p.y)[0]) for p in marks(lesson, 1, at, Points)]
        (told,) = re.findall(r"(?:found|rejected) in ([\d.]+)% of checks", words)
        assert any(f"{value:.1f}" == told for value in drawn)


def test_false_alarms_said_are_the_points_drawn():
    _, lesson = built("four-ways")
    at = places(lesson, 1)
    words = said(lesson.stages[1].words, at)
    drawn = {f"{100 * float(y):.1f}" for p in marks(lesson, 0, at, Points) for y in np.ravel(p.y)}
    told = re.findall(r"([\d.]+)% → ([\d.]+)%", words)
    assert len(told) == 4
    assert {value for pair in told for value in pair} <= drawn


def shares(lesson, panel, at, place):
    """Shares of a panel's lines at a place along them, in per cent as they are said."""
    lines = (m for m in marks(lesson, panel, at, Line) if len(np.ravel(m.x)) > 2)
    return {share_text(float(np.ravel(m.y)[place])).rstrip("%") for m in lines}


def test_one_is_one(lesson):
    """Of every stage at every place of each slider alone: no "1 trials", no "1 bags"."""
    grids = {slider.name: slider.grid for slider in lesson.all_sliders}
    for i, stage in enumerate(lesson.stages):
        at = places(lesson, i)
        for name in followed(stage.words):
            for place in range(len(grids[name])):
                words = said(stage.words, at | {name: place})
                plural = r"(?<![\d.,+−-])(?<!\+ )\b1 (?!is|of|to|times)[a-z]+s\b"
                assert not re.search(plural, words), words


def test_flat_ranks_of_a_q_that_has_learned_are_not_held_against_it():
    """Lesson 7: at alpha = 0 q follows x, and SBC is right to pass it."""
    _, lesson = built("blind-prior")
    for alpha in range(11):
        words = said(lesson.stages[5].words, places(lesson, 5) | {"alpha": alpha})
        assert ("where it has" in words) == (alpha == 0)


def test_what_a_habit_does_is_not_claimed_of_settings_where_it_does_not():
    """Lesson 5: where ranks are fine, or x adds nothing, the wrong way is within its level."""
    _, lesson = built("four-ways")
    for stage, setting, place, false in (
        (2, "k", -1, "simulations KS sees the steps"),
        (3, "share", 0, "than Multiple assumes: it rejects too seldom"),
    ):
        grid = next(one.grid for one in lesson.all_sliders if one.name == setting)
        at = places(lesson, stage) | {setting: range(len(grid))[place]}
        assert false not in said(lesson.stages[stage].words, at)


def test_power_of_each_step_said_is_the_line_drawn():
    """Lesson 2: both sources, at every stop of the training."""
    _, lesson = built("ten-more-steps")
    for source, steps in itertools.product((0, 1), (0, 5, 10, 30)):
        at = places(lesson, 1) | {"source": source, "steps": steps}
        (told,) = re.findall(r"rejects ([\d.]+)% of 1000", said(lesson.stages[1].words, at))
        drawn = [
            100 * float(np.ravel(m.y)[np.ravel(m.x) == 10 * steps][0])
            for m in marks(lesson, 2, at, Line)
        ]
        assert any(f"{value:.1f}" == told for value in drawn)


def test_the_counted_ball_is_the_point_drawn():
    """Lesson 6: the share that a ball holds, at every preset and some places."""
    _, lesson = built("hunt")
    for preset, place in itertools.product(range(3), (0, 6, 112, 224)):
        at = places(lesson, 2) | {"preset": preset, "place": place}
        words = said(lesson.stages[2].words, at)
        ((count, low, high),) = re.findall(r"holds (\d+) of 100 \((\d+)% to (\d+)%\)", words)
        shown = marks(lesson, 1, at, Points)[0]
        assert round(100 * float(np.ravel(shown.y)[0])) == int(count)
        assert int(low) <= int(count) <= int(high)


def test_rejections_of_a_blind_q_are_the_lines_drawn():
    """Lesson 7: each test's share at every alpha."""
    _, lesson = built("blind-prior")
    for alpha in range(11):
        at = places(lesson, 1) | {"alpha": alpha}
        words = said(lesson.stages[1].words, at).partition(" A correct q")[0]
        told = re.findall(r"([\d.]+)%", words)
        assert len(told) == 5
        assert set(told) <= shares(lesson, 2, at, alpha)
