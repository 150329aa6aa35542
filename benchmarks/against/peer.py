"""A peer in its own environment: a process that answers jobs, so that both sides take turns."""

from __future__ import annotations

import json
import os
import subprocess
import tempfile
import threading
from pathlib import Path
from types import TracebackType
from typing import Any

PYTHON = "NPTLAB_PEERS"
_SCRIPTS = Path(__file__).parents[1] / "peers"
_THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")


class Absent(Exception):
    """There is no peer to compare with: why."""


class Peer:
    """One of the scripts in peers/, until left.

    Args:
        script: its name.
        threads: what it may use; None for what its packages take by themselves.
    """

    def __init__(self, script: str, threads: int | None = None) -> None:
        python = os.environ.get(PYTHON)
        if not python:
            raise Absent(f"make the environment and set {PYTHON} to its python (README)")
        env = {name: value for name, value in os.environ.items() if name not in _THREADS}
        if threads:
            env |= dict.fromkeys(_THREADS, str(threads))
        self._said = tempfile.TemporaryFile(mode="w+")  # noqa: SIM115  # no pipe: it may fill
        try:
            self._process = subprocess.Popen(
                [python, str(_SCRIPTS / f"{script}.py")], env=env, text=True,
                stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self._said,
            )  # fmt: skip
        except OSError as error:
            raise Absent(f"{PYTHON} is the path of a python; {python} does not start") from error

    def __enter__(self) -> Peer:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:  # fmt: skip
        self._process.kill()
        self._process.communicate()
        self._said.close()

    def ask(
        self, job: str, file: Path, within: float | None = None, **asked: Any
    ) -> dict[str, Any]:
        """What the script's job finds on the arrays of an npz.

        Raises:
            Absent: when a package is missing there.
            TimeoutError: when it takes longer than `within` seconds, which ends the process.
            RuntimeError: when the job fails.
        """
        if within is None:
            return self._ask(job, file, asked)
        timer = threading.Timer(within, self._process.kill)
        timer.start()
        try:
            return self._ask(job, file, asked)
        except RuntimeError as error:
            if timer.is_alive():
                raise
            raise TimeoutError(f"{job} took longer than {within:.0f} s") from error
        finally:
            timer.cancel()

    def _ask(self, job: str, file: Path, asked: dict[str, Any]) -> dict[str, Any]:
        stdin, stdout = self._process.stdin, self._process.stdout
        assert stdin
        assert stdout
        try:
            stdin.write(json.dumps({"job": job, "file": str(file), **asked}) + "\n")
            stdin.flush()
            line = stdout.readline()
        except BrokenPipeError:
            line = ""
        if not line:
            raise self._ended()
        answer = json.loads(line)
        if "error" in answer:
            missing = "ModuleNotFoundError" in answer["error"]
            raise (Absent if missing else RuntimeError)(answer["error"])
        return answer

    def _ended(self) -> Exception:
        code = self._process.wait()
        self._said.seek(0)
        said = self._said.read().strip().splitlines()
        last = said[-1] if said else f"ended with {code}"
        return Absent(last) if "ModuleNotFoundError" in last else RuntimeError(last)
