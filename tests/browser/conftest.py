"""A server and a Chromium for the folder, and for each test a browser window that is watched.

Both end with the folder's last test: Playwright keeps an event loop running while it is open.
"""

import itertools
from contextlib import suppress
from urllib.parse import urlsplit

import numpy as np
import pytest
from playwright.sync_api import Error, expect, sync_playwright

from tests.browser.driving import (
    FLAGS,
    SIZE,
    WAIT,
    SharedPage,
    Watch,
    chromium,
    serving,
    settled,
    stop_work,
)
from tests.conftest import QUICK, few_trials
from validation_core import diagnosis
from validation_core.diagnosis import tasks
from validation_core.diagnosis.questions import QUESTIONS, by_name, question_studies
from validation_core.scores.upload_training import trained_by
from validation_core.store import Store
from validation_core.tables import Upload


def pytest_collection_modifyitems(items):
    """They wait for servers and workers: what hangs ends."""
    for item in items:
        if item.path.parent.name == "browser":
            item.add_marker(pytest.mark.browser)
            if item.get_closest_marker("timeout") is None:  # a marker here hides a module's
                item.add_marker(pytest.mark.timeout(180))


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item):
    """A failure says what its pages show: on another machine nobody can look."""
    report = yield
    if report.failed and "browser" in item.funcargs:
        for context in item.funcargs["browser"].contexts:
            for page in context.pages:
                with suppress(Error):
                    report.sections.append((page.url, page.inner_text("body", timeout=2000)))
    return report


@pytest.fixture(scope="package")
def browser():
    """Chromium, without a screen."""
    result = chromium()
    if result is None:
        pytest.skip(
            "no Chromium: install Debian's `chromium-headless-shell`, or set NPTLAB_CHROMIUM"
        )
    expect.set_options(timeout=WAIT)
    with sync_playwright() as playwright:
        opened = playwright.chromium.launch(executable_path=result, args=list(FLAGS))
        yield opened
        opened.close()


@pytest.fixture(scope="package")
def server(tmp_path_factory):
    """The server that most tests share."""
    with serving(tmp_path_factory.mktemp("served") / "cache") as started:
        yield started


@pytest.fixture(scope="package")
def wrong(server):
    """Draws that anyone can see are wrong: far too narrow, and beside the truth.

    Their diagnosis is on the server already, what takes longest from networks that learnt little.
    """
    rng = np.random.default_rng(1)
    theta = rng.standard_normal((100, 2))
    x = theta + 0.5 * rng.standard_normal((100, 2))
    q = 0.8 * x[:, None] + 0.5 + 0.1 * rng.standard_normal((100, 20, 2))
    arrays = {"theta": theta, "x": x, "theta_q": q}
    upload, methods = Upload.of(arrays), diagnosis.default_methods()
    work = (tasks.tasks(upload, methods, 0), tasks.maps(upload, methods, 0))
    _answer(server, upload, methods, itertools.chain(*work))
    return arrays


@pytest.fixture(scope="package")
def further(server, wrong):
    """What the same diagnosis says with MMD-FUSE, but for MMD-FUSE itself."""
    _answer(server, Upload.of(wrong), diagnosis.with_further(["mmd_fuse"]), ())


def _answer(server, upload, methods, work):
    """Do this work, then answer all questions."""
    store = Store(server.cache)
    tasks.register_upload(upload)
    with pytest.MonkeyPatch.context() as patch, trained_by(QUICK):
        few_trials(patch)
        for task in by_name("sensitivity").studies(upload, methods, 0):
            task.run(store, lambda fraction, live: None)
    for task in (*work, *question_studies(QUESTIONS, upload, methods, 0)):
        if not task.done(store):
            task.run(store, lambda fraction, live: None)


@pytest.fixture
def window(browser):
    """A function: base URL, options of the context -> an empty page of a new, watched context."""
    opened = []

    def make(url, **options):
        context = browser.new_context(**{"viewport": SIZE, **options})
        context.set_default_timeout(WAIT)
        watch = Watch(urlsplit(url).netloc)
        watch.over(context)
        opened.append((context, watch))
        return context.new_page()

    yield make
    for context, _ in opened:
        context.close()
    assert [error for _, watch in opened for error in watch.errors] == []
    assert [url for _, watch in opened for url in watch.outside] == []


@pytest.fixture(scope="package")
def lent(browser, server):
    """The page of the shared server that most tests are lent."""
    return SharedPage(browser, server.url)


@pytest.fixture(scope="package")
def unplugged(browser, tmp_path_factory):
    """A page that is lent without a network."""
    path = tmp_path_factory.mktemp("blank") / "blank.html"
    path.write_text("<!doctype html><title>Nothing</title>")
    return SharedPage(browser, "file://", path.as_uri(), offline=True)


@pytest.fixture
def visit(server, lent, window):
    """A function: path on the shared server, size and colours -> its page, run.

    A second one in a test is another visitor.
    """
    free = [lent]

    def go(path="", **options):
        if free:
            return free.pop().visit(path, **options)
        page = window(server.url, **options)
        page.goto(f"{server.url}/{path}")
        return settled(page)

    yield go
    if not free:
        stop_work(server, lent)
        lent.leave()
