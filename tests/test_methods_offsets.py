"""Levels that dwarf their spread, spreads that float32 cannot hold, numbers that no square has."""

from functools import cache

import numpy as np
import pytest

from tests.conftest import SHORT, train_classifier
from validation_core import diagnosis
from validation_core.diagnosis import Record, method_obstacle, questions, tasks
from validation_core.methods import DC, LC2ST, SBC, TARP, AutoML, CoLT, MMDFuse, WithinX
from validation_core.precision import narrow, narrowed
from validation_core.rng import stream
from validation_core.sampling import TrainingSet
from validation_core.scores.classifier import Classifier, TrainedClassifier
from validation_core.scores.upload_training import trained_by
from validation_core.store import Store
from validation_core.tables import Upload
from validation_core.types import Joint

MOVES = {"gps": (1126259462.0, 0.02), "julian day": (2460000.5, 1e-3), "tiny": (5e-46, 1e-46)}
METHODS = diagnosis.with_further(tuple(diagnosis.further_methods()))


def blind(n=300, k=20):
    """q ignores x: its draws are the prior's."""
    rng = stream(0)
    theta = rng.standard_normal((n, 2))
    x = theta + 0.5 * rng.standard_normal((n, 2))
    return {"theta": theta, "x": x, "theta_q": rng.standard_normal((n, k, 2))}


def moved(arrays, move, which):
    """The first column of theta or of x in other units."""
    level, unit = MOVES.get(move, move)
    names = ("theta", "theta_q") if which == "theta" else ("x",)
    changed = {name: arrays[name].copy() for name in names}
    for array in changed.values():
        array[..., 0] = level + unit * array[..., 0]
    return arrays | changed


@pytest.fixture(autouse=True, scope="module")
def _short():
    """A tenth of a classifier's steps: a q that ignores x is seen early."""
    with trained_by(SHORT):
        yield


def ran(upload, methods, folder):
    """Records of these methods, trained and tested as a diagnosis does."""
    tasks.register_upload(upload)
    store = Store(folder)
    for task in tasks.tasks(upload, methods, 0):
        if not task.done(store):
            task.run(store, lambda fraction, live: None)
    result, waiting = tasks.records(store, upload, methods, 0)
    assert waiting == 0
    return {record.name: record for record in result}


FEW = (WithinX(), DC(m=10, permutations=99), LC2ST(nulls=39))
OTHERS = (TARP(reference="x"), AutoML(permutations=99, seconds=600),
          MMDFuse(points=100, permutations=99))  # fmt: skip


@pytest.fixture(scope="module")
def unmoved(tmp_path_factory):
    """A function: methods -> what they say of the table as it stands."""
    return cache(lambda methods: ran(Upload.of(blind()), methods, tmp_path_factory.mktemp("here")))


@pytest.mark.parametrize(
    ("move", "which", "methods"),
    [*((move, which, FEW) for move in MOVES for which in ("theta", "x")),
     pytest.param("gps", "theta", OTHERS, marks=pytest.mark.slow)],
)  # fmt: skip
def test_a_blind_posterior_is_found_whatever_the_offset(move, which, methods, unmoved, tmp_path):
    other = Upload.of(moved(blind(), move, which))
    there = ran(other, methods, tmp_path)
    here = unmoved(methods)
    if methods is FEW:
        assert here["within_x"].pvalue < 1e-10
        assert there["within_x"].pvalue < 1e-10
    for name, record in there.items():
        if here[name].pvalue < 0.03:
            assert record.pvalue < 0.03, name


def classified(data):
    return train_classifier(data, Classifier(train=100, epochs=2, hidden=16), seed=1)


def rows(rng, n=200, level=0.0):
    return [Joint(level + rng.standard_normal((n, 2)), rng.standard_normal((n, 3)))
            for _ in range(4)]  # fmt: skip


def test_stored_scalings_are_float64_and_old_ones_say_the_same():
    network = classified(TrainingSet(*rows(stream(1), level=3.0)))
    arrays = network.arrays()
    assert arrays["shift"].dtype == arrays["scale"].dtype == np.float64
    old = arrays | {name: arrays[name].astype(np.float32) for name in ("shift", "scale")}
    at = rows(stream(2))[0]
    np.testing.assert_array_equal(
        TrainedClassifier.read(old).at()(at.theta, at.x), network.at()(at.theta, at.x)
    )


def test_ordinary_scalings_are_those_of_before():
    """float32's numbers, in which networks were kept: the same data train the same network."""
    rng = stream(3)
    shift, scale = 10 * rng.standard_normal(50), rng.lognormal(size=50)
    near, unit = narrowed(shift, scale)
    np.testing.assert_array_equal(near, shift.astype(np.float32))
    np.testing.assert_array_equal(unit, scale.astype(np.float32))
    far, _ = narrowed(np.array([1126259462.1, 5e-46]), np.array([0.02, 1e-46]))
    np.testing.assert_array_equal(far, [1126259462.1, 5e-46])


def test_numbers_are_narrowed_only_where_nothing_is_lost():
    rng = stream(4)
    values = rng.standard_normal((500, 3))
    assert narrow(values).dtype == np.float32
    for level, unit in MOVES.values():
        item = values.copy()
        item[:, 1] = level + unit * item[:, 1]
        np.testing.assert_array_equal(narrow(item), item)
    assert narrow(np.zeros((4, 0))).dtype == np.float32
    assert narrow([0, 1, 2]).dtype == np.float32
    assert narrow(np.full(20, np.nan)).dtype == np.float32


@pytest.mark.parametrize("which", ["theta", "x"])
def test_digits_that_float32_lost_are_told(which):
    arrays = moved(blind(), "gps", which)
    lost = Upload.of({name: array.astype(np.float32) for name, array in arrays.items()})
    messages = [warning for warning in lost.warnings if "different value" in warning]
    assert messages
    assert "float32 has steps of" in messages[0]
    widened = {name: array.astype(np.float32).astype(float) for name, array in arrays.items()}
    assert [warning for warning in Upload.of(widened).warnings if "different value" in warning]
    for name in ("theta", "x", "theta_q"):
        assert arrays[name].dtype == np.float64
    assert not [warning for warning in Upload.of(arrays).warnings if "different value" in warning]


@pytest.mark.parametrize("kind", [np.float32, np.int16, np.int64])
def test_ordinary_columns_have_not_lost_any(kind):
    rng = stream(5)
    whole = (20 * rng.standard_normal((200, 31, 2))).astype(kind)
    upload = Upload.of({"theta": whole[:, 0], "x": rng.random((200, 1)), "theta_q": whole[:, 1:]})
    assert not [warning for warning in upload.warnings if "different value" in warning]


@pytest.mark.parametrize("which", ["theta", "x"])
@pytest.mark.parametrize("move", [(0.0, 1e300), (1e300, 1e285), (0.0, 1e-200), (0.0, 4e307)])
def test_what_cannot_be_squared_is_said_and_the_others_run(move, which, tmp_path):
    upload = Upload.of(moved(blind(), move, which))
    methods = (SBC(), TARP(), WithinX(), DC(m=10, permutations=39), CoLT(), LC2ST(nulls=39),
               TARP(reference="x"), MMDFuse(points=100, permutations=39))  # fmt: skip
    records = ran(upload, [method for method in methods if method.label != "TARP x"], tmp_path)
    infinite = move[1] > 1e307
    for name in ("dc", "colt", "lc2st"):
        assert records[name].status == "not run"
        assert "squares" in records[name].reason
        assert "; got" in records[name].reason
        assert "Change the unit" in records[name].reason
    assert records["sbc"].status == "ran"
    for name in ("within_x", "mmd_fuse"):
        assert records[name].status == ("not run" if infinite else "ran")
    if infinite:
        assert "finite" in records["within_x"].reason
    assert records["tarp"].status == ("not run" if infinite and which == "theta" else "ran")
    assert (method_obstacle(TARP(reference="x"), upload) is None) == (
        which == "theta" and not infinite
    )
    for panel in questions.QUESTIONS:
        assert "Change the unit" in panel.obstacle(upload)
        assert panel.studies(upload, methods, 0) == ()


def test_a_verdict_is_reached_beside_numbers_that_cannot_be_squared(tmp_path):
    upload = Upload.of(moved(blind(), (0.0, 1e300), "theta"))
    methods = (SBC(), DC(m=10, permutations=39))
    records = ran(upload, methods, tmp_path)
    assert isinstance(records["dc"], Record)
    verdict = diagnosis.verdict(list(records.values()), upload)
    assert verdict.verdict in ("no problem found", "problem found", "not enough data")
