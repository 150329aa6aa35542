"""A real server gives back what visitors took, and sums its numbers on one thread."""

import os
import subprocess
import sys
import time

import pytest

from benchmarks.servers import product
from benchmarks.sessions import FORGOTTEN, Taken, come_and_go, large, settled
from tests.conftest import ROOT

MORE = 90.0  # MB by which caches may have grown; the upload and its table alone are 100
SOON = 60.0  # seconds in which memory is back, on loaded cores too


def back(server, before):
    """Whether descriptors and memory are what they were, but for what caches hold."""
    now = Taken.now(server)
    return now.descriptors <= before.descriptors + 3 and now.memory <= before.memory + MORE


@pytest.mark.slow
@pytest.mark.timeout(240)
def test_sessions_and_a_large_upload_leave_no_memory_and_no_descriptor(tmp_path):
    with product(tmp_path / "cache", *FORGOTTEN) as server:
        before = settled(server)
        come_and_go(server, large(tmp_path / "table.npz"))
        assert not back(server, before), "they took nothing"
        until = time.monotonic() + SOON
        while not back(server, before) and time.monotonic() < until:
            time.sleep(0.2)
        assert back(server, before), f"{before} before, {Taken.now(server)} after"


def started(code):
    """What code prints in a process that has begun as `streamlit run app.py` does."""
    threads = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")
    env = {name: value for name, value in os.environ.items() if name not in threads}
    command = [sys.executable, "-c", f"import streamlit.web.cli, app; {code}"]
    run = subprocess.run(command, cwd=ROOT, env=env, capture_output=True, text=True, timeout=120)
    assert run.returncode == 0, run.stderr[-500:]
    return run.stdout.strip()


def test_the_server_sums_on_one_thread():
    code = (
        "import numpy, scipy.linalg, threadpoolctl;"
        "print({pool['num_threads'] for pool in threadpoolctl.threadpool_info()})"
    )
    assert started(code) == "{1}"


def test_no_session_asks_where_modules_lie():
    code = (
        "import pathlib; from streamlit.runtime.pages_manager import PagesManager;"
        "from streamlit.watcher import local_sources_watcher as watcher;"
        "watcher.get_module_paths = lambda module: print('asked') or set();"
        "one = watcher.LocalSourcesWatcher(PagesManager('pages/main.py'));"
        "one.update_watched_modules(); print('done')"
    )
    assert started(code) == "done"
