"""Slow down whoever guesses a token: after some wrong tries an address must wait."""

from __future__ import annotations

import hmac
import math
import threading
import time
from collections.abc import Callable

_FREE = 3  # wrong tries without a wait
_LONGEST = 900.0  # seconds
_MOST_DOUBLINGS = 10  # of a wait of one second: more than the longest
_KNOWN = 10_000  # addresses


class Guesses:
    """Wrong tries by address.

    Args:
        clock: seconds.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._lock = threading.Lock()
        self._wrong: dict[str, tuple[int, float]] = {}

    def refusal(self, address: str, token: str, secret: str) -> str:
        """Compare a token with the secret; the reason why it is not taken, else empty.

        While an address waits not even the right token is taken, or guessing would not be slower.

        Args:
            address: from which it is tried.
            token: that was entered.
            secret: the right one; empty where none is set, and none is right.
        """
        with self._lock:
            tries, until = self._wrong.pop(address, (0, -math.inf))
            wait = until - self._clock()
            if wait > 0:
                self._wrong[address] = tries, until
                return f"Too many wrong tries: wait {math.ceil(wait)} s, then enter it again."
            if secret and hmac.compare_digest(token.encode(), secret.encode()):
                return ""
            doublings = min(tries + 1 - _FREE, _MOST_DOUBLINGS)  # a greater power overflows
            pause = min(_LONGEST, 2.0**doublings) if tries >= _FREE else 0.0
            self._wrong[address] = tries + 1, self._clock() + pause
            if len(self._wrong) > _KNOWN:
                del self._wrong[next(iter(self._wrong))]
            return "This is not the token of this server."
