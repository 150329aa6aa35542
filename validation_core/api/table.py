"""Tables of draws in memory, the input of every analysis."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Unpack

import numpy as np
from numpy.typing import ArrayLike, NDArray

from validation_core import tables
from validation_core.tables import Correction, Reading, SamplesUpload, Upload
from validation_core.tables.reading import File

_UNNAMED = "table.npz"


class Table:
    """The truths of N simulations, their data, and K draws of an estimator q at each.

    It is checked as a file is: rows with NaN are left out and counted; see `warnings` and `notes`.
    Its numbers are converted to one float type and never changed afterwards.

    Args:
        theta: the true parameters (N, D), drawn from the prior.
        x: the data (N, ...) simulated from each; trailing axes are flattened.
        theta_q: K draws from q at each x (N, K, D); (K, N, D) is recognised where N and K differ.
        names: labels of the D parameters.
        x_names: labels of the M columns of x.
        log_q: log q at theta (N,), in nats.
        log_q_draws: log q at the draws (N, K), in nats.
        log_joint: log p(theta, x) (N,), in nats, up to one constant for all.
        log_joint_draws: the same at the draws (N, K).
        x_o: your own observation (M,).
        theta_o: draws of q there (K', D).
        options: as in `read`: order, circular, logarithms, bounds, corrections.

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
        x: ArrayLike,
        theta_q: ArrayLike,
        *,
        names: Sequence[str] = (),
        x_names: Sequence[str] = (),
        log_q: ArrayLike | None = None,
        log_q_draws: ArrayLike | None = None,
        log_joint: ArrayLike | None = None,
        log_joint_draws: ArrayLike | None = None,
        x_o: ArrayLike | None = None,
        theta_o: ArrayLike | None = None,
        **options: Unpack[Reading],
    ) -> None:
        given: dict[str, ArrayLike | None] = {
            "theta": theta,
            "x": x,
            "theta_q": theta_q,
            "theta_names": names or None,
            "x_names": x_names or None,
            "log_q": log_q,
            "log_q_draws": log_q_draws,
            "log_joint": log_joint,
            "log_joint_draws": log_joint_draws,
            "x_o": x_o,
            "theta_o": theta_o,
        }
        self.upload = Upload.of(_arrays(given), **options)
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
        return cls.of(Upload.of(_arrays({"p": p, "q": q, "theta_names": names or None})))

    @property
    def n(self) -> int:
        """Simulations N of a table, or points of the smaller of two samples."""
        return self.upload.n

    @property
    def k(self) -> int:
        """Draws K of q at each x; 0 for two samples, which have no x."""
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

    @property
    def mistakes(self) -> tuple[Correction, ...]:
        """Mistakes of the file that its numbers show, each with the line of code against it."""
        return self.upload.mistakes

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
        return f"Table({self.n} rows, {self.k} draws of q at each, {d} parameters, {m} data)"


def _arrays(given: Mapping[str, ArrayLike | None]) -> dict[str, NDArray[np.generic]]:
    return {name: np.asarray(value) for name, value in given.items() if value is not None}


def read(file: File, **options: Unpack[Reading]) -> Table:
    """Read the table or the two samples in a file: .npz, .npy, HDF5, netCDF, .csv or .parquet.

    Nothing is ever unpickled, and nothing is read before its declared size has been accepted.

    Args:
        file: a path, the bytes of the file, or the file opened for reading.
        options: what a user says about it:
            order: order of the axes of theta_q, NKD or KND; needed only where N = K.
            arrays: names of its arrays by role, where not recognised: {"theta": "params"}.
            circular: names of the angles among the parameters, or {"phi": 24.0} with the period
                of each; () for none, None to recognise them.
            logarithms: names of the positive parameters that are read by their logarithm; () for
                none, None to recognise those that range over decades.
            bounds: least and greatest value that the prior allows: {"theta_2": (0, 1)}.
            corrections: mistakes of the file to correct: any of rows, columns, scale, one_row,
                thin or thin=M (every M-th draw). `Table.mistakes` says which are found.

    Raises:
        AmbiguousOrder: when N = K and no order is given.
        ValueError: for everything else that cannot be diagnosed; where the names of the arrays
            do not tell a table, with their names and shapes.

    Examples:
        >>> npt.read(table.save("table.npz"))
        Table(60 rows, 20 draws of q at each, 2 parameters, 2 data)
    """
    path = str(file) if isinstance(file, Path | str) else _UNNAMED
    return Table.of(tables.read(file, **options), path)


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
        return Table.of(Upload.of(_arrays(source)))
    return read(source)
