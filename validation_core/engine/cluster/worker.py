"""The side of a Dask worker: one task, as a function of its text and the entries that it reads.

Nothing is kept between tasks and no disk is shared: what a task reads comes as arguments, which
Dask moves, and what it makes goes back as its result.
"""

from __future__ import annotations

import functools
import importlib
import importlib.metadata
import json
import os
import threading
import traceback
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, TypedDict

from validation_core import keys
from validation_core.array_files import Stored
from validation_core.engine.cluster.entries import Entry, Name, content, entry
from validation_core.engine.task import TaskStopped, describe_error, numpy_as_json, perform
from validation_core.keys import JSON, Arrays
from validation_core.store import Store, StoreKind
from validation_core.study import Report, throttled

_EVERY = 0.25  # seconds between progress reports: each passes through the scheduler
_LIBRARIES = ("numpy", "scipy", "torch", "geomloss")
_importing = threading.Lock()


class ClusterRequest(TypedDict):
    """A task for a worker: builtin values alone, none of our classes travels."""

    task: str
    """Its canonical text."""
    versions: Mapping[str, str]
    """The worker must compute with these."""
    topic: str
    name: str
    """Under which topic, and as whose, progress is reported."""


class TaskResult(TypedDict, total=False):
    """How a task ended, well where it says none of the first three."""

    differs: str
    """Why this worker does not run it."""
    error: str
    stopped: bool
    entries: list[Entry]
    """All that it made, also before it failed."""
    notices: list[str]


class Introduction(TypedDict, total=False):
    """Where a worker trains networks, or why it is to have no task."""

    differs: str
    device: str


def _by_value() -> Callable[..., Any]:
    def call(function: str, *arguments: object) -> Any:
        import importlib  # its module does not travel with it

        try:
            worker = importlib.import_module("validation_core.engine.cluster.worker")
            return getattr(worker, function)(*arguments)
        except Exception as error:
            return {"differs": f"it cannot run this program ({type(error).__name__}: {error})"}

    return call


call = _by_value()
"""Calls a function of this file by name on a worker.

A function inside another travels whole, since it has no name to be found by: a scheduler needs
nothing of this program, and a worker that cannot import it says so.
"""


def introduce(versions: Mapping[str, str]) -> Introduction:
    """Answer whether this worker computes with these versions, and where."""
    differs = _differences(versions)
    return {"differs": differs} if differs else {"device": _import_what_tasks_need()}


def run_task(request: ClusterRequest, *given: Entry) -> TaskResult:
    """Run a task that reads these entries."""
    differs = _differences(request["versions"])
    if differs:
        return {"differs": differs}
    _import_what_tasks_need()
    worker = importlib.import_module("distributed").get_worker()
    store = _TaskStore(Path(worker.local_directory) / "nptlab", given)
    result: TaskResult = {}
    try:
        perform(keys.read(request["task"]), store, _reporter(worker, request))
    except TaskStopped:
        result = {"stopped": True}
    except Exception as error:
        traceback.print_exc()
        result = {"error": describe_error(error)}
    return {**result, "entries": list(store.made.values()), "notices": store.notices}


class _TaskStore(Store):
    """A store in memory: the entries that a task was given and, over them, those that it makes.

    Args:
        root: a folder for locks.
        given: what the task may read.
    """

    def __init__(self, root: Path, given: tuple[Entry, ...]) -> None:
        super().__init__(root)
        self.made: dict[Name, Entry] = {}
        self._given = {Name(sent["kind"], sent["key"]): sent for sent in given}

    def save(
        self, kind: StoreKind, key: str, arrays: Arrays, *, spec: str, meta: Mapping[str, object]
    ) -> None:
        name = Name(kind, key)
        self.made[name] = entry(name, arrays, dict(meta), spec)

    def load(self, kind: StoreKind, key: str) -> Stored | None:
        name = Name(kind, key)
        sent = self.made.get(name) or self._given.get(name)
        return content(sent) if sent else None

    def has(self, kind: StoreKind, key: str) -> bool:
        return (kind, key) in self.made or (kind, key) in self._given


def _reporter(worker: Any, request: ClusterRequest) -> Report:
    """Send reports, a few a second; stop the task where nobody waits for it.

    Dask leaves a thread at work whose task was cancelled, or whose program has gone: only the
    worker's own list of tasks tells it.
    """
    key = worker.get_current_task()

    def log(fraction: float, live: Mapping[str, JSON]) -> None:
        progress = [request["name"], float(fraction), live]
        worker.log_event(request["topic"], json.dumps(progress, default=numpy_as_json))

    send = throttled(log, _EVERY)

    def report(fraction: float, live: Mapping[str, JSON]) -> None:
        known = worker.state.tasks.get(key)
        if known is None or known.state == "cancelled":
            raise TaskStopped
        send(fraction, live)

    return report


def required_versions() -> dict[str, str]:
    """What a worker must compute with to give the same bits: this program's, and one thread."""
    return {**own_versions(), "OMP_NUM_THREADS": "1"}


def own_versions() -> dict[str, str]:
    """What the bits of a result follow from: libraries, threads, and this program's code."""
    threads = os.environ.get("OMP_NUM_THREADS", "not set")
    # torch 2.13.0+cpu and 2.13.0+cu130 compute alike on a processor
    libraries = {name: importlib.metadata.version(name).partition("+")[0] for name in _LIBRARIES}
    return {
        **libraries,
        "OMP_NUM_THREADS": os.environ.get("OPENBLAS_NUM_THREADS", threads),
        "this program's code": _code_fingerprint(),
    }


def _differences(required: Mapping[str, str]) -> str:
    own = own_versions()
    differ = [f"{n} {own.get(n)} instead of {v}" for n, v in required.items() if own.get(n) != v]
    return f"it has {', '.join(differ)}" if differ else ""


@functools.cache
def _code_fingerprint() -> str:
    package = Path(__file__).parents[2]
    texts = (path.read_text("utf-8") for path in sorted(package.rglob("*.py")))
    return keys.key("\n".join(texts))


def _import_what_tasks_need() -> str:
    """Import what tasks need, and say where networks are trained.

    One thread at a time: a worker that is asked who it is while it begins its first task would
    import scipy in one thread and torch in another, and scipy fails on half a torch.
    """
    with _importing:
        importlib.import_module("validation_core.statistics")
        device: str = importlib.import_module("validation_core.learn.perceptron").pick_device()
        return device
