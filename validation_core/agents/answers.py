"""What the tools of an agent return: words and single numbers, never arrays."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True, kw_only=True)
class Listing:
    """Tables of the folder."""

    files: list[str]
    """Paths as the other tools take them."""
    note: str
    """What else there is to know; empty where all files are listed."""


@dataclass(frozen=True, kw_only=True)
class Snippet:
    """A script that saves draws of an estimator as a table."""

    code: str
    before: str
    """What must be there before it runs."""
    others: list[str]
    """Estimators that there is a script for."""


@dataclass(frozen=True, kw_only=True)
class ToolVerdict:
    """The verdict on a table, at a glance."""

    verdict: str
    """problem found, no problem found, or not enough data; never that q is right."""
    outcome: str
    """passed, problem, too little power, or mistake for a file to correct first: as a gate in
    continuous integration."""
    pvalue: float | None
    sentence: str
    facts: dict[str, str]
    """How wrong, where and the likely cause; or what could have been missed."""
    next_steps: list[str]
    tests: dict[str, float]
    """p-value of each test, adjusted for the others."""
    table: str
    """What was read."""
    warnings: list[str]
    not_done: list[str]
    """What did not run: tests, which more seconds serve, and long questions, to be asked by name.
    What ended is kept; what was under way starts anew."""


@dataclass(frozen=True, kw_only=True)
class ToolAnswer:
    """The answer to a question, in words; its numbers, the worst rows first."""

    title: str
    sentences: list[str]
    notes: list[str] = field(default_factory=list)
    """How it was got."""
    rows: list[dict[str, Any]] = field(default_factory=list)
