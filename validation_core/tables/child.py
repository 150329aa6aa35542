"""The process that opens HDF5, netCDF, Parquet and CSV files for `guarded`: only it imports the
libraries written in C that read them.

Started as `python -m validation_core.tables.child`; it ends when its standard input does.

    in:   {"open": path, "stem": name, "limit": bytes, "chosen": {role: array}}   {"load": name}
    out:  {"ready": true}   {"headers": {name: [shape, dtype]}, "order": ..., "notes": [...]}
          {"shape": [...], "dtype": ...} and then the numbers   {"refused": text}
"""

from __future__ import annotations

import json
import os
import signal
import sys
from collections.abc import Mapping
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from validation_core.tables import columns, hdf, source
from validation_core.tables.source import _Source

_MEMORY = 6 * 2**30  # bytes of addresses: the libraries reserve more than they use
_LONGEST = 600
_WHOLE = "A file must be whole; got one that is truncated or damaged. Save or copy it again."


def _main() -> None:
    """Serve requests until the standard input ends."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the server, which ends us
    _bound()
    out = os.fdopen(os.dup(sys.stdout.fileno()), "wb")
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    _send(out, {"ready": True}, None)
    with ExitStack() as stack:
        opened: _Source | None = None
        for line in sys.stdin.buffer:
            request = json.loads(line)
            numbers = None
            _die_in(_LONGEST)
            try:
                if "open" in request:
                    stack.close()
                    opened, answer = _open(request, stack)
                else:
                    assert opened is not None, "a file is opened before it is read"
                    numbers = np.ascontiguousarray(opened.load(request["load"]))
                    answer = {"shape": numbers.shape, "dtype": numbers.dtype.str}
            except Exception as error:
                answer = {"refused": _reason(error)}
            _die_in(0)
            _send(out, answer, numbers)
            del numbers


def _open(request: Mapping[str, Any], held: ExitStack) -> tuple[_Source, dict[str, object]]:
    stream = held.enter_context(Path(request["open"]).open("rb"))  # noqa: SIM115 (it is held)
    reader = _open_source(stream, request["stem"], request["limit"], request["chosen"])
    held.callback(reader.close)
    declared = source._accepted(reader.headers(), request["limit"])
    headers = {n: [[int(s) for s in h.shape], h.dtype.str] for n, h in declared.items()}
    return reader, {"headers": headers, "order": reader.order, "notes": reader.notes}


def _send(
    out: BinaryIO, answer: Mapping[str, object], numbers: NDArray[np.generic] | None
) -> None:
    out.write(json.dumps(answer).encode() + b"\n")
    if numbers is not None and numbers.nbytes:
        out.write(numbers.reshape(-1).view(np.uint8).data)
    out.flush()


def _reason(error: Exception) -> str:
    """Our own refusals say what was got; whatever a library says is a damaged file."""
    message = str(error)
    ours = type(error) is ValueError and "; got" in message and "\n" not in message
    return message if ours or "missing: " in message else _WHOLE


def _die_in(seconds: int) -> None:
    """End this process then, wherever it hangs, should nobody be left to end it; 0 for never."""
    if hasattr(signal, "alarm"):
        signal.alarm(seconds)


def _bound() -> None:
    with suppress(ImportError, OSError, ValueError):
        import resource

        resource.setrlimit(resource.RLIMIT_AS, (_MEMORY, _MEMORY))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def _open_source(
    stream: BinaryIO, stem: str, limit: int, chosen: Mapping[str, str] | None = None
) -> _Source:
    """The source that a file is.

    Args:
        stream: the file, opened for reading.
        stem: what its array is called where the file has no name for it.
        limit: bytes that its arrays may take in memory.
        chosen: role and array, as the user says.

    Raises:
        ValueError: for a file that cannot be read.
    """
    stream.seek(0)
    first = stream.read(len(source.HDF5))
    if first.startswith(source.PARQUET):
        return columns._ColumnTable(columns._Parquet(stream, limit), stem, limit)
    if first != source.HDF5:
        return columns._ColumnTable(columns._Csv(stream), stem, limit)
    file = hdf._HdfFile(stream, limit)
    groups = file.members()
    ranks = "prior_sbc" in groups and not source._roles(groups).found
    if chosen:
        return hdf._HdfArrays(file, chosen)
    is_tree = "posterior" in groups and not hdf._is_dataset(groups["posterior"])
    return hdf._ArviZTree(file, groups) if is_tree or ranks else hdf._HdfArrays(file)


if __name__ == "__main__":
    _main()
