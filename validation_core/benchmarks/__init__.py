"""The benchmarks, by name: a new one is its file and one line here."""

from validation_core.benchmarks.boundary import Boundary
from validation_core.benchmarks.gaussian import Gaussian
from validation_core.types import Benchmark

__all__ = ["BENCHMARKS", "Boundary", "Gaussian"]

BENCHMARKS: dict[str, type[Benchmark]] = {kind.name: kind for kind in (Gaussian, Boundary)}
