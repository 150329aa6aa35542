"""Numbers and words as text: p-values, intervals, durations, counts, lists, capitals."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Sequence
from difflib import get_close_matches

import numpy as np

SMALLEST = 1e-300
"""Smallest p-value written as a number: smaller ones as a bound, never as 0."""
LEVELS = (0.01, 0.05, 0.1)
"""Usual levels of a test: pages offer them, and a p-value just above one is written out."""

_DECIMALS = 6  # of a per cent: beyond them it is all, but for rounding errors
_DIGITS = 6  # of a p-value: beyond them it is a level itself, but for rounding errors


def pvalue_text(p: float | None) -> str:
    """A p-value to two significant digits, never 0; `–` for one that is not known.

    One just above a usual level has as many digits as show that it is: 0.0504, not 0.05.
    """
    if p is None or np.isnan(p):
        return "–"
    if p <= SMALLEST:
        return "< 1e-300"
    if p < 1e-3:
        mantissa, _, exponent = f"{p:.1e}".partition("e")
        return f"{mantissa}e{int(exponent)}"
    if p >= 0.995:
        return "1"
    known = float(f"{p:.{_DIGITS}g}")
    texts = [f"{known:.{digits}g}" for digits in range(2, _DIGITS + 1)]
    return next(text for text in texts if not _hides_a_level(known, float(text)))


def _hides_a_level(p: float, rounded: float) -> bool:
    return any(rounded <= level < p for level in LEVELS)


def equals(p: float | None) -> str:
    """A p-value with its relation: `= 0.034`, `< 1e-300`."""
    return _related(pvalue_text(p))


_RAISED = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")
LEAST_SAID = 1e-4
"""Smallest p-value that a page's sentence gives as a number: no reader acts on a smaller one, and
those stored in single or half precision have lost theirs."""


def said_pvalue(p: float) -> str:
    """A p-value in a page's sentence: `0.034`, `0.0002`, `< 0.0001`; never with an exponent."""
    if p < LEAST_SAID:
        return f"< {LEAST_SAID:.4f}"
    return f"{p:.1g}" if p < 1e-3 else pvalue_text(p)


def said_equals(p: float) -> str:
    """The same with its relation: `= 0.0002`, `< 0.0001`."""
    return _related(said_pvalue(p))


def _related(text: str) -> str:
    return text if text.startswith("<") else f"= {text}"


def without_pvalues(sentence: str) -> str:
    """A sentence without the parentheses that hold a p-value; empty where p stands elsewhere.

    Until all tests have answered, a p-value may still change.

    >>> without_pvalues("The error looks the same at every x (test for change: p = 0.3).")
    'The error looks the same at every x.'
    """
    said = re.sub(r"\s*\([^()]*\bp [=<] [^()]*\)", "", sentence)
    return "" if re.search(r"\bp [=<] ", said) else said


def interval_text(ends: Iterable[float], form: str = ".2f") -> str:
    """An estimate with its interval: `−0.12 [−0.31, 0.07]`.

    Args:
        ends: estimate, low and high.
        form: format specification of each; a per cent sign is written once.
    """
    estimate, low, high = (signed_text(end, form) for end in ends)
    return f"{estimate} [{low.rstrip('%')}, {high.rstrip('%')}]"


def signed_text(value: float, form: str) -> str:
    """A number with a typographic minus, and without a sign where it rounds to 0."""
    text = format(value, form)
    nothing = text[:1] in "+-" and not any(digit in text for digit in "123456789nif")
    return text[1:] if nothing else text.replace("-", "−")


def number_text(value: float, digits: int = 3) -> str:
    """A number to `digits` significant digits: 100, never 1e+02; `−1.02`, never `-1.02`."""
    rounded = float(f"{value:.{digits}g}")
    if rounded == 0:
        return "0"
    if not 1e-4 <= abs(rounded) < 1e7:
        return f"{rounded:.{digits}g}".replace("-", "−")
    return np.format_float_positional(rounded, trim="-").replace("-", "−")


def scaled_text(value: float, scale: float, digits: int = 3) -> str:
    """A number to `digits` significant digits, and to more where a `scale` with two needs them.

    Args:
        value: such as an end of a range, or its middle.
        scale: what tells it from its neighbours, such as the width of the range.
        digits: the fewest.
    """
    if value and math.isfinite(value) and scale > 0:
        power, unit = (math.floor(math.log10(abs(one))) for one in (value, scale))
        digits = max(digits, min(power - unit + 2, 15))
    return number_text(value, digits)


def raised_text(power: int) -> str:
    """A power in raised digits: `⁻¹²`."""
    return str(power).translate(_RAISED)


def share_text(share: float) -> str:
    """A share in per cent, to two digits, above 99% to three: `0.52%`, `5.2%`, `52%`, `99.6%`.

    Only all is 100%: less has as many digits as show that it is, such as 99.96%.
    """
    if share <= 0.99:
        return f"{number_text(100 * share, 2)}%"
    known = round(100 * share, _DECIMALS)
    texts = [number_text(known, digits) for digits in range(3, 3 + _DECIMALS)]
    return f"{next(text for text in texts if (text == '100') == (known == 100))}%"


def share_interval_text(ends: Iterable[float]) -> str:
    """A share with its interval, each as `share_text` has it: `66% [61, 71]`."""
    estimate, low, high = map(share_text, ends)
    return f"{estimate} [{low.rstrip('%')}, {high.rstrip('%')}]"


def level_text(alpha: float) -> str:
    """A test's level in per cent: `5%`, `0.5%`."""
    return f"{100 * alpha:.3g}%"


def by_chance_text(alpha: float, remedy: str) -> str:
    """That a correct q is rejected: of how many it is so, and how another is drawn.

    Args:
        alpha: level of the test.
        remedy: a sentence without its full stop, such as `press New sample`.
    """
    return f"q is correct here, and one correct q in {1 / alpha:.3g} looks this bad: {remedy}."


def range_text(counts: Iterable[int]) -> str:
    """The smallest to the largest of some counts: `20 to 100`, or `100` where all are."""
    known = {*counts}
    low, high = min(known), max(known)
    return f"{low}" if low == high else f"{low} to {high}"


def value_text(value: object) -> str:
    """A plain value in few characters: `0.5`, `(3, 3)`."""
    return f"{value:g}" if isinstance(value, float) else str(value)


def count_text(count: int, noun: str) -> str:
    """A count with its noun, whose plural takes an s: `1 row`, `1,200 rows`."""
    return f"{count:,} {noun}{'s' * (count != 1)}"


def duration_text(seconds: float) -> str:
    """A duration as a person says it: `2.3 s`, `1 min 20 s`, `3 h 5 min`."""
    whole = round(seconds)
    if whole < 60:
        return f"{seconds:.1f} s" if seconds < 9.95 else f"{whole} s"
    minutes, rest = divmod(whole, 60)
    return f"{minutes} min {rest} s" if minutes < 60 else f"{minutes // 60} h {minutes % 60} min"


def rough_duration_text(seconds: float) -> str:
    """A duration as one guesses it: `about 20 s`, `about 5 min`, `about 3 h`."""
    if seconds < 90:
        return f"about {max(10, 10 * round(seconds / 10))} s"
    minutes = round(seconds / 60)
    return f"about {minutes} min" if minutes < 90 else f"about {minutes / 60:.0f} h"


def numbered(count: int) -> list[str]:
    """Places by their number: `1 of 3`, `2 of 3`, `3 of 3`."""
    return [f"{i + 1} of {count}" for i in range(count)]


def list_text(words: Sequence[str], joint: str = "and") -> str:
    """Words in a row, with another before the last: `a`, `a and b`, `a, b and c`."""
    *before, last = words or ("",)
    return f"{', '.join(before)} {joint} {last}" if before else last


def first_text(words: Sequence[str], shown: int) -> str:
    """The first of some words, and how many more there are: `a, b and 3 more`."""
    return ", ".join(words[:shown]) + more_text(len(words) - shown)


def begun_text(words: Sequence[str], shown: int) -> str:
    """The first of some words, and a sign that there are more: `a, b, …`."""
    return ", ".join(words[:shown]) + ", …" * (len(words) > shown)


def more_text(count: int) -> str:
    """How many more there are, to follow what is named; nothing for none: ` and 3 more`."""
    return f" and {count:,} more" if count > 0 else ""


def nearest_name(name: str, known: Sequence[str]) -> str:
    """The known name that was probably meant; empty where none is near.

    >>> nearest_name("edcf", ["ecdf", "ranks"])
    'ecdf'
    """
    return next(iter(get_close_matches(name, known, 1)), "")


def did_you_mean(name: str, known: Sequence[str], otherwise: str = "") -> str:
    """The known name that was probably meant.

    Args:
        name: as typed.
        known: all names that there are.
        otherwise: where none is near, words before the list of all; empty for `Choose one.`
    """
    near = nearest_name(name, known)
    if near:
        return f"Did you mean {near!r}?"
    return f"{otherwise} {', '.join(known)}." if otherwise else "Choose one."


def capitalise(text: str) -> str:
    """A sentence's first letter as a capital; `q` stays small, as the density is written."""
    return text if text.startswith(("q ", "q's ")) else text[:1].upper() + text[1:]


def uncapitalise(text: str) -> str:
    """A sentence's first letter as a small one, to go on after a colon."""
    return text[:1].lower() + text[1:]


def utf8_text(value: str) -> str:
    """Text encodable in UTF-8: lone surrogates become question marks."""
    return value.encode("utf-8", "replace").decode("utf-8")


def readable_name(name: str) -> str:
    """A name in code as words: `mean_shift` is `mean shift`."""
    return name.replace("_", " ")
