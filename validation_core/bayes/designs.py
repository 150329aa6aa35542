"""Covariates of the two regressions: the user's real ones where they are given, or a stand-in.

A model names its covariates by their digest, so that its key stays a plain string; the numbers are
lent to the process that simulates from it. Without a digest it has a stand-in: random numbers of
the same raw shape, from a seed that never changes.
"""

from __future__ import annotations

import importlib
import io
from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO, NamedTuple
from zipfile import BadZipFile

import numpy as np
from numpy.typing import ArrayLike

from validation_core import keys
from validation_core.rng import stream
from validation_core.types import Array

if TYPE_CHECKING:
    import pandas as pd


class _DesignShape(NamedTuple):
    """What a model's covariates look like before they are standardised."""

    rows: int
    columns: int
    constant: int
    """Columns that hold one number throughout: they are left out."""

    @property
    def dims(self) -> tuple[int, int]:
        """Coefficients, of which one is the intercept, and rows."""
        return self.columns - self.constant + 1, self.rows


SHAPES: Mapping[str, _DesignShape] = {
    "ionosphere": _DesignShape(351, 34, 1),
    "concrete": _DesignShape(1030, 8, 0),
}


def checked(name: str, raw: ArrayLike) -> Array:
    """Raw covariates as float64, of the right shape.

    Raises:
        ValueError: when they are not.
    """
    if name not in SHAPES:
        raise ValueError(
            f"Covariates belong to {' or '.join(SHAPES)}; got {name!r}; take one of these models"
        )
    rows, columns, constant = SHAPES[name]
    of = np.ascontiguousarray(raw, dtype=np.float64)
    if of.shape != (rows, columns):
        raise ValueError(
            f"{name} has {rows} rows of {columns} covariates, the label or response left out; got "
            f"an array of shape {of.shape}; give the UCI file as it is"
        )
    if not np.isfinite(of).all():
        raise ValueError(
            f"Covariates are finite numbers; got {int((~np.isfinite(of)).sum())} that are not, of "
            f"{of.size}; give the UCI file as it is"
        )
    still = int((np.ptp(of, axis=0) == 0).sum())
    if still != constant:
        raise ValueError(
            f"{constant} of {name}'s columns hold one number throughout; got {still} that do; "
            f"give the UCI file as it is"
        )
    return of


# ---- Covariates from a file of the UCI repository, or from OpenML when it is asked ----


_TOLD = "ionosphere.data (34 numbers and a label) or Concrete_Data.csv (8 numbers and a strength)"

_MOST = 1 << 24
"""Bytes that are read: far more than these files have, whatever their form."""

_WORKBOOKS = b"PK\x03\x04", b"\xd0\xcf\x11\xe0"
"""How .xlsx and .xls begin."""

OPENML: Mapping[str, int] = {"ionosphere": 59, "concrete": 4353}
"""Their places in OpenML."""


def read(file: Path | str | BinaryIO) -> Array:
    """Raw covariates (rows, columns) of a file; the label or strength in the last column is left.

    Args:
        file: a path, or a file open in binary: numbers separated by commas, or by semicolons or
            tabs (then decimals may be commas), with or without a line of names; or a workbook
            where pandas has what it takes to read one.

    Raises:
        ValueError: when it holds no such table.
        OSError: when there is no such file.
    """
    if isinstance(file, Path | str):
        with Path(file).open("rb") as opened:
            raw = opened.read(_MOST + 1)
    else:
        raw = file.read(_MOST + 1)
    if len(raw) > _MOST:
        raise ValueError(
            f"Covariates are read from {_TOLD}; got more than {_MOST >> 20} MiB; give one of these"
        )
    frame = _workbook(raw) if raw.startswith(_WORKBOOKS) else _text(raw)
    widths = {shape.columns + 1: name for name, shape in SHAPES.items()}
    if frame.shape[1] not in widths:
        raise ValueError(
            f"Covariates are read from {_TOLD}; got a table of {frame.shape[0]} rows and "
            f"{frame.shape[1]} columns; give one of these as it is"
        )
    return checked(widths[frame.shape[1]], _numbers(frame.iloc[:, :-1]))


def openml(name: str) -> Array:
    """Raw covariates of a model, from OpenML over the network by scikit-learn.

    Raises:
        ValueError: without scikit-learn or the network, or when OpenML holds something else.
    """
    if name not in OPENML:
        raise ValueError(f"OpenML is asked for {' or '.join(OPENML)}; got {name!r}; take one")
    try:
        fetch = importlib.import_module("sklearn.datasets").fetch_openml
        frame = fetch(data_id=OPENML[name], as_frame=True, parser="auto").frame
    except ImportError as error:
        raise ValueError(
            "OpenML is asked through scikit-learn, which is not installed; install it, or give "
            "the path of the UCI file"
        ) from error
    except OSError as error:
        raise ValueError(
            f"OpenML is asked over the network; got {error}; check the connection, or give the "
            f"path of the UCI file"
        ) from error
    return checked(name, _numbers(frame.iloc[:, : SHAPES[name].columns]))


def _text(raw: bytes) -> pd.DataFrame:
    import pandas as pd

    text = raw.decode("utf-8-sig", errors="replace").strip()
    if not text:
        raise ValueError(f"Covariates are read from {_TOLD}; got an empty file; give one of these")
    first, *rest = text.splitlines()
    separator = next((mark for mark in ";\t" if mark in first), ",")
    decimal = "," if separator != "," and any("," in line for line in rest) else "."
    has_header = not _is_number(first.split(separator)[0].replace(decimal, "."))
    try:
        # Names are left out: where rows are longer, pandas takes what is too much for an index.
        return pd.read_csv(
            io.StringIO(text),
            sep=separator,
            decimal=decimal,
            header=None,
            skiprows=int(has_header),
        )
    except (pd.errors.ParserError, pd.errors.EmptyDataError) as error:
        raise ValueError(
            f"Covariates are read from {_TOLD}; got a table that cannot be read: "
            f"{str(error).strip()}; give one of these as it is"
        ) from error


def _workbook(raw: bytes) -> pd.DataFrame:
    import pandas as pd

    try:
        return pd.read_excel(io.BytesIO(raw))
    except (ImportError, ValueError, KeyError, BadZipFile) as error:  # KeyError: another zip
        raise ValueError(
            f"A workbook is read where pandas has what it takes; got {error}; save it as csv and "
            f"give that"
        ) from error


def _numbers(frame: pd.DataFrame) -> Array:
    import pandas as pd

    numbers = frame.apply(pd.to_numeric, errors="coerce").to_numpy(np.float64)
    bad = np.argwhere(~np.isfinite(numbers))
    if len(bad):
        row, column = bad[0]
        raise ValueError(
            f"Covariates are finite numbers; got {str(frame.iloc[row, column])!r} in row "
            f"{row + 1}, column {column + 1}, and {len(bad) - 1} more; give the UCI file as it is"
        )
    return numbers


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


# ---- From raw covariates to the matrix that a model multiplies: lent ones, or the stand-in ----


OPTION: Mapping[str, str] = {
    "label": "Covariates",
    "help": "Digest of the covariates that were read; empty for a stand-in of the same shape, "
    "random numbers from a fixed seed",
}

_LENT: dict[tuple[str, str], Array] = {}


def _label(title: str, design: str) -> str:
    """A model's label: says where its covariates are not the real ones."""
    return title if design else f"{title}, stand-in covariates"


def lend(name: str, raw: ArrayLike) -> str:
    """Keep raw covariates (rows, columns) of a model in this process; gives their digest.

    Raises:
        ValueError: when they are not of the shape of the UCI data, or not finite numbers.
    """
    of = checked(name, raw)
    digest = keys.digest(raw=of)
    _LENT[name, digest] = of
    return digest


def lent(name: str, design: str) -> bool:
    """Whether this process has them; a stand-in it always has."""
    return not design or (name, design) in _LENT


@lru_cache(maxsize=8)
def _matrix(name: str, design: str) -> Array:
    """X (n, D), read-only: an intercept, then each column that varies, with mean 0, variance 1.

    Raises:
        ValueError: when the covariates of that digest were not lent to this process.
    """
    if not lent(name, design):
        raise ValueError(
            f"Covariates are lent to the process that simulates; got {name} with {design!r}, "
            f"which it does not have; read the file again, or take the stand-in"
        )
    raw = _LENT[name, design] if design else _stand_in(name)
    varying = raw[:, np.ptp(raw, axis=0) > 0]
    scaled = (varying - varying.mean(0)) / varying.std(0)
    x = np.concatenate([np.ones((len(raw), 1)), scaled], 1)
    x.setflags(write=False)
    return x


def _stand_in(name: str) -> Array:
    """Raw covariates from a fixed seed: correlated, ionosphere's second column constant.

    The eigenvalues of their correlation fall as rank^-1.2, as the real ionosphere's do about.
    """
    rows, columns, constant = SHAPES[name]
    rng = stream(0, "stand-in", name)
    count = columns - constant
    mixed, _ = np.linalg.qr(rng.standard_normal((count, count)))
    spread = np.arange(1.0, count + 1) ** -0.6
    varying = rng.standard_normal((rows, count)) * spread @ mixed
    return varying if not constant else np.insert(varying, 1, 0.0, axis=1)
