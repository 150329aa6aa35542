"""Arrays that many callers share, such as those that a function's cache holds."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import fields, is_dataclass, replace
from functools import wraps
from typing import Any, ParamSpec, TypeVar

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


def locked(value: Any) -> Any:
    """The same value, none of whose arrays can be written into by way of it: an array, or what
    holds them by name, by field or in a tuple. What holds none that can be is itself.

    >>> locked({"theta": np.zeros(3)})["theta"].flags.writeable
    False
    """
    if isinstance(value, np.ndarray):
        return locked_view(value) if value.flags.writeable else value
    if isinstance(value, Mapping):
        return {name: locked(part) for name, part in value.items()}
    if type(value) is tuple:
        return tuple(map(locked, value))
    if is_dataclass(value) and not isinstance(value, type):
        held = {each.name: getattr(value, each.name) for each in fields(value)}
        changed = {name: new for name, old in held.items() if (new := locked(old)) is not old}
        return replace(value, **changed) if changed else value
    return value


def _lock(value: object) -> None:
    if isinstance(value, np.ndarray):
        value.flags.writeable = False
    elif isinstance(value, tuple):
        for part in value:
            _lock(part)
