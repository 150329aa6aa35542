"""A worker process: reads tasks as JSON lines, runs them, writes progress as JSON lines.

Started by `engine.WorkerPool` as `python -m validation_core.engine.worker`. It imports only the
core: no Streamlit, no script of the app. It ends with its standard input, even during a task.

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
from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import Any

from validation_core import keys
from validation_core.engine.task import (
    TaskReply,
    TaskRequest,
    describe_error,
    numpy_as_json,
    perform,
)
from validation_core.memory_folder import clear_abandoned
from validation_core.store import Store, flush_stores
from validation_core.study import Report, throttled

Send = Callable[[TaskReply], None]

_EVERY = 0.05  # seconds between progress lines
_DYING = 2.0  # seconds that a server may take to end after its pipes have closed
_IDLE = 1.0  # seconds without a task after which flows, which few tasks need, are read ahead
_NICE = 15  # the server that draws pages has priority


def _main() -> None:
    """Serve tasks until the standard input ends."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is handled by the server
    if hasattr(os, "nice"):
        os.nice(_NICE)
    send = _sender()
    lines: queue.SimpleQueue[str] = queue.SimpleQueue()
    threading.Thread(target=_read, args=(lines,), daemon=True).start()
    send({"ready": _warm()})
    _read_ahead()
    stores: dict[str, Store] = {}
    for line in _as_they_come(lines):
        _serve(json.loads(line), send, stores)


def _as_they_come(lines: queue.SimpleQueue[str]) -> Iterator[str]:
    """Lines without end; where the first one is not there soon, flows are read ahead meanwhile."""
    try:
        yield lines.get(timeout=_IDLE)
    except queue.Empty:
        _read_flows_ahead()
    while True:
        yield lines.get()


def _sender() -> Send:
    """A function that writes to standard output; the output of tasks goes to standard error."""
    out = os.fdopen(os.dup(sys.stdout.fileno()), "w", encoding="utf-8")
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())

    def send(message: TaskReply) -> None:
        try:
            out.write(json.dumps(message, default=numpy_as_json) + "\n")
            out.flush()
        except OSError:
            os._exit(0)  # the server has ended

    return send


def _read(lines: queue.SimpleQueue[str]) -> None:
    server = os.getppid()
    for line in sys.stdin:
        lines.put(line)
    _clear_up(server)
    os._exit(0)


def _clear_up(server: int) -> None:
    """After the server was killed: move its files in memory to the disk, or delete them."""
    until = time.monotonic() + _DYING
    while os.getppid() == server and time.monotonic() < until:
        time.sleep(0.01)
    flush_stores()
    clear_abandoned()


def _warm() -> str:
    """Import the modules of tasks and take one training step: the first takes seconds.

    Returns:
        The device of networks, as NPTLAB_DEVICE says or the best there is.
    """
    _import("sweep.plan", "scores.localizer_training")
    torch: Any = importlib.import_module("torch")
    torch.set_num_threads(1)
    weight = torch.zeros(1, requires_grad=True)
    adam = importlib.import_module("validation_core.learn.training").Adam([([weight], 1.0)])
    (weight * weight).sum().backward()
    adam.step()
    device: str = importlib.import_module("validation_core.learn.perceptron").pick_device()
    return device


def _read_ahead() -> None:
    """Import the modules that decode most tasks, before the first one arrives."""
    _import("benchmarks", "diagnosis.questions")
    gc.collect()
    gc.freeze()


def _read_flows_ahead() -> None:
    """Import what flows need: the first `broadcast_shapes` imports a computer algebra system."""
    with suppress(ImportError):
        importlib.import_module("zuko.flows")
        importlib.import_module("torch").broadcast_shapes((1,), (1,))
    gc.collect()
    gc.freeze()


def _import(*rooms: str) -> None:
    """Import modules of the core; a failure is left to the task that needs the module."""
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
    return throttled(lambda fraction, live: send({"progress": (fraction, live)}), _EVERY)


if __name__ == "__main__":
    _main()
