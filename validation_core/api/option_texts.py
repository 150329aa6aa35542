"""Options of methods, benchmarks and models as users type them: `field=value`."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Literal, TypeVar, get_args, get_origin, get_type_hints

from validation_core.keys import Specification
from validation_core.text import did_you_mean, nearest_name

S = TypeVar("S", bound=Specification)


def parse_specification(kind: type[S], options: Sequence[str]) -> S:
    """A frozen dataclass from `field=value` texts.

    Raises:
        ValueError: for an unknown option.
    """
    return kind(**parse_fields(kind, options))


def parse_fields(kind: type[Specification], options: Sequence[str]) -> dict[str, object]:
    """Parse `field=value` texts by the types of a dataclass's fields.

    Raises:
        ValueError: for an unknown option.
    """
    hints = get_type_hints(kind)
    fields = {field.name: field for field in dataclasses.fields(kind)}
    read: dict[str, object] = {}
    for option in options:
        name, equals, text = option.partition("=")
        if name not in fields:
            if not equals:
                remedy = "Write field=value."
            elif fields:
                remedy = did_you_mean(name, list(fields))
            else:
                remedy = "Leave it out."
            raise ValueError(
                f"Options of {kind.__name__} are {', '.join(fields) or 'none'}; got {name!r}. "
                f"{remedy}"
            )
        read[name] = _value(fields[name], text, hints[name])
    return read


def _value(field: dataclasses.Field[object], text: str, kind: object) -> object:
    name = field.name
    choices = get_args(kind) if get_origin(kind) is Literal else ()
    if choices and text in map(str, choices):
        return next(choice for choice in choices if str(choice) == text)
    if kind is bool and text in ("true", "false"):
        return text == "true"
    if kind in (int, float, str):
        try:
            return kind(text)
        except ValueError:
            pass
    names = list(map(option_text, (False, True) if kind is bool else choices))
    wanted = " or ".join(names) or _KINDS.get(kind, str(kind))
    example = nearest_name(text, names) or option_text(field.default)
    if field.default is dataclasses.MISSING and example not in names:
        example = "VALUE"
    raise ValueError(f"{name} must be {wanted}; got {text!r}. Write {name}={example}.")


_KINDS: dict[object, str] = {int: "a whole number", float: "a number", str: "a text"}


def option_text(value: object) -> str:
    """The value of an option as text for the command line."""
    return str(value).lower() if isinstance(value, bool) else str(value)
