"""What this server spares its machine: memory and descriptors go back when visitors have gone.

Streamlit keeps a session for some minutes after its connection ends, so that a lost one finds its
page again; then it forgets the session, but only when the next visitor comes, and its garbage,
which goes round in circles, waits for a collection. Here both are done when they are due.
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
"""Of glibc: by default there are eight heaps for each core, and each keeps what it once needed."""


def spare() -> None:
    """Before anything else runs: one thread for sums, few heaps for many short threads, room for
    many sessions, and nobody who looks for changed files."""
    # Before numpy is there. More threads for one sum only take time from others and from workers.
    for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
        os.environ.setdefault(name, "1")
    with suppress(OSError, AttributeError):  # glibc alone has it
        ctypes.CDLL(None).mallopt(_M_ARENA_MAX, _ARENAS)
    _more_descriptors()
    # Streamlit asks for the path of every module in each session, even where nothing is watched,
    # and again in all of them when one is imported: 0.15 s each, in which nobody is answered.
    if config.get_option("server.fileWatcherType") == "none":
        LocalSourcesWatcher.update_watched_modules = _nothing  # type: ignore[method-assign, assignment]


def _more_descriptors() -> None:
    """As many as this process may have: a session takes four, and many systems begin at 1024."""
    with suppress(ImportError, ValueError, OSError):
        import resource

        soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        most = _DESCRIPTORS if hard == resource.RLIM_INFINITY else min(hard, _DESCRIPTORS)
        if soft != resource.RLIM_INFINITY and soft < most:
            resource.setrlimit(resource.RLIMIT_NOFILE, (most, hard))


def _nothing(watcher: LocalSourcesWatcher) -> None:
    """No module is watched."""


async def give_back() -> None:
    """Watch sessions for as long as the server runs; on its own event loop."""
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
    """Free what nobody refers to, and hand unused memory back to the system."""
    gc.collect()
    if (arrow := sys.modules.get("pyarrow")) is not None:
        arrow.default_memory_pool().release_unused()
    with suppress(OSError, AttributeError):  # glibc alone has it
        ctypes.CDLL(None).malloc_trim(0)


def _forget(server: runtime.Runtime) -> set[str]:
    """Shut down sessions that nobody may come back to; gives those that are left.

    Streamlit has no call for it: where its insides are others, they wait for the next visitor.
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
    """End a session: the server's loop has the last one in a variable until somebody comes."""
    session.shutdown()
    session.session_state.clear()
    session.flush_browser_queue()
    session._fragment_storage.clear()
    session._fragment_storage.clear_outside_wrappers()
