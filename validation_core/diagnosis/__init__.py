"""From an upload to a verdict: each method's record, Holm over those that ran, and words."""

from validation_core.diagnosis.records import SMALLEST, Record
from validation_core.diagnosis.run import (
    RECIPE,
    default_methods,
    obstacle,
    recipe,
    run_method,
    training_set,
)
from validation_core.diagnosis.verdict import Diagnosis, Parameter, verdict
from validation_core.diagnosis.words import ENOUGH, equals, pvalue_text

__all__ = [
    "ENOUGH",
    "RECIPE",
    "SMALLEST",
    "Diagnosis",
    "Parameter",
    "Record",
    "default_methods",
    "equals",
    "obstacle",
    "pvalue_text",
    "recipe",
    "run_method",
    "training_set",
    "verdict",
]
