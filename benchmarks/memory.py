"""How much memory processes take, from /proc: Linux says it without another package."""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path
from types import TracebackType

_EVERY = 0.05


def family(pid: int) -> list[int]:
    """A process and all that it started, and they."""
    try:
        threads = list(Path(f"/proc/{pid}/task").iterdir())
        children = [int(c) for t in threads for c in (t / "children").read_text().split()]
    except OSError:  # it has ended
        return []
    return [pid, *(item for child in children for item in family(child))]


def resident(pid: int) -> float:
    """Resident memory of a process now, in MB; 0 when it has ended."""
    return _status(pid, "VmRSS:")


def _status(pid: int, field: str) -> float:
    try:
        lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    except OSError:
        return 0.0
    return next((int(line.split()[1]) / 1024 for line in lines if line.startswith(field)), 0.0)


class Watch:
    """Samples a family of processes until left: each one's peak, and the peak of all together."""

    def __init__(self, pid: Callable[[], int]) -> None:
        self.peaks: dict[int, float] = {}
        self.together = 0.0
        self._pid = pid
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._look, daemon=True)

    def __enter__(self) -> Watch:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:  # fmt: skip
        self._stop.set()
        self._thread.join()

    def _look(self) -> None:
        while not self._stop.wait(_EVERY):
            now = {pid: resident(pid) for pid in family(self._pid())}
            self.together = max(self.together, sum(now.values()))
            for pid in now:  # the kernel remembers what falls between two looks
                self.peaks[pid] = max(self.peaks.get(pid, 0.0), _status(pid, "VmHWM:"))
