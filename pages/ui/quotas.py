"""Quotas of visitors: pages, files, tables and jobs.

NPTLAB_LIMITS sets a quota for each visitor and one for all; a message says when one is reached.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from streamlit import runtime

from pages.ui import visitor_registry
from pages.ui.visitors import session_id, visitor
from validation_core.limits import Quota
from validation_core.settings import LIMITS

if TYPE_CHECKING:  # numpy reads its number of threads when imported, and app.py sets it first
    from validation_core.tables import Upload

_MB = 10**6


def enter(name: str, address: str) -> bool:
    """Count an opened page, unless over a quota; a counted one must `leave`.

    Args:
        name: of the visitor; empty without a cookie.
        address: of the visitor, by `visitors.address_of`.
    """
    known = visitor_registry.registry
    with known.lock:
        if full(name, address):
            return False
        known.open[name] = known.open.get(name, 0) + 1
        known.addresses[address] = known.addresses.get(address, 0) + 1
        return True


def leave(name: str, address: str) -> None:
    """Count a closed page."""
    known = visitor_registry.registry
    with known.lock:
        _subtract(known.open, name, 1)
        _subtract(known.addresses, address, 1)


def full(name: str, address: str) -> str:
    """The reason why a visitor may open no more pages; empty if allowed."""
    known, limits = visitor_registry.registry, LIMITS.value()
    advice = "Close some of them, or come back later."
    with known.lock:
        total = sum(known.open.values()) + 1
        own = known.open.get(name, 0) + 1 if name else 0  # without cookies nobody is told apart
        why = _over("pages", limits.pages, own, total, advice)
        if not why and known.addresses.get(address, 0) >= limits.pages_of_address:
            why = (
                f"Visitors of one address may have {limits.pages_of_address:,} pages at a time; "
                f"got one more. {advice}"
            )
        return why


def fits(session: str, length: int) -> bool:
    """Whether a file that is announced fits beside those that lie here; `refusal` has the reason.

    Nothing is counted: what is announced may never come.
    """
    return _counts(session, length, keep=False)


def arrive(session: str, length: int) -> bool:
    """Count bytes that have come, unless over the quota; `refusal` has the reason."""
    return _counts(session, length, keep=True)


def arrived(session: str, length: int) -> None:
    """Stop counting bytes as being sent: their file lies here, or was given up."""
    known = visitor_registry.registry
    with known.lock:
        _subtract(known.coming, known.owners.get(session, ""), length)


def _counts(session: str, length: int, *, keep: bool) -> bool:
    known = visitor_registry.registry
    with known.lock:
        name = known.owners.get(session, "")
        sent = bytes_by_visitor()
        total = sum(sent.values()) + sum(known.coming.values()) + length
        own = sent.get(name, 0) + known.coming.get(name, 0) + length
        why = _over(
            "MB of files",
            LIMITS.value().uploads,
            -(-own // _MB),
            -(-total // _MB),
            "Take a file off the page, or ask for your table on the command line.",
        )
        if why:
            known.refused[session] = why
        elif keep:
            known.coming[name] = known.coming.get(name, 0) + length
        return not why


def _subtract(counts: dict[str, int], key: str, number: int) -> None:
    left = counts.get(key, 0) - number
    if left > 0:
        counts[key] = left
    else:
        counts.pop(key, None)


def refusal() -> str:
    """The reason why a file of this session was refused, once; empty without one."""
    known = visitor_registry.registry
    with known.lock:
        return known.refused.pop(session_id(), "")


def hold(upload: Upload) -> None:
    """Count a table that this visitor has in memory.

    Raises:
        ValueError: over the quota.
    """
    known = visitor_registry.registry
    name = visitor()
    with known.lock:
        sizes = {name: _bytes(upload)}
        for other, whose in known.tables.items():
            if other is not upload:
                sizes[whose] = sizes.get(whose, 0) + _bytes(other)
        why = _over(
            "MB of tables",
            LIMITS.value().tables,
            -(-sizes[name] // _MB),
            -(-sum(sizes.values()) // _MB),
            "Close other pages with tables, keep fewer draws, or use the command line.",
        )
        if why:
            raise ValueError(why)
        known.tables[upload] = name


def others_hold(digest: str) -> bool:
    """Whether another visitor has the table of this digest in memory, on an open page."""
    known = visitor_registry.registry
    name = visitor()
    with known.lock:
        tables = list(known.tables.items())
    return any(upload.digest == digest and whose != name for upload, whose in tables)


def too_many_jobs(own: int, total: int) -> str:
    """The reason why a visitor may start no more jobs; empty if allowed.

    Args:
        own: running jobs of the visitor.
        total: running jobs of all visitors.
    """
    advice = "Wait until one ends, or stop one on the page Models and jobs."
    return _over("jobs", LIMITS.value().jobs, own + 1, total + 1, advice)


def _bytes(upload: Upload) -> int:
    return sum(array.nbytes for array in upload.arrays().values())


def _over(things: str, share: Quota, own: int, total: int, advice: str) -> str:
    if own > share.own:
        rule = f"A visitor may have {share.own:,} {things} at a time; got {own:,}."
    elif total > share.all:
        rule = f"This server takes {share.all:,} {things} at a time from all visitors; it is full."
    else:
        return ""
    return f"{rule} {advice}"


def bytes_by_visitor() -> dict[str, int]:
    """Bytes of files that Streamlit holds, by visitor."""
    known = visitor_registry.registry
    sizes: dict[str, int] = {}
    if runtime.exists():
        storage = getattr(runtime.get_instance().uploaded_file_mgr, "file_storage", {})
        for session, files in list(storage.items()):
            name = known.owners.get(session, "")
            sizes[name] = sizes.get(name, 0) + sum(len(file.data) for file in list(files.values()))
    return sizes
