"""NPT Lab: is a learned posterior right, and if not, where and how is it wrong?

    import validation_core as npt

    table = npt.read("table.npz")            # or npt.Table(theta, x, theta_q, names=[...])
    result = npt.diagnose(table)
    result.verdict, result.pvalue
    result["calibration"].to_frame()
    result.save("report.html")

A test of a posterior scores a reference draw and the estimator's draws with the same function,
fixed beforehand, and asks whether the scores look alike. Names are imported when they are first
used: torch only where something is learnt.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from validation_core.benchmarks import BENCHMARKS, BayesModel, Boundary, Gaussian, Spiral, Tree
    from validation_core.diagnosis import Record
    from validation_core.figures.outcome import Drawn
    from validation_core.front.compare import ComparisonResult, compare
    from validation_core.front.diagnose import DiagnosisResult, QuestionResult, ask, diagnose
    from validation_core.front.divergence import ALGORITHMS, MODELS, DivergenceResult, divergence
    from validation_core.front.power import PowerResult, power
    from validation_core.front.result import Result
    from validation_core.front.run import MethodResult, run
    from validation_core.front.table import AmbiguousOrder, Table, read
    from validation_core.methods import (
        C2ST,
        DC,
        LC2ST,
        METHODS,
        SBC,
        SKL,
        TARP,
        AutoML,
        CoLT,
        MMDFuse,
        Multiple,
        Omnibus,
        Uniform,
        WithinX,
    )
    from validation_core.store import Store
    from validation_core.types import PowerCell

__version__ = "0.1.0"

_HOMES = {
    "benchmarks": ("BENCHMARKS", "BayesModel", "Boundary", "Gaussian", "Spiral", "Tree"),
    "diagnosis": ("Record",),
    "figures.outcome": ("Drawn",),
    "front.compare": ("ComparisonResult", "compare"),
    "front.diagnose": ("DiagnosisResult", "QuestionResult", "ask", "diagnose"),
    "front.divergence": ("ALGORITHMS", "MODELS", "DivergenceResult", "divergence"),
    "front.power": ("PowerResult", "power"),
    "front.result": ("Result",),
    "front.run": ("MethodResult", "run"),
    "front.table": ("AmbiguousOrder", "Table", "read"),
    "methods": (
        "C2ST",
        "DC",
        "LC2ST",
        "METHODS",
        "SBC",
        "SKL",
        "TARP",
        "AutoML",
        "CoLT",
        "MMDFuse",
        "Multiple",
        "Omnibus",
        "Uniform",
        "WithinX",
    ),
    "store": ("Store",),
    "types": ("PowerCell",),
}
_HOME = {name: module for module, names in _HOMES.items() for name in names}

__all__ = [  # noqa: RUF022 (by what they are for)
    "read",
    "Table",
    "diagnose",
    "ask",
    "run",
    "compare",
    "power",
    "divergence",
    "METHODS",
    "BENCHMARKS",
    "MODELS",
    "ALGORITHMS",
    "Store",
    "Result",
    "DiagnosisResult",
    "QuestionResult",
    "MethodResult",
    "PowerResult",
    "ComparisonResult",
    "DivergenceResult",
    "PowerCell",
    "Record",
    "Drawn",
    "AmbiguousOrder",
    "AutoML",
    "C2ST",
    "CoLT",
    "DC",
    "LC2ST",
    "MMDFuse",
    "Multiple",
    "Omnibus",
    "SBC",
    "SKL",
    "TARP",
    "Uniform",
    "WithinX",
    "BayesModel",
    "Boundary",
    "Gaussian",
    "Spiral",
    "Tree",
]


def __getattr__(name: str) -> Any:
    """A public name, from the module that it lives in (PEP 562)."""
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(f"{__name__}.{_HOME[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
