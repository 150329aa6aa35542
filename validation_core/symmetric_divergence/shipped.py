"""What of the divergences ships with the package."""

from __future__ import annotations

from typing import Any

from validation_core.bayes import Hospitals
from validation_core.bayes.laplace import Laplace
from validation_core.bayes.regressions import Ionosphere
from validation_core.study import Study
from validation_core.symmetric_divergence import broad_priors
from validation_core.symmetric_divergence.bounds import BoundsStudy
from validation_core.symmetric_divergence.geweke import JointTestStudy
from validation_core.symmetric_divergence.runs import InferenceRun, RunTermsStudy, figure

FIRST = InferenceRun(model=Hospitals(), inference=Laplace(), iterations=3000)
"""The run that the page opens up first."""


_MOST = 3000
"""Iterations of ionosphere's IWVI with M >= 10 that ship."""


def shipped_terms() -> tuple[RunTermsStudy, ...]:
    """Terms of Figures 1 to 3 for five models, and of hospitals under broader priors.

    But for runs that take up to an hour of a core each: IWVI with many draws on ionosphere.
    """
    plans = figure(1), figure(3)
    runs = (*(run for plan in plans for run in plan.runs()), *broad_priors.runs())
    return tuple(dict.fromkeys(RunTermsStudy(of=run) for run in runs if ships(run)))


def ships(run: InferenceRun) -> bool:
    """Whether a run is quick enough to ship where a figure has it."""
    many = isinstance(run.model, Ionosphere) and getattr(run.inference, "m", 1) >= 10
    return not many or run.iterations <= _MOST


def shipped() -> tuple[Study[Any], ...]:
    """Those terms, and the first run with its bounds and its joint test."""
    return (*shipped_terms(), FIRST, BoundsStudy(of=FIRST), JointTestStudy.about(FIRST))
