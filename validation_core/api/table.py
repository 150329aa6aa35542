"""Tables of draws in memory, the input of every analysis."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import ArrayLike, NDArray

from validation_core import tables
from validation_core.tables import Missing, Order, RanksUpload, SamplesUpload, Upload
from validation_core.tables.in_memory import plain_arrays
from validation_core.tables.reading import File

_UNNAMED = "table.npz"


class Table:
    """The truths of N simulations, their data, and K draws of an estimator q at each.

    It is checked as a file is: rows with NaN are left out and counted; see `warnings` and `notes`.
    Its numbers are converted to one float type and never changed afterwards.

    Args:
        theta: the true parameters (N, D), drawn from the prior.
        x: the data (N, ...) simulated from each; trailing axes are flattened, complex columns
            become two. None where there is none. Rows may have different lengths, as trials do.
        theta_q: K draws from q at each x (N, K, D); (K, N, D) is recognised where N and K differ.
            A list of draws (K_i, D) is cut to the shortest.
        names: labels of the D parameters.
        x_names: labels of the M columns of x.
        x_summary: summaries (N, S) that are read in place of x, where x is wide.
        x_shape: the shape of a row of x that was flattened, as (28, 28): it names the columns.
        log_q: log q at theta (N,), in nats.
        log_q_draws: log q at the draws (N, K), in nats.
        log_joint: log p(theta, x) (N,), in nats, up to one constant for all.
        log_joint_draws: the same at the draws (N, K).
        x_o: your own observation (M,).
        theta_o: draws of q there (K', D).
        order: order of the axes of theta_q, NKD or KND; needed only where N = K.
        circular: names of the angles among the parameters, () for none; None to recognise them.
        missing: what NaN in x means: "mask", a missing value, or "drop", a failed simulation; None
            to recognise padding, and to leave out other rows.

    Raises:
        AmbiguousOrder: when N = K and no order is given.
        ValueError: for arrays that cannot be diagnosed: the rule, what was got, what to do.

    Examples:
        >>> import numpy as np
        >>> import validation_core as npt
        >>> rng = np.random.default_rng(0)
        >>> x = rng.standard_normal((60, 2))
        >>> theta = x + rng.standard_normal((60, 2))
        >>> theta_q = x[:, None] + 0.5 * rng.standard_normal((60, 20, 2))  # sd 1 is right
        >>> table = npt.Table(theta, x, theta_q, names=["a", "b"])
        >>> table
        Table(60 rows, 20 draws of q at each, 2 parameters, 2 data)
    """

    upload: Upload
    path: str
    """Path of the file that it was read from."""

    def __init__(
        self,
        theta: ArrayLike,
        x: ArrayLike | None,
        theta_q: ArrayLike,
        *,
        names: Sequence[str] = (),
        x_names: Sequence[str] = (),
        x_summary: ArrayLike | None = None,
        x_shape: Sequence[int] | None = None,
        log_q: ArrayLike | None = None,
        log_q_draws: ArrayLike | None = None,
        log_joint: ArrayLike | None = None,
        log_joint_draws: ArrayLike | None = None,
        x_o: ArrayLike | None = None,
        theta_o: ArrayLike | None = None,
        order: Order | None = None,
        circular: Sequence[str] | None = None,
        missing: Missing | None = None,
    ) -> None:
        given: dict[str, ArrayLike | None] = {
            "theta": theta,
            "x": x,
            "theta_q": theta_q,
            "theta_names": names or None,
            "x_names": x_names or None,
            "x_summary": x_summary,
            "x_shape": x_shape,
            "log_q": log_q,
            "log_q_draws": log_q_draws,
            "log_joint": log_joint,
            "log_joint_draws": log_joint_draws,
            "x_o": x_o,
            "theta_o": theta_o,
        }
        self.upload = _upload(given, order=order, circular=circular, missing=missing)
        self.path = _UNNAMED

    @classmethod
    def of(cls, upload: Upload, path: str = _UNNAMED) -> Table:
        """Make a table from an upload that was read and checked before.

        Args:
            upload: the upload.
            path: path of the file that it was read from.
        """
        table = cls.__new__(cls)
        table.upload, table.path = upload, path
        return table

    @classmethod
    def samples(cls, p: ArrayLike, q: ArrayLike, *, names: Sequence[str] = ()) -> Table:
        """Make a table of two plain samples without conditioning.

        Args:
            p: the truth (n, d).
            q: the estimator (n', d).
            names: labels of the d columns.

        Raises:
            ValueError: for samples with different numbers of columns, or too few rows.
        """
        return cls.of(_upload({"p": p, "q": q, "theta_names": names or None}))

    @classmethod
    def ranks(
        cls, ranks: ArrayLike, max_rank: ArrayLike | None = None, *, names: Sequence[str] = ()
    ) -> Table:
        """Make a table of ranks of true values among q's draws, or of PIT values, without draws.

        Args:
            ranks: whole ranks (N, D) from 0 to max_rank, or PIT values (N, D) in [0, 1].
            max_rank: the number of draws that each true value was ranked among, for all or one
                each; None for PIT values.
            names: labels of the D parameters.

        Raises:
            ValueError: for ranks that are not whole, or lie outside of their range.
        """
        given = {"ranks": ranks, "max_rank": max_rank, "theta_names": names or None}
        return cls.of(_upload(given))

    @property
    def n(self) -> int:
        """Simulations N of a table, or points of the smaller of two samples."""
        return self.upload.n

    @property
    def k(self) -> int:
        """Draws K of q at each x; 0 for two samples, and for ranks among unknown numbers."""
        return self.upload.k

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the D parameters."""
        return self.upload.names

    @property
    def x_names(self) -> tuple[str, ...]:
        """Names of the M columns of x."""
        return self.upload.x_names

    @property
    def warnings(self) -> tuple[str, ...]:
        """Possible faults of the table, in sentences."""
        return self.upload.warnings

    @property
    def notes(self) -> tuple[str, ...]:
        """Changes made while reading it, in sentences."""
        return self.upload.notes

    def arrays(self) -> dict[str, NDArray[np.generic]]:
        """Return its arrays by public name: theta (N, D), x (N, M), theta_q (N, K, D), ..."""
        return dict(self.upload.arrays())

    def save(self, path: Path | str) -> Path:
        """Write it as an .npz file that `read` takes, and return the path.

        Args:
            path: of the file.

        Raises:
            ValueError: for a name that does not end in .npz.
        """
        path = Path(path)
        if path.suffix != ".npz":
            raise ValueError(f"A table is written as .npz; got {path.name}. Rename it.")
        labels = {"theta_names": self.names, "x_names": self.x_names}
        named = {name: np.array(label) for name, label in labels.items() if label}
        np.savez_compressed(path, allow_pickle=False, **self.arrays(), **named)
        return path

    def __repr__(self) -> str:
        d, m = self.upload.dims
        if isinstance(self.upload, SamplesUpload):
            return f"Table(two samples, {self.n} points in the smaller one, {d} quantities)"
        if isinstance(self.upload, RanksUpload):
            return f"Table({self.n} rows, {self.upload.ranked}, {d} parameters)"
        data = f"{m} data" if m else "no x"
        return f"Table({self.n} rows, {self.k} draws of q at each, {d} parameters, {data})"


def _upload(
    given: Mapping[str, ArrayLike | None],
    *,
    order: Order | None = None,
    circular: Sequence[str] | None = None,
    missing: Missing | None = None,
) -> Upload:
    plain = plain_arrays(given)
    return Upload.of(
        plain.arrays,
        order=order,
        circular=circular,
        missing=missing or plain.missing,
        notes=plain.notes,
    )


def read(
    file: File,
    *,
    order: Order | None = None,
    arrays: Mapping[str, str] | None = None,
    circular: Sequence[str] | None = None,
    missing: Missing | None = None,
    max_rank: int | None = None,
) -> Table:
    """Read a table, two samples or ranks: .npz, .npy, HDF5, netCDF, .csv or .parquet.

    Nothing is ever unpickled, and nothing is read before its declared size has been accepted.

    Args:
        file: a path, the bytes of the file, or the file opened for reading.
        order: order of the axes of theta_q, NKD or KND; needed only where N = K.
        arrays: names of its arrays by role, where not recognised: {"theta": "params"}; {"x":
            "none"} says that there is no x.
        circular: names of the angles among the parameters, () for none; None to recognise them.
        missing: what NaN in x means: "mask", a missing value, or "drop", a failed simulation; None
            to recognise padding, and to leave out other rows.
        max_rank: the largest rank that ranks can take, where the file does not say it.

    Raises:
        AmbiguousOrder: when N = K and no order is given.
        UnknownMaxRank: for ranks whose largest value is not known.
        ValueError: for everything else that cannot be diagnosed; where the names of the arrays
            do not tell a table, with their names and shapes.

    Examples:
        >>> npt.read(table.save("table.npz"))
        Table(60 rows, 20 draws of q at each, 2 parameters, 2 data)
    """
    path = str(file) if isinstance(file, Path | str) else _UNNAMED
    upload = tables.read(
        file, order=order, arrays=arrays, circular=circular, missing=missing, max_rank=max_rank
    )
    return Table.of(upload, path)


def as_table(source: Table | Upload | File | Mapping[str, ArrayLike]) -> Table:
    """Convert a table, an upload, a file, or arrays by their public names to a table.

    Args:
        source: any of these; a file as a path, its bytes, or opened for reading.

    Raises:
        ValueError: as `read` does.
    """
    if isinstance(source, Table):
        return source
    if isinstance(source, Upload):
        return Table.of(source)
    if isinstance(source, Mapping):
        return Table.of(_upload(source))
    return read(source)
