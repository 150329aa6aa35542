"""Numbers of nats as text, from 1e-15 to 1e10."""

from __future__ import annotations

from math import isfinite, log10

from validation_core.text import raised_text, signed_text

ROUNDING = 1e-9
"""Nats up to which a term is 0 but for rounding."""


def format_number(nats: float) -> str:
    """Format nats: 0.166 as 0.17, 1234 as 1,230 (three digits from 100), 1.2e10 as 1.2 × 10¹⁰."""
    if not isfinite(nats):
        return "infinitely many" if nats == float("inf") else "unknown"
    if 99.5 <= abs(nats) < 1e6:
        return signed_text(float(f"{nats:.3g}"), ",.0f")
    digits, _, power = f"{nats:.2g}".partition("e")
    mantissa = digits.replace("-", "−")
    return f"{mantissa}\u00a0×\u00a010{raised_text(int(power))}" if power else mantissa


def without_rounding(nats: float) -> float:
    """Nats, 0 where rounding alone is left of them."""
    return 0.0 if abs(nats) <= ROUNDING else nats


def with_unit(nats: float) -> str:
    """Nats with their unit: `1 nat`, `1.1 nats`."""
    number = format_number(nats)
    return f"{number} nat{'s' * (number not in ('1', '−1'))}"


def tick_label(nats: float) -> str:
    """Tick label of a power of ten: 0.01, 100, 10⁶."""
    if 1e-3 <= abs(nats) < 1e4 or nats == 0:
        return signed_text(nats, "g")
    return "−" * (nats < 0) + "10" + raised_text(round(log10(abs(nats))))
