"""Return memory and file descriptors to the system after visitors have left.

Streamlit keeps a session for some minutes after its connection ends, so that a lost connection can
resume; it then deletes the session only when the next visitor comes, and the session's reference
cycles wait for a garbage collection. Here both are done in time.
"""

from __future__ import annotations

import asyncio
import ctypes
import gc
import os
import sys
from contextlib import suppress
from typing import Any

from streamlit import config, runtime
from streamlit.watcher.local_sources_watcher import LocalSourcesWatcher

_DESCRIPTORS = 16_384
_EVERY = 2.0
_PAUSE = 20.0  # between two collections: one holds every session for a moment
_M_ARENA_MAX, _ARENAS = -8, 2
"""glibc's option for the number of heaps: by default eight per core, which never shrink."""


def spare() -> None:
    """Before anything else runs: one thread for sums, few heaps for many short threads, room for
    many sessions, and nobody who looks for changed files."""
    # Before numpy is imported. More threads per sum would take time from sessions and workers.
    for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
        os.environ.setdefault(name, "1")
    with suppress(OSError, AttributeError):  # glibc only
        ctypes.CDLL(None).mallopt(_M_ARENA_MAX, _ARENAS)
    _more_descriptors()
    # Streamlit asks for the path of every module in each session, even where nothing is watched,
    # and again in all of them when one is imported: 0.15 s each, in which nobody is answered.
    if config.get_option("server.fileWatcherType") == "none":
        LocalSourcesWatcher.update_watched_modules = _nothing  # type: ignore[method-assign, assignment]


def _more_descriptors() -> None:
    """Raise the limit of file descriptors: a session takes four, and many systems allow 1024."""
    with suppress(ImportError, ValueError, OSError):
        import resource

        soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        most = _DESCRIPTORS if hard == resource.RLIM_INFINITY else min(hard, _DESCRIPTORS)
        if soft != resource.RLIM_INFINITY and soft < most:
            resource.setrlimit(resource.RLIMIT_NOFILE, (most, hard))


def _nothing(watcher: LocalSourcesWatcher) -> None:
    """Watch no module."""


async def give_back() -> None:
    """Delete old sessions while the server runs, on its event loop."""
    known: set[str] = set()
    due, last = False, -_PAUSE
    clock = asyncio.get_running_loop().time
    while True:
        await asyncio.sleep(_EVERY)
        if not runtime.exists():
            continue
        now = _forget(runtime.get_instance())
        due, known = due or bool(known - now), now
        if due and clock() - last >= _PAUSE:
            await asyncio.to_thread(collect)
            due, last = False, clock()


def collect() -> None:
    """Collect garbage, and return unused memory to the system."""
    gc.collect()
    if (arrow := sys.modules.get("pyarrow")) is not None:
        arrow.default_memory_pool().release_unused()
    with suppress(OSError, AttributeError):  # glibc only
        ctypes.CDLL(None).malloc_trim(0)


def _forget(server: runtime.Runtime) -> set[str]:
    """Shut down sessions that can no longer be resumed; returns the others.

    Streamlit has no public call for it: with other internals, they wait for the next visitor.
    """
    with suppress(AttributeError):
        manager: Any = server._session_mgr
        with manager._storage_lock:
            expired = manager._session_storage._cache.expire() or ()
        for _, info in expired:
            _empty(info.session)
        return {info.session.id for info in manager.list_sessions()}
    return set()


def _empty(session: Any) -> None:
    """Empty a session: the server's loop refers to the last one until a visitor comes."""
    session.shutdown()
    session.session_state.clear()
    session.flush_browser_queue()
    session._fragment_storage.clear()
    session._fragment_storage.clear_outside_wrappers()
