"""Who a visitor is, what is his, and how much of this server he may take.

A visitor is a browser, known by a cookie of our own that no script can read; where it sends none
(cookies off, tests) each session is a visitor of its own. What visitors share is bounded for each
and in all by NPTLAB_LIMITS, and each bound is said in words where it is reached.
"""

from __future__ import annotations

import hashlib
import hmac
import re
import threading
import uuid
import weakref
from collections.abc import Iterable
from dataclasses import dataclass, field
from ipaddress import ip_address
from typing import TYPE_CHECKING

import streamlit as st
from streamlit import config, runtime
from streamlit.runtime.scriptrunner import get_script_run_ctx

from validation_core.setting_checks import Share, hostname
from validation_core.settings import ADMIN, HOSTS, LIMITS, PUBLIC

if TYPE_CHECKING:  # numpy reads how many threads it may use when it is imported: app.py says first
    from validation_core.tables import Upload

COOKIE = "nptlab"
_TOKEN = re.compile(r"[A-Za-z0-9_-]{32,64}")
_MB = 10**6
_KNOWN = 10_000  # sessions whose visitor is remembered, long after they ended
_BLANK = " \t"


# ---- Who a visitor is ----


def cookie(headers: Iterable[str]) -> str:
    """The visitor's own cookie, the first that is one of ours; empty where there is none.

    The only reader of cookies: names and values of others on this host may be anything.

    Args:
        headers: Cookie headers of one request.
    """
    for header in headers:
        for part in header.split(";"):
            name, _, value = part.strip(_BLANK).partition("=")
            if name.rstrip(_BLANK) == COOKIE and name_of(value.lstrip(_BLANK)):
                return value.lstrip(_BLANK)
    return ""


def name_of(token: str) -> str:
    """The visitor behind a cookie: a name that tells nobody the cookie; empty for what is none."""
    return hashlib.sha256(token.encode()).hexdigest()[:16] if _TOKEN.fullmatch(token) else ""


def visitor() -> str:
    """Who looks at this page: one name per browser, so that a reload keeps it."""
    if "visitor" not in st.session_state:
        name = name_of(cookie(st.context.headers.get_all("Cookie")))
        st.session_state["visitor"] = name or f"session {uuid.uuid4().hex}"
    name, session = str(st.session_state["visitor"]), _session()
    with registry.lock:
        registry.owners.pop(session, None)  # the latest stands last
        registry.owners[session] = name
        if len(registry.owners) > _KNOWN:
            forgotten = next(iter(registry.owners))
            del registry.owners[forgotten]
            registry.refused.pop(forgotten, None)
    return name


def owner(session: str) -> str:
    """Whose session this is; empty for one that has shown no page."""
    with registry.lock:
        return registry.owners.get(session, "")


def is_admin() -> bool:
    """Whether this visitor may stop and delete what is not his.

    Whoever runs the server for himself may; where others come, whoever has given NPTLAB_ADMIN.
    """
    return bool(st.session_state.get("admin")) or (not operated() and _is_local())


def operated() -> bool:
    """Whether this server is run for others, as far as its settings tell."""
    said = PUBLIC.value() or HOSTS.value() or ADMIN.value()
    return bool(said) or not is_loopback(config.get_option("server.address") or "0.0.0.0")


def is_loopback(host: str) -> bool:
    """Whether a host's name or address is this machine's own."""
    try:
        return host == "localhost" or ip_address(host).is_loopback
    except ValueError:
        return False


def become_admin(token: str) -> bool:
    """Whether this is the admin's token: then this session is his."""
    right = hmac.compare_digest(token.encode(), ADMIN.value().encode()) and bool(token)
    st.session_state["admin"] = right
    return right


def _is_local() -> bool:
    """Whether this visitor sits at this machine, and no proxy has passed him on."""
    headers = st.context.headers
    passed = any(name in headers for name in ("Forwarded", "X-Forwarded-For", "X-Forwarded-Host"))
    return not passed and is_loopback(hostname(headers.get("Host", "localhost")))


def _session() -> str:
    context = get_script_run_ctx()
    assert context is not None, "pages run in a session"
    return context.session_id


# ---- How much a visitor has ----


@dataclass
class VisitorRegistry:
    """What this process knows of its visitors."""

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


def enter(name: str) -> bool:
    """Count a page that is opened, unless that were one too many; `leave` it if not."""
    with registry.lock:
        if full(name):
            return False
        registry.open[name] = registry.open.get(name, 0) + 1
        return True


def leave(name: str) -> None:
    """A page was closed."""
    with registry.lock:
        registry.open[name] -= 1
        if not registry.open[name]:
            del registry.open[name]


def full(name: str) -> str:
    """Why a visitor may open no more pages, in words; empty where he may."""
    with registry.lock:
        return _over(
            "pages",
            LIMITS.value().pages,
            registry.open.get(name, 0) + 1 if name else 0,  # without cookies nobody is told apart
            sum(registry.open.values()) + 1,
            "Close some of them, or come back later.",
        )


def begin_upload(session: str, length: int) -> bool:
    """Count a file that is being sent, unless that were too much: why is then said on the page."""
    with registry.lock:
        name = registry.owners.get(session, "")
        sent = bytes_by_visitor()
        total = sum(sent.values()) + sum(registry.coming.values()) + length
        own = sent.get(name, 0) + registry.coming.get(name, 0) + length
        why = _over(
            "MB of files",
            LIMITS.value().uploads,
            -(-own // _MB),
            -(-total // _MB),
            "Take a file off the page, or ask for your table on the command line.",
        )
        if why:
            registry.refused[session] = why
            return False
        registry.coming[name] = registry.coming.get(name, 0) + length
        return True


def end_upload(session: str, length: int) -> None:
    """It has arrived, or not."""
    with registry.lock:
        name = registry.owners.get(session, "")
        left = registry.coming.get(name, 0) - length
        if left > 0:
            registry.coming[name] = left
        else:
            registry.coming.pop(name, None)


def refusal() -> str:
    """Why a file that this session sent was refused, said once; empty where none was."""
    with registry.lock:
        return registry.refused.pop(_session(), "")


def hold(upload: Upload) -> None:
    """Count a table that this visitor has in memory.

    Raises:
        ValueError: where that is too much.
    """
    name = visitor()
    with registry.lock:
        sizes = {name: _bytes(upload)}
        for other, whose in registry.tables.items():
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
        registry.tables[upload] = name


def others_hold(digest: str) -> bool:
    """Whether another visitor has the table of this digest in memory: on a page of his."""
    name = visitor()
    with registry.lock:
        tables = list(registry.tables.items())
    return any(upload.digest == digest and whose != name for upload, whose in tables)


def too_many_jobs(own: int, total: int) -> str:
    """Why a visitor may start no more jobs, in words; empty where he may.

    Args:
        own: jobs that he waits for.
        total: all that are under way.
    """
    advice = "Wait until one ends, or stop one on the page Models and jobs."
    return _over("jobs", LIMITS.value().jobs, own + 1, total + 1, advice)


def _bytes(upload: Upload) -> int:
    return sum(array.nbytes for array in upload.arrays().values())


def _over(things: str, share: Share, own: int, total: int, advice: str) -> str:
    if own > share.own:
        rule = f"A visitor may have {share.own:,} {things} at a time; got {own:,}."
    elif total > share.all:
        rule = f"This server takes {share.all:,} {things} at a time from all visitors; it is full."
    else:
        return ""
    return f"{rule} {advice}"


def bytes_by_visitor() -> dict[str, int]:
    """Bytes of files that Streamlit holds, by visitor."""
    sizes: dict[str, int] = {}
    if runtime.exists():
        storage = getattr(runtime.get_instance().uploaded_file_mgr, "file_storage", {})
        for session, files in list(storage.items()):
            name = registry.owners.get(session, "")
            sizes[name] = sizes.get(name, 0) + sum(len(file.data) for file in list(files.values()))
    return sizes
