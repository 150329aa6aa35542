"""The kinds of file that libraries written in C read: CSV, Parquet, HDF5 and netCDF-4.

Only the child process of `guarded` imports those libraries.
"""

from __future__ import annotations

from typing import BinaryIO

from validation_core.tables import csvs, hdf, long, names, parquet, tree
from validation_core.tables.source import Source

HDF = b"\x89HDF\r\n\x1a\n"
PARQUET = b"PAR1"


def source(stream: BinaryIO, stem: str, limit: int) -> Source:
    """The source that a file is.

    Args:
        stream: the file, opened for reading.
        stem: what its array is called where the file has no name for it.
        limit: bytes that its arrays may take in memory.

    Raises:
        ValueError: for a file that cannot be read.
    """
    stream.seek(0)
    first = stream.read(len(HDF))
    if first.startswith(PARQUET):
        return long.Table(parquet.Parquet(stream, limit), stem, limit)
    if first != HDF:
        return long.Table(csvs.Csv(stream), stem, limit)
    file = hdf.File(stream, limit)
    groups = file.members()
    ranks = "prior_sbc" in groups and not names.roles(groups).found
    is_tree = "posterior" in groups and not hdf.is_dataset(groups["posterior"])
    return tree.Tree(file, groups) if is_tree or ranks else hdf.Hdf(file)
