"""From an upload to a verdict: each method's record, Holm over those that ran, and words."""

from validation_core.diagnosis.learning import recipe
from validation_core.diagnosis.plan import (
    WHY_NOT_ALL,
    default_methods,
    further_methods,
    further_names,
    obstacle,
    with_further,
)
from validation_core.diagnosis.verdict import ENOUGH, Diagnosis, Parameter, verdict
from validation_core.methods.record import Record, findings, remark
from validation_core.scores.classifier import RECIPE
from validation_core.text import SMALLEST, equals, pvalue_text

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
