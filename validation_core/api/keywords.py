"""Keywords of the API's functions: former names are taken, unknown ones told the nearest, and a
seed is a whole number."""

from __future__ import annotations

from collections.abc import Callable, Collection
from functools import wraps
from inspect import Parameter, signature
from numbers import Integral
from typing import ParamSpec, TypeVar

from validation_core.text import did_you_mean

P = ParamSpec("P")
R = TypeVar("R")


def checked_keywords(*further: type, **former: str) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """A decorator that refuses unknown keywords with the nearest known one.

    Args:
        further: TypedDicts of the keywords that the function passes on.
        former: names that keywords had before, and their names now.
    """

    def decorate(function: Callable[P, R]) -> Callable[P, R]:
        parameters = [p for p in signature(function).parameters.values() if p.name != "self"]
        open_ended = any(each.kind is Parameter.VAR_KEYWORD for each in parameters)
        known = {each.name for each in parameters if each.kind is not Parameter.VAR_KEYWORD}
        known |= {name for kind in further for name in kind.__annotations__}
        name = function.__qualname__.removesuffix(".__init__")

        @wraps(function)
        def called(*args: P.args, **given: P.kwargs) -> R:
            for old, new in former.items():
                if old in given and new not in given:
                    given[new] = given.pop(old)
            if further or not open_ended:
                check_keywords(name, given, known)
            if "seed" in given:
                _check_seed(given["seed"])
            return function(*args, **given)

        return called

    return decorate


def _check_seed(seed: object) -> None:
    """Refuse what is no seed.

    Raises:
        TypeError: for what is no whole number.
        ValueError: for one below 0.
    """
    if not isinstance(seed, Integral):
        raise TypeError(f"A seed is a whole number, 0 or more; got {seed!r}. Try seed=0.")
    if seed < 0:
        raise ValueError(f"A seed is a whole number, 0 or more; got {seed}. Try seed=0.")


def check_keywords(function: str, given: Collection[str], known: Collection[str]) -> None:
    """Refuse a keyword that a function does not know.

    Raises:
        TypeError: for the first, with the nearest one.
    """
    for keyword in given:
        if keyword not in known:
            nearest = did_you_mean(keyword, sorted(known), "Choose among")
            raise TypeError(f"{function}() has no keyword {keyword!r}. {nearest}")
