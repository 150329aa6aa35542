"""The workbench as a visitor uses it: train, move beta, reload while it trains, stop it."""

import itertools
import re

import pytest
from playwright.sync_api import expect

from tests.browser.driving import LONG, WAIT, no_exception, overflow, settled, until

# The blind prior has one gamma, hence one network: the cheapest thing to train. No gallery has it
# at this seed.
ONE = "conformal-c2st?perturbation=Blind+prior&seed=5"
# 7 networks of 2000 epochs: nothing that ends while a test looks on.
MANY = "conformal-c2st?preset=paper&seed="


def _slider(page):
    return page.locator(".live input[type=range]")


def _headline(page):
    return page.locator(".live .headline")


def _drawn(page):
    """Every path of the chart that follows the slider."""
    return page.locator(".live svg path").evaluate_all("all => all.map(p => p.getAttribute('d'))")


def _button(page, name):
    return page.get_by_role("button", name=name)


def _started(page):
    """A training that a worker has begun: its course is on screen."""
    _button(page, "Train the classifiers").click()
    expect(_button(page, "Cancel")).to_be_visible(timeout=LONG)
    expect(page.locator("[data-testid=stPlotlyChart]").first).to_be_visible(timeout=LONG)
    return page


@pytest.fixture(scope="module")
def network(browser, server):
    """The one network, trained with the button; what fails here is not tried again."""
    page, before = browser.new_page(), server.kept("models")
    page.goto(f"{server.url}/{ONE}")
    _button(page, "Train the classifiers").click(timeout=WAIT)
    expect(_slider(page)).to_be_visible(timeout=LONG)
    expect(_button(page, "Cancel")).to_have_count(0, timeout=LONG)
    page.close()
    return server.kept("models") - before


@pytest.fixture
def trained(network, visit):
    """The workbench where its network is trained."""
    page = visit(ONE)
    expect(_slider(page)).to_be_visible()
    return page


def test_training_ends_in_results(trained, network):
    assert len(network) == 1
    expect(trained.get_by_text("blind prior").first).to_be_visible()
    expect(_button(trained, "Train the classifiers")).to_have_count(0)
    expect(_headline(trained)).to_contain_text("At beta = 0 the classifier's AUC is")
    no_exception(trained)


def test_beta_moves_headline_and_figure(trained, server):
    networks = server.kept("models")
    before, sketch = _headline(trained).inner_text(), _drawn(trained)
    assert len(sketch) > 4
    _slider(trained).fill("20")
    expect(_headline(trained)).to_contain_text("At beta = 1 ")
    assert _headline(trained).inner_text() != before
    assert _drawn(trained) != sketch
    assert server.kept("models") == networks


def test_every_view_follows_beta(trained):
    views = trained.get_by_role("radiogroup", name="View").get_by_role("radio")
    expect(views.first).to_be_visible()
    calls = []
    for i in range(views.count()):
        views.nth(i).click()
        expect(views.nth(i)).to_be_checked()
        settled(trained)
        _slider(trained).fill("5")
        expect(_headline(trained)).to_contain_text("At beta = 0.25 ")
        # The headline of the view before says the same until the new chart has come.
        assert until(lambda: not calls or _drawn(trained) != calls[-1])
        before = _drawn(trained)
        _slider(trained).fill("19")
        expect(_headline(trained)).to_contain_text("At beta = 0.95 ")
        assert _drawn(trained) != before
        calls.append(before)
    assert all(item != other for item, other in itertools.pairwise(calls))
    no_exception(settled(trained))


def test_python_hears_of_beta_on_release(trained):
    _slider(trained).fill("19")
    expect(trained.get_by_role("heading", name="Power at beta = 0.95")).to_be_visible()
    expect(trained).to_have_url(re.compile(r"[?&]beta=0\.95\b"))
    trained.reload()
    expect(_headline(trained)).to_contain_text("At beta = 0.95 ")
    expect(trained.get_by_role("heading", name="Power at beta = 0.95")).to_be_visible()
    no_exception(settled(trained))


def test_results_fit_a_telephone(trained):
    trained.set_viewport_size({"width": 400, "height": 800})
    trained.reload()
    expect(_slider(trained)).to_be_visible(timeout=LONG)
    assert overflow(settled(trained)) <= 0


def test_cancel_stops_the_work(visit, server):
    page = _started(visit(f"{MANY}1"))
    working, networks = server.workers(), server.kept("models")
    assert server.kept("jobs")
    _button(page, "Cancel").click()
    expect(page.get_by_text("was stopped").first).to_be_visible(timeout=LONG)
    expect(_button(page, "Start again")).to_be_visible()
    assert until(lambda: not server.workers() & working), "the worker that trained goes on"
    assert until(lambda: not server.kept("jobs")), "the job is still on record"
    assert server.kept("models") == networks


def test_a_job_outlives_a_reload(visit, server):
    page = _started(visit(f"{MANY}2"))
    working = server.workers()
    page.reload()
    expect(_button(page, "Cancel")).to_be_visible(timeout=LONG)
    expect(page.get_by_role("progressbar")).to_be_visible()
    assert server.workers() == working
    page.locator("[data-testid=stSidebarNavLink]").filter(has_text="Models and jobs").click()
    stop = _button(page, "Stop for everyone")
    expect(stop).to_be_visible(timeout=LONG)
    stop.click()
    expect(page.get_by_text("Nothing runs at the moment.")).to_be_visible(timeout=LONG)
    assert until(lambda: not server.workers() & working)
