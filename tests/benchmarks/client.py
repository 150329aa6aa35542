"""A visitor without a browser: Streamlit's own messages over a websocket."""

from __future__ import annotations

import asyncio
import json
import time
from types import TracebackType
from urllib.parse import parse_qsl, urlencode

import websockets
from streamlit.proto.BackMsg_pb2 import BackMsg
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg
from streamlit.proto.WidgetStates_pb2 import WidgetState

from tests.benchmarks.servers import Server

_PATIENCE = 60.0  # seconds for one message
_REMEMBERED = 2  # runs for which a browser keeps large messages, so that a hash stands for them


class Visitor:
    """One open page: its sliders, by key, and what it would know of the server's messages."""

    def __init__(self, server: Server, page: str = "") -> None:
        self.bytes = 0
        self._url = f"ws://localhost:{server.port}/_stcore/stream"
        self._page = page
        self._script = ""
        self._ids: dict[str, str] = {}
        self._fragments: dict[str, str] = {}
        self._values: dict[str, WidgetState] = {}
        self._query: dict[str, str] = {}
        self._seen: list[dict[str, ForwardMsg]] = []

    async def __aenter__(self) -> Visitor:
        self._socket = await websockets.connect(
            self._url, subprotocols=[websockets.Subprotocol("streamlit")], max_size=None
        )
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:  # fmt: skip
        await self._socket.close()

    async def open(self) -> float:
        """Seconds until the page's script has run for the first time."""
        return await self._run()

    async def slide(self, key: str, shown: str) -> float:
        """Seconds from a select slider's new value until the script has run."""
        state = WidgetState(id=self._ids[key])
        state.string_array_value.data.append(shown)
        self._values[key] = state
        self._query[key] = shown
        return await self._run(self._fragments.get(key, ""))

    async def choose(self, key: str, name: str) -> float:
        """Seconds from a press on a component that tells a name until the script has run."""
        state = WidgetState(id=self._ids[key], json_value=json.dumps({"value": name}))
        self._values[key] = state
        return await self._run(self._fragments.get(key, ""))

    async def release(self, key: str, *values: float) -> float:
        """Seconds from a slider of a live chart being released until its fragment has run."""
        state = WidgetState(id=self._ids[key], json_value=json.dumps({"value": values}))
        self._values[key] = state
        return await self._run(self._fragments.get(key, ""))

    async def _run(self, fragment: str = "") -> float:
        start = time.perf_counter()
        await self._socket.send(self._asking(fragment).SerializeToString())
        # What was just named as remembered may be answered by its hash during all of this run.
        self._seen = [*self._seen[-_REMEMBERED:], {}]
        while True:
            message = ForwardMsg()
            raw = await asyncio.wait_for(self._socket.recv(), _PATIENCE)
            assert isinstance(raw, bytes)
            self.bytes += len(raw)
            message.ParseFromString(raw)
            if self._ends(self._whole(message)):
                return time.perf_counter() - start

    def _asking(self, fragment: str) -> BackMsg:
        msg = BackMsg()
        state = msg.rerun_script
        state.query_string = urlencode(self._query)
        state.page_script_hash = self._script
        state.page_name = "" if self._script else self._page
        state.fragment_id = fragment
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
        if kind == "navigation":
            self._script = message.navigation.page_script_hash
        elif kind == "delta":
            self._delta(message)
        elif kind == "page_info_changed":
            self._query = dict(parse_qsl(message.page_info_changed.query_string))
        elif kind == "page_not_found":
            raise RuntimeError(f"There is no page {self._page!r}.")
        elif kind == "script_finished":
            if message.script_finished == ForwardMsg.FINISHED_WITH_COMPILE_ERROR:
                raise RuntimeError("The page's script does not compile.")
            return message.script_finished != ForwardMsg.FINISHED_EARLY_FOR_RERUN
        return False

    def _delta(self, message: ForwardMsg) -> None:
        element = message.delta.new_element
        kind = element.WhichOneof("type")
        if kind == "exception":
            raise RuntimeError(f"The page failed: {element.exception.message}")
        if kind in ("slider", "bidi_component"):
            name = getattr(element, kind).id
            key = name.split("-", 2)[2]  # $$ID-HASH-KEY
            self._ids[key] = name
            self._fragments[key] = message.delta.fragment_id
