"""Numbers of nats in words, from 1e-15 to 1e10."""

from math import isfinite, log10


def size(nats: float) -> str:
    """Two significant digits: 0.166 as 0.17, 1234 as 1,234, 1.2e10 as 1.2e+10."""
    if not isfinite(nats):
        return "infinitely many" if nats == float("inf") else "unknown"
    shown = f"{nats:,.0f}" if 100 <= abs(nats) < 1e5 else f"{nats:.2g}"
    return shown.replace("-", "−")


def tick(nats: float) -> str:
    """A power of ten on an axis: 0.01, 100, 10⁶."""
    if 1e-3 <= abs(nats) < 1e5 or nats == 0:
        return f"{nats:g}".replace("-", "−")
    power = round(log10(abs(nats)))
    raised = "".join("⁰¹²³⁴⁵⁶⁷⁸⁹"[int(digit)] for digit in str(abs(power)))
    return "−" * (nats < 0) + "10" + "⁻" * (power < 0) + raised
