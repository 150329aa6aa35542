"""Launcher: `streamlit run app.py`. Warms up once, then serves pages/main.py.

Streamlit's script lies inside pages/ because a pages/ folder beside the main script makes
Streamlit open shared links outside their frame.
"""

from __future__ import annotations

import asyncio
import gc
import importlib
import inspect
import threading
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import streamlit as st
from starlette.datastructures import MutableHeaders
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.routing import Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from pages.ui import memory

memory.spare()

_PAUSE = 1.0  # seconds before workers import torch: a first visitor's page goes first

HEADERS = {
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "SAMEORIGIN",
    "Referrer-Policy": "same-origin",
    "Permissions-Policy": "camera=(), microphone=(), geolocation=()",
    # Streamlit's front end needs inline styles and modules made from text (components, charts).
    "Content-Security-Policy": "; ".join([
        "default-src 'self'",
        "script-src 'self' 'unsafe-inline' 'unsafe-eval' blob:",
        "style-src 'self' 'unsafe-inline'",
        "img-src 'self' data: blob:",
        "font-src 'self' data:",
        "connect-src 'self' ws: wss: data: blob:",
        "worker-src 'self' blob:",
        "object-src 'none'",
        "base-uri 'self'",
        "frame-ancestors 'self'",
    ]),
}  # fmt: skip


class SecurityHeaders:
    """Adds the headers above to every HTTP response."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return

        async def with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in HEADERS.items():
                    headers.setdefault(name, value)
            await send(message)

        await self.app(scope, receive, with_headers)


def warm() -> None:
    """Import what pages need and use it once, so that no visitor waits for it.

    No torch: networks run in the workers, which start a moment after the server, or with the first
    page that needs them, and warm up beside it. What is frozen is never searched by the garbage
    collector again.
    """
    import numpy as np
    import pandas as pd
    import PIL.Image

    from pages.ui.services import services
    from validation_core.figures import outcome, plotly

    for path in sorted(Path(__file__).parent.glob("pages/*/*.py")):
        if path.stem != "page":  # a script, which draws where it is imported
            importlib.import_module(f"pages.{path.parent.name}.{path.stem}")
    del PIL  # Streamlit reads the page's icon with it
    inspect.stack()  # Streamlit asks in its first run, and the first answer reads every module
    pd.DataFrame({"ready": [True]}).to_dict()
    plotly.figure(outcome.ecdf_difference(np.linspace(0, 1, 1000))).to_json()
    gc.collect()
    gc.freeze()
    start = threading.Timer(_PAUSE, services)
    start.daemon = True
    start.start()


@asynccontextmanager
async def lifespan(app: st.App) -> AsyncIterator[None]:
    """Warm up before the first request is taken; then see that memory goes back."""
    warm()
    watch = asyncio.create_task(memory.give_back())
    yield
    watch.cancel()


async def ready(request: Request) -> JSONResponse:
    """Answers only once `lifespan` has warmed up."""
    return JSONResponse({"ready": True})


app = st.App(
    "pages/main.py",
    lifespan=lifespan,
    routes=[Route("/api/ready", ready)],
    middleware=[Middleware(SecurityHeaders)],
)
