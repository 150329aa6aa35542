"""What a user brings, read and checked: a table (theta, x, theta_q) or two samples (p, q).

Every refusal is a ValueError that says the rule, what was got, and what to do. Nothing is ever
unpickled, and nothing is unpacked before its header has been accepted.
"""

from __future__ import annotations

import io
import zipfile
from collections.abc import Collection, Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from validation_core import keys
from validation_core.types import Array, Blocks, Draws, Joint
from validation_core.uploads import archive, checks, names, shapes
from validation_core.uploads.archive import LIMIT
from validation_core.uploads.shapes import ORDERS, AmbiguousOrder, Order

__all__ = ["LIMIT", "ORDERS", "AmbiguousOrder", "Order", "Upload", "read"]


@dataclass(frozen=True, eq=False)
class Upload:
    """What was read: the draws, their labels, and everything a user should know about them."""

    data: Draws | Blocks
    names: tuple[str, ...]
    digest: str
    """Fingerprint of the numbers alone: the same draws are the same work whatever their labels."""
    x_names: tuple[str, ...] = ()
    dropped: Mapping[str, int] = field(default_factory=dict)
    """Rows left out, by reason."""
    warnings: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()

    @property
    def n(self) -> int:
        """Simulations of a table, or points of the smaller of two samples."""
        if isinstance(self.data, Draws):
            return len(self.data)
        return min(len(self.data.p), len(self.data.q))

    @property
    def k(self) -> int:
        """Draws of q at each x; 0 for two samples, which have no x."""
        return self.data.q.shape[1] if isinstance(self.data, Draws) else 0

    @property
    def dims(self) -> tuple[int, int]:
        """(D, M): columns of theta and of x."""
        rows = self.data if isinstance(self.data, Draws) else self.data.p
        return rows.theta.shape[1], rows.x.shape[1]

    def arrays(self) -> dict[str, Array]:
        """The arrays by their public names, as a file holds them and the store keeps them."""
        if isinstance(self.data, Draws):
            return {"theta": self.data.theta, "x": self.data.x, "theta_q": self.data.q}
        return {"p": self.data.p.theta, "q": self.data.q.theta}

    @classmethod
    def of(cls, arrays: Mapping[str, NDArray[Any]], *, order: Order | None = None) -> Upload:
        """An upload from arrays in memory, by the names a file would hold them under.

        Raises:
            ValueError: as `read` does.
        """
        known = names.roles(arrays)
        floats = {
            role: arrays[name].astype(archive.working(arrays[name].dtype), copy=False)
            for role, name in known.found.items()
        }
        return _upload(floats, known.notes, order, tuple(arrays))


def read(
    source: Path | str | bytes | BinaryIO, *, order: Order | None = None, limit: int = LIMIT
) -> Upload:
    """The table or the two samples in an .npz file.

    Args:
        source: a path, the bytes of the file, or the file opened for reading.
        order: what the first axes of theta_q are; needed only when N = K.
        limit: bytes that its arrays may take in memory.

    Raises:
        AmbiguousOrder: when N = K and no order is given.
        ValueError: for everything else that cannot be diagnosed.
    """
    with _opened(source) as stream, archive.open_archive(stream) as packed:
        declared = archive.headers(packed, limit)
        known = names.roles(declared)
        _require(known.found, tuple(declared))
        arrays = {
            role: archive.load(packed, name, declared[name]) for role, name in known.found.items()
        }
        return _upload(arrays, known.notes + _others(packed), order, tuple(declared))


def _opened(source: Path | str | bytes | BinaryIO) -> AbstractContextManager[BinaryIO]:
    if isinstance(source, bytes):
        return io.BytesIO(source)
    if not isinstance(source, Path | str):
        return nullcontext(source)  # whoever opened it closes it
    try:
        return Path(source).open("rb")
    except OSError as error:
        raise ValueError(
            f"The file must be there and readable; got {str(source)!r} ({error.strerror}). Check "
            f"the path."
        ) from None


def _others(packed: zipfile.ZipFile) -> tuple[str, ...]:
    others = [n for n in packed.namelist() if not n.endswith(".npy")]
    return tuple(f"{names.label(name)!r} was left unread: it is not an array." for name in others)


def _require(found: Collection[str], present: tuple[str, ...]) -> None:
    table, pair = ("theta", "x", "theta_q"), ("p", "q")
    # Two samples are meant when only their names are there.
    wanted = pair if {*pair} & {*found} and not {"theta", "theta_q"} & {*found} else table
    missing = [name for name in wanted if name not in found]
    if missing:
        listed = ", ".join(names.label(name) for name in present) or "nothing"
        raise ValueError(
            f"A file must hold theta (N, D), x (N, ...) and theta_q (N, K, D), or p (n, d) and "
            f"q (n', d); missing: {', '.join(missing)}; got: {listed}. Add what is missing or "
            f"rename the arrays."
        )


def _upload(
    arrays: Mapping[str, NDArray[Any]],
    notes: tuple[str, ...],
    order: Order | None,
    present: tuple[str, ...],
) -> Upload:
    _require(arrays, present)
    table = "theta" in arrays and "theta_q" in arrays
    data, dropped = _table(arrays, order) if table else _samples(arrays)
    rows, columns = (data.theta, data.x) if isinstance(data, Draws) else (data.p.theta, data.p.x)
    theta_names, told = names.labels(arrays.get("theta_names"), "theta", rows.shape[1])
    x_names, told_x = names.labels(arrays.get("x_names"), "x", columns.shape[1])
    numbers = (data.theta, data.x, data.q) if isinstance(data, Draws) else (rows, data.q.theta)
    return Upload(
        data=data,
        names=theta_names,
        x_names=x_names,
        dropped=dropped,
        warnings=(*filter(None, (told, told_x)), *checks.warnings(data, theta_names)),
        notes=notes,
        digest=keys.digest(**{str(i): array for i, array in enumerate(numbers)}),
    )


def _table(
    arrays: Mapping[str, NDArray[Any]], order: Order | None
) -> tuple[Draws, dict[str, int]]:
    theta = shapes.matrix("theta", shapes.numbers("theta", arrays["theta"]))
    x = shapes.data(shapes.numbers("x", arrays["x"]), len(theta))
    n, d = theta.shape
    q = shapes.draws(shapes.numbers("theta_q", arrays["theta_q"]), n, d, order)
    keep, dropped = checks.finite({"theta": theta, "x": x, "theta_q": q})
    if keep.all():
        return Draws(theta, x, q), dropped
    return Draws(theta[keep], x[keep], q[keep]), dropped


def _samples(arrays: Mapping[str, NDArray[Any]]) -> tuple[Blocks, dict[str, int]]:
    p, q = (shapes.matrix(name, shapes.numbers(name, arrays[name])) for name in ("p", "q"))
    if p.shape[1] != q.shape[1]:
        raise ValueError(
            f"p (n, d) and q (n', d) must have the same columns; got {p.shape} and {q.shape}. "
            f"Save the same quantities in both."
        )
    (keep_p, dropped_p), (keep_q, dropped_q) = checks.finite({"p": p}), checks.finite({"q": q})
    return Blocks(_unconditional(p[keep_p]), _unconditional(q[keep_q])), dropped_p | dropped_q


def _unconditional(theta: Array) -> Joint:
    return Joint(theta, np.empty((len(theta), 0), theta.dtype))
