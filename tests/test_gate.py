"""The gate and a real server behind it: whom it answers, what it closes, who owns what."""

import asyncio
import contextlib
import itertools
import json
import os
import re
import socket
import subprocess
import sys
import threading
import time
import urllib.error
import urllib.request
from dataclasses import dataclass, field
from pathlib import Path
from types import SimpleNamespace

import pytest
import streamlit
import websockets
from starlette.requests import Request
from streamlit.proto.BackMsg_pb2 import BackMsg
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg
from streamlit.proto.NewSession_pb2 import Config

from pages.ui import arriving, gate, quotas, visitor_registry, visitors
from pages.ui.guesses import Guesses
from pages.ui.visitor_key import visitor_key
from tests.conftest import ROOT
from tests.server import free_port, stop

MINE, HIS = visitors.signed("a" * 32), visitors.signed("b" * 32)
COOKIE, OTHER = f"nptlab={MINE}", f"nptlab={HIS}"


@dataclass
class Answers:
    """An application behind the gate that answers everything, and what has reached it."""

    scopes: list[dict] = field(default_factory=list)

    async def __call__(self, scope, receive, send):
        self.scopes.append(scope)
        if scope["type"] == "http":
            await send({"type": "http.response.start", "status": 200, "headers": []})
            await send({"type": "http.response.body", "body": b"ok"})


def ask(path="/", method="GET", *, behind=None, kind="http", body=(b"",), client="", **headers):
    """Status and headers of one request through the gate; of a socket, what is sent."""
    behind = behind or Answers()
    given = {"host": "localhost:8501", **{k.replace("_", "-"): v for k, v in headers.items()}}
    scope = {
        "type": kind, "path": path, "scheme": "http", "method": method, "query_string": b"",
        "headers": [(k.encode(), v.encode("latin-1")) for k, v in given.items()],
        "client": (client, 1),
    }  # fmt: skip
    if kind == "websocket":
        del scope["method"]
    pieces = [
        {"type": "http.request", "body": piece, "more_body": i + 1 < len(body)}
        for i, piece in enumerate(body)
    ]
    sent = []

    async def receive():
        return pieces.pop(0) if kind == "http" else {"type": "websocket.connect"}

    async def send(message):
        sent.append(message)

    asyncio.run(gate.Gate(behind)(scope, receive, send))
    if kind == "websocket":
        return sent, behind
    heads = {name.decode(): value.decode() for name, value in sent[0]["headers"]}
    return sent[0]["status"], heads, b"".join(m.get("body", b"") for m in sent[1:])


@pytest.fixture(autouse=True)
def _fresh(monkeypatch):
    monkeypatch.setattr(visitor_registry, "registry", visitor_registry.VisitorRegistry())


@pytest.fixture
def bounded(monkeypatch):
    monkeypatch.setenv("NPTLAB_LIMITS", "pages=2/4 uploads=1/2")


def test_every_answer_carries_the_security_headers():
    _, headers, _ = ask()
    for name, value in gate.HEADERS.items():
        assert headers[name.lower()] == value
    assert "connect-src 'self';" in headers["content-security-policy"]


def test_a_page_has_its_parts_fetched_beside_streamlits_own_and_a_file_has_none():
    _, headers, _ = ask(accept="text/html")
    names = re.findall(r"<\./(static/js/[^>]+)>; rel=modulepreload", headers["link"])
    assert any(name.startswith("static/js/BidiComponent.") for name in names)
    static = Path(streamlit.__file__).with_name("static")
    page = (static / "index.html").read_text(encoding="utf-8")
    assert all((static / name).is_file() and name not in page for name in names)
    assert "link" not in ask("/static/js/index.js", accept="*/*")[1]


@pytest.mark.parametrize(
    "host",
    ["localhost", "localhost:8501", "127.0.0.1:80", "[::1]:8501", "10.1.2.3", "LAB.example."],
)
def test_names_that_are_known_are_answered(monkeypatch, host):
    monkeypatch.setenv("NPTLAB_HOSTS", "lab.example")
    assert ask(host=host)[0] == 200


@pytest.mark.parametrize(
    "host",
    ["evil.example", "localhost.evil.example", "lab.example.evil", "", "a@localhost",
     "localhost/x", "localhost:port", "evil.example#localhost", "127.0.0.1.evil.example"],
)  # fmt: skip
def test_other_names_are_not(monkeypatch, host):
    """A name that leads here today led elsewhere when the visitor's browser asked for it."""
    monkeypatch.setenv("NPTLAB_HOSTS", "lab.example")
    behind = Answers()
    status, _, text = ask(host=host, behind=behind)
    assert (status, behind.scopes) == (421, [])
    assert b"NPTLAB_HOSTS" in text
    sent, behind = ask(host=host, kind="websocket")
    assert (sent, behind.scopes) == ([{"type": "websocket.close", "code": 1008}], [])


def test_another_site_opens_no_page_sends_no_file_and_is_never_named():
    foreign = "https://evil.example"
    sent, behind = ask(kind="websocket", path="/_stcore/stream", origin=foreign)
    assert (sent[0]["code"], behind.scopes) == (1008, [])
    assert ask(method="PUT", path="/_stcore/upload_file/s/f", origin=foreign)[0] == 403
    assert ask(method="POST", sec_fetch_site="cross-site")[0] == 403
    behind = Answers()
    assert ask(origin=foreign, behind=behind)[0] == 200
    assert "origin" not in dict(behind.scopes[0]["headers"])
    assert b"origin" not in dict(behind.scopes[0]["headers"])


@pytest.mark.parametrize(
    "path",
    [
        "/_stcore/metrics",
        "/lab/_stcore/metrics",
        "/_stcore/agent/interact",
        "/lab/_stcore/agent/mcp",
    ],
)
def test_what_is_for_operators_is_closed(path):
    assert ask(path)[0] == 404


def test_a_browser_gets_one_cookie_that_no_script_reads():
    _, headers, _ = ask(accept="text/html")
    cookie = headers["set-cookie"]
    for part in ("HttpOnly", "SameSite=Lax", "Path=/"):
        assert part in cookie
    assert "Secure" not in cookie
    assert "Secure" in ask(accept="text/html", x_forwarded_proto="https")[1]["set-cookie"]
    assert "set-cookie" not in ask(accept="text/html", cookie=COOKIE)[1]
    assert "set-cookie" not in ask()[1]  # a file of a page
    assert "set-cookie" in ask(accept="text/html", cookie="nptlab=<script>")[1]
    again = ask(accept="text/html")[1]["set-cookie"]
    assert re.match(r"nptlab=[\w-]{32}\.[\w-]{43};", cookie)
    assert again.split(";")[0] != cookie.split(";")[0]


def test_a_file_goes_only_to_a_page_of_one_s_own():
    with visitor_registry.registry.lock:
        visitor_registry.registry.owners["s"] = visitors.name_of(MINE)
    path = "/_stcore/upload_file/s/f"
    for method in ("PUT", "DELETE"):
        assert ask(path, method, cookie=OTHER, content_length="3")[0] == 403
        assert ask(path, method, content_length="3")[0] == 403
        assert ask(path, method, cookie=COOKIE, content_length="3")[0] == 200
    assert ask(path, "PUT", cookie=COOKIE)[0] == 411
    assert ask(path, "PUT", cookie=COOKIE, content_length=str(10**12))[0] == 413


@pytest.mark.usefixtures("bounded")
def test_a_file_too_many_is_let_go_and_the_page_is_told_why(monkeypatch):
    name = visitors.name_of(MINE)
    visitor_registry.registry.owners.update(s=name, other="somebody")
    monkeypatch.setattr(quotas, "bytes_by_visitor", lambda: {name: 700_000, "somebody": 1_000_000})
    behind = Answers()
    path = "/_stcore/upload_file/s/f"
    status, *_ = ask(path, "PUT", cookie=COOKIE, content_length="300000", behind=behind)
    assert (status, len(behind.scopes)) == (200, 1)
    assert not visitor_registry.registry.coming
    body = (b"x" * 200_000, b"x" * 200_000)
    status, *_ = ask(path, "PUT", cookie=COOKIE, content_length="400000", body=body, behind=behind)
    assert (status, len(behind.scopes)) == (204, 1)
    assert visitor_registry.registry.refused["s"].startswith(
        "A visitor may have 1 MB of files at a time; got 2."
    )
    visitor_registry.registry.refused.clear()
    monkeypatch.setattr(quotas, "bytes_by_visitor", lambda: {"one": 1_000_000, "two": 1_000_000})
    assert ask(path, "PUT", cookie=COOKIE, content_length="9", behind=behind)[0] == 204
    assert (
        "takes 2 MB of files at a time from all visitors; it is full"
        in (visitor_registry.registry.refused["s"])
    )


class Reads(Answers):
    """An application that takes the whole body, as Streamlit does."""

    def __init__(self):
        super().__init__()
        self.taken = 0

    async def __call__(self, scope, receive, send):
        async for piece in Request(scope, receive).stream():
            self.taken += len(piece)
        await super().__call__(scope, receive, send)


@pytest.mark.usefixtures("bounded")
def test_only_bytes_that_have_come_are_counted(monkeypatch):
    """Sixteen files that are announced and never sent leave all of the room to others."""
    registry = visitor_registry.registry
    registry.owners.update({f"s{i}": f"silent {i}" for i in range(16)}, mine="me")
    for i in range(16):
        assert quotas.fits(f"s{i}", 900_000)
    assert registry.coming == {}
    body, behind = (b"x" * 600_000, b"x" * 300_000), Reads()
    path = "/_stcore/upload_file/s/f"
    registry.owners["s"] = visitors.name_of(MINE)
    status, *_ = ask(path, "PUT", cookie=COOKIE, content_length="900000", body=body, behind=behind)
    assert (status, behind.taken, registry.coming) == (200, 900_000, {})
    # It said less than it sends: let go in the middle, and the rest is not kept.
    behind = Reads()
    status, *_ = ask(path, "PUT", cookie=COOKIE, content_length="9", body=body * 2, behind=behind)
    assert (status, behind.taken, registry.coming) == (204, 900_000, {})
    assert "A visitor may have 1 MB of files" in registry.refused["s"]


def test_a_silent_file_is_given_up_and_so_is_that_of_a_page_that_was_shut(monkeypatch):
    async def never():
        await asyncio.sleep(3600)

    async def given_up(seconds):
        clock = itertools.count(0.0, seconds)
        file = arriving.ArrivingFile(never, "s", lambda: next(clock))
        answer = await asyncio.wait_for(file(), 120)
        return answer["type"], file.given_up

    monkeypatch.setattr(arriving, "LOOK", 0.01)
    assert asyncio.run(given_up(arriving.SILENCE / 3)) == ("http.disconnect", True)
    monkeypatch.setattr(arriving.runtime, "exists", lambda: True)
    shut = SimpleNamespace(is_active_session=lambda session: False)
    monkeypatch.setattr(arriving.runtime, "get_instance", lambda: shut)
    assert asyncio.run(given_up(0.0)) == ("http.disconnect", True)


@pytest.mark.parametrize("host", ["a.example.org", "A.EXAMPLE.ORG:80", "a.example.org."])
def test_a_star_stands_for_the_first_part_of_a_name(monkeypatch, host):
    monkeypatch.setenv("NPTLAB_HOSTS", "*.example.org")
    assert ask(host=host)[0] == 200
    for other in ("example.org", "a.b.example.org", "aexample.org", "a.example.org.evil.com", "*"):
        assert ask(host=other)[0] == 421, other


def test_programs_drive_pages_only_with_the_token_of_whoever_runs_it(monkeypatch):
    path = "/_stcore/agent/interact"
    assert ask(path, "POST", authorization="Bearer ")[0] == 404
    monkeypatch.setenv("NPTLAB_AGENTS", "open sesame, please".replace(" ", "-"))
    monkeypatch.setattr(visitors, "guesses", Guesses())
    status, headers, _ = ask(path, "POST", client="10.0.0.1")
    assert (status, headers["www-authenticate"]) == (401, "Bearer")
    right = "bearer open-sesame,-please"
    assert ask(path, "POST", authorization=right)[0] == 200
    assert ask(path, "POST", authorization=right, origin="https://evil.example")[0] == 403
    for _ in range(4):
        ask(path, "POST", authorization="Bearer wrong", client="10.0.0.1")
    assert ask(path, "POST", authorization=right, client="10.0.0.1")[0] == 401
    assert ask(path, "POST", authorization=right, client="10.0.0.2")[0] == 200


def test_guesses_become_slow():
    now = [0.0]
    guesses = Guesses(lambda: now[0])
    for _ in range(3):
        assert guesses.refusal("a", "wrong", "secret").startswith("This is not the token")
    waits = []
    for _ in range(12):
        assert "not the token" in guesses.refusal("a", "wrong", "secret")
        refused = guesses.refusal("a", "secret", "secret")
        waits.append(int(re.search(r"wait (\d+) s", refused)[1]))
        now[0] += waits[-1]
    assert waits == [2, 4, 8, 16, 32, 64, 128, 256, 512, 900, 900, 900]
    for _ in range(1100):  # eleven days of it
        now[0] += 900
        assert "not the token" in guesses.refusal("a", "wrong", "secret")
    assert "wait 900 s" in guesses.refusal("a", "secret", "secret")
    now[0] += 900
    assert guesses.refusal("b", "secret", "secret") == ""
    assert guesses.refusal("a", "secret", "secret") == ""
    assert guesses.refusal("a", "", "") != ""  # none is set, so none is right


@pytest.mark.usefixtures("bounded")
def test_a_page_too_many_is_refused_in_words():
    mine, his = visitors.name_of(MINE), visitors.name_of(HIS)
    assert quotas.enter(mine, "10.0.0.1")
    assert quotas.enter(mine, "10.0.0.2")
    assert not quotas.enter(mine, "10.0.0.3")
    status, headers, text = ask(accept="text/html", cookie=COOKIE)
    assert (status, headers["retry-after"]) == (503, "20")
    assert b"A visitor may have 2 pages at a time; got 3." in text
    assert ask(cookie=COOKIE)[0] == 200  # files of a page that is open
    sent, _ = ask(kind="websocket", cookie=COOKIE)
    assert sent == [{"type": "websocket.close", "code": 1013}]
    assert ask(accept="text/html", cookie=OTHER)[0] == 200
    assert quotas.enter(his, "10.0.0.1")
    assert quotas.enter(his, "10.0.0.3")
    assert b"This server takes 4 pages" in ask(accept="text/html")[2]
    quotas.leave(mine, "10.0.0.1")
    assert ask(accept="text/html")[0] == 200


@pytest.mark.usefixtures("bounded")
def test_one_address_takes_half_of_the_pages_whatever_cookies_it_shows():
    """Without cookies, with fresh ones, from the addresses of one IPv6 network."""
    networks = ("2001:db8::1", "2001:db8::2:3"), ("::ffff:10.0.0.9", "10.0.0.9")
    for first, second in networks:
        held = [("", visitors.address_of(first)), ("fresh", visitors.address_of(second))]
        assert [quotas.enter(*each) for each in held] == [True, True]
        status, _, text = ask(accept="text/html", client=second)
        assert (status, b"Visitors of one address may have 2 pages" in text) == (503, True)
        sent, _ = ask(kind="websocket", client=first)
        assert sent == [{"type": "websocket.close", "code": 1013}]
        assert ask(accept="text/html", client="2001:db8:1::1")[0] == 200
        for each in held:
            quotas.leave(*each)
    assert visitor_registry.registry.addresses == {}


def test_a_cookie_that_this_server_did_not_sign_is_none():
    for value in ("a" * 32, MINE[:-1] + "_", "b" + MINE[1:], f"{MINE}x", MINE.replace(".", "")):
        assert visitors.name_of(value) == ""
        assert "set-cookie" in ask(accept="text/html", cookie=f"nptlab={value}")[1]
    fresh = visitors.fresh_cookie()
    assert visitors.name_of(fresh)
    assert "set-cookie" not in ask(accept="text/html", cookie=f"nptlab={fresh}")[1]


def test_another_browser_s_session_is_not_taken_up():
    visitor_registry.registry.owners["theirs"] = visitors.name_of(HIS)
    protocols = "streamlit, token, theirs"
    for cookie, last in ((OTHER, "theirs"), (COOKIE, "token")):
        _, behind = ask(kind="websocket", cookie=cookie, sec_websocket_protocol=protocols)
        heads = dict(behind.scopes[0]["headers"])
        assert heads[b"sec-websocket-protocol"].decode().split(", ")[-1] == last


def test_tables_in_memory_are_counted_while_they_live(monkeypatch):
    import numpy as np

    from validation_core.tables import Upload

    def table(seed):
        rng = np.random.default_rng(seed)
        arrays = {"theta": rng.random((500, 2)), "x": rng.random((500, 2)),
                  "theta_q": rng.random((500, 50, 2))}  # fmt: skip
        return Upload.of(arrays)  # 0.4 MB

    monkeypatch.setenv("NPTLAB_LIMITS", "tables=1/2")
    names = iter("aabbcc")
    monkeypatch.setattr(quotas, "visitor", lambda: next(names))
    kept = [table(seed) for seed in range(4)]
    for upload in kept:
        quotas.hold(upload)
    with pytest.raises(ValueError, match=r"This server takes 2 MB of tables"):
        quotas.hold(last := table(4))
    del kept[:2], upload
    quotas.hold(last)
    assert sorted(visitor_registry.registry.tables.values()) == ["b", "b", "c"]


@dataclass
class Served:
    port: int
    asked: list[str]
    """What the server wanted of other hosts: its proxy heard it."""

    def get(self, path="/", **headers):
        url = f"http://127.0.0.1:{self.port}{path}"
        request = urllib.request.Request(url, headers={"Accept": "text/html", **headers})
        opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
        try:
            with opener.open(request, timeout=30) as answer:
                return answer.status, answer.headers, answer.read()
        except urllib.error.HTTPError as error:
            return error.code, error.headers, error.read()

    def socket(self, *protocols, **headers):
        return websockets.connect(
            f"ws://127.0.0.1:{self.port}/_stcore/stream",
            subprotocols=["streamlit", *protocols], additional_headers=headers, max_size=None,
            proxy=None,
        )  # fmt: skip


@contextlib.contextmanager
def served(cache, address="127.0.0.1", **settings):
    port, heard, listener = free_port(), [], socket.create_server(("127.0.0.1", 0))

    def hear():
        with contextlib.suppress(OSError):
            while True:
                line, _ = listener.accept()
                heard.append(line.recv(200).decode("latin-1"))
                line.close()

    threading.Thread(target=hear, daemon=True).start()
    proxy = f"http://127.0.0.1:{listener.getsockname()[1]}"
    env = {**os.environ, "NPTLAB_CACHE": str(cache), "NPTLAB_ENGINE": "serial", **settings,
           "http_proxy": proxy, "https_proxy": proxy, "HTTP_PROXY": proxy, "HTTPS_PROXY": proxy,
           "no_proxy": "", "NO_PROXY": ""}  # fmt: skip
    command = [sys.executable, "-m", "streamlit", "run", "app.py", "--server.headless", "true",
               "--server.port", str(port)]  # fmt: skip
    cache.mkdir(parents=True, exist_ok=True)
    (cache / "visitor-key").write_bytes(visitor_key())  # cookies are signed here
    with (cache.parent / f"{port}.log").open("wb") as out:
        process = subprocess.Popen(command, cwd=ROOT, env=env, stdout=out, stderr=out)
        try:
            _wait(port, address, process)
            yield Served(port, heard)
        finally:
            stop(process)
            listener.close()


def _wait(port, address, process):
    until = time.monotonic() + 120
    while time.monotonic() < until and process.poll() is None:
        with contextlib.suppress(OSError), socket.create_connection((address, port), 1):
            request = urllib.request.Request(f"http://127.0.0.1:{port}/api/ready")
            opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
            opener.open(request, timeout=60).close()
            return
        time.sleep(0.1)
    raise AssertionError("the server did not start")


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    folder = tmp_path_factory.mktemp("served")
    with served(
        folder / "cache", NPTLAB_LIMITS="pages=2/8", NPTLAB_ADMIN="open sesame, please"
    ) as it:
        yield it


async def _first_run(line):
    """The session whose first run has ended without an error."""
    message = BackMsg()
    message.rerun_script.query_string = ""
    message.rerun_script.page_name = "methods"
    await line.send(message.SerializeToString())
    heard = []
    while not heard or heard[-1].WhichOneof("type") != "script_finished":
        heard.append(ForwardMsg.FromString(await asyncio.wait_for(line.recv(), 60)))
    assert not any(m.delta.new_element.HasField("exception") for m in heard)
    (new,) = [m.new_session for m in heard if m.WhichOneof("type") == "new_session"]
    assert new.config.show_error_links == Config.SHOW_ERROR_LINKS_FALSE  # to no chat bot
    assert not new.config.gather_usage_stats
    return new.initialize.session_id


def _reachable(port, host):
    try:
        socket.create_connection((host, port), 2).close()
    except OSError:
        return False
    return True


@pytest.mark.skipif(sys.platform != "linux", reason="127.0.0.2 is this machine on Linux alone")
def test_it_listens_on_this_machine_alone_unless_it_is_opened(server, tmp_path):
    assert not _reachable(server.port, "127.0.0.2")
    with served(tmp_path / "cache", address="127.0.0.2", NPTLAB_PUBLIC="1") as public:
        assert public.get(Host="127.0.0.2")[0] == 200
        assert public.get(Host="evil.example")[0] == 421
        assert public.asked == []


def test_the_server_asks_no_other_host_for_anything(server):
    """Streamlit would look for this machine's address outside, at the start and for an origin."""
    assert server.get(Origin="https://evil.example")[0] == 200
    assert server.get("/_stcore/host-config", Origin="https://evil.example")[0] == 200
    with pytest.raises(websockets.InvalidStatus):
        asyncio.run(_open(server, Origin="https://evil.example"))
    assert server.asked == []


async def _open(server, *protocols, **headers):
    async with server.socket(*protocols, **headers) as line:
        return await _first_run(line)


def test_a_rebound_name_reaches_nothing(server):
    for path in ("/", "/diagnose", "/_stcore/health", "/_stcore/host-config", "/api/ready"):
        assert server.get(path, Host="evil.example")[0] == 421, path
    assert server.get("/_stcore/metrics")[0] == 404


def test_files_and_sessions_are_their_browser_s_own(server):
    """By the upload route, by another's session, by another's cookie."""

    async def both():
        async with server.socket(Cookie=COOKIE) as line:
            session = await _first_run(line)
            path = f"/_stcore/upload_file/{session}/0"
            strange = [await asyncio.to_thread(_put, server, path, c) for c in (OTHER, "")]
            own = await asyncio.to_thread(_put, server, path, COOKIE)
            async with server.socket("token", session, Cookie=OTHER) as other:
                taken = await _first_run(other)
        async with server.socket("token", session, Cookie=COOKIE) as line:
            back = await _first_run(line)
        return strange, own, taken != session, back == session

    strange, own, kept, back = asyncio.run(both())
    assert strange == [403, 403]
    assert own == 403 or own == 204  # Streamlit's own token is checked behind the gate
    assert (kept, back) == (True, True)


def _put(server, path, cookie, token=""):
    edge = "edge"
    head = 'Content-Disposition: form-data; name="file"; filename="table.npz"\r\n\r\n'
    headers = {
        "Cookie": cookie,
        "X-Xsrftoken": token,
        "Content-Type": f"multipart/form-data; boundary={edge}",
    }
    url = f"http://127.0.0.1:{server.port}{path}"
    body = f"--{edge}\r\n{head}x\r\n--{edge}--\r\n".encode()
    request = urllib.request.Request(url, body, headers, method="PUT")
    try:
        opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
        return opener.open(request, timeout=30).status
    except urllib.error.HTTPError as error:
        return error.code


ODD = {
    "json": 'theme={"mode":"dark"}',
    "brackets": "a[b]=1",
    "quotes": "a=\"open; b='x",
    "a quoted one of ours": 'nptlab="quoted"',
    "no latin letters": "name=\xe9\xff\x80",
    "no name": "=1; ; =; lonely",
    "many signs": "a@b=1; c(d)=2; e,f=3; g/h=4; {i}=5",
    "one of ours that is none": "nptlab=<script>",
    "an empty one of ours": "nptlab=",
    "names that contain ours": "xnptlab=" + "c" * 32 + "; nptlab2=" + "c" * 32,
    "blanks": "a = 1 ;\tb\t=\t2",
    "very long": "; ".join(f"big{i}={'z' * 3900}" for i in range(8)),
}


@pytest.mark.parametrize("last", [False, True], ids=["before ours", "behind ours"])
@pytest.mark.parametrize("odd", ODD.values(), ids=ODD)
def test_cookies_of_other_applications_lose_no_visitor(odd, last):
    """The gate and the pages read them by one function; no fresh cookie is given."""
    parts = [COOKIE, odd] if last else [odd, COOKIE]
    _, headers, _ = ask(accept="text/html", cookie="; ".join(parts))
    assert "set-cookie" not in headers
    assert visitors.cookie(["; ".join(parts)]) == visitors.cookie(parts) == MINE
    assert visitors.cookie([odd]) == ""
    assert "set-cookie" in ask(accept="text/html", cookie=odd)[1]


def test_of_two_cookies_of_ours_the_first_that_is_sound_counts():
    """A browser sends that of the longer path first."""
    assert visitors.cookie([f"{COOKIE}; {OTHER}"]) == visitors.cookie([COOKIE, OTHER]) == MINE
    assert visitors.cookie([f"nptlab=short; {OTHER}"]) == HIS


@pytest.mark.parametrize("odd", ODD.values(), ids=ODD)
def test_a_file_is_taken_and_a_visitor_known_again_whatever_cookies_there_are(server, odd):
    """Through the real server: two loads are one visitor, and his file is taken."""
    cookies = f"{odd}; {_given(server)}"
    token = cookies.rpartition("_streamlit_xsrf=")[2]

    async def visit():
        async with server.socket(Cookie=cookies) as line:
            session = await _first_run(line)
            path = f"/_stcore/upload_file/{session}/0"
            strange = await asyncio.to_thread(_put, server, path, f"{odd}; {OTHER}")
            own = await asyncio.to_thread(_put, server, path, cookies, token)
        async with server.socket("token", session, Cookie=cookies) as line:
            return strange, own, await _first_run(line) == session

    assert asyncio.run(visit()) == (403, 204, True)
    assert "Set-Cookie" not in str(server.get(Cookie=cookies)[1]).replace("_streamlit", "")


def test_files_that_are_announced_and_never_come_end_with_their_page(server):
    """Sixteen of them: others send theirs meanwhile, and no connection is left."""
    cookies = _given(server)
    token = cookies.rpartition("_streamlit_xsrf=")[2]
    head = (
        f"Host: localhost\r\nCookie: {cookies}\r\nX-Xsrftoken: {token}\r\n"
        "Content-Type: multipart/form-data; boundary=edge\r\nContent-Length: 192000000\r\n\r\n"
    )

    async def announced(session):
        lines = [socket.create_connection(("127.0.0.1", server.port), 30) for _ in range(16)]
        for i, line in enumerate(lines):
            line.sendall(f"PUT /_stcore/upload_file/{session}/{i} HTTP/1.1\r\n{head}".encode())
        return lines

    async def visit():
        others = _given(server)
        async with server.socket(Cookie=others) as other:
            async with server.socket(Cookie=cookies) as line:
                lines = await announced(await _first_run(line))
                path = f"/_stcore/upload_file/{await _first_run(other)}/0"
                own = others.rpartition("_streamlit_xsrf=")[2]
                taken = await asyncio.to_thread(_put, server, path, others, own)
            return taken, [await asyncio.to_thread(_all, line) for line in lines]

    taken, answers = asyncio.run(visit())
    assert taken == 204
    assert {answer.split()[1] for answer in answers} == {b"408"}


def _all(line):
    """What comes until the server closes a connection."""
    with line:
        return b"".join(iter(lambda: line.recv(4096), b""))


def _given(server):
    """What the server gives a browser that it does not know: who it is, and Streamlit's token."""
    pairs = []
    for path in ("/", "/_stcore/health"):
        pairs += server.get(path)[1].get_all("Set-Cookie") or []
    return "; ".join(dict.fromkeys(pair.partition(";")[0] for pair in pairs))


@pytest.mark.parametrize("origin", ["http://[", "null", "//", "http://[::1", "\xe9", ""])
def test_an_origin_that_is_none_is_another_site_s(origin):
    assert ask(method="POST", origin=origin)[0] == 403
    assert ask(origin=origin)[0] == 200


def test_pages_too_many_are_told_so_and_others_go_on(server):
    async def crowd():
        async with server.socket(Cookie=COOKIE) as one, server.socket(Cookie=COOKIE) as two:
            await _first_run(one)
            await _first_run(two)
            status, _, text = await asyncio.to_thread(server.get, Cookie=COOKIE)
            other = (await asyncio.to_thread(server.get, Cookie=OTHER))[0]
        return status, text, other

    status, text, other = asyncio.run(crowd())
    assert (status, other) == (503, 200)
    assert b"A visitor may have 2 pages at a time" in text
    until = time.monotonic() + 120
    while server.get(Cookie=COOKIE)[0] != 200 and time.monotonic() < until:
        time.sleep(0.1)
    assert server.get(Cookie=COOKIE)[0] == 200


def test_nothing_unseemly_is_answered_to_odd_requests(server):
    """Each is answered, and the server lives."""
    for path in (
        "/?seed=%ff%00",
        "/%2e%2e/%2e%2e/etc/passwd",
        "/" + "a" * 8000,
        "/diagnose?" + "a=1&" * 2000,
    ):
        status, _, text = server.get(path)
        assert status in (200, 400, 404, 414), path
        assert b"Traceback" not in text
        assert b"root:" not in text
    assert json.loads(server.get("/api/ready")[2]) == {"ready": True}
