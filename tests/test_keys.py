"""Keys tell specifications apart, whatever their nesting, and read back what they wrote."""

import numpy as np
import pytest

from validation_core import keys
from validation_core.benchmarks import BENCHMARKS
from validation_core.benchmarks.gaussian import Gaussian
from validation_core.methods import METHODS, Uniform
from validation_core.models import Simulated, Training
from validation_core.rng import stream
from validation_core.scores.classifier import Classifier
from validation_core.tasks import GridTask

TRAINING = Training(source=Simulated(benchmark=Gaussian(), gamma=0.1))


@pytest.mark.parametrize(
    "value",
    [kind() for kind in (*METHODS.values(), *BENCHMARKS.values())]
    + [TRAINING, GridTask(training=TRAINING), Classifier.preset("paper")],
    ids=lambda v: type(v).__name__,
)
def test_text_reads_back(value):
    assert keys.read(keys.text(value)) == value


def test_every_level_counts():
    texts = {
        keys.key(Training(source=Simulated(benchmark=benchmark, gamma=gamma), seed=seed))
        for benchmark in (Gaussian(), Gaussian(dim_x=10), Gaussian(perturbation="anisotropic"))
        for gamma in (0.0, 0.1)
        for seed in (0, 1)
    }
    assert len(texts) == 12


def test_types_with_equal_fields_differ():
    named = {keys.text(kind()) for kind in METHODS.values()}
    assert len(named) == len(METHODS)


def test_an_integer_gamma_is_the_same_gamma():
    one, other = (Simulated(benchmark=Gaussian(), gamma=g) for g in (1, 1.0))
    assert keys.key(one) == keys.key(other)
    assert keys.key(one) == keys.key(Simulated(benchmark=Gaussian(), gamma=np.float64(1)))


def test_foreign_types_are_not_read():
    with pytest.raises(ValueError, match="Only types of validation_core"):
        keys.decode({"type": "subprocess:Popen", "version": 1, "args": ["true"]})
    with pytest.raises(ValueError, match="must be a dataclass"):
        keys.decode({"type": "validation_core.keys:read", "version": 1})


def test_an_old_version_is_refused():
    encoded = keys.encode(Uniform()) | {"version": 0}
    with pytest.raises(ValueError, match="version"):
        keys.decode(encoded)


def test_unknown_values_are_refused():
    with pytest.raises(TypeError, match="plain values"):
        keys.text(np.zeros(3))


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
