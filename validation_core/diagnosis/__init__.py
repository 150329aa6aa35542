"""From an upload to a verdict: each method's record, Holm over those that ran, and words."""

from validation_core.diagnosis.learning import recipe
from validation_core.diagnosis.plan import (
    default_methods,
    further_methods,
    further_names,
    method_obstacle,
    why_not_all,
    with_further,
)
from validation_core.diagnosis.verdict import ENOUGH, Diagnosis, Parameter, verdict
from validation_core.methods.record import Record, findings, remark

__all__ = [
    "ENOUGH",
    "Diagnosis",
    "Parameter",
    "Record",
    "default_methods",
    "findings",
    "further_methods",
    "further_names",
    "method_obstacle",
    "recipe",
    "remark",
    "verdict",
    "why_not_all",
    "with_further",
]
