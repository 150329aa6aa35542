"""The overview names every method and benchmark and opens six doors."""

from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest

from validation_core.benchmarks import BENCHMARKS
from validation_core.methods import METHODS

MAIN = Path(__file__).parents[1] / "pages" / "main.py"


@pytest.fixture(scope="module")
def page():
    return AppTest.from_file(str(MAIN), default_timeout=60).run()


def test_it_runs(page):
    assert not page.exception
    assert page.title[0].value == "Is a learned posterior right?"


def test_every_method_and_benchmark_is_named(page):
    methods, benchmarks = (table.value for table in page.table)
    assert list(methods.index) == [kind.title for kind in METHODS.values()]
    for kind in BENCHMARKS.values():
        assert kind().label in benchmarks.index
    assert sum("Gaussian" in label for label in benchmarks.index) == 7


def test_every_paper_is_named_in_full(page):
    text = " ".join(block.value for block in page.markdown)
    for kind in (*METHODS.values(), *BENCHMARKS.values()):
        assert kind.paper.title in text


def test_doors(page):
    assert len(page.get("page_link")) == 6
