"""`nptlab app`, from the wheel alone and in a folder of its own: every page of the menu opens."""

import subprocess

import pytest

from tests.browser.driving import LONG, registered_pages, settled, wait_until_listening
from tests.server import free_port, stop
from tests.wheel import environment, install


@pytest.mark.slow
def test_every_page_opens_from_the_wheel(window, tmp_path):
    installed, port, log = install(tmp_path), free_port(), tmp_path / "log"
    (tmp_path / "pages.py").write_text("raise ImportError('of the working directory')")
    command = [installed / "bin" / "nptlab", "app", "--port", str(port), "--cache", tmp_path / "k"]
    quiet = {"STREAMLIT_SERVER_HEADLESS": "true", "NPTLAB_ENGINE": "serial"}
    with log.open("wb") as out:
        process = subprocess.Popen(
            command, cwd=tmp_path, env=environment(installed, tmp_path) | quiet, stdout=out,
            stderr=out, stdin=subprocess.DEVNULL,
        )  # fmt: skip
    try:
        wait_until_listening(port, process, log)
        page = window(f"http://localhost:{port}")
        for each in registered_pages():
            page.goto(f"http://localhost:{port}/{each.path}", timeout=LONG)
            assert settled(page, LONG).title() == f"{each.title} · NPT Lab"
            assert page.get_by_test_id("stException").count() == 0
            assert len(page.get_by_test_id("stMain").inner_text()) > 100
        assert (tmp_path / "k").is_dir()
        assert "Traceback" not in log.read_text()
        assert "ScriptRunContext" not in log.read_text()
    finally:
        stop(process)
