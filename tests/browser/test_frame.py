"""Every page, in its frame: by its menu, by a shared link, in the dark, on a telephone."""

import re

import pytest
from playwright.sync_api import expect

from tests.browser.driving import Lent, fits, listed, no_exception, serving, settled
from tests.server import free_port

PAGES = listed()
NAMES = [page.title for page in PAGES]
ALIVE = (
    "", "weak-classifiers", "conformal-c2st", "colt", "symmetric-divergence", "compare",
    "diagnose", "compare-posteriors", "methods",
)  # fmt: skip
"""Pages that show a picture at the first visit, no button in the way."""
pages = pytest.mark.parametrize("listed_page", PAGES, ids=lambda page: page.path or "home")


def _menu(page):
    return page.locator("[data-testid=stSidebarNavLink]")


def _labels(page):
    return page.locator("[data-testid=stSidebarNavLink] [label]")


def _here(page):
    return page.locator("[data-testid=stSidebarNavLink][aria-current=page] [label]")


def _title(page):
    return page.locator("[data-testid=stMain] h1")


def _in_frame(page):
    expect(_labels(page)).to_have_text(NAMES)
    expect(page.get_by_role("dialog")).to_have_count(0)
    no_exception(page)
    expect(_title(page)).to_have_text(re.compile(r"\S"))


def test_every_page_opens_from_the_menu(visit):
    page = visit(PAGES[-1].path)
    title = _title(page)
    for name, path in PAGES:
        before = title.inner_text()
        _menu(page).filter(has_text=name).click()
        expect(title).not_to_have_text(before)
        expect(page).to_have_url(re.compile(rf"/{path}(\?.*)?$"))
        expect(_here(page)).to_have_text(name)
        settled(page)
        _in_frame(page)


@pytest.fixture(scope="module")
def place(browser):
    """One port for one server after another, and a page for those who come first."""
    port = free_port()
    lent = Lent(browser, f"http://127.0.0.1:{port}")
    yield port, lent
    lent.context.close()


def _of_fresh_servers():
    """Pages that have work to do at once, and where most begin; the rest if slow."""
    for page in PAGES:
        marks = () if page.path in ALIVE else pytest.mark.slow
        yield pytest.param(page, marks=marks, id=page.path or "home")


@pytest.mark.parametrize("listed_page", list(_of_fresh_servers()))
def test_a_link_is_the_first_request_of_a_fresh_server(listed_page, place, tmp_path):
    port, lent = place
    with serving(tmp_path / "cache", port):
        page = lent.visit(listed_page.path)
        _in_frame(page)
        expect(_here(page)).to_have_text(listed_page.title)
        if listed_page.path in ALIVE:  # on an empty cache
            drawn = page.locator(".live .plot, .strip svg, [data-testid=stPlotlyChart] .main-svg")
            expect(drawn.first).to_be_visible()
            in_the_way = page.get_by_role("button", name=re.compile("^(Train|Run|Start|Compute)"))
            expect(in_the_way).to_have_count(0)
        lent.leave()


@pages
def test_dark_and_narrow(listed_page, visit):
    page = visit(listed_page.path, color_scheme="dark", viewport={"width": 400, "height": 800})
    no_exception(page)
    fits(page)
    page.wait_for_function(
        """() => {
          const light = (color) => color.match(/[\\d.]+/g).slice(0, 3)
            .reduce((sum, part) => sum + Number(part), 0) / 3
          const of = (query) => getComputedStyle(document.querySelector(query))
          const paper = light(of('[data-testid=stApp]').backgroundColor)
          return paper < 60 && light(of('[data-testid=stMain] h1').color) > 160
        }"""
    )
