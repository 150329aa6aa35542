"""Launcher: `streamlit run app.py`. Warms up once, then serves pages/main.py.

Streamlit's script lies inside pages/ because a pages/ folder beside the main script makes
Streamlit open shared links outside their frame.
"""

from __future__ import annotations

import asyncio
import gc
import importlib
import inspect
import logging
import os
import sys
import threading
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import streamlit as st
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.routing import Route
from streamlit import config

from pages.ui import ending, gate, memory
from validation_core import settings

memory.spare()
ending.note_interrupt()
gate.take_long_cookies()

_PAUSE = 1.0  # seconds before workers import torch: a first visitor's page has priority

_SCRIPTS = ("page", "lecture")  # which draw where they are imported
_EVERYWHERE = "0.0.0.0"


def check_settings() -> None:
    """Exit with code 2 and a one-line message where a setting has an invalid value."""
    try:
        settings.check(server=True)
    except ValueError as refusal:
        print(f"error: {refusal}", file=sys.stderr, flush=True)
        raise SystemExit(2) from None


def open_to_others() -> None:
    """With NPTLAB_PUBLIC=1, restart listening on every address.

    Streamlit listens, at the address in .streamlit/config.toml, before it imports this file; its
    own settings, `--server.address` and STREAMLIT_SERVER_ADDRESS, take precedence.
    """
    own = config._server_mode == "starlette-app" and "STREAMLIT_SERVER_ADDRESS" not in os.environ
    if not (settings.PUBLIC.value() and own) or config.get_option("server.address") != "localhost":
        return
    if os.name == "nt":
        raise SystemExit("On Windows write --server.address 0.0.0.0 instead of NPTLAB_PUBLIC=1.")
    os.environ["STREAMLIT_SERVER_ADDRESS"] = _EVERYWHERE
    os.closerange(3, 1024)  # frees the port for the restart
    os.execv(sys.executable, sys.orig_argv)


def warm() -> None:
    """Import the modules of the pages and use them once, so that no visitor waits.

    Torch is not among them: networks run in the workers, which start a moment after the server, or
    with the first page that needs them. The garbage collector skips the frozen objects from then
    on.
    """
    import numpy as np
    import pandas as pd
    import PIL.Image

    from pages.ui.services import services
    from validation_core.drawing import plotly
    from validation_core.drawing.ecdf_difference import ecdf_difference

    log = logging.getLogger("streamlit.runtime.scriptrunner_utils.script_run_context")
    log.disabled = True  # it warns at each fragment that no visitor is there
    for path in sorted(Path(__file__).parent.glob("pages/*/*.py")):
        if path.stem not in _SCRIPTS:
            importlib.import_module(f"pages.{path.parent.name}.{path.stem}")
    log.disabled = False
    del PIL  # Streamlit reads the page's icon with it
    inspect.stack()  # Streamlit asks in its first run, and the first answer reads every module
    pd.DataFrame({"ready": [True]}).to_dict()
    plotly.figure(ecdf_difference(np.linspace(0, 1, 1000))).to_json()
    gc.collect()
    gc.freeze()
    start = threading.Timer(_PAUSE, services)
    start.daemon = True
    start.start()


@asynccontextmanager
async def lifespan(app: st.App) -> AsyncIterator[None]:
    """Warm up before the first request; then return unused memory periodically."""
    warm()
    watch = asyncio.create_task(memory.give_back())
    yield
    watch.cancel()


async def ready(request: Request) -> JSONResponse:
    """Reply to readiness checks, which are served only after `lifespan` has warmed up."""
    return JSONResponse({"ready": True})


check_settings()
open_to_others()
gate.admit_agents()
below = config.get_option("server.baseUrlPath").strip("/")  # where a proxy knows it by a path
app = st.App(
    "pages/main.py",
    lifespan=lifespan,
    routes=[
        Route(path, ready) for path in {"/api/ready", f"/{below}/api/ready".replace("//", "/")}
    ],
    middleware=[Middleware(gate.Gate)],
)
