"""Tables of a comparison in the page's address: kept on reload, and for whoever has the link.

An entry is a table's whole digest and its label. Nobody can guess a digest without the numbers, so
that a link gives its tables to those alone to whom it was given.
"""

import re
from collections.abc import Sequence
from dataclasses import replace

import streamlit as st

from pages.ui import address
from pages.ui.services import services
from validation_core.diagnosis import tasks
from validation_core.diagnosis.comparison import address_entry
from validation_core.tables import Upload

_ADDRESS, _HELD = "tables", "compared-tables"
_ENTRY = re.compile(r"([0-9a-f]{32,64})~(.{1,80})", re.DOTALL)


def remember(tables: Sequence[tuple[str, Upload]]) -> None:
    """Put these tables into the address."""
    address.say(_ADDRESS, [address_entry(label, upload) for label, upload in tables])
    st.session_state[_HELD] = list(tables)  # the store reads a table in seconds


def addressed() -> tuple[list[tuple[str, Upload]], int]:
    """The tables that the address names and the server still has, and how many it has not."""
    # Tables of one digest may differ in the names of their parameters.
    held: dict[str, Upload] = {
        address_entry(label, upload): upload for label, upload in st.session_state.get(_HELD, ())
    }
    tables: list[tuple[str, Upload]] = []
    lost = 0
    for entry in address.asked(_ADDRESS):
        known = _ENTRY.fullmatch(entry)
        upload = None if known is None else held.get(entry) or _kept(known[1])
        if known is None or upload is None:
            lost += 1
        else:
            tables.append((known[2], upload))
    return tables, lost


def forget() -> None:
    """Take the tables out of the address."""
    address.ask(_ADDRESS)
    st.session_state.pop(_HELD, None)


def _kept(digest: str) -> Upload | None:
    """A table of the store, with the names that were saved with it."""
    store = services().store
    try:
        upload = tasks.load_upload(store, digest)
    except ValueError:
        return None
    stored = store.load("tables", digest)
    names = stored.meta.get("names") if stored else None
    if not isinstance(names, list) or len(names) != len(upload.names):
        return upload
    return replace(upload, names=tuple(map(str, names)))
