"""From an upload to a verdict: each method's record, Holm over those that ran, and words."""

from validation_core.diagnosis.learning import RECIPE, recipe, training_set
from validation_core.diagnosis.records import SMALLEST, Record
from validation_core.diagnosis.run import default_methods, obstacle, run_method
from validation_core.diagnosis.verdict import Diagnosis, Parameter, verdict
from validation_core.diagnosis.words import ENOUGH, ball, equals, pvalue_text, remark

__all__ = [
    "ENOUGH",
    "RECIPE",
    "SMALLEST",
    "Diagnosis",
    "Parameter",
    "Record",
    "ball",
    "default_methods",
    "equals",
    "obstacle",
    "pvalue_text",
    "recipe",
    "remark",
    "run_method",
    "training_set",
    "verdict",
]
