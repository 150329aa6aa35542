"""A visitor without a browser: Streamlit's own messages over a websocket."""

from __future__ import annotations

import asyncio
import json
import time
import urllib.request
import uuid
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from types import TracebackType
from typing import Any, NamedTuple
from urllib.parse import parse_qsl, urlencode

import websockets
from streamlit.proto.BackMsg_pb2 import BackMsg
from streamlit.proto.BidiComponent_pb2 import BidiComponent
from streamlit.proto.Common_pb2 import FileURLs
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg
from streamlit.proto.Slider_pb2 import Slider
from streamlit.proto.WidgetStates_pb2 import WidgetState

from benchmarks.servers import Server
from validation_core.explorers.playground.study import named

_PATIENCE = 60.0  # seconds for one message
_REMEMBERED = 2  # runs for which a browser keeps large messages, so that a hash stands for them


class Range(NamedTuple):
    """Numbers that a widget takes."""

    low: float
    high: float
    step: float


class Widget(NamedTuple):
    """What a page lets its visitor move."""

    id: str
    key: str
    kind: str
    """Streamlit's name of the element: `slider`, `selectbox`, ..."""
    field: str
    """Of a `WidgetState`, for its value."""
    choices: Sequence[Any]
    """What it can be: names, numbers, and for a chart of sliders the grid of each."""
    fragment: str


class Visitor:
    """One open page: its widgets, by key, and what it would know of the server's messages."""

    def __init__(self, server: Server, page: str = "", query: Mapping[str, str] | None = None):
        self.bytes = 0
        self.page = page
        self.pages: dict[str, str] = {}
        """Of the menu: what the address calls a page, and its hash."""
        self.query: dict[str, str] = dict(query or {})
        self.widgets: dict[str, Widget] = {}
        self._server = server
        self._script = ""
        self._session = ""
        self._cookie = ""
        self._values: dict[str, WidgetState] = {}
        self._polls: dict[str, float] = {}
        self._drawn: set[str] = set()
        self._seen: list[dict[str, ForwardMsg]] = []
        self._places: list[FileURLs] = []

    async def __aenter__(self) -> Visitor:
        await self.connect()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:  # fmt: skip
        await self.leave()

    async def connect(self) -> None:
        """Begin a session, or go on with the one that was left."""
        if not self._cookie:
            self._cookie = await asyncio.to_thread(self._cookies)
        protocols = ["streamlit", "PLACEHOLDER_AUTH_TOKEN", self._session]
        self._socket = await websockets.connect(
            f"ws://localhost:{self._server.port}/_stcore/stream",
            subprotocols=[websockets.Subprotocol(name) for name in protocols if name],
            additional_headers={"Cookie": self._cookie},
            max_size=None,
        )

    async def leave(self) -> None:
        """Close the connection: the server keeps the session for a while."""
        await self._socket.close()

    async def come_back(self) -> float:
        """Seconds from a new connection until the page that was left has run."""
        start = time.perf_counter()
        self._seen.clear()
        await self.connect()
        await self._run()
        return time.perf_counter() - start

    async def reload(self) -> float:
        """Seconds from a new session until the same address has run."""
        await self.leave()
        self._session, self._script = "", ""
        self._values.clear()
        return await self.come_back()

    async def open(self) -> float:
        """Seconds until the page's script has run for the first time."""
        return await self._run()

    async def turn_to(self, page: str) -> float:
        """Seconds from a press in the menu until the other page has run."""
        self.page, self._script = page, self.pages[page]
        self.query.clear()
        self._values.clear()
        return await self._run()

    async def slide(self, key: str, shown: str) -> float:
        """Seconds from a select slider's new value until the script has run."""
        self.query[key] = shown
        return await self.set(key, shown)

    async def choose(self, key: str, name: str) -> float:
        """Seconds from a press on a component that tells a name until the script has run."""
        return await self.set(key, name)

    async def release(self, key: str, *values: float) -> float:
        """Seconds from a slider of a live chart being released until its fragment has run."""
        return await self.set(key, values)

    async def set(self, key: str, value: Any) -> float:
        """Seconds from a widget's new value until what depends on it has run."""
        widget = self.widgets[key]
        state = WidgetState(id=widget.id)
        if widget.field == "json_value":
            state.json_value = json.dumps({"value": value})
        elif widget.field.endswith("array_value"):
            several = value if isinstance(value, list) else [value]
            getattr(state, widget.field).data.extend(several)
        else:
            setattr(state, widget.field, value)
        self._values[widget.id] = state
        seconds = await self._run(widget.fragment)
        if widget.field == "trigger_value":
            del self._values[widget.id]
        return seconds

    async def upload(self, key: str, file: Path) -> float:
        """Seconds from the choice of a file until what was read of it is there."""
        start = time.perf_counter()
        request = BackMsg()
        asked = request.file_urls_request
        asked.request_id, asked.session_id = uuid.uuid4().hex, self._session
        asked.file_names.append(file.name)
        await self._socket.send(request.SerializeToString())
        while not self._places:
            self._ends(await self._next())
        place = self._places.pop()
        await asyncio.to_thread(self._put, place.upload_url, file)
        state = WidgetState(id=self.widgets[key].id)
        info = state.file_uploader_state_value.uploaded_file_info.add()
        info.name, info.size, info.file_id = file.name, file.stat().st_size, place.file_id
        info.file_urls.CopyFrom(place)
        self._values[state.id] = state
        await self._run(self.widgets[key].fragment)
        return time.perf_counter() - start

    async def look(self, seconds: float) -> None:
        """Do nothing for a while but what a browser does by itself: ask how work gets on."""
        now = time.perf_counter()
        until = now + seconds
        due = dict.fromkeys(self._polls, now)
        while (now := time.perf_counter()) < until:
            due = {name: due.get(name, now) for name in self._polls}
            times = {name: due[name] + every for name, every in self._polls.items()}
            name = min(times, key=times.__getitem__, default="")
            if not name or times[name] >= until:
                await asyncio.sleep(until - now)
                return
            await asyncio.sleep(max(0.0, times[name] - now))
            due[name] = time.perf_counter()
            await self._run(name, by_itself=True)

    async def until_done(self, most: float) -> float:
        """Seconds until the page asks for no work any more: every result is on it.

        Raises:
            RuntimeError: where that takes longer than `most` seconds.
        """
        start = time.perf_counter()
        while self._polls:
            if time.perf_counter() > start + most:
                raise RuntimeError(f"The page's work took more than {most:.0f} s.")
            await self.look(max(self._polls.values()) + 0.1)  # in less it polls never
        return time.perf_counter() - start

    async def _run(self, fragment: str = "", *, by_itself: bool = False) -> float:
        start = time.perf_counter()
        if not fragment:
            self._polls.clear()
        await self._socket.send(self._asking(fragment, by_itself).SerializeToString())
        # What was just named as remembered may be answered by its hash during all of this run.
        self._seen = [*self._seen[-_REMEMBERED:], {}]
        self._drawn.clear()
        while not self._ends(await self._next()):
            pass
        return time.perf_counter() - start

    async def _next(self) -> ForwardMsg:
        message = ForwardMsg()
        raw = await asyncio.wait_for(self._socket.recv(), _PATIENCE)
        assert isinstance(raw, bytes)
        self.bytes += len(raw)
        message.ParseFromString(raw)
        return self._whole(message)

    def _asking(self, fragment: str, by_itself: bool) -> BackMsg:
        msg = BackMsg()
        state = msg.rerun_script
        state.query_string = urlencode(self.query)
        state.page_script_hash = self._script
        state.page_name = "" if self._script else self.page
        state.fragment_id = fragment
        state.is_auto_rerun = by_itself
        state.widget_states.widgets.extend(self._values.values())
        state.cached_message_hashes.extend(
            {name for run in self._seen[-_REMEMBERED:] for name in run}
        )
        state.context_info.timezone = "UTC"
        return msg

    def _whole(self, message: ForwardMsg) -> ForwardMsg:
        """The message, or the remembered one that a hash stands for."""
        if message.WhichOneof("type") == "ref_hash":
            message = next(run[message.ref_hash] for run in self._seen if message.ref_hash in run)
            self._seen[-1][message.hash] = message
        elif message.metadata.cacheable:
            self._seen[-1][message.hash] = message
        return message

    def _ends(self, message: ForwardMsg) -> bool:
        kind = message.WhichOneof("type")
        if kind == "new_session":
            self._session = message.new_session.initialize.session_id
        elif kind == "navigation":
            self._script = message.navigation.page_script_hash
            pages = message.navigation.app_pages
            self.pages = {page.url_pathname: page.page_script_hash for page in pages}
        elif kind == "delta":
            self._delta(message)
        elif kind == "page_info_changed":
            self.query = dict(parse_qsl(message.page_info_changed.query_string))
        elif kind == "page_not_found":
            raise RuntimeError(f"There is no page {self.page!r}.")
        elif kind == "auto_rerun":
            self._polls[message.auto_rerun.fragment_id] = message.auto_rerun.interval
        elif kind == "stop_auto_rerun":
            for name in message.stop_auto_rerun.fragment_ids:
                self._polls.pop(name, None)
        elif kind == "file_urls_response":
            self._places.extend(message.file_urls_response.file_urls)
        elif kind == "script_finished":
            return self._finished(message.script_finished)
        return False

    def _finished(self, how: int) -> bool:
        """Whether nothing follows; what a run of the whole page has not drawn is gone."""
        if how == ForwardMsg.FINISHED_WITH_COMPILE_ERROR:
            raise RuntimeError("The page's script does not compile.")
        if how == ForwardMsg.FINISHED_EARLY_FOR_RERUN:
            self._drawn.clear()
            self._polls.clear()
            return False
        if how == ForwardMsg.FINISHED_SUCCESSFULLY:
            self.widgets = {key: w for key, w in self.widgets.items() if key in self._drawn}
            ids = {widget.id for widget in self.widgets.values()}
            self._values = {name: state for name, state in self._values.items() if name in ids}
        return True

    def _delta(self, message: ForwardMsg) -> None:
        part = message.delta
        if part.WhichOneof("type") == "add_block":
            block = part.add_block
            if block.WhichOneof("type") == "expandable" and block.expandable.id:
                self._put_down(
                    block.expandable.id, "expander", "bool_value", (True, False), part.fragment_id
                )
            return
        kind = part.new_element.WhichOneof("type")
        if kind == "exception":
            raise RuntimeError(f"The page failed: {part.new_element.exception.message}")
        read = _KINDS.get(kind or "")
        if kind is None or read is None:
            return
        element = getattr(part.new_element, kind)
        if getattr(element, "disabled", False) or element.form_id:
            return
        known = read(message.hash, element) if kind == "bidi_component" else read(element)
        self._put_down(element.id, kind, *known, part.fragment_id)

    def _put_down(
        self, name: str, kind: str, field: str, choices: Sequence[Any], fragment: str
    ) -> None:
        key = name.split("-", 2)[2]  # $$ID-HASH-KEY
        self.widgets[key] = Widget(name, key, kind, field, choices, fragment)
        self._drawn.add(key)

    def _put(self, url: str, file: Path) -> None:
        """Send a file as a browser's form does."""
        edge = uuid.uuid4().hex
        head = (
            f'--{edge}\r\nContent-Disposition: form-data; name="{file.name}"; '
            f'filename="{file.name}"\r\nContent-Type: application/octet-stream\r\n\r\n'
        )
        body = b"".join([head.encode(), file.read_bytes(), f"\r\n--{edge}--\r\n".encode()])
        request = urllib.request.Request(
            f"http://localhost:{self._server.port}{url}", data=body, method="PUT"
        )
        request.add_header("Content-Type", f"multipart/form-data; boundary={edge}")
        tokens = dict(part.split("=", 1) for part in self._cookie.split("; "))
        request.add_header("Cookie", self._cookie)
        request.add_header("X-Xsrftoken", tokens["_streamlit_xsrf"])
        with urllib.request.urlopen(request, timeout=_PATIENCE) as answer:
            assert answer.status in (200, 204), answer.status

    def _cookies(self) -> str:
        """What a server gives a browser that it does not know."""
        cookies: list[str] = []
        for path in ("/", "/_stcore/health"):
            request = urllib.request.Request(f"{self._server.url}{path}")
            request.add_header("Accept", "text/html")
            with urllib.request.urlopen(request, timeout=_PATIENCE) as answer:
                cookies += answer.headers.get_all("Set-Cookie") or []
        return "; ".join(dict.fromkeys(cookie.partition(";")[0] for cookie in cookies))


def _of_slider(element: Slider) -> tuple[str, Sequence[Any]]:
    if element.type == Slider.SELECT_SLIDER:
        return "string_array_value", tuple(element.options)
    return "double_array_value", Range(element.min, element.max, element.step)


def _of_options(field: str, element: Any) -> tuple[str, Sequence[str]]:
    return field, tuple(str(getattr(option, "content", option)) for option in element.options)


def _of_number(element: Any) -> tuple[str, Sequence[float]]:
    low, high = max(element.min, -1e6), min(element.max, 1e6)
    return "double_value", Range(low, high, element.step or 1.0)


def _of_component(digest: str, element: BidiComponent) -> tuple[str, Sequence[Any]]:
    if element.component_name == "nptlab_strip":
        return "json_value", tuple(named())
    return "json_value", _grids(digest, element.bytes) if element.bytes else ()


_GRIDS: dict[str, tuple[tuple[float, ...], ...]] = {}


def _grids(digest: str, raw: bytes) -> tuple[tuple[float, ...], ...]:
    """The sliders of a live chart; read once from each message."""
    if digest not in _GRIDS:
        size = int.from_bytes(raw[:4], "little")
        sliders = json.loads(raw[4 : 4 + size])["sliders"]
        _GRIDS[digest] = tuple(tuple(map(float, slider["values"])) for slider in sliders)
    return _GRIDS[digest]


_KINDS: Mapping[str, Callable[..., tuple[str, Sequence[Any]]]] = {
    "slider": _of_slider,
    "selectbox": partial(_of_options, "string_value"),
    "radio": partial(_of_options, "string_value"),
    "multiselect": partial(_of_options, "string_array_value"),
    "button_group": partial(_of_options, "string_array_value"),
    "checkbox": lambda element: ("bool_value", (True, False)),
    "number_input": _of_number,
    "text_input": lambda element: ("string_value", ()),
    "button": lambda element: ("trigger_value", (True,)),
    "file_uploader": lambda element: ("file_uploader_state_value", ()),
    "bidi_component": _of_component,
}
