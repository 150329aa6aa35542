"""Keys tell specifications apart, whatever their nesting, and read back what they wrote."""

import subprocess
import sys
from importlib import import_module
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from pkgutil import walk_packages

import numpy as np
import pytest

import validation_core
from validation_core import keys
from validation_core.bayes import Hospitals
from validation_core.bayes.variational import Variational
from validation_core.benchmarks import BENCHMARKS
from validation_core.benchmarks.gaussian import Gaussian
from validation_core.engine import SelfCheck
from validation_core.explorers.conformal.study import ConformalStudy, Learned
from validation_core.methods import METHODS, CoLT, Uniform, uniform
from validation_core.rng import stream
from validation_core.scores.classifier import Classifier
from validation_core.scores.localizer import Localizer
from validation_core.scores.trained_scores import Simulated, Training

TRAINING = Training(source=Simulated(benchmark=Gaussian(), gamma=0.1))


@pytest.mark.parametrize(
    "value",
    [kind() for kind in (*METHODS.values(), *BENCHMARKS.values())]
    + [
        TRAINING,
        ConformalStudy(learned=Learned(benchmark=Gaussian())),
        Classifier.preset("paper"),
    ],
    ids=lambda v: type(v).__name__,
)
def test_text_reads_back(value):
    assert keys.read(keys.canonical_text(value)) == value


def test_every_level_counts():
    texts = {
        keys.key(Training(source=Simulated(benchmark=benchmark, gamma=gamma), seed=seed))
        for benchmark in (Gaussian(), Gaussian(dim_x=10), Gaussian(perturbation="anisotropic"))
        for gamma in (0.0, 0.1)
        for seed in (0, 1)
    }
    assert len(texts) == 12


def test_types_with_equal_fields_differ():
    texts = {keys.canonical_text(kind()) for kind in METHODS.values()}
    assert len(texts) == len(METHODS)


def test_an_integer_gamma_is_the_same_gamma():
    first, other = (Simulated(benchmark=Gaussian(), gamma=g) for g in (1, 1.0))
    assert keys.key(first) == keys.key(other)
    assert keys.key(first) == keys.key(Simulated(benchmark=Gaussian(), gamma=np.float64(1)))


def test_equal_numbers_have_one_key():
    zero, minus = (Simulated(benchmark=Gaussian(), gamma=g) for g in (0.0, -0.0))
    assert keys.key(zero) == keys.key(minus)
    assert keys.key(SelfCheck(seed=np.int64(3))) == keys.key(SelfCheck(seed=3))


def test_foreign_types_are_not_read():
    for name in ("subprocess:Popen", "validation_core.keys:read"):
        with pytest.raises(ValueError, match="Only specifications are read back"):
            keys.decode({"type": name, "version": 1, "args": ["true"]})


def test_a_later_field_leaves_keys_as_they_were():
    """A prior of the paper's width has the key that stored results have; a wider one its own."""
    assert "width" not in keys.canonical_text(Hospitals())
    assert keys.key(Hospitals()) == "122c98d4ca367bac00e193c6ac9cf9c9"
    wide = Hospitals(width=5.0)
    assert keys.key(wide) != keys.key(Hospitals())
    for model in (wide, Hospitals()):
        assert keys.read(keys.canonical_text(model)) == model
    assert "alpha" not in keys.canonical_text(Variational(m=5))
    assert keys.key(Variational(alpha=0.5)) != keys.key(Variational())


def test_moving_a_file_changes_no_key(monkeypatch):
    """The whole file of a method under another name: the same value has the same key."""
    before = keys.key(Uniform(m=20))
    source = Path(uniform.__file__)
    spec = spec_from_file_location("validation_core.elsewhere.uniform_moved", source)
    moved = module_from_spec(spec)
    monkeypatch.setitem(sys.modules, spec.name, moved)
    spec.loader.exec_module(moved)
    try:
        assert moved.Uniform is not Uniform
        assert keys.key(moved.Uniform(m=20)) == before
        assert type(keys.read(keys.canonical_text(Uniform(m=20)))) is moved.Uniform
    finally:
        keys.register_specification(Uniform)


def test_two_classes_cannot_share_a_name():
    with pytest.raises(ValueError, match="'method:uniform' is Uniform as well as Other"):

        class Other(keys.Specification, spec="method:uniform"):
            pass


def test_every_name_is_known_to_a_fresh_process():
    """Also to one that has imported nothing but `keys`, as a worker has."""
    for module in walk_packages(validation_core.__path__, "validation_core."):
        if not module.name.endswith("__main__"):
            import_module(module.name)
    known = keys.known_specifications().items()
    by_name = [
        n for n, kind in known if n != _place(kind) and _place(kind).startswith("validation")
    ]
    assert len(by_name) > 60
    code = "import sys; from validation_core.keys import specification_named as read\n"
    code += "[read(name) for name in sys.argv[1:]]"
    subprocess.run([sys.executable, "-c", code, *by_name], check=True)


def _place(kind):
    return f"{kind.__module__}:{kind.__qualname__}"


def test_an_old_version_is_refused():
    encoded = keys.encode(Uniform()) | {"version": 0}
    with pytest.raises(ValueError, match="version"):
        keys.decode(encoded)


def test_unknown_values_are_refused():
    with pytest.raises(TypeError, match="plain values"):
        keys.canonical_text(np.zeros(3))


def test_digest_sees_every_element():
    """Streamlit's own hash samples arrays of this size and misses most changes."""
    array = np.zeros((50_000, 10), dtype=np.float32)
    before = keys.digest(theta=array)
    array[31_337, 7] = 1
    assert keys.digest(theta=array) != before
    assert keys.digest(theta=array) != keys.digest(x=array)
    assert keys.digest(theta=array) != keys.digest(theta=array.reshape(10, 50_000))
    assert keys.digest(x=np.zeros((3, 0))) == keys.digest(x=np.zeros((3, 0)))


def test_streams_are_told_apart_by_name_not_by_order():
    first = stream(0, "trial", 3).random(4)
    stream(0, "other").random(100)
    np.testing.assert_array_equal(first, stream(0, "trial", 3).random(4))
    others = [stream(0, "trial", 4), stream(1, "trial", 3), stream(0, "trial/3")]
    assert all(not np.array_equal(first, other.random(4)) for other in others[:2])


@pytest.mark.parametrize("kind", [Localizer, CoLT])
def test_a_later_field_moves_no_key(kind):
    """Results stored before it existed are found; its other values have keys of their own."""
    assert "outputs" not in keys.canonical_text(kind())
    wide = kind(outputs=8)
    assert keys.key(wide) != keys.key(kind())
    for value in (kind(), wide):
        assert keys.read(keys.canonical_text(value)) == value
