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

import validation_core as npt
from tests import flows, rules
from tests.conftest import few_trials
from validation_core import Store
from validation_core.cli.diagnose import _read_aloud
from validation_core.diagnosis import learning
from validation_core.diagnosis.card import card
from validation_core.diagnosis.questions import Asked
from validation_core.report import card as shown
from validation_core.scores.classifier import Classifier
from validation_core.tables import Upload

QUICK = Classifier(epochs=4, lr=1e-2, batch=64, hidden=8, layers=2)
SMALL = {"steps": 8, "batch": 16, "draws_step": 4, "hidden": 8, "layers": 1, "start": "origin"}
USUAL = ("size", "over_x", "in_theta", "observation", "cause")


@pytest.fixture(autouse=True)
def _small(monkeypatch):
    """Small networks and few simulated tables: what is tested is what is said of them."""
    few_trials(monkeypatch)
    monkeypatch.setattr(learning, "RECIPE", QUICK)
    monkeypatch.setattr(learning, "LOCALIZER", SMALL)
    slots = learning.slot_recipe
    monkeypatch.setattr(learning, "slot_recipe", lambda upload: replace(slots(upload), trees=8))


def diagnosed(kind, state, way, folder):
    """A table of this kind, asked in this way."""
    table = flows.arrays(kind, state)
    return npt.diagnose(table, store=Store(folder), progress=False, **flows.how(way))


def outputs(result, capsys):
    """Every output; what they say of the verdict is one thing."""
    one = result.card
    capsys.readouterr()
    _read_aloud(replace(result, asked=replace(result.asked, how="--answers NAME")))
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


@pytest.mark.parametrize("state", ["problem found", "no problem found"])
def test_the_usual_way_to_ask_is_right_in_every_output(state, tmp_path, capsys):
    walked("table", state, "usual", tmp_path, capsys)


MATRIX = [
    *flows.covering(
        (flows.KINDS, flows.STATES, flows.WAYS), lambda kind, state, way: flows.possible(kind, state)
    )
]


@pytest.mark.slow
@pytest.mark.parametrize(("kind", "state", "way"), MATRIX)
def test_every_pair_of_table_state_and_way(kind, state, way, tmp_path, capsys):
    alone = way.startswith("method") and way != "method: omnibus"
    walked(kind, state, way, tmp_path, capsys, certain=not alone)
