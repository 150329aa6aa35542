"""Every kind of table, in every state, asked in every way, shown in every output: a matrix.

Nothing crashes, and no sentence contradicts the numbers beside it (`tests.rules`).
"""

import io
import json
import re
from dataclasses import replace

import numpy as np
import pytest
from PIL import Image
from streamlit.testing.v1 import AppTest

import validation_core as npt
from pages.ui.services import services
from tests import flows, rules
from tests.conftest import ROOT, nothing_worked_out
from validation_core import Store
from validation_core.cli.diagnose import print_diagnosis
from validation_core.diagnosis import default_methods, verdict
from validation_core.diagnosis.card import diagnosis_card
from validation_core.diagnosis.questions import QUESTIONS, Asked
from validation_core.diagnosis.questions.surface import TERMINAL
from validation_core.diagnosis.tasks import records, register_upload
from validation_core.report import card as shown
from validation_core.tables import Upload


@pytest.fixture(autouse=True)
def _small(monkeypatch, quick_training):
    flows.small(monkeypatch)


def diagnosed(kind, state, way, folder):
    """A table of this kind, asked in this way."""
    table = flows.arrays(kind, state)
    return npt.diagnose(table, store=Store(folder), progress=False, **flows.how(way))


def outputs(result, capsys):
    """Every output; what they say of the verdict is one thing."""
    one = result.card
    capsys.readouterr()
    print_diagnosis(replace(result, asked=replace(result.asked, surface=TERMINAL)))
    text = capsys.readouterr().out
    data = json.loads(result.to_json())
    html = shown.html(one)
    assert data["card"] == one.to_json()
    assert data["verdict"] == result.verdict
    assert data["pvalue"] == result.pvalue
    for words in (text, repr(result), re.sub("<[^>]*>", "", html)):
        assert one.title in words
        assert not any(waiting in words for waiting in rules.WAITING)
    assert text.index(f"{one.title}. {one.sentence}") >= 0
    assert Image.open(io.BytesIO(result.image())).size[0] == 2240
    drawings = result.figures()
    if one.state == "problem":
        assert one.picture is not None
        assert drawings[0].title == one.picture.title
        assert "<svg" in html
    assert all(drawing.title and drawing.figure is not None for drawing in drawings)
    assert len(result.to_frame()) == len(result.records)
    page = result.document()
    assert one.title in page
    assert "Being worked out" not in page
    assert result._repr_html_().startswith("<iframe")


def walked(kind, state, way, folder, capsys, *, certain=True):
    """One cell of the matrix."""
    result = diagnosed(kind, state, way, folder)
    if certain:
        assert result.verdict == state
    assert rules.broken(result) == []
    outputs(result, capsys)
    return result


def _one_state_each():
    """Every kind once, in states by turns."""
    for turn, kind in enumerate(flows.KINDS):
        states = [state for state in flows.STATES if flows.possible(kind, state)]
        way = ("none", "one: over_x", "one: size")[turn % 3]
        yield kind, states[turn % len(states)], way


@pytest.mark.parametrize(("kind", "state", "way"), [*_one_state_each()])
def test_every_kind_of_table_is_shown_in_every_output(kind, state, way, tmp_path, capsys):
    walked(kind, state, way, tmp_path, capsys)


@pytest.mark.parametrize("way", [way for way in flows.WAYS if "method" in way])
def test_every_method_alone_says_what_it_found(way, tmp_path, capsys):
    """What a single test cannot see is no contradiction: its own verdict is what is shown."""
    walked("table", "problem found", way, tmp_path, capsys, certain=False)


@pytest.mark.parametrize("error", flows.ERRORS)
def test_every_kind_of_error_is_told_without_contradiction(error, tmp_path, capsys):
    table = flows.planted(error)
    result = npt.diagnose(
        table, ["omnibus"], ("size", "over_x", "cause"), store=Store(tmp_path), progress=False
    )
    assert rules.broken(result) == []
    outputs(result, capsys)


@pytest.mark.parametrize("state", ["problem found", "no problem found"])
def test_the_usual_way_to_ask_is_right_in_every_output(state, tmp_path, capsys):
    walked("table", state, "usual", tmp_path, capsys)


MATRIX = [*flows.covering((flows.KINDS, flows.STATES, flows.WAYS), flows.possible)]


@pytest.mark.slow
@pytest.mark.parametrize(("kind", "state", "way"), MATRIX)
def test_every_pair_of_table_state_and_way(kind, state, way, tmp_path, capsys):
    walked(kind, state, way, tmp_path, capsys, certain=not way.startswith("method"))


PAGE = str(ROOT / "pages" / "diagnose/page.py")


@pytest.fixture
def opened(monkeypatch, tmp_path):
    """A function: the page after a table has been uploaded and everything has ended."""
    monkeypatch.setenv("NPTLAB_CACHE", str(tmp_path / "page"))
    services.clear()

    def upload(table, *rows):
        with nothing_worked_out(tmp_path / "example"):
            at = AppTest.from_file(PAGE, default_timeout=300)
            for name in rows:
                at.session_state[f"row-{name}"] = True
            at.run()
        file = io.BytesIO()
        np.savez(file, **table)
        at.file_uploader[0].upload("table.npz", file.getvalue()).run()
        assert not at.exception
        return at

    yield upload
    services.clear()


def card_on(at):
    """The markup of the card that a page shows."""
    (sent,) = [
        item.proto
        for item in at.get("bidi_component")
        if item.proto.component_name == "nptlab_card"
    ]
    return json.loads(sent.json)["html"]


def checked(at, title):
    """What the page says is said of something that has ended."""
    markup = card_on(at)
    assert f"<h2>{title}</h2>" in markup
    lines = [item.label for item in at.expander]
    told = [re.sub("<[^>]*>", "", markup), *lines, *(one.value for one in at.caption)]
    for words in told:
        assert not any(waiting in words for waiting in rules.WAITING), words
    return markup, lines


def test_the_page_draws_two_samples_that_differ(opened):
    markup, _ = checked(opened(flows.arrays("two samples", "problem found")), "Problem found")
    assert "Sample p over sample q" in markup
    assert "<svg" in markup


def test_the_page_warns_of_an_observation_unlike_every_simulation(opened):
    at = opened(flows.arrays("x_o far away", "no problem found"), "observation")
    markup, _ = checked(at, "No answer for your observation")
    first = re.search(r'<p class="warning" role="alert">(.*?)</p>', markup).group(1)
    assert "unlike every simulation" in re.sub("<[^>]*>", "", first)
    assert markup.index("unlike every") < markup.index("<h2>")
    (row,) = [item for item in at.expander if "At my observation" in item.label]
    assert "unlike every simulation" in row.label
    assert "check" not in row.proto.icon


def test_no_row_has_a_tick_under_a_red_card(opened):
    at = opened(flows.planted("pair", n=150, k=24))
    _, lines = checked(at, "Problem found")
    rows = [item for item in at.expander if "** · " in item.label]
    assert any("alone looks right" in item.label for item in rows)
    assert not any("No error is found" in line for line in lines)
    icons = [item.proto.icon for item in rows]
    assert any("error" in icon for icon in icons)
    assert not any("check" in icon for icon in icons)


@pytest.mark.slow
@pytest.mark.parametrize("kind", flows.KINDS)
def test_the_page_shows_every_kind_of_table(kind, opened):
    state = next(state for state in flows.STATES if flows.possible(kind, state))
    rows = ("size", "over_x") if kind in flows.LARGE else [one.name for one in QUESTIONS]
    checked(opened(flows.arrays(kind, state), *rows), state.capitalize())


def case(shared, name):
    """The arrays of a file that somebody brought."""
    path = shared / "cases" / f"{name}.npz"
    if not path.exists():
        pytest.skip("the folder of cases is not beside this checkout")
    return dict(np.load(path))


CARDS = {
    "theta_from_proposal": {"Likely cause": "do they come from a proposal, not the prior?"},
    "leak_past_box": {"Likely cause": "15% of theta_2's draws lie where no true value does"},
    "bias_of_3_sd_in_a_quarter": {
        "How wrong": "at least", "Likely cause": "q is biased in part of x.",
    },
    "linear_scale_decades": {"Likely cause": "why q is too narrow cannot be told"},
}  # fmt: skip
"""Of files that somebody brought: words of lines of the card."""


@pytest.mark.parametrize("name", CARDS)
def test_the_card_says_what_is_wrong_with_a_file(name, shared, tmp_path):
    table = {array: values[:300] for array, values in case(shared, name).items()}
    table["theta_q"] = table["theta_q"][:, :30]
    result = npt.diagnose(
        table, ["omnibus"], ("size", "over_x", "cause"), store=Store(tmp_path), progress=False
    )
    assert result.verdict == "problem found"
    assert rules.broken(result) == []
    facts = rules.facts(result.card)
    assert all(words in facts[label] for label, words in CARDS[name].items())


def test_a_card_of_standardised_draws_says_so_before_any_verdict(shared, tmp_path):
    table = {name: values[:300] for name, values in case(shared, "draws_standardised").items()}
    result = npt.diagnose(table, ["sbc"], "none", store=Store(tmp_path), progress=False)
    assert rules.broken(result) == []
    assert result.card.state == "mistake"
    assert "the draws are standardised" in rules.facts(result.card)["Scale"]
    assert "theta_q[..., 0] = 50.5 + 27.74 * theta_q[..., 0]" in result.card.next_steps[0]


def test_two_samples_that_differ_have_a_picture_everywhere(shared, tmp_path, capsys):
    table = case(shared, "two_samples_differ")
    result = npt.diagnose(table, questions="none", store=Store(tmp_path), progress=False)
    assert result.card.picture.title == "Sample p over sample q"
    assert rules.broken(result) == []
    outputs(result, capsys)


def test_sbc_alone_says_what_its_ranks_say_and_what_was_not_asked(shared, tmp_path, capsys):
    table = case(shared, "biased_plain")
    result = npt.diagnose(table, "sbc", "none", store=Store(tmp_path), progress=False)
    assert rules.facts(result.card) == {
        "How wrong": "theta_1: q sits too high; theta_2: q sits too high, by the ranks of true "
        "values (SBC).",
        "Where": 'Not asked (questions=["over_x"]).',
        "Likely cause": 'Not asked (questions=["cause"]).',
    }
    assert rules.broken(result) == []
    capsys.readouterr()
    print_diagnosis(replace(result, asked=replace(result.asked, surface=TERMINAL)))
    assert "Where: Not asked (--questions over_x)." in capsys.readouterr().out


def test_a_table_without_x_is_shown_or_refused_in_words(shared, tmp_path, capsys):
    path = shared / "cases" / "no_x_tarp.npz"
    if not path.exists():
        pytest.skip("the folder of cases is not beside this checkout")
    if refusal := _refused(path):
        assert "x" in refusal
        return
    result = npt.diagnose(npt.read(path), store=Store(tmp_path), progress=False)
    assert rules.broken(result) == []
    outputs(result, capsys)


def _refused(path):
    """Why a file is no table, or nothing."""
    try:
        npt.read(path)
    except ValueError as refusal:
        return str(refusal)
    return ""


def test_the_card_quotes_one_p_which_is_exact(tmp_path):
    """While tests are to come p is not what it will be: no number is shown."""
    upload = Upload.of(flows.arrays("table", "problem found"))
    result = npt.diagnose(upload, ["sbc"], "none", store=Store(tmp_path), progress=False)
    early = diagnosis_card(verdict(result.records, upload, pending=3), {})
    assert early.state == "problem"
    assert "p =" not in early.sentence
    assert "its exact p follows" in early.sentence


def test_what_did_not_end_is_not_said_to_run(tmp_path):
    upload = Upload.of(flows.arrays("table", "no problem found"))
    register_upload(upload)
    answered, pending = records(Store(tmp_path), upload, default_methods(), 0)
    found = verdict(answered, upload, pending=pending)
    running = diagnosis_card(found, {}, Asked(running=frozenset(one.name for one in QUESTIONS)))
    stopped = diagnosis_card(found, {}, Asked())
    assert {*rules.facts(running).values()} == {"Being worked out."}
    assert {*rules.facts(stopped).values()} == {"Not worked out: its job did not end."}
    assert (running.title, stopped.title) == ("Testing", "Not all tests have ended")


@pytest.mark.parametrize(
    ("fact", "text"),
    [
        ("How wrong", "theta_1: q sits 0.08 posterior sd too high (−0.01 to 0.17)."),
        ("How wrong", "theta_1: q is 1.05 times as wide as it should be there (0.96 to 1.14)."),
        ("How wrong", "No single parameter is off; q is wrong in how they go together."),
        ("How wrong", "theta_1: q sits -0.4 posterior sd off."),
        ("Where", "Being worked out."),
        ("Where", "It changes over x (p = 0.001), not in one place."),
        ("Likely cause", "Being worked out."),
    ],
)
def test_a_contradiction_breaks_a_rule(fact, text, tmp_path):
    """Each sentence was on screen."""
    table = flows.arrays("table", "problem found")
    result = npt.diagnose(table, "omnibus", "over_x", store=Store(tmp_path), progress=False)
    assert rules.broken(result) == []
    facts = tuple(
        replace(one, text=text) if one.label == fact else one for one in result.card.facts
    )
    false = replace(result.card, facts=facts)
    found, answers = result.diagnosis, result.answers
    assert [
        *rules.of_words(false),
        *rules.of_open(found, answers, result.asked, false),
        *rules.of_sizes(found, false),
        *rules.of_place(found, answers, false),
    ]
