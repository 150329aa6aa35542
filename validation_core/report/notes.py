"""A user's words about a table, kept in the store with it and carried by its report.

Kept by the digest of the numbers, so that they are there again when the same table is uploaded,
after a refresh as after a restart, and are not deleted to make room for results.
"""

from __future__ import annotations

import unicodedata
from typing import TYPE_CHECKING

from validation_core.report.numbers import text

if TYPE_CHECKING:
    from validation_core.store import Store

LONGEST = 20_000
"""Characters."""


def load(store: Store, digest: str) -> str:
    """The notes on a table; empty where there are none."""
    stored = store.load("notes", digest)
    return str(stored.meta.get("text", "")) if stored else ""


def save(store: Store, digest: str, words: str) -> None:
    """Keep notes on a table in place of those before; blank ones are forgotten.

    Raises:
        ValueError: for more than 20,000 characters.
        OSError: when the disk does not take them.
    """
    if len(words) > LONGEST:
        raise ValueError(
            f"Notes have at most {LONGEST:,} characters; got {len(words):,}. Shorten them, or "
            f"keep the rest elsewhere."
        )
    cleaned = clean(words)
    if cleaned:
        meta = {"label": "Notes on an uploaded table", "text": cleaned}
        store.save("notes", digest, {}, spec="notes", meta=meta)
    else:
        store.delete("notes", digest)


def clean(words: str) -> str:
    """Printable text with its line breaks, and no blank ends."""
    lines = text(words).replace("\r\n", "\n").replace("\r", "\n").replace("\t", "    ")
    characters = (c for c in lines if c == "\n" or not unicodedata.category(c).startswith("C"))
    return "".join(characters).strip()
