"""What this process knows of its visitors: one registry, under one lock."""

from __future__ import annotations

import threading
import weakref
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:  # numpy reads how many threads it may use when it is imported: app.py says first
    from validation_core.tables import Upload


@dataclass
class VisitorRegistry:
    """Visitors of this process, by session and by what they hold."""

    lock: threading.RLock = field(default_factory=threading.RLock)
    owners: dict[str, str] = field(default_factory=dict)
    """Visitor by session."""
    open: dict[str, int] = field(default_factory=dict)
    """Pages by visitor."""
    coming: dict[str, int] = field(default_factory=dict)
    """Bytes by visitor of files that are being sent."""
    refused: dict[str, str] = field(default_factory=dict)
    """Why a file was refused, by session."""
    tables: weakref.WeakKeyDictionary[Upload, str] = field(
        default_factory=weakref.WeakKeyDictionary
    )
    """Visitor by table in memory: gone with the table."""


registry = VisitorRegistry()
