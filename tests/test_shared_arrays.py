"""Arrays that a cache gives to every caller: none can write into them."""

import ast
import re

import numpy as np
import pytest

from tests.conftest import ROOT
from validation_core.bayes.covariates import real_covariates
from validation_core.benchmarks.boundary import rejection_region
from validation_core.benchmarks.digits import load_mnist_digits
from validation_core.benchmarks.image_sources import load_photograph
from validation_core.benchmarks.sphere_flow import sphere_axes
from validation_core.shared_arrays import read_only

SHARED = {
    "covariates": lambda: real_covariates("concrete"),
    "digits": load_mnist_digits,
    "photographs": lambda: load_photograph(0),
    "rejection": lambda: rejection_region(5, 0.05, True),
    "sphere": sphere_axes,
}
_ARRAYS = re.compile(r"Array|Float|Integers|ndarray")


@pytest.mark.parametrize("load", SHARED.values(), ids=SHARED)
def test_what_one_caller_got_no_other_can_change(load):
    with pytest.raises(ValueError, match="read-only"):
        load()[:1] = 0
    assert load() is load()


def test_arrays_in_tuples_are_read_only_too():
    @read_only
    def nested(n, *, more):
        return np.zeros(n), (np.ones(n), more)

    first, (second, more) = nested(2, more="text")
    assert not first.flags.writeable
    assert not second.flags.writeable
    assert more == "text"


def test_every_cache_of_arrays_is_read_only():
    writable = [
        f"{path.relative_to(ROOT)}: {node.name}"
        for room in ("validation_core", "pages")
        for path in sorted((ROOT / room).rglob("*.py"))
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.FunctionDef) and node.returns
        if _ARRAYS.search(ast.unparse(node.returns))
        for marks in [" ".join(map(ast.unparse, node.decorator_list))]
        if re.search(r"\b(lru_)?cache\b", marks) and "read_only" not in marks
    ]
    assert writable == []
