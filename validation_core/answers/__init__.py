"""What a diagnosis says beyond its verdict: how wrong, where, why, what was missed."""

from validation_core.answers.base import Answer, Found

__all__ = ["Answer", "Found"]
