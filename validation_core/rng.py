"""Randomness: a seed travels, a generator is made at the leaf as a named stream."""

from __future__ import annotations

import hashlib

import numpy as np


def stream(seed: int, *names: str | int | float) -> np.random.Generator:
    """A generator for one named use of a seed.

    The names, not the order of calls, tell streams apart: a result from the cache never shifts
    the numbers that another part draws, so cold and warm runs agree to the bit.
    """
    text = "/".join([str(int(seed)), *(str(name) for name in names)])
    digest = hashlib.sha256(text.encode()).digest()
    return np.random.Generator(np.random.PCG64(int.from_bytes(digest[:16], "little")))
