"""The launcher: what the server imports before its first visitor, and what it answers."""

import os
import subprocess
import sys

from tests.conftest import ROOT


def test_the_server_needs_no_torch_and_is_frozen():
    """Networks run in workers: torch in the server would cost every start seconds."""
    code = (
        "import app, gc, sys; app.warm();"
        "assert 'torch' not in sys.modules, 'the server imported torch';"
        "assert gc.get_freeze_count() > 50_000"
    )
    env = {**os.environ, "NPTLAB_ENGINE": "serial"}
    subprocess.run([sys.executable, "-W", "ignore", "-c", code], cwd=ROOT, env=env, check=True)
