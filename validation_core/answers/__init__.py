"""What a diagnosis says beyond its verdict: how wrong, where, why, and what it could have missed."""

from validation_core.answers.base import Answer, Found

__all__ = ["Answer", "Found"]
