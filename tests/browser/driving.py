"""What the browser tests share: a real server, the pages it registers, and words for waiting."""

from __future__ import annotations

import ast
import base64
import io
import os
import re
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, NamedTuple, cast
from urllib.parse import urlsplit

import numpy as np
from numpy.typing import NDArray
from playwright.sync_api import (
    Browser,
    BrowserContext,
    ConsoleMessage,
    Download,
    FilePayload,
    FloatRect,
    Locator,
    Page,
    Position,
    TimeoutError,
    ViewportSize,
    expect,
)

from tests.conftest import ROOT
from tests.server import free_port, stop

FLAGS = (
    "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
    "--disable-background-networking", "--disable-component-update", "--disable-sync",
    "--js-flags=--no-opt --no-maglev",  # a page is over before optimised code has earned its cost
)  # fmt: skip
START = 120.0  # seconds that a server may take to listen on loaded cores
SIZE: ViewportSize = {"width": 1280, "height": 900}
WAIT = 60_000  # milliseconds that anything on a page may take
LONG = 90_000  # and what waits for a worker
# A deep link makes Streamlit's front end look for the server below the page's own path first.
_PROBED = re.compile(r"/_stcore/(health|host-config)$")

# When a page last asked for a run of its script (field 11 of a BackMsg of Streamlit) that has not
# begun: a loaded server lets it wait, and until then the page looks as if nothing were to come.
# And when its document last changed, or its script began or ended.
_TIMES = """(() => {
  const send = WebSocket.prototype.send
  WebSocket.prototype.send = function (data) {
    if (data[0] === (11 << 3 | 2)) window.askedAt = performance.now()
    send.call(this, data)
  }
  new MutationObserver(() => { window.changedAt = performance.now() })
    .observe(document, { subtree: true, childList: true, characterData: true })
  new MutationObserver(() => { window.askedAt = null; window.changedAt = performance.now() })
    .observe(document, { subtree: true, attributeFilter: ['data-test-script-state'] })
})()"""

# A script may stop and start again at once, so that one look is not enough; skeletons stand where
# a part of Streamlit's front end is still being fetched.
_STILL = """() => {
  const main = document.querySelector('[data-testid=stMain]')
  const titles = main ? main.querySelectorAll('h1') : []
  return titles.length === 1 && titles[0].checkVisibility({ visibilityProperty: true })
    && document.querySelector('[data-testid=stApp][data-test-script-state=notRunning]')
    && !main.querySelector('[data-testid=stSkeleton]')
    && !(window.askedAt && performance.now() - window.askedAt < 1500)
    && performance.now() - window.changedAt > 100
}"""


class RegisteredPage(NamedTuple):
    """A page as `pages/main.py` registers it."""

    title: str
    path: str


def registered_pages() -> list[RegisteredPage]:
    """Every page of the frame, the default one first: a new page is tested without a new line."""
    calls = [
        node
        for node in ast.walk(ast.parse((ROOT / "pages" / "main.py").read_text()))
        if isinstance(node, ast.Call) and getattr(node.func, "attr", "") == "Page"
    ]
    known = [{k.arg: getattr(k.value, "value", None) for k in call.keywords} for call in calls]
    pages = [RegisteredPage(item["title"], item.get("url_path") or "") for item in known]
    return sorted(pages, key=lambda page: page.path != "")


def chromium() -> str | None:
    """Where a Chromium is, or None; first the one without windows, a sixth less work."""
    entry = os.environ.get("NPTLAB_CHROMIUM")
    names = ("chromium-headless-shell", "chromium", "google-chrome")
    places = (entry, *map(shutil.which, names))
    return next((place for place in places if place and Path(place).exists()), None)


@dataclass(frozen=True)
class Server:
    """`streamlit run app.py`, on a store of its own."""

    url: str
    process: subprocess.Popen[bytes]
    cache: Path

    def workers(self) -> set[int]:
        """Process ids of its workers."""
        text = subprocess.run(
            ["ps", "-o", "pid=,args=", "--ppid", str(self.process.pid)],
            capture_output=True, text=True, check=False,
        ).stdout  # fmt: skip
        lines = (line.split(None, 1) for line in text.splitlines())
        return {int(pid) for pid, command in lines if "validation_core.engine.worker" in command}

    def kept(self, kind: str) -> set[str]:
        """Names of the files that its store holds of a kind."""
        return {path.name for path in (self.cache / kind).glob("*") if path.is_file()}


@contextmanager
def serving(
    cache: Path, port: int | None = None, engine: Literal["local", "serial"] = "local"
) -> Iterator[Server]:
    """A server that listens and has been asked for nothing yet, with one worker or none."""
    cache.mkdir(parents=True, exist_ok=True)
    port = port or free_port()
    own = {
        "NPTLAB_CACHE": str(cache), "NPTLAB_ENGINE": engine, "NPTLAB_WORKERS": "1",
        "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1",
    }  # fmt: skip
    command = [sys.executable, "-m", "streamlit", "run", "app.py", "--server.headless", "true",
               "--server.address", "127.0.0.1", "--server.port", str(port),
               "--server.fileWatcherType", "none"]  # fmt: skip
    log = cache.with_name(cache.name + ".log")
    with log.open("wb") as out:
        process = subprocess.Popen(
            command, cwd=ROOT, env={**os.environ, **own}, stdout=out, stderr=out,
            stdin=subprocess.DEVNULL,
        )  # fmt: skip
    try:
        wait_until_listening(port, process, log)
        yield Server(f"http://127.0.0.1:{port}", process, cache)
    finally:
        stop(process)


def wait_until_listening(port: int, process: subprocess.Popen[bytes], log: Path) -> None:
    until = time.monotonic() + START
    while time.monotonic() < until and process.poll() is None:
        with socket.socket() as item:
            if item.connect_ex(("127.0.0.1", port)) == 0:
                return
        time.sleep(0.05)
    raise RuntimeError(f"The server did not start:\n{log.read_text()[-4000:]}")


@dataclass
class Watch:
    """What no page may do: write errors to the console, ask other hosts for anything."""

    host: str
    errors: list[str] = field(default_factory=list)
    outside: list[str] = field(default_factory=list)

    def over(self, context: BrowserContext) -> None:
        """Watch every page of a context."""
        timed(context)
        context.on("request", lambda request: self.ask(request.url))
        context.on("page", self._page)
        context.on("weberror", lambda error: self.errors.append(str(error.error)))
        context.on("console", self._console)

    def ask(self, url: str) -> None:
        """Note a request unless it goes to the server or stays in the browser."""
        parts = urlsplit(url)
        if parts.scheme in ("http", "https", "ws", "wss") and parts.netloc != self.host:
            self.outside.append(url)

    def _page(self, page: Page) -> None:
        page.on("websocket", lambda socket: self.ask(socket.url))

    def _console(self, message: ConsoleMessage) -> None:
        place = str(message.location.get("url", ""))
        if message.type == "error" and not _PROBED.search(urlsplit(place).path):
            self.errors.append(f"{message.text} ({place})")


class SharedPage:
    """A page that one visitor after another is lent: each comes without cookies and finds nothing.

    Chromium compiles the scripts of a place once for it, which costs more than most tests do.

    Args:
        browser: where it opens.
        url: the server that is visited.
        rest: an address there at which nothing runs; elsewhere Chromium takes another process.
        options: of its context.
    """

    def __init__(
        self, browser: Browser, url: str, rest: str | None = None, **options: Any
    ) -> None:
        self.url, self.rest = url, rest or f"{url}/_stcore/health"
        self.context = browser.new_context(**options)
        self.context.set_default_timeout(WAIT)
        self.watch = Watch(urlsplit(url).netloc)
        self.watch.over(self.context)
        self.page = self.context.new_page()

    def seen(
        self,
        *,
        viewport: ViewportSize = SIZE,
        color_scheme: Literal["light", "dark"] = "light",
        reduced_motion: Literal["no-preference", "reduce"] = "no-preference",
    ) -> Page:
        """The page, on a screen like this."""
        self.page.set_viewport_size(viewport)
        self.page.emulate_media(
            media="null", color_scheme=color_scheme, reduced_motion=reduced_motion
        )
        return self.page

    def visit(self, path: str = "", **screen: Any) -> Page:
        """The page of a path, run."""
        page = self.seen(**screen)
        page.goto(f"{self.url}/{path}")
        return settled(page)

    def leave(self) -> None:
        """Make it as it was before a visit; nothing unseemly may have happened there."""
        found = [*self.watch.errors, *self.watch.outside]
        self.page.unroute_all()
        self.page.mouse.move(0, 0)
        self.page.goto(self.rest)
        self.page.evaluate("() => [localStorage, sessionStorage].forEach((one) => one.clear())")
        self.context.clear_cookies()
        self.watch.errors.clear()
        self.watch.outside.clear()
        assert found == [], found


def shown(locator: Locator, timeout: float = LONG) -> None:
    """Wait for what takes long. `expect` would describe the whole page at each look in vain."""
    locator.wait_for(timeout=timeout)


def npz(arrays: Mapping[str, NDArray[Any]], name: str = "table.npz") -> FilePayload:
    """A file of a table, as a visitor's browser sends it."""
    held_out = io.BytesIO()
    np.savez(held_out, **arrays)
    return {"name": name, "mimeType": "application/octet-stream", "buffer": held_out.getvalue()}


def until(holds: Callable[[], object], seconds: float = 60.0) -> object:
    """What a condition says as soon as it holds, or at the end of its time."""
    end, pause = time.monotonic() + seconds, 0.01
    while not holds() and time.monotonic() < end:
        time.sleep(pause)
        pause = min(0.1, 2 * pause)
    return holds()


def follows(read: Callable[[], Sequence[object]], before: Sequence[object], least: int) -> bool:
    """Whether, in time, as many of the things that are read differ as said."""
    return bool(until(lambda: sum(a != b for a, b in zip(before, read(), strict=False)) >= least))


def timed(context: BrowserContext) -> BrowserContext:
    """The context, whose pages note when they last changed, as `settled` asks."""
    context.add_init_script(_TIMES)
    return context


def settled(page: Page, timeout: float = WAIT) -> Page:
    """The page once its script has run: titled, idle, and its document the same for a while."""
    page.wait_for_function(_STILL, timeout=timeout, polling=20)
    return page


def download_from(page: Page, button: Locator) -> Download:
    """What a button brings: another run would give its file another address."""
    button.wait_for()
    settled(page)
    with page.expect_download(timeout=LONG) as started:
        button.click()
    return started.value


def stop_work(server: Server, shared: SharedPage) -> None:
    """Stop what a test leaves under way: the next one has the one worker to itself."""
    if server.kept("jobs"):
        stop = shared.visit("models").get_by_role("button", name="Stop for everyone")
        while server.kept("jobs"):  # one may end, and the next begin, before it is stopped
            with suppress(TimeoutError):
                stop.first.click(timeout=1000)


def no_exception(page: Page) -> None:
    """Nothing on the page is Streamlit's report of a script that failed."""
    expect(page.locator("[data-testid=stException]")).to_have_count(0)


def box(locator: Locator) -> FloatRect:
    """Where something is, once it is there: while it is drawn anew, a chart stands without."""
    found: list[FloatRect | None] = []

    def seen() -> bool:
        with suppress(TimeoutError):
            found.append(locator.bounding_box(timeout=2000))
        return bool(found) and found[-1] is not None

    assert until(seen), f"{locator} is nowhere"
    return cast(FloatRect, found[-1])


def press(locator: Locator, across: float, down: float) -> None:
    """Click at these parts of something's width and height, once nothing moves or covers it."""
    at = box(locator)
    place: Position = {"x": across * at["width"], "y": down * at["height"]}
    locator.click(position=place)


@contextmanager
def without_charts(page: Page) -> Iterator[Page]:
    """The page without plotly's charts, for tests that look at none: 32 cost more than all else.

    Streamlit's part that draws them is answered by one that draws nothing. `page.route` would
    turn off the cache of all other parts with it.
    """
    empty = "export default () => null; export const PlotlyChart = () => null"
    headers = {"Content-Type": "text/javascript", "Cache-Control": "no-store"}
    session = page.context.new_cdp_session(page)

    def answer(event: dict[str, Any]) -> None:
        session.send(
            "Fetch.fulfillRequest",
            {
                "requestId": event["requestId"],
                "responseCode": 200,
                "responseHeaders": [{"name": k, "value": v} for k, v in headers.items()],
                "body": base64.b64encode(empty.encode()).decode(),
            },
        )

    session.on("Fetch.requestPaused", answer)
    session.send("Fetch.enable", {"patterns": [{"urlPattern": "*/PlotlyChart.*.js"}]})
    try:
        yield page
    finally:
        session.detach()


def expect_no_overflow(page: Page) -> None:
    """Neither the page nor its main part is wider than what shows it, once it is laid out."""
    page.wait_for_function(
        """() => [document.scrollingElement, document.querySelector('[data-testid=stMain]')]
             .every((node) => node.scrollWidth <= node.clientWidth)""",
        timeout=WAIT,
    )
