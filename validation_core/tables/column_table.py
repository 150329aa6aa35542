"""The table that a file of columns holds: long, ranks, two samples, or one wide array."""

from __future__ import annotations

from validation_core.tables import roles
from validation_core.tables.checked_columns import CheckedColumns
from validation_core.tables.columns import FileColumns
from validation_core.tables.long_table import INDEX, LongTable
from validation_core.tables.rank_table import (
    LongRankTable,
    WideRankTable,
    is_long_rank_table,
    rank_columns,
)
from validation_core.tables.source import ArraySource
from validation_core.tables.two_sample_table import SIDE, TwoSampleTable
from validation_core.tables.wide_table import WideTable


def column_table(file: FileColumns, stem: str, limit: int) -> ArraySource:
    """Return the arrays of a file of columns, whose names say which kind of table they make.

    Args:
        file: the file, its rows counted.
        stem: name of the array of a wide table: that of the file, without its ending.
        limit: bytes that the arrays may take in memory.

    Raises:
        ValueError: for columns that are too many, too large, or make no table.
    """
    columns = CheckedColumns(file, limit)
    if {*INDEX} <= columns.types.keys():
        return LongTable(columns, limit)
    if is_long_rank_table(columns):
        return LongRankTable(columns, limit)
    chosen = () if roles.find_roles([stem]).found else rank_columns(columns)
    if chosen:
        return WideRankTable(columns, chosen)
    if SIDE in columns.types:
        return TwoSampleTable(columns)
    return WideTable(columns, stem)
