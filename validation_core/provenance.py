"""Provenance of a result: the libraries, the device and the seconds that made it."""

from __future__ import annotations

import platform
import sys
import time


def versions() -> dict[str, str]:
    """Versions of Python and of the imported libraries that numbers depend on."""
    loaded = ((name, sys.modules.get(name)) for name in ("numpy", "scipy", "torch"))
    own = {name: str(module.__version__) for name, module in loaded if module is not None}
    return {"python": platform.python_version(), **own}


def loaded_device() -> str:
    """The device of networks in this process; cpu without torch, which takes seconds to import."""
    nets = sys.modules.get("validation_core.learn.perceptron")
    return "cpu" if nets is None else str(nets.pick_device())


class Stopwatch:
    """Seconds of work since it was made.

    They are this process's processor seconds, so that what else runs on the machine does not
    count: on a busy one the hands of a clock go several times as far. Where networks run on a GPU,
    which no processor time covers, they are a clock's.

    Example:
        >>> watch = Stopwatch()
        >>> time.sleep(0.2)  # no work
        >>> watch.seconds < 0.1
        True
    """

    def __init__(self) -> None:
        self._processor, self._clock = time.process_time(), time.perf_counter()

    @property
    def seconds(self) -> float:
        """Seconds so far."""
        if loaded_device() == "cpu":
            return time.process_time() - self._processor
        return time.perf_counter() - self._clock
