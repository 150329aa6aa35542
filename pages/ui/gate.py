"""The filter of every request before Streamlit: hosts, origins, cookies and quotas.

A page of another site must not reach this server through a visitor's browser, not even by DNS
rebinding: only allowed host names are answered, and IP addresses, which no name server can
redirect. Headers that Streamlit would look up on the network are removed from outside requests.
"""

from __future__ import annotations

import re
import time
from collections.abc import Mapping, Sequence
from ipaddress import ip_address
from urllib.parse import quote, urlsplit

from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import ClientDisconnect
from starlette.responses import HTMLResponse, PlainTextResponse, RedirectResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send
from streamlit import config
from websockets import http11

from pages.ui import preloads, quotas, visitors
from pages.ui.arriving import SILENCE, ArrivingFile
from validation_core.setting_checks import hostname
from validation_core.settings import AGENTS, EMBED, HOSTS

HEADERS = {
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "SAMEORIGIN",
    "Referrer-Policy": "same-origin",
    "Permissions-Policy": "camera=(), microphone=(), geolocation=()",
    "Cross-Origin-Opener-Policy": "same-origin",
    # Streamlit's front end needs inline styles and modules made from text (components, charts).
    "Content-Security-Policy": "; ".join(
        [
            "default-src 'self'",
            "script-src 'self' 'unsafe-inline' 'unsafe-eval' blob:",
            "style-src 'self' 'unsafe-inline'",
            "img-src 'self' data: blob:",
            "font-src 'self' data:",
            "connect-src 'self'",
            "worker-src 'self' blob:",
            "object-src 'none'",
            "base-uri 'self'",
            "form-action 'self'",
            "frame-ancestors 'self'",
        ]
    ),
}

_CLOSED = re.compile(r"/_stcore/metrics")
_AGENT = re.compile(r"/_stcore/agent/")
_BEARER = re.compile(r"bearer +(\S+) *", re.IGNORECASE)
_UPLOAD = re.compile(r"/_stcore/upload_file/([^/]+)/[^/]+$")
_EMBED = re.compile(r"(^|&)embed(=1?)?(?=&|$)", re.IGNORECASE)
_COOKIES = 2**16  # bytes
_YEAR = 365 * 24 * 3600
_FULL = """<!doctype html><meta charset="utf-8"><meta http-equiv="refresh" content="20">
<title>NPT Lab</title><body style="font:1.1rem/1.5 sans-serif;max-width:34rem;margin:4rem auto;\
padding:0 1rem;color-scheme:light dark"><h1 style="font-size:1.5rem">No room just now</h1>
<p>{why}</p><p>This page tries again by itself.</p>"""


def take_long_cookies() -> None:
    """Accept long cookies on a page's WebSocket, as for the page itself.

    All applications on a host share their cookies, up to 64 KB of a request; the WebSocket library
    rejects more than 8 KB, and the page would never load.
    """
    http11.MAX_LINE_LENGTH = max(http11.MAX_LINE_LENGTH, _COOKIES)


def admit_agents() -> None:
    """Serve Streamlit's interface for programs where NPTLAB_AGENTS has a token for it."""
    if AGENTS.value():
        config.set_option("server.enableAgentApi", True)


class Gate:
    """Refuses foreign requests, gives each browser its cookie, and enforces the quotas."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app
        self._names = _allowed_names()
        self._headers = _framed(EMBED.value())

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] not in ("http", "websocket"):
            await self.app(scope, receive, send)
            return
        headers = Headers(scope=scope)
        refusal = self._refusal(scope, headers)
        if scope["type"] == "websocket":
            await self._socket(scope, receive, send, headers, refused=refusal is not None)
            return
        token = visitors.cookie(headers.getlist("cookie"))
        fresh = visitors.fresh_cookie() if not token and _is_document(scope, headers) else ""
        answer = refusal or _embedded(scope, headers) or self._no_room(scope, headers, token)
        own = self._headers
        if _is_document(scope, headers):
            own = {**own, "Link": preloads.link_header()}
        with_headers = _adding(send, own, fresh, secure=_is_secure(scope, headers))
        if answer is not None:
            await answer(scope, receive, with_headers)
        elif upload := _UPLOAD.search(scope["path"]):
            await _upload(self.app, scope, receive, with_headers, headers, upload[1], token)
        else:
            await self.app(_own_origin(scope, headers), receive, with_headers)

    def _refusal(self, scope: Scope, headers: Headers) -> Response | None:
        """The reason for refusing a request, or None."""
        host = hostname(headers.get("host", ""))
        if not (visitors.is_loopback(host) or _is_address(host) or self._is_known(host)):
            return PlainTextResponse(
                "A request must name a host that this server is known by. Whoever runs it allows "
                "more names by NPTLAB_HOSTS.\n",
                421,
            )
        if _CLOSED.search(scope["path"]):
            return PlainTextResponse("This is not served here.\n", 404)
        if _AGENT.search(scope["path"]) and (refusal := _no_agent(scope, headers)):
            return refusal
        changes = scope["type"] == "websocket" or scope["method"] not in ("GET", "HEAD", "OPTIONS")
        if changes and _is_foreign(headers):
            return PlainTextResponse("A request must come from this server's own pages.\n", 403)
        return None

    def _is_known(self, host: str) -> bool:
        """Whether a name is allowed, by itself or by `*.` and what follows its first part."""
        return host in self._names or f"*.{host.partition('.')[2]}" in self._names

    def _no_room(self, scope: Scope, headers: Headers, token: str) -> Response | None:
        """The reply instead of a page when too many are open."""
        if not _is_document(scope, headers):
            return None
        why = quotas.full(visitors.name_of(token), _address(scope))
        return HTMLResponse(_FULL.format(why=why), 503, {"Retry-After": "20"}) if why else None

    async def _socket(
        self, scope: Scope, receive: Receive, send: Send, headers: Headers, *, refused: bool
    ) -> None:
        """Accept a page's WebSocket, which may resume only sessions of the same browser."""
        name = visitors.name_of(visitors.cookie(headers.getlist("cookie")))
        address = _address(scope)
        if refused or not quotas.enter(name, address):
            await receive()
            await send({"type": "websocket.close", "code": 1008 if refused else 1013})
            return
        try:
            await self.app(_own_session(scope, headers, name), receive, send)
        finally:
            quotas.leave(name, address)


async def _upload(
    app: ASGIApp,
    scope: Scope,
    receive: Receive,
    send: Send,
    headers: Headers,
    session: str,
    token: str,
) -> None:
    """Accept an upload only from the browser of its session, and within the quota."""
    answer = _no_upload(scope, headers, session, token)
    if answer is not None:
        await answer(scope, receive, send)
        return
    if scope["method"] != "PUT":
        await app(scope, receive, send)
        return
    file = ArrivingFile(receive, session, time.monotonic)
    try:
        if quotas.fits(session, int(headers["content-length"])):
            await app(scope, file, send)
            return
        file.over = True
    except ClientDisconnect:  # ours, or the browser's own
        pass
    finally:
        file.end()
    if file.over:
        # Taken as if it had arrived: the page, which then runs, gives the reason.
        await file.discard()
    silent = PlainTextResponse(
        f"A file must keep coming; got nothing for {SILENCE:.0f} s, or its page was shut.\n",
        408,
        {"Connection": "close"},
    )
    await (silent if file.given_up else Response(status_code=204))(scope, receive, send)


def _no_upload(scope: Scope, headers: Headers, session: str, token: str) -> Response | None:
    """The reason for refusing an upload before it is sent, or None."""
    if visitors.owner(session) not in ("", visitors.name_of(token)):
        return PlainTextResponse("A file goes to a page of one's own.\n", 403)
    if scope["method"] != "PUT":
        return None
    text = headers.get("content-length", "")
    if not text.isdecimal():
        return PlainTextResponse("A file must say its length.\n", 411)
    if int(text) > (config.get_option("server.maxUploadSize") + 1) * 2**20:
        return PlainTextResponse("The file is too large.\n", 413)
    return None


def _no_agent(scope: Scope, headers: Headers) -> Response | None:
    """The reason for refusing a program that would drive a page, or None."""
    secret = AGENTS.value()
    if not secret:
        return PlainTextResponse("This is not served here.\n", 404)
    match = _BEARER.fullmatch(headers.get("authorization", ""))
    why = visitors.guesses.refusal(_address(scope), match[1] if match else "", secret)
    return PlainTextResponse(f"{why}\n", 401, {"WWW-Authenticate": "Bearer"}) if why else None


def _address(scope: Scope) -> str:
    """The address of a visitor; behind a proxy of this machine, that which the proxy names."""
    client = scope.get("client")
    return visitors.address_of(client[0] if client else "")


def _allowed_names() -> frozenset[str]:
    """Allowed host names, beside this machine's own."""
    own = config.get_option("browser.serverAddress"), *config.get_option("server.allowedHosts")
    return frozenset(name.lower().rstrip(".") for name in (*HOSTS.value(), *own) if name)


def _framed(origins: Sequence[str]) -> Mapping[str, str]:
    """The headers that allow pages of these origins to embed ours."""
    if not origins:
        return HEADERS
    policy = HEADERS["Content-Security-Policy"]
    wider = policy.replace("frame-ancestors 'self'", f"frame-ancestors 'self' {' '.join(origins)}")
    others = {name: value for name, value in HEADERS.items() if name != "X-Frame-Options"}
    return {**others, "Content-Security-Policy": wider}


def _embedded(scope: Scope, headers: Headers) -> Response | None:
    """`?embed` as Streamlit's front end understands it, which reads `embed=true` alone."""
    text = scope["query_string"].decode("latin-1")
    if not _is_document(scope, headers) or not _EMBED.search(text):
        return None
    query = _EMBED.sub(r"\1embed=true", text)
    path = quote(scope["path"].lstrip("/"))  # two slashes would name another host
    return RedirectResponse(f"/{path}?{query}", 307)


def _is_address(host: str) -> bool:
    try:
        return bool(ip_address(host))
    except ValueError:
        return False


def _is_foreign(headers: Headers) -> bool:
    """Whether the headers show that a page of another site made the request."""
    origin = headers.get("origin")
    if origin is not None and _place(origin) != headers.get("host", "").lower():
        return True
    return headers.get("sec-fetch-site") == "cross-site"


def _place(origin: str) -> str:
    """The host and port of an origin; empty for other text."""
    try:
        return urlsplit(origin).netloc.lower()
    except ValueError:
        return ""


def _own_origin(scope: Scope, headers: Headers) -> Scope:
    """The request without a foreign origin, which Streamlit would look up on the network."""
    return _with(scope, {"origin": None}) if _is_foreign(headers) else scope


def _own_session(scope: Scope, headers: Headers, name: str) -> Scope:
    """The request without the session of another browser.

    The third of its protocols is a session to resume.
    """
    protocols = [item.strip() for item in headers.get("sec-websocket-protocol", "").split(",")]
    if len(protocols) < 3 or visitors.owner(protocols[2]) in ("", name):
        return scope
    scope = _with(scope, {"sec-websocket-protocol": ", ".join(protocols[:2])})
    return {**scope, "subprotocols": protocols[:2]}


def _with(scope: Scope, headers: Mapping[str, str | None]) -> Scope:
    """The request with replaced headers; None removes one."""
    others = [pair for pair in scope["headers"] if pair[0].decode("latin-1") not in headers]
    new = [(k.encode(), v.encode("latin-1")) for k, v in headers.items() if v is not None]
    return {**scope, "headers": [*others, *new]}


def _is_document(scope: Scope, headers: Headers) -> bool:
    """Whether a browser opens a page, rather than a file of it."""
    asks = scope["type"] == "http" and scope["method"] == "GET"
    return asks and "text/html" in headers.get("accept", "") and "/_stcore/" not in scope["path"]


def _is_secure(scope: Scope, headers: Headers) -> bool:
    return scope["scheme"] == "https" or headers.get("x-forwarded-proto") == "https"


def _adding(send: Send, own: Mapping[str, str], token: str, *, secure: bool) -> Send:
    """A `send` that adds the headers above, and the cookie where the browser has none."""

    async def adding(message: Message) -> None:
        if message["type"] == "http.response.start":
            headers = MutableHeaders(scope=message)
            for name, value in own.items():
                headers.setdefault(name, value)
            if token:
                cookie = f"{visitors.COOKIE}={token}; Path=/; Max-Age={_YEAR}; HttpOnly"
                headers.append("Set-Cookie", f"{cookie}; SameSite=Lax" + "; Secure" * secure)
        await send(message)

    return adding
