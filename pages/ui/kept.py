"""What this browser keeps across reloads and restarts, so that visitors see only their own.

A small result of the store, under a name derived from the browser's cookie.
"""

import hashlib
from collections.abc import Mapping

from pages.ui.services import services
from pages.ui.visitors import visitor
from validation_core.keys import JSON


def key(name: str) -> str:
    """The store's key of what this browser keeps under a name."""
    return hashlib.sha256(f"{name} {visitor()}".encode()).hexdigest()[:32]


def load(name: str) -> Mapping[str, JSON]:
    """The values kept under a name; empty for none."""
    store = services().store
    if not store.has("results", key(name)):
        return {}
    stored = store.load("results", key(name))
    return stored.meta if stored else {}


def save(name: str, label: str, values: Mapping[str, object]) -> None:
    """Replace the values kept under a name; where no room is left, the operator is told."""
    store = services().store
    try:
        store.save("results", key(name), {}, spec=name, meta={"label": label, **values})
    except OSError as error:
        store.note(str(error))
