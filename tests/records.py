"""A method's record made by hand, for what is drawn of it."""

from __future__ import annotations

from collections.abc import Mapping

from validation_core.methods.base import Method
from validation_core.methods.record import Record
from validation_core.types import Array


def record_of(kind: type[Method], arrays: Mapping[str, Array]) -> Record:
    """The record of a method that ran and gave these arrays."""
    return Record(kind.name, kind.title, kind.title, "ran", arrays=arrays)
