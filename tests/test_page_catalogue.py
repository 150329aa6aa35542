"""The page of methods and benchmarks names each, and every paper in full."""

import pytest
from streamlit.testing.v1 import AppTest

from tests.conftest import ROOT
from validation_core.benchmarks import BENCHMARKS
from validation_core.methods import METHODS

MAIN = ROOT / "pages" / "main.py"


@pytest.fixture(scope="module")
def page():
    at = AppTest.from_file(str(MAIN), default_timeout=60).run()
    return at.switch_page("catalogue.py").run()


def test_it_runs(page):
    assert not page.exception
    assert page.title[0].value == "Methods and benchmarks"


def test_a_benchmark_opens_on_the_playground(page):
    link, *_ = page.get("page_link")
    assert "watch every test look at it" in link.proto.label


def test_every_method_and_benchmark_is_named(page):
    methods, benchmarks = (table.value for table in page.table)
    assert list(methods.index) == [kind.title for kind in METHODS.values()]
    for kind in BENCHMARKS.values():
        assert kind().label in benchmarks.index
    assert sum(label.startswith("Gaussian,") for label in benchmarks.index) == 7


def test_what_gamma_does_is_no_whole_sentence(page):
    """Pages put it before a full stop of their own."""
    _, benchmarks = (table.value for table in page.table)
    assert not [words for words in benchmarks["What γ does"] if words.endswith((".", " a biased"))]


def test_every_paper_is_named_in_full(page):
    text = " ".join(block.value for block in page.markdown)
    for kind in (*METHODS.values(), *BENCHMARKS.values()):
        assert kind.paper.title in text
