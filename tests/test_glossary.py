"""One glossary: every word once, linked at its first mention, and nothing within other words."""

import re

from streamlit.testing.v1 import AppTest

from tests.conftest import ROOT
from validation_core import METHODS
from validation_core.diagnosis.questions import QUESTIONS
from validation_core.glossary import in_markdown, terms


def test_every_word_stands_once_and_is_short():
    names = [term.name for term in terms()]
    anchors = [term.anchor for term in terms()]
    assert len({*names}) == len(names)
    assert len({*anchors}) == len(anchors)
    for term in terms():
        assert term.meaning.endswith((".", ")."))
        assert len(term.meaning) < 260
    assert {kind.title for name, kind in METHODS.items() if name != "omnibus"} <= {*names}


def test_nats_of_a_shift_are_those_of_the_symmetric_divergence():
    """One convention: b posterior sd apart are b² nats, as on the page and in lesson 8."""
    meaning = {term.name: term.meaning for term in terms()}["nats"]
    assert "KL(p‖q) + KL(q‖p) of two normals of one width, b posterior sd apart, is b²" in meaning


def test_the_first_mention_alone_is_linked():
    text = in_markdown("The bias of mass, a bias in unbiased words, and coverage.")
    assert text.count("](glossary#bias)") == 1
    assert "[coverage](glossary#coverage)" in text
    assert "unbiased" in text
    assert in_markdown("dc and uniform x") == "dc and uniform x"
    assert in_markdown("Uniform") == "[Uniform](glossary#conformal-c2st-uniform)"


def test_every_reading_guide_explains_its_words():
    for question in QUESTIONS:
        assert "](glossary#" in in_markdown(question.reading_guide), question.name


def test_every_link_has_its_place_on_the_page():
    page = AppTest.from_file(str(ROOT / "pages" / "glossary.py"), default_timeout=120).run()
    assert not page.exception
    anchors = {item.proto.anchor for item in page.subheader}
    guides = " ".join(in_markdown(question.reading_guide) for question in QUESTIONS)
    assert {*re.findall(r"glossary#([a-z0-9-]+)\)", guides)} <= anchors
