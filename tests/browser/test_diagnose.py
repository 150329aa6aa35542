"""A researcher's visit: upload a table, read the verdict, take it away; and bad files."""

import json
import re

import numpy as np
import pytest
from playwright.sync_api import expect

from tests.browser.accessibility import faint, serious, words_in_pictures
from tests.browser.driving import (
    LONG,
    download_from,
    expect_no_overflow,
    no_exception,
    npz,
    press,
    settled,
    shown,
    without_charts,
)
from validation_core.diagnosis.questions import QUESTIONS

FOUND = re.compile(r"^\s*problem found\s*$", re.IGNORECASE)
NAMES = ["<b id=planted>bold</b>", "<img src=x onerror=window.planted=1>"]


def _upload(page, file):
    page.locator("input[type=file]").set_input_files(file)


def _remove(page, name):
    page.get_by_test_id("stFileChip").filter(has_text=name).get_by_role("button").click()


def _own(page, rows=100):
    """The page once it is about the user's own table, not the example."""
    loaded = page.get_by_text(f"Loaded {rows} simulations")
    return page.get_by_test_id("stMain").filter(has=loaded)


def _verdict(page, rows=100):
    return _own(page, rows).get_by_role("heading", name=FOUND)


def _answered(page):
    """The button that is there once every test has answered."""
    return _own(page).get_by_role("button", name="Report")


def _open(page, title):
    """A row, once its answer is there."""
    line = (
        _own(page).locator("summary").filter(has_text=title).last
    )  # of two while it is drawn anew
    shown(line.filter(has_not_text="Being worked out"))
    for _ in range(3):  # while answers still arrive a press may meet a row that is drawn anew
        settled(page)
        line.click()
        settled(page)
        if line.locator("xpath=..").get_attribute("open") is not None:
            return


def _json(page):
    """Every number, by the button under Data."""
    page.get_by_role("button", name="Data").click()
    return json.loads(
        download_from(page, page.get_by_role("button", name="JSON")).path().read_text()
    )


@pytest.fixture
def page(lent, visit):
    """The page, its words alone."""
    with without_charts(lent.page):
        yield visit("diagnose")


@pytest.mark.timeout(400)
def test_undertrained_two_moons(page, shared):
    with np.load(shared / "data" / "two_moons_undertrained.npz", allow_pickle=False) as stored:
        few = {name: stored[name][:150] for name in stored}
    few["theta_q"] = few["theta_q"][:, :20]
    _upload(page, npz(few))
    expect(page.get_by_text("150 simulations with 20 draws each")).to_be_visible()
    shown(_verdict(page, 150), 2 * LONG)
    shown(page.locator(".npt-card").filter(has_not_text="Being worked out"), 2 * LONG)
    no_exception(settled(page))


def test_a_wrong_table_can_be_taken_away_as_json_by_who_brought_it(page, visit, wrong):
    """Nobody else sees the table, not even with the address of the page that shows it."""
    _upload(page, npz(wrong))
    shown(_verdict(page))
    shown(_answered(page))
    data = _json(page)
    assert data["verdict"] == "problem found"
    assert data["card"]["title"] == "Problem found"
    assert len(data["card"]["next_steps"]) == 3
    assert (data["n"], data["k"]) == (100, 20)
    assert data["where"][0]["method"] == "colt"
    no_exception(page)
    expect(page).to_have_url(re.compile("table="))
    other = visit(page.url.rpartition("/")[2])
    expect(other.get_by_text("Example:")).to_be_visible()
    expect(_own(other)).to_have_count(0)
    expect(other.get_by_text("Your last tables")).to_have_count(0)


def test_the_questions_stand_in_their_order_on_a_telephone(visit, wrong):
    """Those whose answers come late have their places from the beginning; names stay text.

    Nothing is serious to axe-core, and no words are faint.
    """
    titles = [item.title for item in QUESTIONS]
    page = visit("diagnose", color_scheme="dark", viewport={"width": 400, "height": 800})
    _upload(page, npz({**wrong, "theta_names": np.array(NAMES)}))
    lines = _own(page).locator("summary strong")
    shown(lines.filter(has_text=titles[-1]))
    for place, title in enumerate(titles):  # a row is drawn anew in the moment its answer arrives
        expect(lines.nth(place)).to_have_text(title)
    shown(_answered(page))
    expect_no_overflow(settled(page))
    for title in titles:
        _open(page, title)
    expect(page.get_by_text("Numbers, 2 rows").first).to_be_visible()
    expect(page.locator("[data-testid=stPlotlyChart] .main-svg").nth(12)).to_be_attached()
    expect_no_overflow(settled(page))
    for name in NAMES:
        expect(page.get_by_text(name).first).to_be_visible()
    expect(page.locator("#planted")).to_have_count(0)
    expect(page.locator("img[src=x]")).to_have_count(0)
    assert page.evaluate("window.planted") is None
    assert not serious(page)
    assert not faint(words_in_pictures(page))
    charts = page.locator("[data-testid=stPlotlyChart][aria-label]")
    assert charts.count() > 5
    no_exception(page)


@pytest.mark.slow
def test_no_diagnosis_has_what_is_serious_in_the_light(visit, wrong):
    page = visit("diagnose", color_scheme="light")
    _upload(page, npz(wrong))
    shown(_answered(page))
    for line in _own(page).locator("summary strong").all():
        line.click()
        settled(page)
    assert not serious(page)
    assert not faint(words_in_pictures(page))


def test_a_refresh_in_the_middle_loses_nothing(page, server, wrong):
    _upload(page, npz({**wrong, "theta": wrong["theta"] + 0.01}, "kept.npz"))
    shown(_verdict(page))
    expect(page).to_have_url(re.compile("table="))
    before = server.kept("results")
    page.reload()
    shown(_verdict(page))
    expect(page.get_by_role("button", name="Close kept")).to_be_visible()
    assert before <= server.kept("results")
    page.get_by_role("button", name="Close kept").click()
    expect(_own(page)).to_have_count(0)
    page.get_by_role("button", name="kept, 100 rows").click()
    expect(_verdict(page)).to_be_visible()
    no_exception(page)


def test_an_observation_of_ones_own(page, wrong):
    _upload(page, npz(wrong))
    shown(_answered(page))
    _open(page, "At my observation")
    page.get_by_role("radio", name="An x of my own").click()
    box = page.get_by_role("textbox", name=re.compile("^x, 2 numbers"))
    for typed in ("1", "one, two"):
        box.fill(typed)
        box.press("Enter")
        expect(page.locator("[data-testid=stAlert]")).to_have_count(1)
        no_exception(settled(page))
    box.fill("0.25, -0.5")
    box.press("Enter")
    expect(page.locator("[data-testid=stAlert]")).to_have_count(0, timeout=LONG)
    shown(page.get_by_text("the nearest to what was asked for").first)
    no_exception(settled(page))


def test_the_ball_is_shown_where_the_user_looks(page, wrong):
    _upload(page, npz({**wrong, "theta_names": np.array(["mass", "spin"])}))
    shown(_answered(page))
    _open(page, "Where in theta")
    place = page.get_by_role("slider", name="Observation")
    shown(place)
    locator = page.locator(".live")
    for words in ("The region at this observation", "q inside", "mass", "spin", "press to choose"):
        expect(locator.get_by_text(words).first).to_be_visible()
    settled(page)
    text = locator.locator("output").inner_text()
    assert text
    place.press("ArrowRight")
    expect(locator.locator("output")).not_to_have_text(text)
    settled(page)  # the run that heard of the place may draw anew
    stood = place.input_value()
    press(locator.locator("figure").nth(1).locator("svg").last, 0.9, 0.2)
    expect(place).not_to_have_js_property("value", stood)
    page.get_by_role("radio", name="Around q").click()
    expect(locator.get_by_text("spin, in sd of q from its median").first).to_be_visible()
    no_exception(settled(page))


@pytest.mark.usefixtures("further")
def test_more_tests_are_asked_for_and_stay_in_the_address(page, wrong):
    _upload(page, npz(wrong))
    shown(_answered(page))
    _open(page, "Each test")
    page.get_by_text("More tests", exact=True).click()
    expect(page.get_by_text("about 1 s for 1,000 rows")).to_be_visible()
    expect(page.get_by_text("These are shown for comparison")).to_be_visible()
    page.get_by_role("button", name="MMD-FUSE").click()
    ran = page.get_by_role("row").filter(has_text="MMD-FUSE").filter(has_not_text="not run")
    shown(ran.first)
    expect(page).to_have_url(re.compile("more=mmd_fuse"))
    no_exception(settled(page))
    page.reload()
    shown(_answered(page))
    _open(page, "Each test")
    shown(ran.first)
    no_exception(settled(page))


def test_a_bad_file_gets_a_message_and_the_next_one_a_verdict(page, wrong):
    alert = page.locator("[data-testid=stAlert]")
    whole = npz(wrong)["buffer"]
    bad = {
        "text": b"these are not the draws you are looking for",
        "half": whole[: len(whole) // 2],
        "other": npz({"theta": wrong["theta"]})["buffer"],
        "objects": npz({**wrong, "theta": np.array([{}, {}], dtype=object)})["buffer"],
    }
    for kind, content in bad.items():
        _upload(page, {**npz({}, f"{kind}.npz"), "buffer": content})
        expect(alert).to_have_count(1)
        no_exception(settled(page))
        expect(alert).to_have_text(re.compile(r"[.?]\s*$"))
        _remove(page, kind)
        expect(alert).to_have_count(0)
    _upload(page, npz(wrong, "good.npz"))
    shown(_verdict(page))
    expect(alert).to_have_count(0)


def test_a_bad_file_beside_a_good_one(page, wrong):
    """It is refused by its name, and the good one has its verdict until it is taken away."""
    _upload(page, [npz(wrong, "good.npz"), {**npz({}, "bad.npz"), "buffer": b"no archive"}])
    alert = page.locator("[data-testid=stAlert]")
    expect(alert).to_have_count(1)
    expect(alert).to_contain_text("bad.npz")
    shown(_verdict(page))
    no_exception(settled(page))
    _remove(page, "bad.npz")
    expect(alert).to_have_count(0)
    _remove(page, "good.npz")
    expect(_own(page)).to_have_count(0, timeout=LONG)
    expect(page.get_by_role("button", name="good, 100 rows")).to_be_visible()
    no_exception(settled(page))
