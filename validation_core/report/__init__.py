"""Reports of a diagnosis: one HTML file, JSON, CSV, a DataTree, and the user's notes."""

from validation_core.diagnosis.verdict import read_line
from validation_core.report.document import LIMIT, html
from validation_core.report.numbers import as_json
from validation_core.report.python_code import code, question_code

__all__ = ["LIMIT", "as_json", "code", "html", "question_code", "read_line"]
