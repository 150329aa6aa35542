"""A server that is told to stop: how it ends, how soon, and that nothing of it goes on."""

import os
import signal
import subprocess
import sys
import time
import urllib.request

import pytest
import websockets.sync.client

from benchmarks.memory import family
from tests.conftest import ROOT
from tests.server import free_port, stop

pytestmark = [
    pytest.mark.skipif(sys.platform != "linux", reason="signals of POSIX, processes of /proc"),
    pytest.mark.slow,
]
SOON = 10.0  # seconds; what `docker stop` waits


@pytest.mark.timeout(300)
@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, -15)])
def test_it_ends_soon_with_a_page_open_and_leaves_no_worker(tmp_path, number, code):
    port = free_port()
    command = [sys.executable, "-m", "streamlit", "run", "app.py", "--server.headless", "true",
               "--server.port", str(port)]  # fmt: skip
    env = {**os.environ, "NPTLAB_CACHE": str(tmp_path), "NPTLAB_WORKERS": "1"}
    env["NPTLAB_ENGINE"] = "local"
    with (tmp_path / "log").open("wb") as out:
        server = subprocess.Popen(
            command, cwd=ROOT, env=env, stdout=out, stderr=out, preexec_fn=_listening
        )
    try:
        _wait(server, port)
        address = f"ws://127.0.0.1:{port}/_stcore/stream"
        with websockets.sync.client.connect(address, subprotocols=["streamlit"], proxy=None):
            workers = family(server.pid)[1:]
            start = time.monotonic()
            server.send_signal(number)
            assert server.wait(60) == code, (tmp_path / "log").read_text()
            seconds = time.monotonic() - start
    finally:
        stop(server)
    until = time.monotonic() + SOON
    while any(map(_lives, workers)) and time.monotonic() < until:
        time.sleep(0.1)
    assert not any(map(_lives, workers))
    assert seconds < SOON
    assert "Traceback" not in (tmp_path / "log").read_text()


def _lives(process):
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    return True


def _listening():
    """Whoever runs these tests may be a job in the background, which Ctrl-C does not reach."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


def _wait(server, port):
    until = time.monotonic() + 200
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    while time.monotonic() < until and server.poll() is None:
        try:
            opener.open(f"http://127.0.0.1:{port}/api/ready", timeout=60).close()
        except OSError:
            time.sleep(0.2)
        else:
            return
    raise AssertionError("the server did not start")
