"""Identify visitors, and the operator of this server.

A visitor is a browser, known by a cookie of our own that this server signed and no script can
read; where it sends none (cookies off, tests) each session is a visitor of its own.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import re
import secrets
import uuid
from collections.abc import Iterable
from ipaddress import IPv6Address, ip_address

import streamlit as st
from streamlit import config
from streamlit.runtime.scriptrunner import get_script_run_ctx

from pages.ui import visitor_registry
from pages.ui.guesses import Guesses
from pages.ui.visitor_key import visitor_key
from validation_core.setting_checks import hostname
from validation_core.settings import ADMIN, HOSTS, PUBLIC

COOKIE = "nptlab"
_SIGNED = re.compile(r"([A-Za-z0-9_-]{32})\.[A-Za-z0-9_-]{43}")
_KNOWN = 10_000  # most sessions whose visitor is kept, ended ones included
_BLANK = " \t"
_NEIGHBOURS = 64  # bits that the addresses of one IPv6 network share

guesses = Guesses()
"""Wrong tries of tokens."""


def cookie(headers: Iterable[str]) -> str:
    """The visitor's own cookie, the first that is one of ours; empty where there is none.

    The only reader of cookies: those of other applications on this host may be malformed.

    Args:
        headers: Cookie headers of one request.
    """
    for header in headers:
        for part in header.split(";"):
            name, _, value = part.strip(_BLANK).partition("=")
            if name.rstrip(_BLANK) == COOKIE and name_of(value.lstrip(_BLANK)):
                return value.lstrip(_BLANK)
    return ""


def name_of(cookie: str) -> str:
    """The visitor of a cookie: a name that does not reveal it; empty for one not signed here."""
    match = _SIGNED.fullmatch(cookie)
    if match is None or not hmac.compare_digest(signed(match[1]), cookie):
        return ""
    return hashlib.sha256(match[1].encode()).hexdigest()[:16]


def signed(token: str) -> str:
    """A token of 32 characters with this server's signature, the value of a cookie."""
    signature = hmac.digest(visitor_key(), token.encode(), "sha256")
    return f"{token}.{base64.urlsafe_b64encode(signature).decode().rstrip('=')}"


def fresh_cookie() -> str:
    """The value of a cookie for a browser that has none."""
    return signed(secrets.token_urlsafe(24))


def address_of(host: str) -> str:
    """The address that a visitor shares with others: of an IPv6 network the first half."""
    try:
        address = ip_address(host)
    except ValueError:
        return host
    if not isinstance(address, IPv6Address):
        return host
    if address.ipv4_mapped:
        return str(address.ipv4_mapped)
    return str(IPv6Address(int(address) >> _NEIGHBOURS << _NEIGHBOURS))


def visitor() -> str:
    """The visitor of this page: one name per browser, kept across reloads."""
    known = visitor_registry.registry
    if "visitor" not in st.session_state:
        name = name_of(cookie(st.context.headers.get_all("Cookie")))
        st.session_state["visitor"] = name or f"session {uuid.uuid4().hex}"
    name, session = str(st.session_state["visitor"]), session_id()
    with known.lock:
        known.owners.pop(session, None)  # the latest stands last
        known.owners[session] = name
        if len(known.owners) > _KNOWN:
            forgotten = next(iter(known.owners))
            del known.owners[forgotten]
            known.refused.pop(forgotten, None)
    return name


def owner(session: str) -> str:
    """The visitor of a session; empty for one that has shown no page."""
    known = visitor_registry.registry
    with known.lock:
        return known.owners.get(session, "")


def is_admin() -> bool:
    """Whether this visitor may stop and delete the work of others.

    The local user of a private server may; on a public one, a visitor who entered NPTLAB_ADMIN.
    """
    return bool(st.session_state.get("admin")) or (not operated() and _is_local())


def operated() -> bool:
    """Whether this server is public, according to its settings."""
    said = PUBLIC.value() or HOSTS.value() or ADMIN.value()
    return bool(said) or not is_loopback(config.get_option("server.address") or "0.0.0.0")


def is_loopback(host: str) -> bool:
    """Whether a host's name or address is this machine's own."""
    try:
        return host == "localhost" or ip_address(host).is_loopback
    except ValueError:
        return False


def become_admin(token: str) -> str:
    """Check the admin's token; if valid, this session is the admin's.

    Returns:
        The reason why it is not; empty if it is.
    """
    why = guesses.refusal(address_of(st.context.ip_address or ""), token, ADMIN.value())
    st.session_state["admin"] = not why
    return why


def _is_local() -> bool:
    """Whether this visitor connects from this machine, without a proxy."""
    headers = st.context.headers
    passed = any(name in headers for name in ("Forwarded", "X-Forwarded-For", "X-Forwarded-Host"))
    return not passed and is_loopback(hostname(headers.get("Host", "localhost")))


def session_id() -> str:
    """The id of the session of this page."""
    context = get_script_run_ctx()
    assert context is not None, "pages run in a session"
    return context.session_id
