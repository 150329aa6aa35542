"""Every page, in its frame: by its menu, by a shared link, in the dark, on a telephone."""

import re

import pytest
from playwright.sync_api import expect

from tests.browser.driving import listed, no_exception, overflow, serving, settled

PAGES = listed()
NAMES = [page.title for page in PAGES]
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
    assert _title(page).inner_text().strip()


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


@pages
def test_a_link_is_the_first_request_of_a_fresh_server(listed_page, window, tmp_path):
    with serving(tmp_path / "cache") as fresh:
        page = window(fresh.url)
        page.goto(f"{fresh.url}/{listed_page.path}")
        settled(page)
        _in_frame(page)
        expect(_here(page)).to_have_text(listed_page.title)
        page.context.close()


@pages
def test_dark_and_narrow(listed_page, visit):
    page = visit(listed_page.path, color_scheme="dark", viewport={"width": 400, "height": 800})
    no_exception(page)
    assert overflow(page) <= 0
    paper, ink = page.evaluate(
        """() => {
          const light = (color) => color.match(/[\\d.]+/g).slice(0, 3)
            .reduce((sum, part) => sum + Number(part), 0) / 3
          const of = (query) => getComputedStyle(document.querySelector(query))
          return [light(of('[data-testid=stApp]').backgroundColor),
                  light(of('[data-testid=stMain] h1').color)]
        }"""
    )
    assert paper < 60 < 160 < ink
