"""Memory and descriptors go back when visitors have gone, by themselves.

Streamlit keeps a session for some minutes after its connection ends, so that a lost one finds its
page again; then it forgets the session, but only when the next visitor comes, and its garbage,
which goes round in circles, waits for a collection. Here both are done when they are due.
"""

from __future__ import annotations

import asyncio
import ctypes
import gc
import sys
from contextlib import suppress
from typing import Any

from streamlit import runtime

_EVERY = 2.0
_PAUSE = 5.0  # between two collections: one holds every session for a moment
_M_ARENA_MAX, _ARENAS = -8, 2
"""Of glibc: by default there are eight heaps for each core, and each keeps what it once needed."""


def spare() -> None:
    """Let this process, which has many short threads, share few heaps; before they start."""
    with suppress(OSError, AttributeError):
        ctypes.CDLL(None).mallopt(_M_ARENA_MAX, _ARENAS)


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
