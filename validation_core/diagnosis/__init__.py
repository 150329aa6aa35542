"""From an upload to a verdict: each method's record, Holm over those that ran, and words."""

from validation_core.diagnosis.learning import (
    RECIPE,
    WHY_NOT_ALL,
    default_methods,
    further_methods,
    further_names,
    obstacle,
    recipe,
    training_set,
    with_further,
)
from validation_core.diagnosis.records import (
    SMALLEST,
    Record,
    distances,
    equals,
    findings,
    pvalue_text,
    remark,
)
from validation_core.diagnosis.tasks import run_method
from validation_core.diagnosis.verdict import ENOUGH, Diagnosis, Parameter, verdict

__all__ = [
    "ENOUGH",
    "RECIPE",
    "SMALLEST",
    "WHY_NOT_ALL",
    "Diagnosis",
    "Parameter",
    "Record",
    "default_methods",
    "distances",
    "equals",
    "findings",
    "further_methods",
    "further_names",
    "obstacle",
    "pvalue_text",
    "recipe",
    "remark",
    "run_method",
    "training_set",
    "verdict",
    "with_further",
]
