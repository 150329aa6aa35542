"""Options of reading a table: what its numbers cannot tell, and which mistakes to correct."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence, Sized
from dataclasses import dataclass, fields
from numbers import Integral, Real
from typing import Any, TypedDict, cast, get_args

from validation_core.tables.chosen import Chosen
from validation_core.tables.source import ORDERS, Order
from validation_core.tables.x_columns import Missing
from validation_core.text import did_you_mean, list_text


class Reading(TypedDict, total=False):
    """The fields of `ReadingOptions` as keywords."""

    order: Order | None
    arrays: Chosen | None
    circular: Sequence[str] | Mapping[str, float] | None
    logarithms: Sequence[str] | None
    bounds: Mapping[str, tuple[float, float]] | None
    discrete: Sequence[str] | None
    corrections: Sequence[str]
    missing: Missing | None
    max_rank: int | None


_OF_DRAWS = ("q's draws", ("theta_q",))
_BELONGS: Mapping[str, tuple[str, tuple[str, ...]]] = {
    "circular": _OF_DRAWS,
    "logarithms": _OF_DRAWS,
    "bounds": _OF_DRAWS,
    "discrete": _OF_DRAWS,
    "corrections": _OF_DRAWS,
    "missing": ("x", ("theta_q", "probabilities")),
    "max_rank": ("whole ranks without draws", ("ranks",)),
}
"""What each option is about, and the kinds of files that have it."""


@dataclass(frozen=True, kw_only=True)
class ReadingOptions:
    """What a user says about a file.

    Raises:
        ValueError: for what an option cannot be.
    """

    order: Order | None = None
    """Order of theta_q's axes; needed only when N = K."""
    arrays: Chosen | None = None
    """Names of arrays by role, where they are not recognised: {"theta": "params"}; several are
    joined by columns: {"x": ["image", "meta"]}; {"x": "none"} says that there is no x."""
    circular: Sequence[str] | Mapping[str, float] | None = None
    """Names of the angles among the parameters, or the period of each; None to recognise them."""
    logarithms: Sequence[str] | None = None
    """Names of the positive parameters that are read by their logarithm; None to recognise those
    that range over decades."""
    bounds: Mapping[str, tuple[float, float]] | None = None
    """The prior's least and greatest value of parameters: {"theta_2": (0, 1)}."""
    discrete: Sequence[str] | None = None
    """Names of discrete parameters: that each value is as frequent as q says is tested, over x
    too."""
    corrections: Sequence[str] = ()
    """Mistakes to correct: any of scale, columns, rows, one_row, thin or thin=M."""
    missing: Missing | None = None
    """What NaN in x means: "mask", a missing value, or "drop", a failed simulation; None to
    recognise padding, and to leave out other rows."""
    max_rank: int | None = None
    """The largest rank that ranks can take, where the file does not say it."""

    def __post_init__(self) -> None:
        for name, choices in (("order", ORDERS), ("missing", get_args(Missing))):
            value = getattr(self, name)
            if value is not None and value not in choices:
                raise ValueError(
                    f"The option {name} is {list_text(choices, 'or')}; got {value!r}. "
                    f"{did_you_mean(str(value), choices)}"
                )
        for name in ("circular", "logarithms", "discrete", "corrections"):
            value = getattr(self, name)
            if value is not None and (isinstance(value, str) or not isinstance(value, Iterable)):
                raise ValueError(
                    f"The option {name} is a list of names; got {value!r}. Try "
                    f"{name}=[{value if isinstance(value, str) else 'theta_1'!r}]."
                )
        if isinstance(self.circular, Mapping):
            periods = {name: one for name, one in self.circular.items() if not _real(one)}
            _refuse("circular", "a period by name", periods, '{"phi": 24.0}')
        if self.bounds is not None:
            named = isinstance(self.bounds, Mapping)
            ends = (
                {name: two for name, two in self.bounds.items() if not _pair(two)}
                if named
                else self.bounds
            )
            _refuse("bounds", "two numbers by name", ends, '{"theta_1": (0, 1)}')
        if self.max_rank is not None and not _real(self.max_rank):
            raise ValueError(
                f"The option max_rank is a whole number; got {self.max_rank!r}. Give the number "
                f"of draws that ranks are among."
            )

    @property
    def said(self) -> Reading:
        """What is said of the file and is not to be recognised, as lists, texts and numbers."""
        given = ((one.name, getattr(self, one.name)) for one in fields(self))
        mute: dict[str, object] = {
            "arrays": {},
            "corrections": [],
        }  # an empty list of angles says that there are none
        plain = {name: _plain(value) for name, value in given if value is not None}
        return cast("Reading", {n: one for n, one in plain.items() if one != mute.get(n)})

    def check_kind(self, kind: str) -> None:
        """Check that a file of this kind has what is said of it.

        The order of axes is left out, which readers say too.

        Args:
            kind: the arrays that make it one: theta_q, p and q, probabilities, ranks or pit.

        Raises:
            ValueError: for an option that belongs to files of another kind.
        """
        for option, (of, kinds) in _BELONGS.items():
            value = getattr(self, option)
            said = value is not None and (not isinstance(value, Sized) or len(value) > 0)
            if said and kind not in kinds:
                raise ValueError(
                    f"The option {option} is of {of}; got a file with {kind}. Leave it out."
                )


def _plain(value: Any) -> Any:
    """A value of an option, whatever it was given as, as JSON has it."""
    if isinstance(value, Mapping):
        return {str(name): _plain(one) for name, one in value.items()}
    if isinstance(value, str):
        return value
    if isinstance(value, Iterable):
        return [_plain(one) for one in value]
    return int(value) if isinstance(value, Integral) else float(value)


def _real(value: object) -> bool:
    return isinstance(value, Real) and not isinstance(value, bool)


def _pair(value: Any) -> bool:
    """Whether a value is two numbers."""
    return not isinstance(value, str | Real | None) and len(value) == 2 and all(map(_real, value))


def _refuse(option: str, rule: str, wrong: Any, example: str) -> None:
    """Refuse what an option may not be, if there is any of it.

    Raises:
        ValueError: for something.
    """
    if not isinstance(wrong, Mapping) or wrong:
        raise ValueError(f"The option {option} is {rule}; got {wrong!r}. Try {option}={example}.")
