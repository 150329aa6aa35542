"""Numbers as text: p-values, intervals, signed numbers."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

SMALLEST = 1e-300
"""Smallest p-value written as a number: smaller ones as a bound, never as 0."""


def pvalue_text(p: float | None) -> str:
    """A p-value to two significant digits, never 0."""
    if p is None:
        return "–"
    if p <= SMALLEST:
        return "< 1e-300"
    if p < 1e-3:
        mantissa, _, exponent = f"{p:.1e}".partition("e")
        return f"{mantissa}e{int(exponent)}"
    return f"{p:.2g}" if p < 0.995 else "1"


def equals(p: float | None) -> str:
    """A p-value with its relation: `= 0.034`, `< 1e-300`."""
    text = pvalue_text(p)
    return text if text.startswith("<") else f"= {text}"


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
