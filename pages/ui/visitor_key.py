"""The secret with which this server signs the cookies of its visitors."""

from __future__ import annotations

import os
import secrets
from contextlib import suppress
from functools import cache

_NAME = "visitor-key"
_BYTES = 32


@cache
def visitor_key() -> bytes:
    """The secret, kept in the cache folder, so that visitors are known after a restart.

    Servers that share the folder share it; where the folder cannot be written, a server has one of
    its own until it ends.
    """
    from validation_core.store import default_root  # numpy, whose threads app.py sets first

    path = default_root() / _NAME
    fresh = secrets.token_bytes(_BYTES)
    with suppress(OSError):
        path.parent.mkdir(parents=True, exist_ok=True)
        beside = path.with_name(f"{_NAME}-{secrets.token_hex(8)}")
        try:
            with os.fdopen(
                os.open(beside, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600), "wb"
            ) as file:
                file.write(fresh)
            os.link(beside, path)  # whole at once, and only where no other server was first
        except FileExistsError:
            pass
        finally:
            beside.unlink(missing_ok=True)
    with suppress(OSError):
        known = path.read_bytes()
        if len(known) == _BYTES:
            return known
    return fresh
