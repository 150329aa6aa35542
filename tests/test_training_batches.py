"""Networks trained together: alike ones in bounded memory, each stored, a failed one named."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

from validation_core.benchmarks.boundary import Boundary
from validation_core.keys import Specification
from validation_core.scores import Recipe, trained_scores
from validation_core.scores.classifier import Classifier, TableClassifier
from validation_core.scores.localizer import Localizer
from validation_core.scores.trained_scores import Simulated, Training, TrainTask
from validation_core.scores.training_batches import FailedTraining, training_batches

SHORT = Classifier(train=60, epochs=2, hidden=8)


@dataclass(frozen=True)
class Rows(Specification):
    """Draws of so many rows, or none."""

    name: str
    rows: int = 4
    fails: bool = False

    @property
    def label(self) -> str:
        return self.name

    def training_set(self, recipe: Recipe, seed: int, store: Any) -> Any:
        if self.fails:
            raise ValueError("Draws are finite; got NaN.")
        return (np.zeros((self.rows, 2)),)


@dataclass(frozen=True)
class Network:
    """What `Learner` makes."""

    seconds: float = 0.0
    device: str = "cpu"
    summary = {}  # noqa: RUF012

    def arrays(self):
        return {"a": np.zeros(1)}


@dataclass(frozen=True)
class Learner(Recipe):
    """Writes down what it learns together; no network of more than 8 rows can be trained."""

    asked = []  # noqa: RUF012

    def learn_all(self, data, seeds, report=None):
        self.asked.append([len(rows) for (rows,) in data])
        if report:
            report(1.0, {})
        if any(len(rows) > 8 for (rows,) in data):
            raise RuntimeError("no memory")
        return [Network() for _ in data]

    def read(self, arrays, *, seconds, device):
        return Network()


@pytest.fixture
def asked():
    Learner.asked.clear()
    return Learner.asked


def _trainings(*sources):
    return [Training(source=source, recipe=Learner()) for source in sources]


def _cut(trainings, at_once):
    batches = training_batches(
        trainings, lambda each: each.source.training_set(None, 0, None), None, at_once
    )
    return [[training.source.name for training in batch.trainings] for batch in batches]


def test_draws_of_a_batch_fit_into_the_bytes_and_have_one_shape():
    same = _trainings(*(Rows(name) for name in "abcde"))  # 64 bytes each
    assert _cut(same, 10**6) == [["a", "b", "c", "d", "e"]]
    assert _cut(same, 130) == [["a", "b"], ["c", "d"], ["e"]]
    assert _cut(same, 1) == [["a"], ["b"], ["c"], ["d"], ["e"]]
    other = _trainings(Rows("a"), Rows("b", rows=5), Rows("c", rows=5))
    assert _cut(other, 10**6) == [["a"], ["b", "c"]]


def test_a_failed_network_is_named_and_the_others_are_stored(store, asked):
    trainings = _trainings(Rows("a"), Rows("bad", fails=True), Rows("b"))
    with pytest.raises(FailedTraining, match=r"bad.*: Draws are finite; got NaN\.$"):
        TrainTask(trainings=tuple(trainings)).run(store, lambda fraction, live: None)
    assert asked == [[4, 4]]
    assert [store.has("models", each.key) for each in trainings] == [True, False, True]


def test_a_batch_that_fails_is_trained_one_by_one(store, asked):
    trainings = _trainings(*(Rows(name, rows=8) for name in "ab"))
    shares = []
    trained_scores.train_and_store(store, trainings, lambda share, live: shares.append(share))
    assert asked == [[8, 8]]
    assert shares == [1.0]
    asked.clear()
    both = _trainings(Rows("c", rows=9), Rows("d", rows=9))
    with pytest.raises(FailedTraining, match=r"c.*: RuntimeError: no memory and 1 more"):
        trained_scores.train_and_store(store, both)
    assert asked == [[9, 9], [9], [9]]
    with pytest.raises(RuntimeError, match=r"^no memory$"):
        trained_scores.train_and_store(store, both[:1])


def test_a_stored_network_is_not_trained_again(store, asked):
    trainings = _trainings(Rows("a"), Rows("b"), Rows("c"))
    trained_scores.trained(store, trainings[1])
    assert len(trained_scores.trained_together(store, trainings)) == 3
    assert asked == [[4], [4, 4]]
    TrainTask(trainings=tuple(trainings)).run(store, lambda fraction, live: None)
    assert asked == [[4], [4, 4]]


def test_classifiers_of_one_recipe_are_alike_and_networks_that_train_in_turn_are_not():
    tasks = [
        TrainTask(
            trainings=(
                Training(source=Simulated(benchmark=Boundary(), gamma=gamma), recipe=recipe),
            )
        )
        for recipe in (SHORT, TableClassifier(n=20, k=2, recipe=SHORT), Localizer())
        for gamma in (0.0, 1.0)
    ]
    alike = [task.alike for task in tasks]
    assert alike[0] == alike[1] != alike[2] == alike[3]
    assert alike[4:] == [None, None]
    joined = tasks[0].joined(tasks[1:2])
    assert joined.trainings == tasks[0].trainings + tasks[1].trainings
    assert joined.makes == tasks[0].makes | tasks[1].makes
