"""Trained networks, results and uploaded tables by key, on disk."""

from .describe import describe
from .files import JSON, Arrays, Stored
from .folder import LIMIT, Entry, Kind, Store

__all__ = ["JSON", "LIMIT", "Arrays", "Entry", "Kind", "Store", "Stored", "describe"]
