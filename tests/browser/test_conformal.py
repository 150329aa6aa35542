"""The workbench as a visitor uses it: it learns unasked, gamma and beta move, jobs are left."""

import itertools
import os
import re
import signal

import pytest
from playwright.sync_api import expect

from tests.browser.driving import (
    LONG,
    expect_no_overflow,
    follows,
    no_exception,
    settled,
    shown,
    until,
)

# Little work, and no gallery has it at this seed.
FEW = "conformal-c2st?n=100&m=5&seed=5"
# 21 networks of 2000 epochs, of this seed and the next two: nothing that ends while a test looks.
MANY = "conformal-c2st?preset=paper&seed="


def _slider(page, index):
    return page.locator(".live input[type=range]").nth(index)


def _headline(page):
    return page.locator(".live .headline")


def _drawn(page):
    """Every path of the chart that follows the sliders."""
    return page.locator(".live svg path").evaluate_all("all => all.map(p => p.getAttribute('d'))")


def _button(page, name):
    return page.get_by_role("button", name=name)


def _started(page):
    """A training that a worker has begun."""
    _button(page, re.compile("as in the paper")).click()
    shown(_button(page, "Cancel"))
    shown(page.get_by_text(re.compile(r"\d of \d+ done · Train Gaussian")).first)
    return page


@pytest.fixture(scope="module")
def network(lent, server):
    """The one network, learnt by the visit alone; what fails here is not tried again."""
    page, before = lent.seen(), server.kept("models")
    workers = server.workers()
    for worker in workers:  # else what is there meanwhile may be gone before it is looked at
        os.kill(worker, signal.SIGSTOP)
    try:
        page.goto(f"{server.url}/{FEW}", timeout=LONG)
        expect(_headline(page)).to_contain_text("Until the classifier has learnt", timeout=LONG)
        expect(page.locator(".live figure")).to_have_count(6)
    finally:
        for worker in workers:
            os.kill(worker, signal.SIGCONT)
    expect(_headline(page)).to_contain_text("draws a side, has an AUC of", timeout=LONG)
    expect(page.get_by_text(re.compile(r"200? trials a point")).first).to_be_visible(timeout=LONG)
    lent.leave()
    return server.kept("models") - before


@pytest.fixture
def trained(network, visit):
    """The workbench where its network is trained."""
    page = visit(FEW)
    expect(_slider(page, 0)).to_be_visible()
    return page


def test_learning_ends_in_one_network(trained, network):
    assert len(network) == 1
    expect(trained.get_by_text("over all 17 gammas")).to_be_visible()
    no_exception(trained)


def test_gamma_and_beta_move_every_picture_and_ask_nobody(trained, server):
    kept = server.kept("results")
    sent = []
    for index, place, words in ((0, "16", "gamma = 0.3 "), (1, "20", "beta = 1 ")):
        before = _drawn(trained)
        slider = _slider(trained, index)
        # `input` is what a drag sends; `change` only its end.
        slider.evaluate(
            "(node, place) => { node.value = place; node.dispatchEvent(new Event('input')) }",
            place,
        )
        expect(_headline(trained)).to_contain_text(words)
        assert follows(lambda: _drawn(trained), before, 3)
        assert len(_drawn(trained)) == len(before)
        sent.append(trained.url)
    assert not any("gamma=" in url or "beta=" in url for url in sent)
    assert server.kept("results") == kept


def test_play_goes_through_gamma(trained):
    _slider(trained, 0).fill("12")
    trained.get_by_role("button", name="Play").first.click()
    expect(_headline(trained)).to_contain_text("gamma = 0.3 ")
    expect(trained).to_have_url(re.compile(r"[?&]gamma=0\.3\b"))


def test_every_view_follows_beta(trained):
    views = trained.get_by_role("radiogroup", name="View").get_by_role("radio")
    expect(views.first).to_be_visible()
    calls = []
    for i in range(views.count()):
        views.nth(i).click()
        expect(views.nth(i)).to_be_checked()
        settled(trained)
        _slider(trained, 1).fill("5")
        # The theory's numbers are computed first.
        expect(_headline(trained)).to_contain_text("beta = 0.25", timeout=LONG)
        # The headline of the view before says the same until the new chart has come.
        assert until(lambda: not calls or _drawn(trained) != calls[-1]), i
        before = _drawn(settled(trained))
        _slider(trained, 1).fill("19")
        expect(_headline(trained)).to_contain_text("beta = 0.95 ")
        assert follows(lambda: _drawn(trained), before, 1)
        calls.append(before)
    assert all(item != other for item, other in itertools.pairwise(calls))
    no_exception(settled(trained))


def test_a_link_shows_the_same(trained):
    _slider(trained, 0).fill("10")
    _slider(trained, 1).fill("19")
    expect(trained).to_have_url(re.compile(r"[?&]beta=0\.95\b"))
    expect(trained).to_have_url(re.compile(r"[?&]gamma=0\.1\b"))
    trained.reload()
    expect(_headline(trained)).to_contain_text("At gamma = 0.1 and beta = 0.95 ", timeout=LONG)
    no_exception(settled(trained))


def test_results_fit_a_telephone(trained):
    trained.set_viewport_size({"width": 400, "height": 800})
    trained.reload()
    expect(_slider(trained, 0)).to_be_visible(timeout=LONG)
    expect_no_overflow(settled(trained))


def test_a_setting_that_is_left_is_given_up(visit, server):
    page = visit("conformal-c2st?seed=6&dims=%28100%2C+100%29")
    expect(_button(page, "Cancel")).to_be_visible(timeout=LONG)
    assert until(lambda: server.kept("jobs"))
    first = server.kept("jobs")
    page.get_by_role("spinbutton").fill("7")
    page.get_by_role("spinbutton").press("Enter")
    assert until(lambda: server.kept("jobs") - first, 60)
    assert until(lambda: not server.kept("jobs") & first, 60), "the setting before is still learnt"
    no_exception(page)


def test_work_outlives_a_reload_until_it_is_cancelled(visit, server):
    page = _started(visit(f"{MANY}1"))
    working, networks = server.workers(), server.kept("models")
    page.reload()
    shown(_button(page, "Cancel"))
    expect(page.get_by_role("progressbar")).to_be_visible()
    assert server.workers() == working
    assert server.kept("jobs")
    _button(settled(page), "Cancel").click()
    shown(page.get_by_text("was stopped").first)
    expect(_button(page, "Start again")).to_be_visible()
    assert until(lambda: not server.workers() & working), "the worker that trained goes on"
    assert until(lambda: not server.kept("jobs")), "the job is still on record"
    assert server.kept("models") == networks


def test_work_is_stopped_for_everyone_from_the_list_of_jobs(visit, server):
    page = visit(f"{MANY}11")
    _button(page, re.compile("as in the paper")).click()
    shown(_button(page, "Cancel"))  # it may wait for its worker still
    page.locator("[data-testid=stSidebarNavLink]").filter(has_text="Models and jobs").click()
    stop = _button(page, "Stop for everyone")
    shown(stop)
    _button(settled(page), "Stop for everyone").click()
    shown(page.get_by_text("Nothing runs at the moment."))
    assert until(lambda: not server.kept("jobs")), "the job is still on record"
