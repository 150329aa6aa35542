"""A user's files, read and checked: a table (theta, x, theta_q), two samples (p, q) or ranks.

Every refusal is a ValueError that says the rule, what was got, and what to do. Nothing is ever
unpickled, nothing is unpacked before its header has been accepted, and a user's bytes are parsed
only in a process of bounded memory and time.
"""

from __future__ import annotations

from validation_core.tables.corrections import Correction
from validation_core.tables.guarded_file import warm
from validation_core.tables.options import Reading, ReadingOptions
from validation_core.tables.reading import read
from validation_core.tables.roles import guess_roles
from validation_core.tables.several_files import LabelledTable, read_files, read_one
from validation_core.tables.source import LIMIT, ORDERS, AmbiguousOrder, Order, UnknownArrays
from validation_core.tables.truth_ranks import UnknownMaxRank
from validation_core.tables.uploads import (
    ProbabilitiesUpload,
    RanksUpload,
    SamplesUpload,
    TableUpload,
    Upload,
)
from validation_core.tables.x_columns import Missing

__all__ = [
    "LIMIT",
    "ORDERS",
    "AmbiguousOrder",
    "Correction",
    "LabelledTable",
    "Missing",
    "Order",
    "ProbabilitiesUpload",
    "RanksUpload",
    "Reading",
    "ReadingOptions",
    "SamplesUpload",
    "TableUpload",
    "UnknownArrays",
    "UnknownMaxRank",
    "Upload",
    "guess_roles",
    "read",
    "read_files",
    "read_one",
    "warm",
]
