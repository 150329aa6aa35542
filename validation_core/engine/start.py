"""The store and the engine of one server, as its environment asks for them."""

from __future__ import annotations

import os
from concurrent.futures import Executor
from pathlib import Path
from typing import NamedTuple

from validation_core.engine.pool import WorkerPool
from validation_core.engine.runner import Engine
from validation_core.engine.tasks import SerialExecutor
from validation_core.store import Store

_GALLERY = Path(__file__).parents[2] / "assets" / "gallery"


class Services(NamedTuple):
    """What every page of one server shares."""

    store: Store
    engine: Engine


def start(store: Store | None = None) -> Services:
    """Open the store and start the engine.

    NPTLAB_ENGINE is `local` (worker processes, the default) or `serial` (this process), and
    NPTLAB_WORKERS the number of workers.

    Raises:
        ValueError: when one of the two says anything else.
    """
    executor = _executor()
    store = store or Store(gallery=_GALLERY if _GALLERY.is_dir() else None)
    return Services(store, Engine(store, executor))


def _executor() -> Executor:
    kind = os.environ.get("NPTLAB_ENGINE", "local")
    if kind == "serial":
        return SerialExecutor()
    if kind != "local":
        raise ValueError(f"NPTLAB_ENGINE is local or serial; got {kind!r}. Set one of them.")
    size = os.environ.get("NPTLAB_WORKERS", "")
    if size and not size.isdecimal():
        raise ValueError(f"NPTLAB_WORKERS is a whole number; got {size!r}. Set one, or unset it.")
    return WorkerPool(int(size) if size else None)
