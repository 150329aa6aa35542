"""The card: right on planted defects, never more than is claimed, safe with any name."""

import io
import re

import numpy as np
import pytest
from PIL import Image

import validation_core as npt
from tests.reports import HOSTILE, diagnosed, table
from validation_core import Store
from validation_core.diagnosis import learning
from validation_core.diagnosis.card import card
from validation_core.diagnosis.questions import answered, by_name
from validation_core.diagnosis.tasks import hold, keep
from validation_core.figures import svg
from validation_core.figures.marks import Axis, Line, Panel, Points, over
from validation_core.methods import SBC
from validation_core.report import card as shown
from validation_core.tables import Upload

SMALL = {"steps": 8, "batch": 16, "draws_step": 4, "hidden": 8, "layers": 1, "start": "origin"}
QUESTIONS = ("size", "over_x", "in_theta", "cause")


def planted(kind, n=1000, k=200, seed=0):
    """A linear Gaussian posterior with three data whose q has one defect, or none."""
    rng = np.random.default_rng([seed, len(kind)])
    d = 4 if kind == "bias in one of four" else 2
    x = rng.standard_normal((n, 3))
    mean = x @ rng.standard_normal((3, d)) * 0.8
    sd = np.exp(0.25 * x[:, :1]) * np.linspace(0.5, 1.5, d)
    z, zq = rng.standard_normal((n, d)), rng.standard_normal((n, k, d))
    if kind == "narrow":
        zq[..., 1] *= 0.75
    if kind == "bias over part of x":
        zq[x[:, 0] > 0.3, :, 0] += 0.5
    if kind == "lost correlation":
        z[:, 1] = 0.7 * z[:, 0] + np.sqrt(1 - 0.49) * z[:, 1]
    if kind == "missed mode":
        z[rng.random(n) < 0.4, 0] += 5.0
    if kind == "bias in one of four":
        zq[..., 2] += 0.3
    return {
        "theta": mean + sd * z,
        "x": x,
        "theta_q": mean[:, None] + sd[:, None] * zq,
        "theta_names": np.array(["mass", "radius", "spin", "tilt"][:d]),
    }


def words(one):
    """A card's facts by label, its steps and its picture's title."""
    return {fact.label: fact.text for fact in one.facts}, " ".join(one.next_steps)


@pytest.fixture
def _small_localizer(monkeypatch):
    monkeypatch.setattr(learning, "LOCALIZER", SMALL)


@pytest.mark.slow
@pytest.mark.usefixtures("_small_localizer")
@pytest.mark.parametrize(
    ("kind", "wrong", "where", "cause", "step"),
    [
        ("narrow", "radius: .*too narrow", "every x alike", "too narrow", "simula"),
        ("bias over part of x", "mass: q sits .* too high", "Where x_1 .*0\\.2", "biased", "x_1"),
        ("lost correlation", "mass and radius: .*correlation \\+0\\.[67]", "every x alike",
         "wrong correlation", "correlations"),
        ("missed mode", "mass: (3[5-9]|4[0-5])% of true values .*group of their own",
         "every x alike", "misses a mode", "multimodal"),
        ("bias in one of four", "spin: q sits 0\\.[23]\\d posterior sd too high", "every x alike",
         "biased", "Train longer"),
    ],
)  # fmt: skip
def test_a_planted_defect_is_read_off_the_card(kind, wrong, where, cause, step, tmp_path):
    result = npt.diagnose(
        planted(kind), questions=QUESTIONS, store=Store(tmp_path), progress=False
    )
    one = result.card
    facts, steps = words(one)
    assert one.title == "Problem found"
    assert re.search(wrong, facts["How wrong"]), facts
    assert re.search(where, facts["Where"]), facts
    assert cause in facts["Likely cause"], facts
    assert step in steps
    assert len(one.next_steps) == 3
    assert one.picture is not None
    if kind == "missed mode":  # it is in the picture
        low, high = one.picture.picture.x.limits
        assert low < -2
        assert high > 6


@pytest.mark.slow
@pytest.mark.usefixtures("_small_localizer")
def test_an_exact_q_gets_a_card_that_says_what_was_worth_saying(tmp_path):
    result = npt.diagnose(
        planted("exact"), questions=QUESTIONS, store=Store(tmp_path), progress=False
    )
    facts, steps = words(result.card)
    assert result.card.title == "No problem found"
    assert "does not show that q is correct" in result.card.sentence
    assert "A bias of about 0.1" in facts["Could be missed"]
    assert "in one parameter" in facts["Could be missed"]
    assert "bring about 4,000 simulations" in steps
    assert result.card.picture.title == "What would have been found"


def test_a_card_waits_for_what_is_to_come():
    one = card(diagnosed(table(n=400), pending=2), {})
    assert one.title == "Testing"
    assert "Being worked out." in words(one)[0].values()
    assert len(one.next_steps) == 3
    assert 'class="picture"' in shown.html(one)


def test_two_samples_have_a_card():
    rng = np.random.default_rng(0)
    same = Upload.of({"p": rng.standard_normal((80, 2)), "q": rng.standard_normal((80, 2))})
    one = card(diagnosed(same), {})
    assert len(one.next_steps) == 3
    assert "Upload theta, x and theta_q" in " ".join(one.next_steps)


def test_small_tables_say_that_they_are_small():
    one = card(diagnosed(table(n=12, k=5)), {})
    assert one.title == "Not enough data"
    assert re.search(r"Bring about [\d,]+ simulations", one.next_steps[0])


@pytest.mark.parametrize("sizes", [{"k": 1}, {"d": 1}, {"n": 30, "k": 2, "d": 5}])
def test_every_shape_that_is_rejected_has_its_picture(sizes, tmp_path):
    upload = table(shift=3.0, **sizes)
    store = Store(tmp_path)
    hold(upload)
    keep(store, upload)
    for study in by_name("size").studies(upload, [], 0):
        study.run(store, lambda fraction, live: None)
    answers = answered(store, upload, [], 0, [by_name("size")])
    one = card(diagnosed(upload), answers)
    assert one.title == "Problem found"
    assert one.picture is not None
    assert "too high" in words(one)[0]["How wrong"]
    assert Image.open(io.BytesIO(shown.png(one))).size[0] == 2240


def test_a_name_is_text_everywhere_on_a_card():
    names = HOSTILE[:2]
    one = card(diagnosed(table(shift=2.0, names=names)), {})
    for markup in (shown.html(one), shown.html(one, words="")):
        assert "<b>bold" not in markup
        assert "<script" not in markup
    assert shown.png(one, HOSTILE[1]).startswith(b"\x89PNG")


def test_words_lead_to_the_glossary_once():
    one = card(diagnosed(table(shift=2.0)), {})
    linked = re.findall(r'href="glossary#([a-z-]+)"', shown.html(one))
    assert linked
    assert len({*linked}) == len(linked)
    assert "href" not in shown.html(one, words="")


def test_a_drawing_holds_its_marks_and_no_sliders():
    line = Line([0, 1], [0, 1], color="red")
    axis = Axis((0, 1), "a <b> & b")
    drawn = svg.svg(Panel([line], x=axis, y=axis), 300)
    assert "M" in drawn
    assert "a &lt;b&gt; &amp; b" in drawn
    assert "http" not in drawn
    assert "xmlns" in svg.svg(Panel([line], x=axis, y=axis), 300, alone=True)
    moving = Points(over(np.zeros((3, 2)), "beta"), [0, 1], color="red")
    with pytest.raises(TypeError):
        svg.svg(Panel([moving], x=axis, y=axis), 300)


def test_records_of_a_test_by_name_have_a_card():
    one = card(diagnosed(table(shift=2.0), [SBC()]), {})
    assert one.title == "Problem found"
    assert one.to_json()["next_steps"] == list(one.next_steps)
