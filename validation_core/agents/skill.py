"""SKILL.md: how an agent checks a posterior with these tools or the command line."""

from __future__ import annotations

from pathlib import Path


def skill() -> str:
    """The text of SKILL.md, which ships with the package."""
    return (Path(__file__).parent / "SKILL.md").read_text(encoding="utf-8")
