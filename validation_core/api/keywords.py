"""Keywords of the API's functions: former names are taken, unknown ones told the nearest, and
those that many functions have are checked before anything runs."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from functools import partial, wraps
from inspect import Parameter, signature
from numbers import Integral, Real
from typing import ParamSpec, TypeVar

from validation_core.text import count_text, did_you_mean, list_text
from validation_core.types import check_level

P = ParamSpec("P")
R = TypeVar("R")


def checked_keywords(*further: type, **former: str) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """A decorator that refuses unknown keywords with the nearest known one, and values by place
    that the function has no place for.

    Args:
        further: TypedDicts of the keywords that the function passes on.
        former: names that keywords had before, and their names now.
    """

    def decorate(function: Callable[P, R]) -> Callable[P, R]:
        parameters = list(signature(function).parameters.values())
        kinds = {each.kind for each in parameters}
        places = [each.name for each in parameters if each.kind is Parameter.POSITIONAL_OR_KEYWORD]
        known = {each.name for each in parameters if each.kind is not Parameter.VAR_KEYWORD}
        known |= {name for kind in further for name in kind.__annotations__}
        name = function.__qualname__.removesuffix(".__init__")

        @wraps(function)
        def called(*args: P.args, **given: P.kwargs) -> R:
            for old, new in former.items():
                if old in given and new not in given:
                    given[new] = given.pop(old)
            if Parameter.VAR_POSITIONAL not in kinds:
                _check_places(name, args, places)
            if further or Parameter.VAR_KEYWORD not in kinds:
                check_keywords(name, given, known)
            for keyword, check in _CHECKS.items():
                if keyword in given:
                    check(given[keyword])
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


def _check_alpha(alpha: object) -> None:
    """Refuse what is no level.

    Raises:
        TypeError: for what is no number.
        ValueError: for one outside of (0, 1).
    """
    if not isinstance(alpha, Real):
        raise TypeError(f"The level is a number between 0 and 1; got {alpha!r}. 0.05 is usual.")
    check_level(alpha)


def _check_budget(budget: object) -> None:
    """Refuse what is no time.

    Raises:
        TypeError: for what is no number and not None.
        ValueError: for less than 0 seconds.
    """
    if budget is None:
        return
    if not isinstance(budget, Real):
        raise TypeError(f"A budget is a number of seconds; got {budget!r}. Try budget=60.")
    if not float(budget) >= 0:
        raise ValueError(f"A budget is 0 seconds or more; got {budget}. Try budget=60.")


def _check_store(store: object) -> None:
    """Refuse what is no store.

    Raises:
        TypeError: for anything else than a store or None.
    """
    if store is not None and not hasattr(store, "notices"):
        raise TypeError(
            f"A store is an npt.Store; got {type(store).__name__}. Try store=npt.Store(FOLDER)."
        )


def _check_progress(progress: object) -> None:
    """Refuse what cannot be told of progress.

    Raises:
        TypeError: for anything else than a truth value or a `Watch`.
    """
    if not isinstance(progress, Integral) and not hasattr(progress, "note"):
        raise TypeError(
            f"Progress is True, False or a Watch; got {progress!r}. Try progress=False."
        )


def _check_count(name: str, count: object) -> None:
    """Refuse what is no number of trials, points, draws or networks.

    Raises:
        TypeError: for what is no whole number and not None.
    """
    if count is not None and not isinstance(count, Integral):
        raise TypeError(f"{name} is a whole number; got {count!r}. Give one, such as {name}=200.")


_CHECKS: Mapping[str, Callable[[object], None]] = {
    **{name: partial(_check_count, name) for name in ("trials", "n", "k", "networks")},
    "alpha": _check_alpha,
    "budget": _check_budget,
    "progress": _check_progress,
    "seed": _check_seed,
    "store": _check_store,
}
"""Checks of keywords that several functions have, before any of them works for long."""


def _check_places(function: str, given: Sequence[object], places: Sequence[str]) -> None:
    """Refuse more values by place than a function has places for.

    Raises:
        TypeError: with the places that there are, and how arrays are brought as one.
    """
    excess = len(given) - len(places)
    if excess <= 0:
        return
    named = [place for place in places if place != "self"]
    arrays = any(hasattr(value, "shape") for value in given)
    raise TypeError(
        f"{function} takes {list_text(named)} by place, all else by name; got "
        f"{count_text(excess, 'value')} more. "
        + (
            "Arrays make a table first: npt.Table(theta, x, theta_q)."
            if arrays and "theta" not in named
            else f"help(npt.{function}) lists the names."
        )
    )


def check_keywords(function: str, given: Collection[str], known: Collection[str]) -> None:
    """Refuse a keyword that a function does not know.

    Raises:
        TypeError: for the first, with the nearest one.
    """
    for keyword in given:
        if keyword not in known:
            nearest = did_you_mean(keyword, sorted(known), "Choose among")
            raise TypeError(f"{function}() has no keyword {keyword!r}. {nearest}")
