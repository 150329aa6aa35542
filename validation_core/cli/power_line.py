"""The command line that reproduces a sweep of a page."""

from __future__ import annotations

import dataclasses
import shlex
from collections.abc import Sequence

from validation_core.api.option_texts import option_text
from validation_core.keys import Specification
from validation_core.scores.classifier import PRESETS
from validation_core.sweep.plan import Sweep
from validation_core.sweep.presets import Comparison
from validation_core.sweep.trials import TrialDesign


def command_line(sweep: Sweep, comparison: Comparison | None = None) -> str:
    """`python -m validation_core power ...` with all options that differ from the defaults."""
    words = ["python", "-m", "validation_core", "power"]
    if comparison is not None:
        words += ["--comparison", comparison.name]
    else:
        words += _what(sweep)
    design, usual = sweep.design, TrialDesign()
    words += ["--trials", str(design.trials)]
    if sweep.networks != (comparison.sweep.networks if comparison else 1):
        words += ["--networks", str(sweep.networks)]
    if design.alpha != usual.alpha:
        words += ["--alpha", f"{design.alpha:g}"]
    return shlex.join(words)


def _what(sweep: Sweep) -> list[str]:
    design = sweep.design
    words = ["--benchmark", sweep.benchmark.name]
    for option in _options(sweep.benchmark):
        words += ["--set", option]
    for method in sweep.methods:
        options = ",".join(_options(method))
        words += ["--method", f"{method.name}:{options}" if options else method.name]
    words += ["--gamma", _grid(sweep.gammas)]
    if sweep.betas != (0.0,):
        words += ["--beta", _grid(sweep.betas)]
    words += ["--n", str(design.n), "--k", str(design.k)]
    preset = next((n for n, recipe in PRESETS.items() if recipe == sweep.recipe), "interactive")
    if preset != "interactive":
        words += ["--preset", preset]
    if sweep.seed:
        words += ["--seed", str(sweep.seed)]
    return words + (["--protocol", design.protocol] if design.protocol != "pooled" else [])


def _options(chosen: Specification) -> list[str]:
    """Fields that differ from their defaults."""
    fields = dataclasses.fields(chosen)
    values = {field.name: (getattr(chosen, field.name), field.default) for field in fields}
    return [
        f"{name}={option_text(value)}" for name, (value, usual) in values.items() if value != usual
    ]


def _grid(values: Sequence[float]) -> str:
    return ",".join(f"{value:g}" for value in values)
