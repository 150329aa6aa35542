"""The process that parses files for `guarded_file`: only it imports the libraries that read them.

Started as `python -m validation_core.tables.reader_process`; it ends when its standard input does.

    in:   {"open": path, "kind": ..., "stem": name, "limit": bytes, "memory": bytes,
           "seconds": of processor time, "chosen": {role: array}}
          {"load": name}   {"close": true}
    out:  {"ready": true}   {"headers": {name: [shape, dtype]}, "order": ..., "notes": [...]}
          {"shape": [...], "dtype": ..., "notes": [...]} and then the numbers
          {"resident": bytes, "peak": bytes}   {"refused": text}
"""

from __future__ import annotations

import ctypes
import gc
import json
import math
import os
import signal
import sys
import time
from collections.abc import Mapping
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from validation_core.tables import (
    arviz,
    arviz_ranks,
    bilby_result,
    column_table,
    csv_columns,
    hdf5_arrays,
    hdf5_events,
    hdf5_file,
    json_file,
    numpy_files,
    parquet_columns,
    roles,
    source,
    zarr_store,
)
from validation_core.tables.chosen import Chosen
from validation_core.tables.listed_columns import ListedColumns
from validation_core.tables.long_table import LongTable
from validation_core.tables.records import RecordArrays
from validation_core.tables.source import ArraySource

_LIBRARIES = 150e6  # bytes of code that are mapped, which no bound of the system counts
_STANDARD_ERROR = 2
_LONGEST = 600
_LARGE = 200e6  # bytes from which on memory is given back to the system
_KINDS = {
    "npz": "An .npz archive",
    "npy": "A .npy file",
    "csv": "A .csv file",
    "parquet": "A .parquet file",
    "hdf5": "An HDF5 file",
    "json": "A JSON file",
    "zarr": "A zarr store",
}


def _main() -> None:
    """Serve requests until the standard input ends."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the server, which ends us
    out = os.fdopen(os.dup(sys.stdout.fileno()), "wb")
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    with suppress(AttributeError, OSError):
        os.set_blocking(_STANDARD_ERROR, False)  # nobody listens while we live
    _send(out, {"ready": True}, None)
    opened: _Opened | None = None
    memory, kind = 0, ""
    for line in sys.stdin.buffer:
        request = json.loads(line)
        numbers = None
        answer: dict[str, object]
        _die_in(_LONGEST)
        try:
            if "load" in request:
                assert opened is not None, "a file is opened before it is read"
                numbers = np.asarray(opened.load(request["load"]), order="C")
                answer = {"shape": numbers.shape, "dtype": numbers.dtype.str}
                answer["notes"] = opened.source.notes
            else:
                if opened is not None:
                    opened.close()
                opened = None
                if "open" in request:
                    memory, kind = request["memory"], request["kind"]
                    _bound(memory, request["seconds"])
                    opened = _Opened(request)
                answer = opened.answer if opened is not None else _memory_use()
        except Exception as error:
            answer = {"refused": _reason(error, kind, request.get("load"))}
            if source.is_memory_error(error):
                opened = numbers = None
                answer = {"refused": source.memory_refusal(memory), "spent": True}
        _die_in(0)
        _send(out, answer, numbers)


class _Opened:
    """An open file, its arrays under printable names, and the answer to the request to open it.

    Raises:
        ValueError: for a file that cannot be read.
    """

    def __init__(self, request: Mapping[str, Any]) -> None:
        with ExitStack() as stack:
            own = _open_source(
                Path(request["open"]),
                request["kind"],
                request["stem"],
                request["limit"],
                request["chosen"],
            )
            self.source = RecordArrays(own, request["chosen"])
            stack.callback(self.source.close)
            declared = source.check_headers(self.source.headers(), math.inf)
            self._held = stack.pop_all()
        self._own = roles.printable_names(declared)
        self._types = {name: roles.truncated_dtype(h.dtype) for name, h in declared.items()}
        self.answer: dict[str, object] = {
            "headers": {
                plain: [[int(s) for s in declared[own].shape], self._types[own].str]
                for plain, own in self._own.items()
            },
            "order": self.source.order,
            "notes": self.source.notes,
            "columns": isinstance(own, ListedColumns),
            "named": isinstance(own, LongTable) and own.named,
        }

    def load(self, name: str) -> NDArray[np.generic]:
        """An array by its printable name, its text cut to the characters that are looked at."""
        own = self._own[name]
        array = self.source.load(own)
        if array.dtype.kind not in "US":
            return array
        return roles.truncate_text(array.reshape(-1)).astype(self._types[own]).reshape(array.shape)

    def close(self) -> None:
        self._held.close()


def _memory_use() -> dict[str, object]:
    """Bytes that this process holds, and has held at most; 0 where the system does not tell."""
    resident = _resident("VmRSS")
    if resident > _LARGE:
        gc.collect()
        with suppress(AttributeError, OSError, TypeError):
            ctypes.CDLL(None).malloc_trim(0)
        resident = _resident("VmRSS")
    return {"resident": resident, "peak": _resident("VmHWM")}


def _resident(line: str) -> int:
    """Bytes on a line of this process's status on Linux; 0 elsewhere."""
    with suppress(OSError, ValueError):
        status = Path("/proc/self/status").read_text()
        return 1024 * int(status.partition(f"{line}:")[2].split()[0])
    return 0


def _send(
    out: BinaryIO, answer: Mapping[str, object], numbers: NDArray[np.generic] | None
) -> None:
    """Write an answer as a line of JSON, and numbers after it."""
    out.write(json.dumps(answer).encode() + b"\n")
    if numbers is not None and numbers.nbytes:
        out.write(numbers.reshape(-1).view(np.uint8).data)
    out.flush()


def _reason(error: Exception, kind: str, array: str | None) -> str:
    """The refusal for an error: its message if it is our own, else that the file is damaged.

    Args:
        error: the error.
        kind: the file's format.
        array: the array that was being read; None while the file was opened.
    """
    message = str(error)
    ours = type(error) is ValueError and "; got" in message and "\n" not in message
    if ours or "missing: " in message:
        return message
    if array is not None:
        return (
            f"The bytes of an array must be whole; got {roles.label(array)!r} truncated or "
            f"damaged. Save or copy the file again."
        )
    return (
        f"{_KINDS[kind]} must be whole; got one that is truncated or damaged. Save or copy it "
        f"again."
    )


def _die_in(seconds: int) -> None:
    """End this process after so many seconds, should nobody be left to end it; 0 for never."""
    if hasattr(signal, "alarm"):
        signal.alarm(seconds)


def _bound(memory: int, seconds: float) -> None:
    """Bound the memory and the further processor time of this process, where the system can.

    The bound is on memory that is written to, not on addresses: libraries reserve more of these
    than they use.

    Args:
        memory: bytes.
        seconds: counted from now, in whole ones.
    """
    with suppress(ImportError, OSError, ValueError):
        import resource

        _, most = resource.getrlimit(resource.RLIMIT_DATA)
        resource.setrlimit(resource.RLIMIT_DATA, (int(memory - _LIBRARIES), most))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        _, most = resource.getrlimit(resource.RLIMIT_CPU)
        until = math.ceil(time.process_time() + seconds)
        resource.setrlimit(resource.RLIMIT_CPU, (until, most))


def _open_source(
    path: Path, kind: str, stem: str, limit: int, chosen: Chosen | None = None
) -> ArraySource:
    """Open a file by the reader of its format.

    Args:
        path: its path.
        kind: npz, npy, csv, parquet, hdf5, json or zarr.
        stem: name of its array where the file has none.
        limit: bytes that its arrays may take in memory.
        chosen: names of arrays by the role that the user gives them.

    Raises:
        ValueError: for a file that is refused.
        Exception: whatever libraries raise at one that is damaged.
    """
    names = numpy_files.member_names(path) if kind == "npz" else ()
    if kind == "zarr" or zarr_store.is_store(names):
        copy = zarr_store.copy_to_hdf5(path, stem, limit, names)
        try:
            return _open_hdf5(copy, limit, chosen)
        finally:
            copy.unlink()  # what is open stays readable
    if kind == "npz":
        return numpy_files.NpzArchive(path)
    if kind == "npy":
        return numpy_files.NpyFile(path, stem)
    if kind == "parquet":
        parquet = parquet_columns.ParquetColumns(path, limit)
        return column_table.column_table(parquet, stem, limit, chosen)
    if kind == "csv":
        return column_table.column_table(csv_columns.CsvColumns(path), stem, limit, chosen)
    if kind == "json":
        return json_file.json_arrays(path, stem, limit, chosen)
    return _open_hdf5(path, limit, chosen)


def _open_hdf5(path: Path, limit: int, chosen: Chosen | None) -> ArraySource:
    """Open an HDF5 file as what its groups are: a result, a tree of ArviZ, events, or arrays."""
    file = hdf5_file.Hdf5File(path, limit)
    groups = file.members()
    if not chosen and (result := bilby_result.hdf5_result(file, groups, limit)) is not None:
        file.close()
        return result
    ranks = arviz_ranks.GROUP in groups and not roles.find_roles(groups).found
    is_tree = "posterior" in groups and not hdf5_file.is_dataset(groups["posterior"])
    if not chosen and ranks and not is_tree:
        return arviz_ranks.ArviZRanks(file, groups)
    if not chosen and is_tree:
        return arviz.ArviZTree(file, groups)
    if not chosen and (events := hdf5_events.find_events(file, groups)):
        return hdf5_events.Hdf5Events(file, events)
    return hdf5_arrays.Hdf5Arrays(file, chosen)


if __name__ == "__main__":
    _main()
