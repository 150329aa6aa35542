"""The methods, by name: a new one is its file and one line here."""

from validation_core.methods.c2st import C2ST
from validation_core.methods.colt import CoLT
from validation_core.methods.multiple import Multiple
from validation_core.methods.sbc import SBC
from validation_core.methods.uniform import Uniform
from validation_core.methods.within_x import WithinX
from validation_core.types import Method

__all__ = ["C2ST", "METHODS", "SBC", "CoLT", "Multiple", "Uniform", "WithinX"]

METHODS: dict[str, type[Method]] = {
    kind.name: kind for kind in (C2ST, Multiple, Uniform, WithinX, SBC, CoLT)
}
