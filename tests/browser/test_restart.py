"""The server is killed under a page: the page goes on by itself once there is another."""

import os
import re
import signal
from pathlib import Path

import pytest
from playwright.sync_api import expect

from tests.browser.driving import LONG, serving, until
from tests.server import free_port
from validation_core.memory_folder import process_start_tick, system_fingerprint


@pytest.mark.parametrize(
    "number", [signal.SIGKILL, pytest.param(signal.SIGTERM, marks=pytest.mark.slow)]
)
def test_a_page_recovers_by_itself_when_its_server_is_killed(browser, tmp_path, number):
    """And nothing of it stays in memory: its workers see to that, whatever it had time for."""
    port, cache = free_port(), tmp_path / "cache"
    context = browser.new_context()
    page = context.new_page()
    page.set_default_timeout(LONG)
    app = page.locator("[data-testid=stApp]")
    try:
        with serving(cache, port) as server:
            page.goto(f"{server.url}/models")
            expect(page.get_by_role("heading", level=1)).to_be_visible(timeout=LONG)
            title = page.get_by_role("heading", level=1).inner_text()
            page.evaluate("window.sameDocument = true")
            assert until(lambda: any(map(_begun, server.workers())))
            folder = _in_memory(server.process.pid)
            folder.mkdir()
            (folder / "file").write_text("kept")
            os.kill(server.process.pid, number)
            server.process.wait(30)
            expect(app).not_to_have_attribute(
                "data-test-connection-state", "CONNECTED", timeout=LONG
            )
            assert until(lambda: not folder.exists())
        with serving(cache, port) as server:
            expect(app).to_have_attribute("data-test-connection-state", "CONNECTED", timeout=LONG)
            expect(app).to_have_attribute("data-test-script-state", "notRunning", timeout=LONG)
            expect(page.get_by_role("heading", level=1)).to_have_text(title, timeout=LONG)
            expect(page.get_by_text(re.compile("Traceback|exception", re.I))).to_have_count(0)
            assert page.evaluate("window.sameDocument"), "it was not loaded anew"
    finally:
        context.close()


def _begun(worker):
    """Whether a worker listens to its server: it has shut out Ctrl-C, and reads in a thread."""
    text = Path(f"/proc/{worker}/status").read_text()
    ignored = int(re.search(r"SigIgn:\s*(\w+)", text)[1], 16)
    threads = int(re.search(r"Threads:\s*(\d+)", text)[1])
    return ignored >> (signal.SIGINT - 1) & 1 and threads > 1


def _in_memory(pid):
    """The folder of a process while its disk takes nothing."""
    return Path("/dev/shm") / f"nptlab-{system_fingerprint()}-{pid}-{process_start_tick(pid)}"
