"""A real server gives back what visitors took, and sums its numbers on one thread."""

import asyncio
import os
import subprocess
import sys
import time

import numpy as np
import pytest

from tests.benchmarks.client import Visitor
from tests.benchmarks.memory import resident
from tests.benchmarks.servers import product
from tests.benchmarks.visiting import PAGES, descriptors
from tests.conftest import ROOT
from validation_core.rng import stream

SESSIONS, UPLOADED = 30, 50e6
MORE = 90.0  # MB that caches may have grown by; as much as half of the upload is too much
SOON = 60.0  # seconds in which memory is back, on loaded cores too


async def visit(server, number, file=None):
    """Three pages, and a table on the one that takes it."""
    async with Visitor(server, PAGES[number % len(PAGES)]) as visitor:
        await visitor.open()
        for step in (4, 8):
            await visitor.turn_to(PAGES[(number + step) % len(PAGES)])
        if file is not None:
            await visitor.turn_to("diagnose")
            await visitor.upload("file", file)


async def come_and_go(server, file=None):
    """All at once."""
    visits = (visit(server, i, file if i == 0 else None) for i in range(SESSIONS))
    await asyncio.gather(*visits)


def back(server, before):
    """Whether descriptors and memory are what they were, but for what caches hold."""
    count, size = before
    return descriptors(server.pid) <= count + 3 and resident(server.pid) <= size + MORE


@pytest.mark.timeout(240)
def test_thirty_sessions_and_a_large_upload_leave_no_memory_and_no_descriptor(tmp_path):
    k = int(UPLOADED / 4 / 400 / 10)
    shapes = {"theta": (400, 10), "x": (400, 3), "theta_q": (400, k, 10)}
    rng, file = stream(0, "sessions"), tmp_path / "table.npz"
    table = {name: rng.standard_normal(shape, dtype=np.float32) for name, shape in shapes.items()}
    np.savez(file, **table)
    with product(tmp_path / "cache", "--server.disconnectedSessionTTL", "2") as server:
        for number in range(len(PAGES)):  # what is read once stays
            asyncio.run(visit(server, number))
        time.sleep(3)
        before = descriptors(server.pid), resident(server.pid)
        asyncio.run(come_and_go(server, file))
        until = time.monotonic() + SOON
        while not back(server, before) and time.monotonic() < until:
            time.sleep(1)
        assert descriptors(server.pid) <= before[0] + 3
        assert resident(server.pid) <= before[1] + MORE


def test_the_server_sums_on_one_thread():
    # As `streamlit run` does it: Streamlit first, then app.py.
    code = (
        "import streamlit.web.cli, app, numpy, scipy.linalg, threadpoolctl;"
        "print({pool['num_threads'] for pool in threadpoolctl.threadpool_info()})"
    )
    threads = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")
    env = {name: value for name, value in os.environ.items() if name not in threads}
    command = [sys.executable, "-c", code]
    run = subprocess.run(command, cwd=ROOT, env=env, capture_output=True, text=True, timeout=120)
    assert run.stdout.strip() == "{1}", run.stderr[-500:]
