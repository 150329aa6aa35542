"""The card: right on planted defects, never more than is claimed, safe with any name."""

import io
import re
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
from PIL import Image

import validation_core as npt
from tests import flows
from tests.conftest import QUICK
from tests.fixed_claims import FixedClaims
from tests.reports import HOSTILE, diagnosed, table
from validation_core import Store, diagnosis
from validation_core.cli.diagnose import print_diagnosis
from validation_core.diagnosis import examples, tasks
from validation_core.diagnosis.card import diagnosis_card, typeset
from validation_core.diagnosis.card import pictures as draw
from validation_core.diagnosis.card.inputs import CardInputs
from validation_core.diagnosis.card.place import where_wrong
from validation_core.diagnosis.card.size import how_wrong
from validation_core.diagnosis.questions import Asked, Names, answered_questions, by_name
from validation_core.diagnosis.questions.calibration.result import ClaimedErrors
from validation_core.diagnosis.questions.observation.place import unlike
from validation_core.diagnosis.questions.over_x.result import ErrorsOverX
from validation_core.diagnosis.questions.surface import PAGE, PYTHON, TERMINAL, TOOLS
from validation_core.diagnosis.tasks import register_upload, save_upload
from validation_core.drawing import letters, svg
from validation_core.drawing.marks import Axis, Line, Note, Panel, Points, over
from validation_core.methods import SBC, Omnibus
from validation_core.relabelling.claims import Claims
from validation_core.report import card as shown
from validation_core.scores.upload_training import USUAL, trained_by
from validation_core.store import SHIPPED
from validation_core.tables import Upload

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
def _small_localizer():
    with trained_by(replace(USUAL, localizer=QUICK.localizer)):
        yield


@pytest.mark.slow
@pytest.mark.usefixtures("_small_localizer")
@pytest.mark.parametrize(
    ("kind", "wrong", "where", "cause", "step"),
    [
        ("narrow", "radius: .*too narrow", "No change over x", "too narrow", "simula"),
        ("bias over part of x", "mass: q sits .* too high", "Where x_1 .*0\\.2", "biased", "x_1"),
        ("lost correlation", "mass and radius: .*correlation \\+0\\.[67]", "No change over x",
         "wrong correlation", "correlations"),
        ("missed mode", "mass: (3[5-9]|4[0-5])% of true values .*group of their own",
         "No change over x", "misses a mode", "multimodal"),
        ("bias in one of four", "spin: q sits 0\\.[23]\\d posterior sd too high",
         "No change over x", "biased", "Train longer"),
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
    if kind == "bias over part of x":  # its title is the finding
        assert re.fullmatch("Where x_1 .*, q's mass is too high", one.picture.title)


@pytest.mark.slow
@pytest.mark.usefixtures("_small_localizer")
def test_an_exact_q_gets_a_card_that_says_what_was_worth_saying(tmp_path):
    result = npt.diagnose(
        planted("exact"), questions=QUESTIONS, store=Store(tmp_path), progress=False
    )
    facts, steps = words(result.card)
    assert result.card.title == "No problem found"
    assert "does not show that q is correct" in result.card.sentence
    assert "A bias below about 0.1" in facts["Could be missed"]
    assert "in one parameter" in facts["Could be missed"]
    assert "bring about 4,000 simulations" in steps
    assert result.card.picture.title == "What would have been found"


@pytest.mark.parametrize("alpha", [0.01, 0.05])
def test_power_is_told_of_the_level_that_it_was_counted_at(tmp_path, alpha):
    """Simulated tables ship at level 5%: at another the verdict's own curve stands for them."""
    upload, store = examples.exact(), Store(tmp_path, gallery=SHIPPED)
    methods = diagnosis.default_methods()
    records, _ = tasks.records(store, upload, methods, 0)
    found = diagnosis.verdict(records, upload, alpha=alpha, seed=0)
    answers = answered_questions(store, upload, methods, 0)
    missed = words(diagnosis_card(found, answers))[0]["Could be missed"]
    sentences = answers["sensitivity"].describe(found)
    assert ("below about" in missed) == (alpha != 0.05)
    assert all(("at level 0.05" in each) == (alpha != 0.05) for each in sentences)


def test_a_card_waits_for_what_is_to_come():
    one = diagnosis_card(diagnosed(table(n=400), pending=2), {})
    assert one.title == "Testing"
    assert one.sentence == "Nothing speaks against q so far."
    assert "Being worked out." in words(one)[0].values()
    assert len(one.next_steps) == 3
    assert 'class="picture"' in shown.html(one)


def test_two_samples_have_a_card():
    rng = np.random.default_rng(0)
    same = Upload.of({"p": rng.standard_normal((80, 2)), "q": rng.standard_normal((80, 2))})
    one = diagnosis_card(diagnosed(same), {})
    assert len(one.next_steps) == 3
    assert "Upload theta, x and theta_q" in " ".join(one.next_steps)


def test_small_tables_say_that_they_are_small():
    one = diagnosis_card(diagnosed(table(n=12, k=5)), {})
    assert one.title == "Not enough data"
    assert re.search(r"Bring about [\d,]+ simulations", one.next_steps[0])


def test_few_true_values_are_told_from_few_rows(shared):
    """400 rows of 50 true values: what is missed does not read as what would be enough."""
    file = shared / "cases" / "same_theta_8_noises.npz"
    result = npt.diagnose(
        npt.read(file), methods=["omnibus:learned=false"], questions=(), progress=False
    )
    facts, steps = words(result.card)
    assert "a bias of 0.5 posterior sd would be found" in steps
    assert "distinct true values" in steps
    assert "A bias below about 0.5 posterior" not in facts["Could be missed"]


def sharing():
    """A correct q whose rows share 25 sets of draws, where each question needs its own."""
    rng = np.random.default_rng(3)
    sets = np.repeat(rng.normal(size=(25, 20, 2)), 8, axis=0)
    return npt.Table(rng.normal(size=(200, 2)), np.repeat(np.arange(25.0), 8)[:, None], sets)


def test_what_cannot_be_asked_is_no_finding(tmp_path, capsys):
    """The rule that a table breaks stands after that nothing is known, not as what is possible."""
    asked = ["omnibus:learned=false"], ("size", "over_x")
    result = npt.diagnose(sharing(), *asked, progress=False, store=Store(tmp_path))
    facts, _ = words(result.card)
    assert result.verdict == "no problem found"
    assert facts["Still possible"].startswith("Not known. Rows must be independent")
    assert facts["Where"] == "Not known. The reason is the same."
    (record,) = result.records
    assert record.statistic < 0  # more than one as clear is expected by chance
    print_diagnosis(result)
    printed = capsys.readouterr().out
    assert f"how many chance makes −{-record.statistic:.4g}\n" in printed
    assert "−log p" not in printed


def test_questions_that_were_not_asked_are_said_alike(tmp_path):
    how = {"questions": "none", "progress": False, "store": Store(tmp_path)}
    result = npt.diagnose(table(n=300), ["omnibus:learned=false"], **how)
    facts, _ = words(result.card)
    assert facts["Still possible"] == 'Not asked (questions=["size"]).'
    assert facts["Where"] == 'Not asked (questions=["over_x"]).'


@pytest.mark.parametrize(("n", "k", "d"), [(60, 1, 1), (40, 3, 4), (300, 1, 2), (100, 30, 2)])
def test_what_is_still_possible_is_what_the_answer_leaves_open(n, k, d, tmp_path):
    """One draw at each x tells a bias though no width, and an open end of one parameter counts."""
    rng = np.random.default_rng(1)
    theta, q = rng.standard_normal((n, d)), rng.standard_normal((n, k, d))
    unknown = npt.Table(theta, rng.standard_normal((n, 1)), q)
    how = {"progress": False, "store": Store(tmp_path)}
    result = npt.diagnose(unknown, ["omnibus:learned=false"], "size", **how)
    assert result.verdict != "problem found"
    possible = words(result.card)[0]["Still possible"].rstrip(".")
    answer = result["size"].sentences[0]
    assert possible.lower() in answer.lower() or possible.startswith("Too few rows or draws")
    assert possible.startswith("Too few") == (
        answer.endswith("a bias of any size (95% intervals).")
    )


@pytest.mark.parametrize("sizes", [{"k": 1}, {"d": 1}, {"n": 30, "k": 2, "d": 5}])
def test_every_shape_that_is_rejected_has_its_picture(sizes, tmp_path):
    upload = table(shift=3.0, **sizes)
    store = Store(tmp_path)
    register_upload(upload)
    save_upload(store, upload)
    for study in by_name("size").studies(upload, [], 0):
        study.run(store, lambda fraction, live: None)
    answers = answered_questions(store, upload, [], 0, [by_name("size")])
    one = diagnosis_card(diagnosed(upload), answers)
    assert one.title == "Problem found"
    assert one.picture is not None
    assert "too high" in words(one)[0]["How wrong"]
    assert Image.open(io.BytesIO(shown.image(one))).size[0] == 2240


def test_a_name_is_text_everywhere_on_a_card():
    names = HOSTILE[:2]
    one = diagnosis_card(diagnosed(table(shift=2.0, names=names)), {})
    for markup in (shown.html(one), shown.html(one, words="")):
        assert "<b>bold" not in markup
        assert "<script" not in markup
    assert shown.image(one, HOSTILE[1]).startswith(b"\x89PNG")


def test_words_lead_to_the_glossary_once():
    one = diagnosis_card(diagnosed(table(shift=2.0)), {})
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
    one = diagnosis_card(diagnosed(table(shift=2.0), [SBC()]), {})
    assert one.title == "Problem found"
    assert one.to_json()["next_steps"] == list(one.next_steps)


@pytest.fixture
def _small(monkeypatch, quick_training):
    flows.small(monkeypatch)


def asked(arrays, questions, folder):
    """The card of the verdict alone and of these answers."""
    store = Store(folder)
    return npt.diagnose(arrays, ["omnibus"], questions, store=store, progress=False).card


@pytest.mark.usefixtures("_small")
def test_parameters_that_are_off_alike_are_counted(tmp_path):
    rng = np.random.default_rng(0)
    theta, q = rng.standard_normal((300, 5)), 0.6 * rng.standard_normal((300, 40, 5))
    narrow = {"theta": theta, "x": rng.standard_normal((300, 1)), "theta_q": q}
    wrong = words(asked(narrow, ("size",), tmp_path / "narrow"))[0]["How wrong"]
    assert re.match(r"All 5 parameters too narrow \(0\.5\d to 0\.6\d times the width", wrong)
    assert re.search(r"; worst theta_[1-5]: \d+% intervals hold \d+% of true values", wrong)
    assert wrong.count("times the width") == 1
    high = narrow | {"theta_q": 0.7 + rng.standard_normal((300, 40, 5))}
    wrong = words(asked(high, ("size",), tmp_path / "high"))[0]["How wrong"]
    assert re.match(
        r"All 5 parameters biased: q sits 0\.\d\d to 0\.\d\d posterior sd too hi", wrong
    )


@pytest.mark.usefixtures("_small")
def test_one_of_two_that_is_off_is_not_counted(tmp_path):
    wrong = words(asked(flows.planted("one of two narrow"), ("size",), tmp_path))[0]["How wrong"]
    assert wrong.startswith("theta_2: ")


@pytest.mark.usefixtures("_small")
def test_advice_follows_what_was_found(tmp_path, monkeypatch):
    alike = asked(flows.planted("shift"), ("over_x",), tmp_path / "alike")
    facts, steps = words(alike)
    assert facts["Where"].startswith("No change over x is found (p ")
    assert "alike" not in facts["Where"], "not found is not told to be absent"
    assert "Simulate more where" not in steps
    with monkeypatch.context() as patch:  # a claim along x that the same error everywhere explains
        patch.setattr(Claims, "clearest_family", "over_x")
        again = asked(flows.planted("shift"), ("over_x",), tmp_path / "alike")
        facts, steps = words(again)
        assert "is found (p " in facts["Where"]
        assert ": an error that is the same everywhere would explain" in facts["Where"]
        assert "Simulate more where" not in steps
    ignored, steps = words(
        asked(flows.planted("ignores x_2"), ("size", "over_x", "cause"), tmp_path / "ignored")
    )
    assert "q's error follows x_2" in ignored["Where"]
    assert "q does not seem to use x_2: check that it reaches the network." in steps
    assert "Simulate more where" not in steps


def test_few_rows_with_many_draws_are_not_told_to_draw_more():
    few, many = (diagnosis_card(diagnosed(table(n=12, k=k)), {}) for k in (5, 120))
    assert any("Draw at least 100" in step for step in few.next_steps)
    assert not any("Draw at least 100" in step for step in many.next_steps)


@pytest.mark.usefixtures("_small")
def test_a_cause_that_is_not_found_is_no_defect_that_is_not_there(tmp_path):
    rng = np.random.default_rng(3)
    theta, q = rng.standard_normal((300, 2)), 1.22 * rng.standard_normal((300, 40, 2))
    wide = {"theta": theta, "x": rng.standard_normal((300, 1)), "theta_q": q}
    facts = words(asked(wide, ("size", "cause"), tmp_path))[0]
    assert "too wide" in facts["How wrong"]
    assert "None of the known defects" not in facts["Likely cause"]
    assert "too narrow" not in facts["Likely cause"]


@pytest.mark.parametrize("d", [1, 2, 30])
def test_an_observation_of_the_simulator_is_like_its_simulations(d):
    """The farthest of n + 1 exchangeable ones in 1 / (n + 1): of 300 tables of 99 rows, few."""
    rng = np.random.default_rng(d)
    warned = 0
    for _ in range(300):
        x = rng.standard_t(3, (100, d))
        warned += unlike(_observed(x[1:], x[0])) is not None
    assert warned <= 10  # 3 are expected at most; more in 0.03%


def _observed(x, x_o):
    rng = np.random.default_rng(0)
    more = {
        "theta": rng.standard_normal((len(x), 1)),
        "theta_q": rng.standard_normal((len(x), 5, 1)),
    }
    return Upload.of({"x": x, "x_o": x_o, "theta_o": rng.standard_normal((5, 1)), **more})


def test_an_observation_far_from_every_simulation_is_told_first():
    rng = np.random.default_rng(0)
    upload = _observed(rng.standard_normal((200, 3)), np.full(3, 66.0))
    one = diagnosis_card(diagnosed(upload), {})
    assert re.fullmatch(
        "Your observation is unlike every simulation: its nearest is 6\\d sd away "
        "\\(usual: 0\\.\\d+\\)\\. This diagnosis says nothing about q there\\.",
        one.warning,
    )
    assert one.to_json()["warning"] == one.warning
    assert (one.state, one.title) == ("unlike", "No answer for your observation")
    assert one.sentence.startswith("At the simulations themselves no problem is found")
    markup = shown.html(one)
    assert markup.index("unlike every simulation") < markup.index("<h2>")
    assert shown.image(one).startswith(b"\x89PNG")
    near = _observed(rng.standard_normal((200, 3)), np.zeros(3))
    assert diagnosis_card(diagnosed(near), {}).warning is None


def test_numbers_have_a_minus_and_no_zero_a_sign():
    assert typeset("x_1 < -1.02, (-0.01 to 0.2), -.5") == "x_1 < −1.02, (−0.01 to 0.2), −.5"
    assert typeset("+0.00, -0.00, −0.0, -0.05, +0.3.") == "0.00, 0.00, 0.0, −0.05, +0.3."
    assert typeset("p = 3e-16; run-7; 3-5; a_-1") == "p = 3e-16; run-7; 3-5; a_-1"


def test_the_title_of_a_picture_stays_on_its_side_of_the_image():
    long = "True values over q's draws where the exposure of the detector is 3 to 4 and not less"
    lines = letters.wrap_text(long, 520, 16, bold=True)
    assert len(lines) > 1
    assert " ".join(lines) == long


def test_ticks_tell_numbers_of_any_size_apart():
    for low, high in ((0, 1e-9), (1e9, 1e9 + 4), (-3, 3), (0, 1)):
        ticks = svg.axis_ticks(Axis((low, high), "x"), 5)
        assert len({text for _, text in ticks}) == len(ticks) > 2
    framed = svg.svg(Panel([Line([0, 1], [0, 1], color="red")], x=Axis((0, 1), "x", percent=True),
                           y=Axis((0, 1), "y", percent=True)), 400)  # fmt: skip
    (at,) = re.findall(r'<text x="([\d.]+)"[^>]*text-anchor="middle"[^>]*>100%<', framed)
    assert float(at) + 2 * 6.6 <= 400


def test_the_picture_marks_the_number_that_the_sentence_quotes():
    """Ranks are smoothed for the sentence, not for the curve: one of the two would read 1% off."""
    ranks = np.linspace(0.01, 0.99, 60)
    shown = draw.coverage(ranks, "a", marked=(0.8, 0.64)).picture
    (note,) = [mark for mark in shown.marks if isinstance(mark, Note)]
    assert note.words == "80% intervals hold 64%"
    shown = draw.quantiles(ranks, "a", below=0.633).picture
    (note,) = [mark for mark in shown.marks if isinstance(mark, Note)]
    assert note.words == "63% lie below q's median"


def _narrow(width=0.7, n=200, k=50, seed=1):
    """A posterior of two parameters whose q is too narrow at every x."""
    rng = np.random.default_rng(seed)
    theta = rng.standard_normal((n, 2))
    x = theta + 0.5 * rng.standard_normal((n, 2))
    q = 0.8 * x[:, None] + width * 0.2**0.5 * rng.standard_normal((n, k, 2))
    return Upload.of({"theta": theta, "x": x, "theta_q": q})


def _placed(store, families):
    """The card inputs of a table that is too narrow, beside a bias claimed in one place of x."""
    result = npt.diagnose(
        _narrow(), [Omnibus(learned=False)], ("size", "over_x"), store=store, progress=False
    )
    answers = result.answers
    inputs = CardInputs(result.diagnosis, answers, result.asked)
    place = next(one for one in answers["over_x"].result.worst if one.kind == "shift")
    outside = replace(place.outside, value=0.01, low=-0.2, high=0.2, open=False)
    inside = replace(place.inside, value=0.5, low=0.1, high=0.9, open=False)
    inputs.__dict__["place"] = replace(place, inside=inside, outside=outside, parameter=1)
    inputs.__dict__["off"] = tuple(
        ClaimedErrors.of(one, families) for one in answers["size"].result.parameters
    )
    return inputs


def test_of_a_place_only_its_own_kind_of_error_is_told(tmp_path):
    """q is too narrow at every x: beside a bias in one place that is told, of both parameters."""
    inputs = _placed(Store(tmp_path), ("widths",))
    inputs.__dict__["_clearer_everywhere"] = False
    assert where_wrong(inputs).endswith("Elsewhere no bias of theta_2 is seen.")
    told = how_wrong(inputs)
    assert told.startswith("theta_2: q sits 0.50 posterior sd too high (0.10 to 0.90) there.")
    assert "theta_1 (too narrow)" in told
    assert "theta_2 (too narrow)" in told


def test_an_error_at_every_x_that_is_much_clearer_than_a_place_comes_first(tmp_path, monkeypatch):
    inputs = _placed(Store(tmp_path), ("widths",))
    monkeypatch.setattr(ErrorsOverX, "p_changes", lambda result, claims: 0.031)
    assert inputs.problem.place is None
    assert how_wrong(inputs).startswith("Both parameters too narrow")


def test_no_way_is_told_that_the_verdict_does_not_name(tmp_path):
    inputs = _placed(Store(tmp_path), ())
    inputs.__dict__["place"] = None
    for word in ("too narrow", "too wide", "times as wide", "posterior sd"):
        assert word not in how_wrong(inputs)
    (worst, *_) = by_name("size").describe(
        inputs.answers["size"].result, Names(()), FixedClaims(0.001, families=())
    )
    assert "by themselves say how" in worst
    assert "times as wide" not in worst


@pytest.mark.parametrize("family", ["widths", "shapes"])
def test_a_width_or_shape_that_a_clearer_place_explains_is_not_claimed(family):
    """As in the verdict's own list."""
    alike = SimpleNamespace(family=family, which=(0,), along=None, kind=family[:-1])
    move = SimpleNamespace(family="over_x", which=(0,), along=object(), kind="mean")
    for clear, told in (((5.0, 9.0), set()), ((9.0, 5.0), {family})):
        result = SimpleNamespace(
            claims=(alike, move),
            minus_log_p=clear,
            adjusted=np.full(2, 0.001),
            own=np.zeros(2),
            z=np.ones(2),
        )
        claims = Claims(result, 0.05)
        assert claims.named_of_parameter(0) == told
        assert claims.named_of_parameter(1) == set()
        clearest = claims.clearest_of(family)
        assert {clearest.claim.family} if clearest else set() == told
        assert claims.clearest_of(family, "over_x").claim is (alike if told else move)


def _off(kind, n=400, k=50, seed=0):
    """A posterior of one parameter whose q has one error."""
    rng = np.random.default_rng(seed)
    theta = rng.standard_normal((n, 1))
    x = theta + 0.5 * rng.standard_normal((n, 1))
    z = rng.standard_normal((n, k, 1))
    if kind in (0.1, 0.25):  # of x, in which it lies 3 sd too low
        z[x[:, 0] > np.quantile(x, 1 - kind)] -= 3
    elif kind == "both ways":
        z += np.sign(x)[:, None]
    elif kind == "narrow":
        z *= 0.7
    elif kind == "skewed":
        z = (rng.gamma(1.5, size=z.shape) - 1.5) / 1.5**0.5
    elif kind == "heavy tails":
        z = rng.standard_t(2.5, size=z.shape)
    return Upload.of({"theta": theta, "x": x, "theta_q": 0.8 * x[:, None] + 0.2**0.5 * z})


@pytest.mark.parametrize("questions", [(), ("size",)])
@pytest.mark.parametrize(
    ("kind", "family", "wrong"),
    [
        (0.1, "means", "centre is off"),
        (0.25, "means", "centre is off"),
        ("both ways", "over_x", "centre is off"),
        ("narrow", "widths", "wrong width"),
        ("skewed", "shapes", "wrong skew or tails"),
        ("heavy tails", "widths", "wrong width"),
    ],
)
def test_the_headline_names_an_error_that_the_verdict_names(
    kind, family, wrong, questions, tmp_path
):
    """Asked for its size or not; a place that changes over x is told where it was not asked."""
    result = npt.diagnose(
        _off(kind), [Omnibus(learned=False)], questions, store=Store(tmp_path), progress=False
    )
    named = {row["family"] for row in result.diagnosis.families() if row["named"]}
    assert family in named
    inputs = CardInputs(result.diagnosis, result.answers, result.asked)
    told, steps = words(result.card)
    if wrong == "centre is off":
        assert inputs.problem.kind == "bias"
        assert "shapes" not in named
        assert "widths" not in named
        assert told["Where"].endswith("Claimed: place of theta_1, changing along x_1.")
        assert "bias shrinks" in steps
    else:
        assert inputs.problem.kind == "width"
        assert "Claimed" not in told["Where"]
    if not questions or kind == "both ways":
        assert wrong in told["How wrong"]
    assert "over_x" in steps


def test_a_budget_that_was_spent_and_rows_too_few_are_told_apart(tmp_path):
    late = npt.diagnose(_narrow(), budget=0, store=Store(tmp_path), progress=False)
    assert late.card.sentence == "No test ran in time."
    assert late.card.next_steps[0] == (
        "Raise the argument budget: not everything was worked out in time."
    )
    assert "Not worked out in time: raise the argument budget." in late.to_json()
    one = npt.diagnose(_narrow(n=1), budget=0, store=Store(tmp_path), progress=False)
    assert one.card.next_steps[0] == "Bring at least 50 simulations; a few hundred are better."


SURFACES = {
    PAGE: ("Compare posteriors", "Open At my observation", "under Each test"),
    TERMINAL: ("nptlab compare A B", "nptlab observation FILE --row I", "--method all"),
    PYTHON: ("npt.compare([a, b])", "npt.observation(table, row)", 'methods="all"'),
    TOOLS: ("the tool compare", "Call observation with a row", "FILE --method all in a shell"),
}


@pytest.mark.parametrize("surface", SURFACES, ids=("page", "terminal", "python", "tools"))
def test_advice_can_be_followed_where_it_is_read(surface):
    pending = diagnosis.verdict([], table(), pending=3)
    assert diagnosis_card(pending, {}).sentence == "No test has answered yet."
    steps = diagnosis_card(pending, {}, Asked(surface=surface)).next_steps
    own = SURFACES[surface]
    for words in own:
        assert any(words in step for step in steps), words
    others = {words for each in SURFACES.values() for words in each}
    others = {words for words in others if not any(words in each for each in own)}
    assert not any(words in step for words in others for step in steps)


def test_where_the_cause_was_not_asked_to_ask_for_it_is_advised():
    found = diagnosed(table(shift=2.0))
    for surface, words in ((TERMINAL, "--questions cause,over_x"),
                           (PYTHON, 'questions=["cause", "over_x"]'),
                           (TOOLS, 'call ask for "cause", "over_x"')):  # fmt: skip
        steps = diagnosis_card(found, {}, Asked(frozenset(), surface=surface)).next_steps
        assert any(step.endswith(f"{words}.") for step in steps)
        assert not any("resemble" in step for step in steps)


def test_a_long_name_leaves_room_for_the_label_of_its_axis():
    ranks, name = np.linspace(0.01, 0.99, 99), "a" * 40 + "b" * 40
    cloud = np.random.default_rng(0).normal(size=(99, 20))
    pictures = draw.quantiles(ranks, name), draw.coverage(ranks, name)
    for drawn in (*pictures, draw.overlay(cloud[:, 0], cloud, name, "")):
        label = drawn.picture.x.label
        assert "…" in label
        assert len(label) < 50
