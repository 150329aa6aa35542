"""A file that a browser sends: its bytes are counted as they arrive."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from starlette.types import Message, Receive
from streamlit import runtime

from pages.ui import quotas

SILENCE = 20.0
"""Seconds without a byte after which a file is given up."""

LOOK = 1.0
"""Seconds between two looks at whether its page is still open."""

_GONE: Message = {"type": "http.disconnect"}


class ArrivingFile:
    """The `receive` of an upload, which ends it when nothing comes, or its page is shut.

    Args:
        receive: of the request.
        session: the page that the file is for.
        clock: seconds.
    """

    def __init__(self, receive: Receive, session: str, clock: Callable[[], float]) -> None:
        self._receive = receive
        self._session = session
        self._clock = clock
        self._bytes = 0
        self._more = True
        self.over = False
        """Whether it would have been more than the visitor, or all, may send."""
        self.given_up = False
        """Whether nothing came, or the page was shut."""

    async def __call__(self) -> Message:
        """The next piece; as of a browser that has gone when it is over or given up."""
        if self.over or self.given_up:
            return _GONE
        message = await self._next()
        size = len(message.get("body", b""))
        if size and not quotas.arrive(self._session, size):
            self.over = True
            return _GONE
        self._bytes += size
        return message

    async def discard(self) -> None:
        """Take what still comes and count none of it."""
        while self._more:
            await self._next()

    def end(self) -> None:
        """Count its bytes no longer as coming."""
        quotas.arrived(self._session, self._bytes)

    async def _next(self) -> Message:
        until = self._clock() + SILENCE
        while self._clock() < until and _is_open(self._session):
            try:
                async with asyncio.timeout(LOOK):
                    message = await self._receive()
            except TimeoutError:
                continue
            self._more = message.get("more_body", False)
            return message
        self.given_up = True
        self._more = False
        return _GONE


def _is_open(session: str) -> bool:
    return not runtime.exists() or runtime.get_instance().is_active_session(session)
