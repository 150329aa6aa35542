"""The last uploads of this browser, kept across reloads and restarts.

Tables are stored by their content alone; the list of a browser's tables is stored under a name
derived from its cookie, so that visitors see only their own.
"""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, fields, replace
from typing import Any, TypedDict, cast

import streamlit as st

from pages.ui import address, kept, quotas
from pages.ui.services import services
from validation_core.diagnosis import tasks
from validation_core.tables import Correction, LabelledTable, Reading, Upload

_KEPT = 8
_CORRECTION = {field.name for field in fields(Correction)}
_SPEC = "recent"
_ADDRESS = "table"
_OPEN = "recent-open"


class RecentTable(TypedDict):
    """Entry of a table in the list; the store has its arrays by the digest."""

    label: str
    files: list[str]
    digest: str
    n: int
    names: list[str]
    x_names: list[str]
    dropped: dict[str, int]
    notes: list[str]
    read_as: list[str]
    corrected: list[dict[str, Any]]
    said: dict[str, Any]


def remember(table: LabelledTable) -> None:
    """Put a table first in this browser's list and into the address of the page."""
    label, upload, files = table
    _open(upload.digest[:12])
    entry: RecentTable = {
        "label": label,
        "files": [*files],
        "digest": upload.digest,
        "n": upload.n,
        "names": list(upload.names),
        "x_names": list(upload.x_names),
        "dropped": dict(upload.dropped),
        "notes": list(upload.notes),
        "read_as": list(upload.read_as),
        "corrected": [asdict(one) for one in upload.corrected],
        "said": {**upload.said},
    }
    known = listed()
    if known and known[0] == entry:
        return
    _list([entry, *_without(known, upload.digest)][:_KEPT])


def listed() -> Sequence[RecentTable]:
    """This browser's tables that the store still has, newest first."""
    store = services().store
    return [entry for entry in _entries(kept.load(_SPEC)) if store.has("tables", entry["digest"])]


def addressed() -> LabelledTable | None:
    """The table that the address names, or that was open on this page before another page was.

    Only if it is one of this browser's.
    """
    digest = asked()
    for entry in listed() if len(digest) >= 12 else []:
        if entry["digest"].startswith(digest) and (table := again(entry)) is not None:
            _open(digest)
            return table
    return None


def asked() -> str:
    """The first digits of the digest that `addressed` looks for; empty for none."""
    return "".join(address.asked(_ADDRESS)[-1:]) or str(st.session_state.get(_OPEN, ""))


def again(entry: RecentTable) -> LabelledTable | None:
    """A listed table, or None when the store no longer has it."""
    last: tuple[RecentTable, Upload] | None = st.session_state.get("recent")
    if last is None or last[0] != entry:  # entries of one digest may differ in their names
        try:
            upload = tasks.load_upload(services().store, entry["digest"])
        except ValueError:
            return None
        upload = replace(
            upload,
            names=tuple(entry["names"]),
            x_names=tuple(entry["x_names"]),
            dropped=dict(entry["dropped"]),
            notes=tuple(entry["notes"]),
            read_as=tuple(entry["read_as"]),
            corrected=tuple(Correction(**one) for one in entry["corrected"]),
            said=cast("Reading", entry["said"]),
        )
        last = st.session_state["recent"] = entry, upload  # one at a time: they are large
    return LabelledTable(entry["label"], last[1], tuple(entry["files"]))


def delete(digest: str) -> None:
    """Remove a table from this browser's list, and from the store unless others list it.

    Its results stay, under its digest.
    """
    known, store = listed(), services().store
    others = _without(known, digest)
    if len(others) == len(known):
        return
    _list(others)  # first: if two browsers delete it at once, one of them finds no other
    st.session_state.pop("recent", None)
    if not (quotas.others_hold(digest) or _others_list(digest)):
        store.delete("tables", digest)


def forget() -> None:
    """Remove the table from the address; it stays listed."""
    address.ask(_ADDRESS)
    st.session_state.pop(_OPEN, None)


def _list(tables: Sequence[RecentTable]) -> None:
    """Replace this browser's list; where it cannot be kept, the open table stays open."""
    kept.save(_SPEC, "A browser's list of tables", {"tables": [*tables]})


def _entries(kept_values: Mapping[str, object]) -> list[RecentTable]:
    """The entries of a stored list; those that another version wrote in ways not known here go."""
    entries = kept_values.get("tables")
    known = map(_entry, entries if isinstance(entries, list) else ())
    return [entry for entry in known if entry is not None]


def _entry(stored: object) -> RecentTable | None:
    """An entry as this version writes it, without fields that only another one knows."""
    if not isinstance(stored, dict):
        return None
    try:
        return {
            "label": str(stored["label"]),
            "files": [str(name) for name in stored.get("files", ())],
            "digest": str(stored["digest"]),
            "n": int(stored["n"]),
            "names": [str(name) for name in stored["names"]],
            "x_names": [str(name) for name in stored["x_names"]],
            "dropped": {str(why): int(n) for why, n in dict(stored["dropped"]).items()},
            "notes": [str(note) for note in stored["notes"]],
            "read_as": [str(line) for line in stored.get("read_as", ())],
            "corrected": [
                asdict(Correction(**{name: one[name] for name in _CORRECTION & one.keys()}))
                for one in stored.get("corrected", ())
            ],
            "said": {
                name: value
                for name, value in dict(stored.get("said", {})).items()
                if name in Reading.__annotations__
            },
        }
    except (KeyError, TypeError, ValueError, AttributeError):
        return None


def _without(tables: Sequence[RecentTable], digest: str) -> list[RecentTable]:
    return [entry for entry in tables if entry["digest"] != digest]


def _others_list(digest: str) -> bool:
    """Whether another browser has this table on its list."""
    lists = (
        _entries(entry.meta)
        for entry in services().store.entries()
        if entry.spec == _SPEC and entry.key != kept.key(_SPEC)
    )
    return any(len(_without(tables, digest)) < len(tables) for tables in lists)


def _open(digest: str) -> None:
    address.say(_ADDRESS, (digest,))
    st.session_state[_OPEN] = digest
