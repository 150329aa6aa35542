"""Every lesson: its shape, its links, and the file that runs without a server."""

import base64
import gzip
import json
import re
import tomllib

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as some

from tests import page_links
from tests.conftest import ROOT
from validation_core import lessons
from validation_core.cli import main
from validation_core.drawing import html, live
from validation_core.drawing.marks import Axis, Line, Panel, Slider, over
from validation_core.lessons import LESSONS
from validation_core.lessons.lesson import (
    SAID,
    STAGE,
    FollowUp,
    Formula,
    Lesson,
    NumberGuess,
    PictureGuess,
    Prediction,
    Stage,
)
from validation_core.store import Store

NAMES = list(LESSONS)


def drawn(name):
    study = LESSONS[name]
    numbers = study.load(Store.usual())
    assert numbers is not None, f"the numbers of {name} are shipped"
    return study.lesson(numbers)


@pytest.fixture(scope="module", params=NAMES)
def lesson(request):
    return drawn(request.param)


def head(payload):
    return json.loads(payload.head)


def opened(query):
    page = page_links.opened("learn/page.py", query)
    assert not page.exception
    return page


def state(page):
    """Where the sliders of the page's lesson stand, by their names."""
    (message,) = (node.proto.bytes for node in page.get("bidi_component") if node.proto.bytes)
    size = int.from_bytes(message[:4], "little")
    described = json.loads(message[4 : 4 + size])
    names = [slider["name"] for slider in described["sliders"]]
    return described["lesson"]["name"], dict(zip(names, described["at"], strict=True))


def test_lessons_are_numbered_in_their_order():
    assert [study.number for study in LESSONS.values()] == list(range(1, len(LESSONS) + 1))


def test_a_lesson_goes_from_a_prediction_to_what_it_does_not_tell(lesson):
    titles = [stage.title for stage in lesson.stages]
    assert titles[:2] == ["Predict", "Reveal"]
    assert titles[-2:] == ["Why", "What it does not tell"]
    assert any(title.startswith("Break") for title in titles)
    assert lesson.question.endswith("?")
    assert 5 <= lesson.minutes <= 10


def test_why_is_a_formula_with_its_source_and_the_sliders_lit_in_it(lesson):
    (why,) = (stage for stage in lesson.stages if stage.title == "Why")
    assert why.formula is not None
    assert why.formula.values
    assert why.formula.source
    assert "<math" in why.formula.mathml
    followed = {name for value in why.formula.values.values() for name in _sliders(value)}
    assert followed & set(why.sliders), "the reader can move what is lit"


def _sliders(words):
    if hasattr(words, "parts"):
        return {name for part in words.parts.values() for name in _sliders(part)}
    return set(getattr(words, "sliders", ()))


def test_the_story_tells_itself_in_about_a_minute(lesson):
    seconds = sum(beat.seconds for stage in lesson.stages for beat in stage.beats)
    assert 20 <= seconds <= 100
    assert all(stage.beats for stage in lesson.stages[:3])


def test_the_answer_follows_what_was_predicted(lesson):
    asked = {slider.name for slider in lesson.prediction.sliders}
    assert asked - {SAID} <= _sliders(lesson.prediction.answer)


def test_numbers_are_computed_and_none_is_missing(lesson):
    described = lesson.payload.head
    assert "NaN" not in described
    assert "Infinity" not in described
    assert not re.search(r"\bnan\b", described)


def test_a_lesson_is_a_file_of_at_most_a_megabyte_that_asks_for_nothing(lesson):
    text = lessons.lesson_html(lesson)
    assert len(text.encode()) <= html.LIMIT
    assert "default-src 'none'" in text
    assert not re.search(r"""(src|href)=["']?https?:|url\((?!#)|@import|fetch\(|import\(""", text)


def test_the_file_holds_the_whole_payload(lesson):
    text = lessons.lesson_html(lesson)
    (scenes,) = re.findall(r'id="scenes">(.*?)</script>', text, re.DOTALL)
    message = gzip.decompress(base64.b64decode(json.loads(scenes)[0]["message"]))
    assert message == lesson.payload.message(lesson.payload.start)


@pytest.mark.parametrize("name", NAMES)
def test_a_link_restores_every_slider(name):
    lesson = drawn(name)
    rng = np.random.default_rng(len(name))
    asked = {s.name: s.grid[rng.integers(len(s.grid))] for s in lesson.all_sliders}
    query = {slider: f"{value:.6g}" for slider, value in asked.items()}
    shown, at = state(opened({"lesson": name, **query}))
    assert shown == name
    assert at == pytest.approx(asked)


@pytest.mark.parametrize("name", NAMES)
def test_a_link_to_a_stage_opens_it_as_a_reader_does_who_turns_to_it(name):
    lesson = drawn(name)
    for i in range(len(lesson.stages)):
        at = {slider.name: slider.first for slider in lesson.all_sliders} | {STAGE: i}
        for stage in lesson.stages[: i + 1]:
            at |= stage.at
        page = opened({"lesson": name, STAGE: str(i)})
        assert state(page)[1] == pytest.approx(at)
        assert not any("The link says" in caption.value for caption in page.caption)
        said = page.session_state["address"].shown
        assert {slider: said[slider] for slider in lesson.url if said[slider]} == (
            {STAGE: (str(i),)} if i else {}
        )


def test_a_lesson_that_is_opened_without_a_link_tells_its_story(lesson):
    """It begins where no slider has left its start (lesson_story.js)."""
    payload = lesson.payload
    start = payload.nearest(payload.start)
    assert payload.nearest(lesson.entered(start)) == start


def test_a_stage_between_two_is_the_nearest():
    lesson = drawn("hunt")
    page = opened({"lesson": "hunt", STAGE: "1.7"})
    asked = lesson.payload.nearest(lesson.entered([2]))
    assert tuple(state(page)[1].values()) == pytest.approx((2, *asked[1:]))


def test_what_stands_as_its_stage_has_it_is_left_out_of_the_address():
    lesson = made(stages=[Stage(title="A", words="", panels=[0], at={"x": 1}),
                          Stage(title="B", words="", at={"guess": 3})])  # fmt: skip
    assert lesson.entered([0, 5, 0, 2]) == (0, 5, 0, 1)
    assert lesson.entered([1, 0, 0, 0]) == (0, 3, 0, 1)
    assert lesson.entered([9, 0, 0, 0]) == (0, 3, 0, 1)


def test_a_prediction_is_scored_once_the_reader_goes_on_to_the_answer():
    lesson = made()
    assert lesson.scored([0, 5, 0, 2]) == ()
    assert lesson.scored([0, 8, 0, 2]) == (), "the answer has not been seen"
    assert lesson.scored([1, 5, 0, 2]) == (), "nothing was predicted"
    (kept,) = lesson.scored([1, 5, 1, 2])
    assert (kept.asked, kept.said, kept.found, kept.close) == ("How many?", "5%", "3%", False)
    (kept,) = lesson.scored([1, 1, 1, 0])
    assert (kept.said, kept.found, kept.close) == ("1%", "1%", True)


def test_a_picked_picture_is_scored():
    pick = PictureGuess(panels=[0], right=over([1, 1, 1], "x"))
    lesson = made(prediction=Prediction(asked=pick, answer="So."))
    assert lesson.scored([1, 0, 0]) == ()
    (kept,) = lesson.scored([1, 1, 2])
    assert (kept.asked, kept.said, kept.close) == ("What?", "Picture 1", True)


def choose(page, number):
    page.button_group(key="lesson").set_value(NAMES[number - 1]).run()
    assert not page.exception


def test_another_lesson_opens_at_its_question():
    page = opened({"lesson": NAMES[1], STAGE: "5", "steps": "10", "score": "2"})
    for press in (lambda: choose(page, 3), lambda: page.button(key="next-lesson").click().run()):
        press()
        assert not page.exception
        name, at = state(page)
        start = drawn(name).payload
        assert tuple(at.values()) == pytest.approx(start.nearest(start.start))
        assert not any("The link says" in caption.value for caption in page.caption)
        assert set(page.query_params) == {"lesson"}
    assert name == NAMES[3]


def test_predictions_are_kept_for_the_session():
    page = opened({"guess": "30", STAGE: "1"})
    assert [row["You said"] for row in page.table[0].value.to_dict("records")] == ["30%"]
    page.button(key="next-lesson").click().run()
    assert page.table[0].value["It is"].tolist() == ["60%"]
    choose(page, 1)
    assert state(page)[1][STAGE] == 0
    assert state(page)[1]["guess"] == 30


def test_the_first_lesson_is_alive_without_a_button():
    name, at = state(opened({}))
    assert name == NAMES[0]
    assert at[STAGE] == 0


_TEXTS = some.one_of(
    some.sampled_from(
        ["", "nan", "inf", "-1", "1e999", "9" * 400, "<b>x", "\x00", "½", "x" * 999]
    ),
    some.floats().map(str),
    some.text(max_size=20),
)


@settings(max_examples=20, deadline=None, suppress_health_check=list(HealthCheck))
@given(some.sampled_from(NAMES), some.dictionaries(some.sampled_from(
    ["lesson", "stage", "gamma", "beta", "n", "m", "k", "guess", "trials", "samples"]), _TEXTS,
    max_size=4))  # fmt: skip
def test_no_address_breaks_the_page(name, query):
    shown, at = state(opened({"lesson": name, **query}))
    grids = {slider.name: slider.grid for slider in drawn(shown).all_sliders}
    for slider, value in at.items():
        assert min(abs(value - near) for near in grids[slider]) < 1e-6


def made(**changes):
    x = Slider("x", [0, 1, 2], label="X")
    panel = Panel([Line([0, 1], over([[0, 1], [1, 0], [1, 1]], "x"), color="")],
                  x=Axis((0, 1)), y=Axis((0, 1)))  # fmt: skip
    bar = NumberGuess(label="How many?", truth=over([1, 2, 3], "x"), values=range(11), start=5)
    options = {
        "name": "one", "title": "One", "question": "What?", "minutes": 5,
        "prediction": Prediction(asked=[bar], answer="So."), "sliders": [x],
        "stages": [Stage(title="Predict", words="Look.", panels=[0], at={"x": 1})],
        "panels": [panel], "onwards": FollowUp(label="Mine"),
    }  # fmt: skip
    return Lesson(**(options | changes))


def test_a_lesson_travels_with_the_stage_as_its_first_slider():
    described = head(made().payload)
    assert [slider["name"] for slider in described["sliders"]] == [STAGE, "guess", SAID, "x"]
    assert [slider["hidden"] for slider in described["sliders"]] == [True, True, True, False]
    assert described["lesson"]["stages"][0]["at"] == {"3": 1.0}
    assert described["lesson"]["prediction"]["bars"][0]["truth"]["by"] == [3]
    assert described["lesson"]["prediction"]["said"] == 2


def test_a_picture_may_be_picked():
    pick = PictureGuess(panels=[0], right=over([1, 1, 1], "x"))
    described = head(made(prediction=Prediction(asked=pick, answer="So.")).payload)
    assert described["lesson"]["prediction"]["pick"]["panels"] == [0]


@pytest.mark.parametrize("stage", [
    Stage(title="A", words="", panels=[0], at={"y": 1}),
    Stage(title="A", words="", panels=[0], sliders=["y"]),
    Stage(title="A", words="", panels=[0, 1]),
    Stage(title="A", words="", panels=[]),
])  # fmt: skip
def test_a_stage_names_what_there_is(stage):
    with pytest.raises(ValueError, match=r"Stages move|Every panel"):
        _ = made(stages=[stage]).payload


def test_values_of_a_formula_have_their_places():
    formula = Formula(latex=r"a = \frac{\text{@b}}{2}", values={"b": "4"}, source="us")
    assert formula.mathml.count('data-value="b"') == 1
    for wrong in (Formula(latex="a", values={"b": "4"}, source="us"),
                  Formula(latex=r"\text{@c}", values={"b": "4"}, source="us")):  # fmt: skip
        with pytest.raises(ValueError, match="each place a value"):
            _ = wrong.mathml


def test_a_file_without_a_scene_is_refused():
    with pytest.raises(ValueError, match="at least one scene"):
        html.html("nothing", [])


def test_names_in_a_file_are_escaped():
    scene = html.Scene("</script><b>", made().payload)
    text = html.html("<b>", [scene, scene], "<i>")
    assert "<b>" not in text
    assert "<i>" not in text


def test_a_file_has_the_colours_of_the_pages():
    theme = tomllib.loads((ROOT / ".streamlit" / "config.toml").read_text())["theme"]
    text = html.html("", [html.Scene("", made().payload)])
    for side in ("light", "dark"):
        for name in ("primary", "background", "text"):
            assert f"--st-{name}-color: {theme[side][f'{name}Color']};" in text


def test_the_module_has_one_export():
    assert live.script().count("export ") == 1


def test_the_command_writes_every_lesson(tmp_path):
    assert main(["lessons", "--html", str(tmp_path / "all")]) == 0
    assert {path.stem for path in (tmp_path / "all").iterdir()} == set(NAMES)


def test_the_command_writes_the_one_that_is_named(tmp_path):
    folder = tmp_path / "one"
    assert main(["lessons", "--html", str(folder), "--only", NAMES[0]]) == 0
    assert [path.name for path in folder.iterdir()] == [f"{NAMES[0]}.html"]
    with pytest.raises(SystemExit) as ended:
        main(["lessons", "--html", str(tmp_path), "--only", "none"])
    assert ended.value.code == 2
