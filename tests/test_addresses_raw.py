"""What no browser sends: raw addresses to a real server, over HTTP and Streamlit's websocket."""

import asyncio
import socket

import pytest

from benchmarks.client import Visitor
from benchmarks.servers import product

PAGES = ("colt",)
OTHERS = ("weak-classifiers", "lessons", "name-that-defect", "conformal-c2st")
QUERIES = (
    "%", "%zz", "seed=%zz", "seed=%FF%FE", "%C3%28=1", "seed=%00", "seed=%ED%A0%80", "seed=\x00",
    "=5", "&&&=&=", "seed", "seed=1;level=2", "seed[]=1", "?seed=1", "#seed=1", "seed=1=2=3",
    "embed=true&seed=1e999", "EMBED_OPTIONS=x&level=%F0%9F%98%80", "seed=é&n=\u202e", "+=+",
    "seed=" + "9" * 100_000, "seed=1&" * 900, "seed=1&" * 5000, "%25" * 30_000,
    "n=1e999&m=-1e999&c=inf&angle=nan&sample=1e400&gamma=inf&beta=-inf&level=inf&seed=inf",
)  # fmt: skip
PATHS = (
    b"/weak-classifiers?%zz", b"/?\xff\xfe", b"/colt?seed=%00", b"/%00", b"/%FF",
    b"/..%2f..%2fapp.py", b"/weak-classifiers?seed=" + b"9" * 30_000, b"/?" + b"9" * 100_000,
    b"//evil.example/%2e%2e",
)  # fmt: skip


class Linked(Visitor):
    """A visitor whose browser says an address as it stands."""

    def __init__(self, server, page, query):
        super().__init__(server, page)
        self.text = query

    def _asking(self, fragment, by_itself):
        message = super()._asking(fragment, by_itself)
        message.rerun_script.query_string = self.text
        return message


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    """A server, and its log."""
    cache = tmp_path_factory.mktemp("raw")
    with product(cache) as started:
        yield started, cache / f"server-{started.port}.log"


def answer(port, path):
    """The first line that a server answers to a path."""
    with socket.create_connection(("127.0.0.1", port), timeout=30) as wire:
        wire.sendall(b"GET " + path + b" HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
        return wire.recv(1000).split(b"\r\n")[0].decode()


async def visited(server, page, query):
    """Open a page by an address, and go on in the same session without it."""
    async with Linked(server, page, query) as visitor:
        await visitor.open()
        visitor.text = ""
        await visitor.open()


@pytest.mark.parametrize(
    "page", [*PAGES, *(pytest.param(page, marks=pytest.mark.slow) for page in OTHERS)]
)
def test_raw_addresses_open_a_page_whose_session_goes_on(server, page):
    started, log = server
    before = len(log.read_text().splitlines())
    for query in QUERIES:
        asyncio.run(visited(started, page, query))
    lines = log.read_text().splitlines()[before:]
    assert not any("Traceback" in line or "Error" in line for line in lines), lines
    assert len(lines) <= 1, "Streamlit lets the address of 5,001 names go, and says so"


def test_raw_requests_are_answered(server):
    started, log = server
    for path in PATHS:
        status = answer(started.port, path).split()
        assert status[0].startswith("HTTP/1."), path[:60]
        assert int(status[1]) < 500, path[:60]
    assert answer(started.port, b"/api/ready").endswith("200 OK")
    assert "Traceback" not in log.read_text()
