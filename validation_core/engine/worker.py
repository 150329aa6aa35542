"""A worker process: reads tasks as JSON lines, runs them, writes progress as JSON lines.

Started by `engine.WorkerPool` as `python -m validation_core.engine.worker`. It knows the core
only: no Streamlit, no script of the app. It ends when its standard input does, whatever it is
doing.

    in:   {"task": <keys.encode>, "store": <Store.place>}
    out:  {"ready": device}   {"progress": [fraction, live]}
          {"done": true, "notices": [...]}   {"error": text, "notices": [...]}
"""

from __future__ import annotations

import gc
import importlib
import json
import os
import queue
import signal
import sys
import threading
import time
import traceback
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Any

from validation_core import keys
from validation_core.engine.task import (
    Report,
    TaskReply,
    TaskRequest,
    describe_error,
    numpy_as_json,
    perform,
)
from validation_core.keys import JSON
from validation_core.memory_folder import clear_abandoned
from validation_core.store import Store, flush_stores

Send = Callable[[TaskReply], None]

_EVERY = 0.05  # seconds between progress lines
_DYING = 2.0  # seconds that a server takes to end once its pipes have closed
_NICE = 15  # the server that draws pages goes first, even where it sleeps between two


def _main() -> None:
    """Serve tasks until the standard input ends."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the server, which ends us
    if hasattr(os, "nice"):
        os.nice(_NICE)
    send = _sender()
    lines: queue.SimpleQueue[str] = queue.SimpleQueue()
    threading.Thread(target=_read, args=(lines,), daemon=True).start()
    send({"ready": _warm()})
    _read_ahead()
    stores: dict[str, Store] = {}
    while True:
        _serve(json.loads(lines.get()), send, stores)


def _sender() -> Send:
    """Writes to the real standard output; what tasks print goes to standard error."""
    out = os.fdopen(os.dup(sys.stdout.fileno()), "w", encoding="utf-8")
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())

    def send(message: TaskReply) -> None:
        try:
            out.write(json.dumps(message, default=numpy_as_json) + "\n")
            out.flush()
        except OSError:
            os._exit(0)  # nobody listens any more

    return send


def _read(lines: queue.SimpleQueue[str]) -> None:
    server = os.getppid()
    for line in sys.stdin:
        lines.put(line)
    _clear_up(server)
    os._exit(0)


def _clear_up(server: int) -> None:
    """Where the server was killed: what it kept in memory goes to the disk or away."""
    until = time.monotonic() + _DYING
    while os.getppid() == server and time.monotonic() < until:
        time.sleep(0.01)
    flush_stores()
    clear_abandoned()


def _warm() -> str:
    """Import what tasks need and take one training step, whose first time costs seconds."""
    _import("sweep.plan", "scores.localizer_training")
    torch: Any = importlib.import_module("torch")
    torch.set_num_threads(1)
    weight = torch.zeros(1, requires_grad=True)
    adam = importlib.import_module("validation_core.learn.training").Adam([([weight], 1.0)])
    (weight * weight).sum().backward()
    adam.step()
    return "cuda" if torch.cuda.is_available() else "cpu"


def _read_ahead() -> None:
    """Import what most tasks are read from: the first need not wait for that."""
    _import("benchmarks", "diagnosis.questions")
    gc.collect()
    gc.freeze()


def _import(*rooms: str) -> None:
    """Parts of the core; one that cannot be imported is told by the task that needs it."""
    for room in rooms:
        with suppress(ImportError):
            importlib.import_module(f"validation_core.{room}")


def _serve(message: TaskRequest, send: Send, stores: dict[str, Store]) -> None:
    where = json.dumps(message["store"])
    if where not in stores:
        stores[where] = Store.at(message["store"])
    store = stores[where]
    try:
        perform(keys.decode(message["task"]), store, _reporter(send))
        reply: TaskReply = {"done": True}
    except Exception as error:
        traceback.print_exc()
        reply = {"error": describe_error(error)}
    send({**reply, "notices": list(store.notices)})
    store.notices.clear()


def _reporter(send: Send) -> Report:
    """Sends the first report at once, then twenty a second at most, and the last one."""
    last = 0.0

    def report(fraction: float, live: Mapping[str, JSON]) -> None:
        nonlocal last
        now = time.monotonic()
        if now - last >= _EVERY or fraction >= 1:
            last = now
            send({"progress": (fraction, live)})

    return report


if __name__ == "__main__":
    _main()
