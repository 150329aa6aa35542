"""The methods, by name: a new one is its file and one line here."""

from validation_core import keys
from validation_core.methods.automl import AutoML
from validation_core.methods.base import Method
from validation_core.methods.c2st import C2ST
from validation_core.methods.colt import CoLT
from validation_core.methods.dc import DC
from validation_core.methods.lc2st import LC2ST
from validation_core.methods.mmd_fuse import MMDFuse
from validation_core.methods.multiple import Multiple
from validation_core.methods.omnibus import Omnibus
from validation_core.methods.sbc import SBC
from validation_core.methods.skl import SKL
from validation_core.methods.tarp import TARP
from validation_core.methods.uniform import Uniform
from validation_core.methods.within_x import WithinX

__all__ = [
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
]

METHODS: dict[str, type[Method]] = keys.by_name(
    Omnibus, C2ST, Multiple, Uniform, WithinX, CoLT, SBC, TARP, SKL, DC, AutoML, MMDFuse, LC2ST
)
