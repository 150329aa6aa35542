"""Every page, in its frame: by its menu, by a shared link, in the dark, on a telephone."""

import re

import pytest
from playwright.sync_api import expect

from tests.browser.accessibility import CONTRAST, faint, serious, words_in_pictures
from tests.browser.driving import (
    SIZE,
    SharedPage,
    expect_no_overflow,
    no_exception,
    registered_pages,
    serving,
    settled,
    shown,
)
from tests.browser.keyboard import keyboard_problems, tab_to
from tests.screens import SIZES, problems
from tests.server import free_port

PAGES = registered_pages()
NAMES = [page.title for page in PAGES]
ALIVE = (
    "", "weak-classifiers", "conformal-c2st", "colt", "symmetric-divergence", "compare",
    "diagnose", "observation", "compare-posteriors", "methods", "train-an-estimator",
)  # fmt: skip
"""Pages that show a picture at the first visit, no button in the way."""
DRAWN = (
    "", "lessons", "name-that-defect", "weak-classifiers", "conformal-c2st", "colt",
    "symmetric-divergence", "high-dimensions", "compare", "observation", "compare-posteriors",
    "train-an-estimator",
)  # fmt: skip
"""Pages whose pictures have words in SVG at the first visit."""
PHONE = {"color_scheme": "dark", "viewport": {"width": 400, "height": 800}}


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


@pytest.mark.timeout(400)  # all pages
def test_every_page_opens_from_the_menu(visit):
    """It names its tab, and has nothing that is serious to axe-core, and no faint words.

    Tab reaches every control, shows where it is, and comes to an end.
    """
    page = visit(PAGES[-1].path)
    title = _title(page)
    problems, words = [], []
    for name, path in PAGES:
        before = title.inner_text()
        _menu(page).filter(has_text=name).click()
        expect(title).not_to_have_text(before)
        expect(page).to_have_url(re.compile(rf"/{path}(\?.*)?$"))
        expect(page).to_have_title(f"{name} · NPT Lab")
        expect(_here(page)).to_have_text(name)
        settled(page)
        _in_frame(page)
        problems += [f"{name}: {problem}" for problem in serious(page)]
        words += [(f"{name}: {text}", contrast) for text, contrast in words_in_pictures(page)]
        problems += [f"{name}: {problem}" for problem in keyboard_problems(page)]
    expect(page.locator("link[rel*=icon]")).to_have_attribute("href", re.compile("svg"))
    room = page.get_by_test_id("stMainBlockContainer").bounding_box()["width"]
    assert room > 900  # a page's title leaves the frame's own settings alone
    assert not problems, "\n".join(problems)
    assert not faint(words)
    assert len(words) > 100


@pytest.fixture(scope="module")
def place(browser):
    """One port for one server after another, and a page for those who come first."""
    port = free_port()
    lent = SharedPage(browser, f"http://127.0.0.1:{port}")
    yield port, lent
    lent.context.close()


FIRST = [page for page in PAGES if page.path in ("", "symmetric-divergence", "diagnose")]
"""Where most begin, and the pages that have most to do at once."""


@pytest.mark.parametrize("listed_page", FIRST, ids=lambda page: page.path or "home")
def test_a_link_is_the_first_request_of_a_fresh_server(listed_page, place, tmp_path):
    """And dark and narrow, as below: a server knows neither theme nor screen.

    What is shown at a first visit was computed before, so that no worker need start for it.
    """
    port, lent = place
    with serving(tmp_path / "cache", port):
        _opens_dark_and_narrow(lent.visit(listed_page.path, **PHONE), listed_page)
        lent.leave()


REST = [page for page in PAGES if page not in FIRST]


@pytest.mark.parametrize("listed_page", REST, ids=lambda page: page.path)
def test_a_link_opens_dark_and_narrow(listed_page, visit):
    _opens_dark_and_narrow(visit(listed_page.path, **PHONE), listed_page)


def _opens_dark_and_narrow(page, listed_page):
    """In the menu, with a picture where there is one at the first visit.

    It fits and is dark; nothing is serious to axe-core; the words of its pictures stand out, and
    all words once the window is wide.
    """
    _in_frame(page)
    expect(_here(page)).to_have_text(listed_page.title)
    if listed_page.path in ALIVE:  # on an empty cache
        alive = (
            ".live .plot, .strip svg, .npt-card svg:visible, [data-testid=stPlotlyChart] .main-svg"
        )
        expect(page.locator(alive).first).to_be_visible()
        in_the_way = page.get_by_role("button", name=re.compile(r"^(Train|Run|Start|Compute)\b"))
        expect(in_the_way).to_have_count(0)
    expect_no_overflow(page)
    page.wait_for_function(
        """() => {
          const light = (color) => color.match(/[\\d.]+/g).slice(0, 3)
            .reduce((sum, part) => sum + Number(part), 0) / 3
          const of = (query) => getComputedStyle(document.querySelector(query))
          const paper = light(of('[data-testid=stApp]').backgroundColor)
          return paper < 60 && light(of('[data-testid=stMain] h1').color) > 160
        }"""
    )
    assert not serious(page)
    for size in (None, SIZE):
        if size:
            page.set_viewport_size(size)
        words = words_in_pictures(settled(page))
        assert not faint(words)
        assert len(words) > 5 or listed_page.path not in DRAWN
    assert not serious(page, CONTRAST)


@pytest.mark.parametrize("path", ["weak-classifiers", "observation", "compare-posteriors"])
@pytest.mark.parametrize("size", ["desk", "phone"])
def test_the_first_picture_is_on_the_first_screen(window, server, path, size):
    """With the sliders that move it, of the live charts and of plotly's."""
    phone = size == "phone"
    page = window(server.url, viewport=SIZES[size], has_touch=phone, is_mobile=phone)
    page.goto(f"{server.url}/{path}")
    shown(page.locator(".live svg[role=img], .js-plotly-plot").first)
    assert list(problems(settled(page))) == []


def test_all_is_done_by_keyboard(visit):
    """A prediction, the next lesson, a round of the game, a benchmark, the menu of a telephone."""
    page = visit("lessons", reduced_motion="reduce")
    press = page.keyboard.press
    tab_to(page, "best classifier")
    press("ArrowLeft")
    tab_to(page, "Show me")
    press("Enter")
    expect(page.locator(".lesson .answer")).to_contain_text("You said 89%; it is 60%.")
    settled(page)
    tab_to(page, "Next lesson")
    press("Enter")
    expect(page.get_by_role("heading", name="has not learned")).to_be_visible()
    page.goto(f"{page.url.partition('/lessons')[0]}/name-that-defect?seed=11")
    settled(page)
    tab_to(page, "Biased")
    press("Space")
    expect(page.get_by_role("button", name="Next round")).to_be_visible()
    settled(page)
    tab_to(page, "Next round")
    press("Enter")
    expect(page.get_by_text("Round 2 of 10")).to_be_visible()
    settled(page)
    page.set_viewport_size(PHONE["viewport"])
    page.goto(page.url.partition("/name-that-defect")[0])
    settled(page)
    tab_to(page, "Mode collapse")
    press("ArrowRight")
    press("Enter")
    expect(page).to_have_url(re.compile("benchmark=blind_prior"))
    settled(page)
    tab_to(page, "Expand sidebar")
    press("Enter")
    expect(_menu(page).first).to_be_in_viewport()
    tab_to(page, "Glossary")
    press("Enter")
    expect(_title(page)).to_have_text("Glossary")
    expect(_menu(page).first).not_to_be_in_viewport()
    no_exception(settled(page))


def _number(page):
    return page.get_by_label("Sample number")


def test_back_undoes_one_setting_after_another(visit):
    page = visit("weak-classifiers?n=200")
    for sample in ("1", "2"):
        page.get_by_test_id("stNumberInputStepUp").click()
        expect(page).to_have_url(re.compile(rf"\?n=200&sample={sample}$"))
        settled(page)
    c = page.get_by_role("slider", name="Shift of the boundary, c")
    before = c.get_attribute("aria-valuetext")
    c.press("End")
    expect(page).to_have_url(re.compile("&c="))
    settled(page)
    page.go_back()
    expect(page).to_have_url(re.compile(r"\?n=200&sample=2$"))
    settled(page)  # until then the chart of before stands beside the new one
    expect(c).to_have_attribute("aria-valuetext", before)
    page.go_back()
    expect(_number(page)).to_have_value("1")
    settled(page)
    page.go_back()
    expect(_number(page)).to_have_value("0")
    expect(page).to_have_url(re.compile(r"\?n=200$"))
    settled(page)
    page.go_forward()
    expect(_number(page)).to_have_value("1")
    no_exception(settled(page))


def test_settings_survive_another_page(visit):
    page = visit("weak-classifiers")
    page.get_by_test_id("stNumberInputStepUp").click()
    expect(page).to_have_url(re.compile(r"\?sample=1$"))
    settled(page)
    _menu(page).filter(has_text="Methods and benchmarks").click()
    expect(page).to_have_url(re.compile("/methods$"))
    settled(page)
    _menu(page).filter(has_text="Weak classifiers").click()
    expect(page).to_have_url(re.compile(r"/weak-classifiers\?sample=1$"))
    expect(_number(page)).to_have_value("1")
    settled(page)
    page.go_back()
    page.go_back()
    expect(page).to_have_url(re.compile("/methods$"))
    no_exception(settled(page))


def test_a_choice_stands_in_the_address_by_its_name(visit):
    page = visit("diagnose?level=1%25")
    page.get_by_text("Sample: too little trained").click()
    expect(page).to_have_url(re.compile(r"/diagnose\?level=0.01&source=narrow$"))
    page.go_back()
    expect(page).to_have_url(re.compile(r"/diagnose\?level=1%25$"))
    expect(page.get_by_text("Example:")).to_be_visible()
    no_exception(settled(page))
