"""The page of methods and benchmarks names each, and every paper in full."""

from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest

from validation_core.benchmarks import BENCHMARKS
from validation_core.methods import METHODS

PAGE = Path(__file__).parents[1] / "pages" / "catalogue.py"


@pytest.fixture(scope="module")
def page():
    return AppTest.from_file(str(PAGE), default_timeout=60).run()


def test_it_runs(page):
    assert not page.exception
    assert page.title[0].value == "Methods and benchmarks"


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
