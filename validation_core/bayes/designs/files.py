"""Covariates from a file of the UCI repository, or from OpenML when it is asked."""

from __future__ import annotations

import importlib
import io
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO
from zipfile import BadZipFile

import numpy as np

from validation_core.bayes.designs.shapes import SHAPES, checked
from validation_core.types import Array

if TYPE_CHECKING:
    import pandas as pd

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
    named = not _is_number(first.split(separator)[0].replace(decimal, "."))
    try:
        # Names are left out: where rows are longer, pandas takes what is too much for an index.
        return pd.read_csv(
            io.StringIO(text), sep=separator, decimal=decimal, header=None, skiprows=int(named)
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

    found = frame.apply(pd.to_numeric, errors="coerce").to_numpy(np.float64)
    bad = np.argwhere(~np.isfinite(found))
    if len(bad):
        row, column = bad[0]
        raise ValueError(
            f"Covariates are finite numbers; got {str(frame.iloc[row, column])!r} in row "
            f"{row + 1}, column {column + 1}, and {len(bad) - 1} more; give the UCI file as it is"
        )
    return found


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True
