"""What the tests of reports are about: small tables, panels that draw, names that mean harm."""

import numpy as np

from validation_core import diagnosis, report, tables
from validation_core.diagnosis import questions
from validation_core.diagnosis.method_runs import run_method, run_relabelling
from validation_core.drawing.drawn import Drawn
from validation_core.drawing.marks import Axis, Panel, Points, Shades
from validation_core.methods import SBC, Omnibus
from validation_core.tables import Upload

HOSTILE = ("<b>bold</b>", "</script><script>alert(1)</script>", "=cmd|' /C calc'!A0", "a/b", "a/b",
           "µ, σ \"q\" 'p'", "draw", "\x00", "", "{seed}")  # fmt: skip


def table(n=120, k=30, d=2, shift=0.0, names=None, seed=0):
    rng = np.random.default_rng(seed)
    theta = rng.standard_normal((n, d)).astype(np.float32)
    q = (shift + rng.standard_normal((n, k, d))).astype(np.float32)
    arrays = {"theta": theta, "x": np.zeros((n, 1), np.float32), "theta_q": q}
    by_name = {} if names is None else {"theta_names": np.array(names)}
    return Upload.of({**arrays, **by_name}, order="NKD")


def diagnosed(upload, methods=None, **options):
    def none():
        raise AssertionError("these methods learn nothing")

    records = [run_method(upload, method, 0, network=none) for method in methods or [SBC()]]
    under = run_relabelling(upload, Omnibus(relabelings=19), 0, {}) if upload.k else None
    return diagnosis.verdict(records, upload, asked_under=under, **options)


def cloud(points, seed=0):
    """As many points as one asks for, of which none is like another."""
    xy = np.random.default_rng(seed).random((2, points))
    dots = Points(*xy, color=Shades(xy[0], limit=1), size=3)
    return Panel([dots], x=Axis((0, 1), "x"), y=Axis((0, 1), "y"))


def code_of(question, path, seed=0, methods=None):
    """The Python that a report offers beside a question about a file."""
    how = {"alpha": 0.05, "seed": seed, "methods": methods, "where": None}
    return report.code(question.code, path=str(path), upload=tables.read(path), **how)


class Fake(questions.Question):
    """A question with a row for each parameter; its result is a mapping."""

    reading_guide = "If q were correct, all would be 0."
    title = "How <wrong>"
    code = "import validation_core as npt\nprint({table}, {seed})\n"

    def __init__(self, points=50, figures=1, name="size", obstacle=None):
        self.name, self.points, self.count, self.reason = name, points, figures, obstacle

    def obstacle(self, upload):
        return self.reason

    def describe(self, result, names, claims):
        return f"The worst is {names.theta[0]}.", "It is <i>wide</i>."

    def rows(self, result, names, claims):
        return [
            {"Parameter": name, "Error": i / 3, "Reading": "too wide"}
            for i, name in enumerate(names.theta)
        ]

    def figures(self, result, names, claims):
        name = names.theta[0]
        return tuple(
            Drawn(f"Cloud of {name}", cloud(self.points, i), f"How {name} lies.")
            for i in range(self.count)
        )

    def to_json(self, result):
        return dict(result)


def answer(numbers, question=None):
    """These numbers as the result of a question made up."""
    return questions.Answer(question or Fake(), numbers)


NUMBERS = {"error": 0.25, "nothing": float("nan")}
ANSWER = answer(NUMBERS)
