"""P-values as programs read them: without the noise of their last digits."""

from __future__ import annotations

from typing import Any

_DIGITS = 12


def plain_pvalue(p: float) -> float:
    """A p-value of twelve significant digits: 0.001 where a share of the level divides 0.0002."""
    return float(f"{p:.{_DIGITS}g}")


def plain_pvalues(document: Any) -> Any:
    """The same JSON with every number so whose name begins with `pvalue`."""
    if isinstance(document, dict):
        return {
            name: plain_pvalue(value)
            if name.startswith("pvalue") and isinstance(value, float)
            else plain_pvalues(value)
            for name, value in document.items()
        }
    return [plain_pvalues(item) for item in document] if isinstance(document, list) else document
