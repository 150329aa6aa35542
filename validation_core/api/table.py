"""Tables of draws in memory, the input of every analysis."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from html import escape
from numbers import Integral
from pathlib import Path
from typing import Any, Unpack, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray

from validation_core import tables
from validation_core.api.keywords import checked_keywords
from validation_core.shared_arrays import locked_view
from validation_core.tables import (
    Correction,
    ProbabilitiesUpload,
    RanksUpload,
    Reading,
    ReadingOptions,
    SamplesUpload,
    Upload,
)
from validation_core.tables.in_memory import arrays_of, is_in_memory, read_in_memory
from validation_core.tables.labelled_arrays import without_labels
from validation_core.tables.named_columns import in_order_of_theta
from validation_core.tables.own_quantities import QuantityFunction, evaluated
from validation_core.tables.ragged import plain_values
from validation_core.tables.reading import File
from validation_core.tables.roles import DRAWS_OF_QUANTITY, QUANTITY
from validation_core.tables.shapes import draws_array, real_numbers
from validation_core.tables.source import working_dtype
from validation_core.tables.x_columns import read_x
from validation_core.text import count_text

_UNNAMED = "table.npz"
Quantity = tuple[ArrayLike, ArrayLike] | QuantityFunction
"""A test quantity: its values at theta (N,) and at the draws (N, K), or a function of theta, x."""


class Table:
    """The truths of N simulations, their data, and K draws of an estimator q at each.

    It is checked as a file is: rows with NaN are left out and counted; see `warnings` and `notes`.
    Its numbers are converted to one float type and never changed afterwards.

    Args:
        theta: the true parameters (N, D), drawn from the prior.
        x: the data (N, ...) simulated from each; trailing axes are flattened, complex columns
            become two. None where there is none. Rows may have different lengths, as trials do.
        theta_q: K draws from q at each x (N, K, D); (K, N, D) is recognised where N and K differ.
            A list of draws (K_i, D) is cut to the shortest, at random.
        names: labels of the D parameters.
        x_names: labels of the M columns of x.
        x_summary: summaries (N, S) that are read in place of x, where x is wide.
        x_shape: the shape of a row of x that was flattened, as (28, 28): it names the columns.
        log_q: log q at theta (N,), in nats.
        log_q_draws: log q at the draws (N, K), in nats.
        log_joint: log p(theta, x) (N,), in nats, up to one constant for all.
        log_joint_draws: the same at the draws (N, K).
        log_w: log weight of theta (N,), up to one number at each x: the log density that the
            claimed posterior has there, less that of the law which the draws are from.
        log_w_draws: the same at the draws (N, K): log of their importance weights.
        log_likelihood: log p(x | theta) (N,), up to a constant that may differ from x to x.
        log_likelihood_draws: the same at the draws (N, K).
        quantities: your own test quantities by name, each a pair of arrays, (N,) at theta and
            (N, K) at the draws, or a function that gives (n,) for theta (n, D) and x (n, M). NaN
            leaves a row out of that quantity's test.
        x_o: your own observation (M,), or several (J, M).
        theta_o: draws of q at the first (K', D).
        x_rep: data simulated at these draws (L, M), for a predictive check.
        options: as in `read`: order, circular, logarithms, bounds, discrete, corrections,
            missing.

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
    files: tuple[str, ...]
    """Paths of all of them; none where it was read from what has no name."""

    @checked_keywords(Reading)
    def __init__(
        self,
        theta: ArrayLike,
        x: ArrayLike | None,
        theta_q: ArrayLike,
        *,
        names: Sequence[str] | None = None,
        x_names: Sequence[str] | None = None,
        x_summary: ArrayLike | None = None,
        x_shape: Sequence[int] | None = None,
        log_q: ArrayLike | None = None,
        log_q_draws: ArrayLike | None = None,
        log_joint: ArrayLike | None = None,
        log_joint_draws: ArrayLike | None = None,
        log_w: ArrayLike | None = None,
        log_w_draws: ArrayLike | None = None,
        log_likelihood: ArrayLike | None = None,
        log_likelihood_draws: ArrayLike | None = None,
        quantities: Mapping[str, Quantity] | None = None,
        x_o: ArrayLike | None = None,
        theta_o: ArrayLike | None = None,
        x_rep: ArrayLike | None = None,
        **options: Unpack[Reading],
    ) -> None:
        given: dict[str, ArrayLike | None] = {
            "theta": theta,
            "x": x,
            "theta_q": theta_q,
            "theta_names": _labels(names),
            "x_names": _labels(x_names),
            "x_summary": x_summary,
            "x_shape": x_shape,
            "log_q": log_q,
            "log_q_draws": log_q_draws,
            "log_joint": log_joint,
            "log_joint_draws": log_joint_draws,
            "log_w": log_w,
            "log_w_draws": log_w_draws,
            "log_likelihood": log_likelihood,
            "log_likelihood_draws": log_likelihood_draws,
            "x_o": x_o,
            "theta_o": theta_o,
            "x_rep": x_rep,
        }
        ReadingOptions(**options)  # refuses what none can be
        own: dict[str, NDArray[np.generic]] = {}
        if quantities:
            alike = without_labels(given)  # values of a function are those of rows that stand so
            given, order = alike.values, alike.order or options.get("order")
            options = {**options, "order": order}
            own = _quantity_arrays(quantities, given, options)
        self.upload = read_in_memory({**given, **own}, **options)
        self.path, self.files = _UNNAMED, ()

    @classmethod
    def of(cls, upload: Upload, path: str = _UNNAMED, files: Sequence[str] = ()) -> Table:
        """Make a table from an upload that was read and checked before.

        Args:
            upload: the upload.
            path: path of the file that it was read from.
            files: paths of all of them, where it was read from files of a name.
        """
        table = cls.__new__(cls)
        table.upload, table.path, table.files = upload, path, tuple(files)
        return table

    @classmethod
    def samples(cls, p: ArrayLike, q: ArrayLike, *, names: Sequence[str] | None = None) -> Table:
        """Make a table of two plain samples without conditioning.

        Args:
            p: the truth (n, d).
            q: the estimator (n', d).
            names: labels of the d columns.

        Raises:
            ValueError: for samples with different numbers of columns, or too few rows.
        """
        return cls.of(read_in_memory({"p": p, "q": q, "theta_names": _labels(names)}))

    @classmethod
    def ranks(
        cls,
        ranks: ArrayLike,
        max_rank: ArrayLike | None = None,
        *,
        names: Sequence[str] | None = None,
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
        given = {"ranks": ranks, "max_rank": max_rank, "theta_names": _labels(names)}
        return cls.of(read_in_memory(given))

    @classmethod
    def classes(
        cls,
        probabilities: ArrayLike,
        label: ArrayLike,
        x: ArrayLike | None = None,
        *,
        names: Sequence[str] | None = None,
        x_names: Sequence[str] | None = None,
    ) -> Table:
        """Make a table of probabilities of classes, such as models, for `reliability`.

        Args:
            probabilities: q's probability of each class at each x (N, C), or of the second of
                two, (N,) or (N, 1).
            label: the true class (N,), numbered from 0 or 1, or one-hot (N, C).
            x: the data (N, M) that they were stated for, over which they are tested too.
            names: labels of the C classes.
            x_names: labels of the M columns of x.

        Raises:
            ValueError: for numbers that are no probabilities or classes.
        """
        given = {
            "probabilities": probabilities,
            "label": label,
            "x": x,
            "class_names": _labels(names),
            "x_names": _labels(x_names),
        }
        return cls.of(read_in_memory(given))

    @property
    def n(self) -> int:
        """Simulations N of a table, or points of the smaller of two samples."""
        return self.upload.n

    @property
    def k(self) -> int:
        """Draws K of q at each x; 0 for two samples, and for ranks among unknown numbers."""
        return self.upload.drawn[0]

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
        """Rows that were left out and changes made while reading it, in sentences."""
        left_out = (
            f"{count_text(count, 'row')} {'was' if count == 1 else 'were'} left out: {reason}."
            for reason, count in self.upload.dropped.items()
        )
        return (*left_out, *self.upload.notes)

    @property
    def mistakes(self) -> tuple[Correction, ...]:
        """Mistakes of the file that its numbers show, each with the line of code against it."""
        return self.upload.mistakes

    def as_meant(self) -> Table:
        """The same table, whose draws are meant as they were saved although they look mistaken.

        Where rows, columns or scales of the draws are not those of the true values, nothing is
        said of q unless they are corrected, or meant so.
        """
        return Table.of(self.upload.as_meant(), self.path, self.files)

    def arrays(self) -> dict[str, NDArray[np.generic]]:
        """Return its arrays by public name: theta (N, D), x (N, M), theta_q (N, K, D), ...

        Where theta is an image, it has the image's axes instead of D. They cannot be written
        into, since results are kept under these numbers: copy one to change it.
        """
        return {name: locked_view(array) for name, array in self.upload.arrays().items()}

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
        classes = isinstance(self.upload, ProbabilitiesUpload)
        labels = {"class_names" if classes else "theta_names": self.names, "x_names": self.x_names}
        named = {name: np.array(label) for name, label in labels.items() if label}
        np.savez_compressed(path, allow_pickle=False, **self.arrays(), **named)
        return path

    def _repr_html_(self) -> str:
        """Its arrays with their shapes, and what was noticed while reading it."""
        rows = "".join(
            f"<tr><td>{escape(name)}</td><td>{' × '.join(map(str, array.shape))}</td></tr>"
            for name, array in self.arrays().items()
        )
        said = "".join(f"<li>{escape(text)}</li>" for text in (*self.warnings, *self.notes))
        return f"<p>{escape(repr(self))}</p><table>{rows}</table>" + (said and f"<ul>{said}</ul>")

    def __repr__(self) -> str:
        d, m = self.upload.dims
        if isinstance(self.upload, ProbabilitiesUpload):
            over = f", {m} data" if m else ""
            return f"Table({self.n} rows, probabilities of {d} classes{over})"
        if isinstance(self.upload, SamplesUpload):
            columns = count_text(d, "column")
            return f"Table(two samples, {self.n} points in the smaller one, {columns})"
        if isinstance(self.upload, RanksUpload):
            return f"Table({self.n} rows, {self.upload.ranked}, {count_text(d, 'parameter')})"
        draws, data = self.upload.drawn[1], f"{m} data" if m else "no x"
        return f"Table({self.n} rows, {draws} of q at each, {count_text(d, 'parameter')}, {data})"


def _labels(names: Sequence[str] | None) -> list[str] | None:
    """Labels of columns, from a list, an array or an index of pandas; None for none.

    Raises:
        ValueError: for one text, what is no list, or a list with None.
    """
    if names is None:
        return None
    if isinstance(names, str) or not isinstance(names, Iterable):
        raise ValueError(f"Names are a list of texts; got {names!r}. Try names=['{names}'].")
    listed = list(names)
    if None in listed:
        raise ValueError(
            f"Names are a list of texts; got {listed!r}. Give '' for a column without a name."
        )
    return [str(name) if isinstance(name, Integral) else name for name in listed] or None


def _quantity_arrays(
    quantities: Mapping[str, Quantity], given: Mapping[str, ArrayLike | None], options: Reading
) -> dict[str, NDArray[np.generic]]:
    """The arrays of test quantities by the names that they have in a file.

    Raises:
        ValueError: for what is neither a pair of arrays nor a function, or a function that fails.
    """
    if not isinstance(quantities, Mapping):
        raise ValueError(
            f"Quantities are given by name; got {type(quantities).__name__}. Try quantities="
            "{'sum': lambda theta, x: theta.sum(axis=1)}."
        )
    arrays = arrays_of(plain_values(in_order_of_theta(given).values).values)
    out: dict[str, NDArray[np.generic]] = {}
    for name, quantity in quantities.items():
        if callable(quantity):
            pair = _evaluated(name, quantity, arrays, options)
        elif isinstance(quantity, tuple | list) and len(quantity) == 2:
            pair = (np.asarray(quantity[0]), np.asarray(quantity[1]))
        else:
            raise ValueError(
                f"The quantity {name!r} must be its values at theta (N,) and at the draws (N, K), "
                f"or a function of theta (n, D) and x (n, M); got {type(quantity).__name__}. Give "
                f"one of those."
            )
        out |= {f"{QUANTITY}{name}": pair[0], f"{QUANTITY}{name}{DRAWS_OF_QUANTITY}": pair[1]}
    return out


def _evaluated(
    name: str,
    function: QuantityFunction,
    arrays: Mapping[str, NDArray[np.generic]],
    options: Reading,
) -> tuple[NDArray[np.generic], NDArray[np.generic]]:
    """A function's values at theta (N,) and at the draws, in the order of theta_q's axes."""
    numbers = {role: array.astype(working_dtype(array.dtype)) for role, array in arrays.items()}
    theta, draws = (real_numbers(role, numbers[role]) for role in ("theta", "theta_q"))
    theta = theta.reshape(len(theta), -1)
    n, d = theta.shape
    if draws.ndim > 3:  # of an image
        draws = draws.reshape(*draws.shape[:2], -1)
    q, saved = draws_array(draws, n, d, options.get("order"))
    x = read_x(numbers, n, options.get("missing")).x
    values = evaluated(name, function, theta, x, q)
    return values.truth, values.draws if saved == "NKD" else values.draws.T


@checked_keywords(Reading)
def read(file: Any, **options: Unpack[Reading]) -> Table:
    """Read the table, the two samples or the ranks in a file, in several, or in a folder of them.

    Files are .npz, .npy, HDF5 (MATLAB's and Julia's too), netCDF, .csv, .parquet or .json. Several
    make one table: an array in each, or a simulation in each. Nothing is ever unpickled, and
    nothing is read before its declared size has been accepted.

    Args:
        file: a path, the bytes of a file, or a file opened for reading; several of these; the
            path of a folder; or what is in memory: arrays or tensors by name, a frame of pandas
            whose rows are a long table, a Dataset or DataTree of xarray, InferenceData of ArviZ.
        options: what a user says about it:
            order: order of the axes of theta_q, NKD or KND, needed only where N = K; DKN or DNK
                where all axes are reversed.
            arrays: names of its arrays by role, where not recognised: {"theta": "params"}; several
                are joined by columns: {"x": ["image", "meta"]}. Of a long table, names of columns:
                {"sim": "event", "theta": ["mass_true"], "theta_q": ["mass"]}. {"x": "none"} says
                that there is no x.
            circular: names of the angles among the parameters, or {"phi": 24.0} with the period
                of each; () for none, None to recognise them.
            logarithms: names of the positive parameters that are read by their logarithm; () for
                none, None to recognise those that range over decades.
            bounds: least and greatest value that the prior allows: {"theta_2": (0, 1)}.
            discrete: names of parameters that are counts or classes: that each value is as
                frequent as q says is tested too.
            corrections: mistakes of the file to correct: any of rows, columns, scale, one_row,
                thin or thin=M (every M-th draw). `Table.mistakes` says which are found.
            missing: what NaN in x means: "mask", a missing value, or "drop", a failed simulation;
                None to recognise padding, and to leave out other rows.
            max_rank: the largest rank that ranks can take, where the file does not say it.

    Raises:
        AmbiguousOrder: when N = K and no order is given.
        FileNotFoundError: where there is no file of this name.
        TypeError: for what is no file and holds no table, or an unknown option.
        UnknownMaxRank: for ranks whose largest value is not known.
        ValueError: for everything else that cannot be diagnosed; where the names of the arrays
            do not tell a table, with their names and shapes.

    Examples:
        >>> npt.read(table.save("table.npz"))
        Table(60 rows, 20 draws of q at each, 2 parameters, 2 data)
    """
    if is_in_memory(file):
        return Table.of(read_in_memory(file, **options))
    one = isinstance(file, str | bytes | bytearray | memoryview) or not isinstance(file, Sequence)
    several = cast("Sequence[File]", [file] if one else file)
    for each in several:
        held = isinstance(each, str | bytes | bytearray | memoryview | Path)
        if not (held or hasattr(each, "read")):
            raise TypeError(
                f"A table is read from paths, bytes or open files, or from arrays by name; got "
                f"{type(each).__name__}. Give one of these, or npt.Table(theta, x, theta_q)."
            )
    paths = [str(each) for each in several if isinstance(each, Path | str)]
    files = paths if len(paths) == len(several) else []
    path = str(several[0]) if several and isinstance(several[0], Path | str) else _UNNAMED
    return Table.of(tables.read_one(several, **options), path, files)


def as_table(source: Table | Upload | File | Sequence[File] | Mapping[str, ArrayLike]) -> Table:
    """Convert a table, an upload, files, arrays by name, a frame or a dataset to a table.

    Args:
        source: any of these; as `read` takes what is not a table yet.

    Raises:
        ValueError: as `read` does.
    """
    if isinstance(source, Table):
        return source
    if isinstance(source, Upload):
        return Table.of(source)
    return read(source)
