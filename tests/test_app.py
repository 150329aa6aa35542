"""The launcher: what the server imports before its first visitor, and what it answers."""

import asyncio
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


def test_every_answer_carries_the_security_headers():
    import app

    async def plain(scope, receive, send):
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body", "body": b"ok"})

    sent = []

    async def send(message):
        sent.append(message)

    asyncio.run(app.SecurityHeaders(plain)({"type": "http"}, None, send))
    headers = {name.decode(): value.decode() for name, value in sent[0]["headers"]}
    for name, value in app.HEADERS.items():
        assert headers[name.lower()] == value
    assert "frame-ancestors 'self'" in headers["content-security-policy"]
