"""The benchmarks, by name. To add one, write its file and add a line here."""

from validation_core import keys
from validation_core.benchmarks.bayes_model import BayesModel
from validation_core.benchmarks.boundary import Boundary
from validation_core.benchmarks.digits import Digits
from validation_core.benchmarks.gaussian import Gaussian
from validation_core.benchmarks.images import Images
from validation_core.benchmarks.lensing import Lensing
from validation_core.benchmarks.sphere_flow import SphereFlow
from validation_core.benchmarks.spiral import Spiral
from validation_core.benchmarks.trained import Trained
from validation_core.benchmarks.tree import Tree
from validation_core.types import Benchmark

__all__ = [
    "BENCHMARKS",
    "BayesModel",
    "Boundary",
    "Digits",
    "Gaussian",
    "Images",
    "Lensing",
    "SphereFlow",
    "Spiral",
    "Trained",
    "Tree",
]

BENCHMARKS: dict[str, type[Benchmark]] = keys.by_name(
    # In the order of menus.
    Gaussian,
    Tree,
    Spiral,
    Boundary,
    BayesModel,
    SphereFlow,
    Images,
    Digits,
    Lensing,
    Trained,
)
