"""From a posterior of sbi, through the file that users take to it, to a report read offline."""

import re
import time
import warnings
from contextlib import chdir

import pytest
import torch
from playwright.sync_api import expect

from tests.browser.driving import (
    download_from,
    no_exception,
    settled,
    shown,
    until,
    without_charts,
)
from validation_core import export, report
from validation_core.export.one_file import one_file

pytest.importorskip("sbi", reason="sbi is not installed: pip install .[sbi]")

ROWS, DRAWS, NAMES = 100, 20, ["mass", "spin"]
FOUND = re.compile(r"^\s*problem found\s*$", re.IGNORECASE)


@pytest.fixture(scope="module")
def exported(tmp_path_factory):
    """The table of a flow that learnt sixty simulations by heart: far too narrow."""
    folder = tmp_path_factory.mktemp("sbi")  # where sbi writes its logs
    with chdir(folder), warnings.catch_warnings(), torch.random.fork_rng():
        warnings.simplefilter("ignore")
        from sbi.inference import NPE
        from torch.distributions import MultivariateNormal

        torch.manual_seed(0)
        prior = MultivariateNormal(torch.zeros(2), torch.eye(2))
        theta = prior.sample((60,))
        trainer = NPE(prior=prior, show_progress_bars=False)
        trainer.append_simulations(theta, theta + 0.5 * torch.randn_like(theta))
        trainer.train(max_num_epochs=150, stop_after_epochs=150, learning_rate=3e-3)
        fresh = prior.sample((ROWS,))
        table = export.from_sbi(
            trainer.build_posterior(), fresh, fresh + 0.5 * torch.randn_like(fresh), DRAWS,
            theta_names=NAMES,
        )  # fmt: skip
        return table.save(folder / "npe.npz")


def _slow(route):
    """A network on which a page polls several times before a download begins.

    Streamlit asks once for each new address, which a poll may have replaced by then.
    """
    if route.request.resource_type == "fetch":
        return route.fulfill()
    time.sleep(2)
    route.continue_()


@pytest.mark.timeout(400)  # it trains, and waits for every panel
@pytest.mark.slow
def test_from_sbi_to_a_report(lent, visit, window, exported, tmp_path):
    take = lent.page.get_by_role("button", name="Report", exact=True)
    with without_charts(lent.page):  # it would draw its charts again with each answer
        page = visit("diagnose")
        page.locator("input[type=file]").set_input_files(exported)
        expect(page.get_by_text(f"{ROWS} simulations with {DRAWS} draws each")).to_be_visible()
        shown(page.get_by_role("heading", name=FOUND))
        card = page.locator(".npt-card")
        shown(card.filter(has_not_text="Being worked out"))
        for title in ("How wrong", "Where", "Likely cause", "Next"):
            expect(card.locator("dt").filter(has_text=title).first).to_be_visible()
        shown(take)
        no_exception(settled(page))
    page.reload()
    shown(take)
    no_exception(settled(page))
    page.locator("summary").filter(has_text="How wrong").click()
    shown(page.locator(".js-plotly-plot").first)
    for name in NAMES:
        expect(page.get_by_text(name).first).to_be_visible()
    page.route("**/media/**", _slow)
    path = tmp_path / "report.html"
    download_from(page, take).save_as(path)
    assert path.stat().st_size <= report.LIMIT
    alone = window("file://", offline=True)
    alone.goto(path.as_uri())
    alone.locator("html[data-drawn]").wait_for()
    expect(alone.locator(".npt-card h2")).to_have_text("Problem found")
    for title in ("How wrong", re.compile("^Where"), "Likely cause"):
        expect(alone.get_by_role("heading", name=title).first).to_be_visible()
    alone.evaluate("document.querySelectorAll('details').forEach((one) => { one.open = true })")
    places = alone.locator(".drawing").count()
    assert places > 4
    expect(alone.locator(".js-plotly-plot")).to_have_count(places)
    expect(alone.get_by_text(NAMES[0]).first).to_be_visible()


def test_the_file_for_ones_own_environment_is_on_the_page(visit):
    """What is downloaded is the file itself, and every snippet can be copied."""
    page = visit("diagnose")
    page.get_by_role("button", name="Save one from your model").click()
    sent = download_from(page, page.get_by_role("button", name="export.py"))
    assert sent.suggested_filename == "export.py"
    text = sent.path().read_text()
    compile(text, "export.py", "exec")
    assert text == one_file()
    for title, code in export.SNIPPETS.items():
        page.get_by_role("tab", name=title, exact=True).click()
        first = page.get_by_role("tabpanel").locator("code:visible").first
        assert until(lambda: first.inner_text().split() == code.split()), title  # noqa: B023
