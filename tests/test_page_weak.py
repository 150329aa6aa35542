"""The Weak classifiers page and the live chart it is drawn with."""

import json
import re
from pathlib import Path

import numpy as np
import pytest

from tests.picture_reading import Picture
from validation_core.drawing import live
from validation_core.drawing.marks import Axis, Line, Panel, Slider, VLine, over
from validation_core.explorers.weak_classifiers import pictures as weak_classifiers_pictures
from validation_core.explorers.weak_classifiers import study as weak_classifiers
from validation_core.store import SHIPPED, Store

PAGE = str(Path(__file__).parents[1] / "pages" / "main.py")
GRID = [0.0, 0.5, 1.0]


def made(**panel):
    marks = [Line([0, 1], over(np.arange(6).reshape(3, 2), "a"), color="#000000")]
    return live.payload(
        sliders=[Slider("a", GRID, label="A", start=0.5)],
        panels=[Panel(marks, x=Axis((0, 1)), y=Axis((0, 5)), **panel)],
    )


def unpacked(message):
    size = int.from_bytes(message[:4], "little")
    return json.loads(message[4 : 4 + size]), np.frombuffer(message[4 + size :], "<f4")


def shown(value, numbers, at):
    """What live.js writes for a packed sentence at these places of the sliders."""
    if isinstance(value, str):
        return value
    if "strings" in value:
        place = np.ravel_multi_index([at[s] for s in value["by"]], value["shape"])
        places = numbers.view({1: "<i1", 2: "<i2", 4: "<f4"}[value.get("bytes", 4)])
        return value["strings"][int(places[value["first"] + place])]
    parts = {name: shown(part, numbers, at) for name, part in value["parts"].items()}
    return value["template"].format(**parts)


@pytest.fixture
def page(page):
    page.query_params["n"] = "50"
    return page


def opened(page):
    return page.run().switch_page("weak/page.py").run()


def chart_of(page):
    (node,) = (part for part in page.get("bidi_component") if part.key != "drawer")
    return unpacked(node.proto.bytes)


def test_message_holds_the_numbers():
    head, numbers = unpacked(made().message((0.5,)))
    y = head["panels"][0]["marks"][0]["y"]
    assert (y["by"], y["shape"]) == ([0], [3, 2])
    np.testing.assert_array_equal(numbers[y["first"] : y["first"] + 6], np.arange(6))
    assert head["at"] == [0.5]


def test_captions_travel_once_each():
    packed = made(caption=over(["low", "high", "low"], "a"))
    head, numbers = unpacked(packed.message((0.0,)))
    caption = head["panels"][0]["caption"]
    assert caption["strings"] == ["high", "low"]
    assert [shown(caption, numbers, (i,)) for i in range(3)] == ["low", "high", "low"]


def test_equal_payloads_have_equal_digests():
    assert made().digest == made().digest
    assert made().digest != made(title="other").digest


def test_values_must_fit_the_sliders():
    axes = {"x": Axis((0, 1)), "y": Axis((0, 1))}
    for values, name in (([1.0, 2.0], "a"), (GRID, "b")):
        mark = VLine(over(values, name))
        with pytest.raises(ValueError, match="sliders"):
            live.payload(sliders=[Slider("a", GRID, label="A")], panels=[Panel([mark], **axes)])


def test_nearest_value_of_the_grid():
    assert made().nearest((0.6,)) == (0.5,)


def test_the_answer_of_the_paper(page):
    head, numbers = chart_of(opened(page))
    assert [s["name"] for s in head["sliders"]] == ["c", "angle"]
    assert len(head["panels"]) == 4
    assert shown(head["headline"], numbers, (20, 0)).startswith("At c = 1 and 0°, C2ST catches q")


@pytest.mark.parametrize("n", [50, 100, 1000])
def test_no_loss_is_the_thresholds_where_that_is_at_its_best_place(n):
    why = weak_classifiers_pictures.headline(weak_classifiers.closed_form_power(n)).parts["why"]
    best = weak_classifiers_pictures.OFFSETS == 0
    assert not any("threshold" in words for words in why.values[best].ravel())
    assert n > 50 or any("counting right answers" in words for words in why.values[best].ravel())


def test_headline_at_a_hundred_draws():
    exact = weak_classifiers.closed_form_power(100)
    text = weak_classifiers_pictures.headline(exact)
    at = {name: part.values[(20, 0)[: part.values.ndim]] if part.sliders[0] == "c" else
          part.values[0] for name, part in text.parts.items()}  # fmt: skip
    assert text.template.format(**at) == (
        "At c = 1 and 0°, C2ST catches q in 54.5% of samples, Multiple in 96.9%: half of the "
        "collapse comes from the wrong null variance, the rest from the threshold."
    )


def test_page_runs_and_tells_its_numbers(page):
    at = opened(page)
    assert not at.exception
    table = at.table[0].value
    assert list(table.index) == ["C2ST", "C2ST, per-class variance", "Multiple", "Uniform(50)"]
    assert table["Trials that rejected"].str.endswith("of 400").all()


def test_each_test_is_told_its_own_rate_under_a_correct_q(page):
    """C2ST rejects a correct q ever more seldom as the boundary moves off; the others do not."""
    page.query_params["c"] = "1"
    at = opened(page)
    alarms = at.table[0].value["Would reject a correct q"]
    assert list(alarms[["C2ST", "Multiple", "Uniform(50)"]]) == ["0.3%", "5.0%", "5.0%"]
    said = " ".join(text.value for text in at.markdown)
    assert (
        "not turned, C2ST would reject 4.1% at c = 0, 0.3% at c = 1 and under 0.1% at c = 2"
        in said
    )
    assert weak_classifiers.false_alarms(50).c2st[20, 0] == pytest.approx(0.0030, abs=1e-4)


def test_a_link_opens_the_place_it_names(page):
    page.query_params["c"] = "0.61"
    page.query_params["angle"] = "nonsense"
    head, _ = chart_of(opened(page))
    assert head["at"] == [0.6, 0.0]


def test_m_changes_only_uniform(page):
    at = opened(page)
    before = at.table[0].value["Trials that rejected"]
    at.select_slider(key="m").set_value(1).run()
    after = at.table[0].value["Trials that rejected"]
    assert list(before[:3]) == list(after[:3])
    assert after.index[3] == "Uniform(1)"


def test_pvalues_are_written_as_on_other_pages(tmp_path):
    blocks = weak_classifiers.draw(200, 0)
    study = weak_classifiers.BoundaryPowerStudy(n=200)
    power = study.load(Store(tmp_path, gallery=SHIPPED))
    pvalues = weak_classifiers.sample_pvalues(blocks, 50, 0)
    drawn = weak_classifiers_pictures.payload(
        blocks, pvalues, power.exact, power.rejections(50), power.trials, 50
    )
    said = [text for text in Picture(drawn).texts(c=1) if "p-values of this sample" in text]
    assert said
    assert not any(re.search(r"[ (]\.\d", text) for text in said)


def test_shipped_power_is_what_closed_forms_and_trials_give(tmp_path):
    study, m = weak_classifiers.BoundaryPowerStudy(n=50), 5
    power = study.load(Store(tmp_path, gallery=SHIPPED))
    multiple, uniform = weak_classifiers.count_rank_rejections(50, m, power.trials, seed=0)
    nominal, per_class = weak_classifiers.count_accuracy_rejections(50, power.trials, seed=0)
    computed = weak_classifiers.RejectionRates(nominal, per_class, multiple, uniform)
    for shipped, anew in zip(power.rejections(m), computed, strict=True):
        np.testing.assert_array_equal(shipped, anew)
    for shipped, anew in zip(power.exact, weak_classifiers.closed_form_power(50), strict=True):
        np.testing.assert_allclose(shipped, anew, rtol=1e-12)


@pytest.mark.parametrize("n", weak_classifiers.SIZES)
def test_only_a_blind_score_is_said_to_see_nothing(n):
    """At 85 degrees power is near the level with 50 draws, yet more draws would find q."""
    rates = weak_classifiers.closed_form_power(n)
    words = weak_classifiers_pictures.headline(rates).parts["why"].values
    blind = np.char.find(words.astype(str), "no test of it can") >= 0
    right_angle = np.broadcast_to(weak_classifiers.DEGREES == 90.0, blind.shape)
    np.testing.assert_array_equal(blind, right_angle)


def test_no_closed_form_is_0_or_1():
    for rate, said in ((1e-9, "under 0.1%"), (0.048, "4.8%"), (0.99996, "over 99.9%")):
        assert weak_classifiers_pictures.closed_form_text(rate) == said
