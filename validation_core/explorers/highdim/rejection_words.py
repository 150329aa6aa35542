"""Rejection rates of methods in a sentence that follows sliders."""

from __future__ import annotations

from collections.abc import Sequence

from validation_core.drawing.marks import Over, written
from validation_core.methods.base import Method
from validation_core.types import Array


def rejections(
    methods: Sequence[Method], rates: Array, *sliders: str
) -> tuple[str, dict[str, Over]]:
    """Template of a sentence with each method's rejection rate, and its {parts} over the sliders.

    Args:
        rates: (methods, ...), the sliders' axes in their order.
    """
    names = ", ".join(f"{method.label} in {{power{i}}}" for i, method in enumerate(methods))
    percents = (written(rate, "{:.0%}", *sliders) for rate in rates)
    return names, {f"power{i}": part for i, part in enumerate(percents)}
