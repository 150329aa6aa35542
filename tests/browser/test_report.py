"""A report opened from disk, without a network: it draws, stays still, and can be taken apart."""

import json

import numpy as np
import pytest
from playwright.sync_api import expect

from tests.browser.driving import LONG, npz, settled, shown, until, without_charts
from tests.reports import HOSTILE, NUMBERS, Fake, answer, diagnosed, table
from validation_core import report
from validation_core.tables import Upload

WORDS = "<img src=x onerror=window.planted=1>\n</script><script>window.planted=1</script>"


@pytest.fixture(scope="module")
def upload():
    return table(d=len(HOSTILE), shift=0.5, names=HOSTILE)


@pytest.fixture(scope="module")
def written(upload, tmp_path_factory):
    """A report of names that mean harm, two panels, and its raw draws."""
    chosen = [Fake(figures=2), Fake(name="over_x")]
    document = report.html(
        diagnosed(upload), {item.name: answer(NUMBERS, item) for item in chosen}, panels=chosen,
        notes=WORDS, path="<b id=planted>.npz", draws=upload.arrays(),
    )  # fmt: skip
    path = tmp_path_factory.mktemp("report") / "report.html"
    path.write_text(document, encoding="utf-8")
    return path


def opened(page, path):
    """The report, all that it folds opened, all its figures drawn."""
    page.goto(path.as_uri())
    page.locator("html[data-drawn]").wait_for()
    page.evaluate("document.querySelectorAll('details').forEach((one) => { one.open = true })")
    expect(page.locator(".js-plotly-plot")).to_have_count(page.locator(".drawing").count())
    return page


@pytest.fixture
def offline(unplugged, written):
    """A function: what the screen is like -> a report, `written` or another, without a network."""
    yield lambda path=written, **screen: opened(unplugged.seen(**screen), path)
    unplugged.leave()


def saved(page, button):
    with page.expect_download(timeout=LONG) as started:
        button.click()
    return started.value


def test_every_figure_is_drawn_without_a_network(offline):
    page = offline()
    places = page.locator(".drawing")
    expect(places).to_have_count(5)
    for i in range(5):
        expect(places.nth(i).locator("svg.main-svg").first).to_be_visible()
    expect(page.locator(".js-plotly-plot")).to_have_count(5)
    assert page.locator(".drawing .trace").count() > 5
    assert page.locator("html").get_attribute("data-drawn") == "5"
    page.get_by_role("link", name="Numbers and data").click()
    expect(page.get_by_role("heading", name="Numbers and data")).to_be_in_viewport()


def test_nothing_that_was_named_runs_or_is_an_element(offline):
    page = offline()
    assert page.evaluate("window.planted") is None
    expect(page.locator("#planted")).to_have_count(0)
    expect(page.locator("main img")).to_have_count(0)
    expect(page.get_by_text(HOSTILE[1]).first).to_be_visible()
    expect(page.locator(".notes")).to_have_text(WORDS.replace("\n", ""))


def test_figures_are_saved_as_pictures(offline):
    page = offline(color_scheme="dark")
    first = page.locator("figure:has(.drawing)").first
    drawing = saved(page, first.get_by_role("button", name="Save as SVG"))
    assert drawing.suggested_filename.endswith(".svg")
    text = drawing.path().read_text()
    assert text.startswith("<svg")
    assert "rgb(255, 255, 255)" in text  # a white sheet, whatever the screen shows
    picture = saved(page, first.get_by_role("button", name="Save as PNG"))
    assert picture.suggested_filename.endswith(".png")
    assert picture.path().read_bytes()[:8] == b"\x89PNG\r\n\x1a\n"


def test_numbers_and_draws_come_out_again(offline, upload):
    page = offline()
    numbers = saved(page, page.get_by_role("button", name="Save the JSON"))
    assert json.loads(numbers.path().read_text())["digest"] == upload.digest
    draws = saved(page, page.get_by_role("button", name="Save the draws"))
    with np.load(draws.path(), allow_pickle=False) as stored:
        assert Upload.of(dict(stored)).digest == upload.digest


def test_letters_follow_the_theme_and_paper_is_white(offline):
    page = offline(color_scheme="light")
    letter = page.locator(".drawing .xtick text").first
    expect(letter).to_have_css("fill", "rgb(34, 39, 46)")
    page.emulate_media(color_scheme="dark")
    expect(letter).to_have_css("fill", "rgb(227, 230, 234)")
    expect(page.locator("body")).to_have_css("background-color", "rgb(20, 23, 28)")
    page.emulate_media(media="print")
    expect(page.locator("body")).to_have_css("background-color", "rgb(255, 255, 255)")
    expect(page.locator("nav")).to_be_hidden()


def test_it_fits_the_screen(offline):
    """As it is opened on a telephone, and as a window is drawn wider and narrower."""
    page = offline(viewport={"width": 400, "height": 800})
    wider = "document.scrollingElement.scrollWidth - document.documentElement.clientWidth"
    for width in (400, 1280, 760, 320):
        page.set_viewport_size({"width": width, "height": 800})
        page.wait_for_timeout(300)  # figures follow
        page.wait_for_function(f"{wider} <= 0")
    expect(page.get_by_role("heading", level=1)).to_be_in_viewport()


def test_packed_numbers_come_out_again(offline, tmp_path):
    numbers = list(np.random.default_rng(0).random(30_000))
    path = tmp_path / "long.html"
    document = report.html(diagnosed(table()), {"size": answer({"numbers": numbers})}, panels=[])
    path.write_text(document)
    page = offline(path)
    assert page.locator("#json").get_attribute("type") == "text/plain"
    file = saved(page, page.get_by_role("button", name="Save the JSON"))
    assert json.loads(file.path().read_text())["answers"]["size"]["numbers"] == numbers


def test_an_old_browser_is_told(window, written):
    page = window("file://", offline=True)
    page.add_init_script("delete window.DecompressionStream")
    page.goto(written.as_uri())
    expect(page.get_by_text("This browser has no DecompressionStream")).to_be_visible()
    expect(page.get_by_role("heading", name="Each test")).to_be_visible()
    expect(page.locator(".js-plotly-plot")).to_have_count(0)


def test_without_javascript_the_words_are_there(window, written):
    page = window("file://", offline=True, java_script_enabled=False)
    page.goto(written.as_uri())
    expect(page.get_by_text("Figures need JavaScript")).to_be_visible()
    page.locator("summary").filter(has_text="More").first.click()
    expect(page.get_by_text("If q were correct, all would be 0.").first).to_be_visible()
    expect(page.locator(".npt-card svg").first).to_be_visible()


@pytest.fixture
def page(lent, visit):
    """The page of a diagnosis, its words alone: the report draws its own charts."""
    with without_charts(lent.page):
        yield visit("diagnose")


def test_a_report_is_taken_from_the_page_and_opened(page, server, window, wrong, tmp_path):
    page.locator("input[type=file]").set_input_files(npz(wrong))
    take = page.get_by_role("button", name="Report", exact=True)
    shown(page.get_by_text("Loaded 100 simulations"))
    shown(take)
    page.get_by_role("button", name="Notes").click()
    notes = page.get_by_role("textbox", name="Notes")
    notes.fill("Tried twice, still too narrow.")
    notes.blur()
    assert until(lambda: page.wait_for_timeout(100) or server.kept("notes"))
    page.keyboard.press("Escape")
    settled(page)  # the run that kept the notes puts new buttons there
    path = tmp_path / "taken.html"
    saved(page, take).save_as(path)
    assert path.stat().st_size <= report.LIMIT
    alone = opened(window("file://", offline=True), path)
    expect(alone.locator(".npt-card h2")).to_have_text("Problem found")
    expect(alone.get_by_text("Tried twice, still too narrow.")).to_be_visible()
    places = alone.locator(".drawing").count()
    assert places > 8
    expect(alone.locator(".js-plotly-plot")).to_have_count(places)
    page.reload()
    page.get_by_role("button", name="Notes").click()
    expect(page.get_by_role("textbox", name="Notes")).to_have_value(
        "Tried twice, still too narrow.", timeout=LONG
    )
