"""Arrays that many callers share, such as those that a function's cache holds."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import ParamSpec, TypeVar

import numpy as np
from numpy.typing import NDArray

P = ParamSpec("P")
R = TypeVar("R")


def read_only(function: Callable[P, R]) -> Callable[P, R]:
    """A function whose arrays, alone or in tuples, no caller can write into.

    It stands below `cache` or `lru_cache`, which give the same array to every caller.

    >>> read_only(np.arange)(3).flags.writeable
    False
    """

    @wraps(function)
    def shared(*args: P.args, **kwargs: P.kwargs) -> R:
        result = function(*args, **kwargs)
        _lock(result)
        return result

    return shared


def locked_view(array: NDArray[np.generic]) -> NDArray[np.generic]:
    """The same numbers, which cannot be written into by way of this array.

    >>> locked_view(np.zeros(3)).flags.writeable
    False
    """
    view = array.view()
    view.flags.writeable = False
    return view


def _lock(value: object) -> None:
    if isinstance(value, np.ndarray):
        value.flags.writeable = False
    elif isinstance(value, tuple):
        for part in value:
            _lock(part)
