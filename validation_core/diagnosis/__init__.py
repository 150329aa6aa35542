"""From an upload to a verdict: each method's record, Holm over those that ran, and words."""

from validation_core.diagnosis.learning import (
    RECIPE,
    WHY_NOT_ALL,
    default_methods,
    further_methods,
    further_names,
    obstacle,
    recipe,
    with_further,
)
from validation_core.diagnosis.verdict import ENOUGH, Diagnosis, Parameter, verdict
from validation_core.methods.record import SMALLEST, Record, equals, findings, pvalue_text, remark

__all__ = [
    "ENOUGH",
    "RECIPE",
    "SMALLEST",
    "WHY_NOT_ALL",
    "Diagnosis",
    "Parameter",
    "Record",
    "default_methods",
    "equals",
    "findings",
    "further_methods",
    "further_names",
    "obstacle",
    "pvalue_text",
    "recipe",
    "remark",
    "verdict",
    "with_further",
]
