"""The registry of this process's visitors, under one lock."""

from __future__ import annotations

import threading
import weakref
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:  # numpy reads its number of threads when imported, and app.py sets it first
    from validation_core.tables import Upload


@dataclass
class VisitorRegistry:
    """Visitors of this process, by session, with their pages, files and tables."""

    lock: threading.RLock = field(default_factory=threading.RLock)
    owners: dict[str, str] = field(default_factory=dict)
    """Visitor by session."""
    open: dict[str, int] = field(default_factory=dict)
    """Pages by visitor."""
    addresses: dict[str, int] = field(default_factory=dict)
    """Pages by the address of their visitors."""
    coming: dict[str, int] = field(default_factory=dict)
    """Bytes by visitor that have arrived of files that are being sent."""
    refused: dict[str, str] = field(default_factory=dict)
    """Reason why a file was refused, by session."""
    tables: weakref.WeakKeyDictionary[Upload, str] = field(
        default_factory=weakref.WeakKeyDictionary
    )
    """Visitor by table in memory; an entry ends with its table."""


registry = VisitorRegistry()
