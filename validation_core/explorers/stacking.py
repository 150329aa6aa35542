"""Arrays of a result that are worked out gamma by gamma, and joined at the end."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray


def stack_by_name(rows: Sequence[Mapping[str, Any]]) -> dict[str, NDArray[Any]]:
    """Arrays (G, ...) by name, from their G rows."""
    return {name: np.stack([row[name] for row in rows]) for name in rows[0]}
