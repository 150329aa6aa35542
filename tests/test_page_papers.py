"""The page of the papers: its counts, its filters, its tables and their reasons."""

import pytest

from tests import page_links
from validation_core.explorers.papers import ITEMS
from validation_core.published import TABLES

PAGE = "papers/page.py"
ALL = [item for items in ITEMS.values() for item in items]


def opened(**query):
    page = page_links.opened(PAGE, query)
    assert not page.exception
    return page


def html(page):
    """The tables, as HTML."""
    return " ".join(block.proto.body for block in page.get("html") if "<table" in block.proto.body)


def rows(page):
    return html(page).count('class="section"')


@pytest.mark.usefixtures("_idle")
def test_it_counts_itself():
    page = opened()
    assert page.title[0].value == "The papers, item by item"
    (said,) = (block.value for block in page.markdown if "items of three papers" in block.value)
    agree = sum(item.state == "agrees" for item in ALL)
    assert said.startswith(f"Of {len(ALL)} items of three papers {agree} agree")
    assert "of the 126 numbers that they print" in said
    assert rows(page) == len(ALL)


@pytest.mark.usefixtures("_idle")
def test_filters_stand_in_the_address():
    page = opened(paper="colt", state=["differs"], find="size tree")
    chosen = [
        item for item in ITEMS["colt"] if item.state == "differs" and item.matches("tree size")
    ]
    assert 0 < rows(page) == len(chosen) < len(ITEMS["colt"])
    page.text_input(key="find").set_value("no such words").run()
    assert not html(page)
    assert "No item" in page.info[0].value


@pytest.mark.usefixtures("_idle")
def test_every_printed_number_is_drawn():
    page = opened(show="numbers")
    text = html(page)
    assert text.count('class="paper"') == text.count('class="ours"') == 126
    for table in TABLES:
        assert all(f">{table.text(number)}<" in text for number in table.numbers)
    assert not [caption for caption in page.caption if "No number of ours" in caption.value]
