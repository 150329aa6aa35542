"""Work that this process shares with helpers: all of it is done, once, and in a possible order."""

import threading
import time
from concurrent.futures import Executor, Future, ThreadPoolExecutor
from dataclasses import dataclass, field

import numpy as np
import pytest

import validation_core as npt
from tests.test_api import arrays
from validation_core.api.helpers import helper_processes
from validation_core.api.work import SharedQueue, SilentProgress, run_in_turn
from validation_core.benchmarks.gaussian import Gaussian
from validation_core.diagnosis import tasks
from validation_core.engine import WorkerPool
from validation_core.engine.pool import helper_pool
from validation_core.methods import CoLT
from validation_core.rng import stream
from validation_core.scores import trained_scores
from validation_core.scores.classifier import Classifier
from validation_core.scores.trained_scores import Simulated, Training, TrainTask
from validation_core.store import Store

QUICK = Classifier(train=200, epochs=3, lr=2e-3, batch=64, hidden=16, layers=2)


@dataclass(frozen=True)
class Step:
    """A task that notes when and where it ran; `log` holds what is done."""

    label: str
    makes: frozenset = frozenset()
    needs: frozenset = frozenset()
    seconds: float = 0.001
    log: list = field(default_factory=list, compare=False)

    def done(self, store):
        return self.label in [label for label, _ in self.log]

    def run(self, store, report):
        keys = {key for label, _ in self.log for key in label.split()[1:]}
        assert self.needs <= keys, "what it reads is not there yet"
        report(0.5, {})
        time.sleep(self.seconds)
        self.log.append((self.label, threading.current_thread()))


class Recorder(SilentProgress):
    """What was told of the work."""

    def __init__(self):
        self.ended, self.missed, self.counts = [], [], []

    def progress(self, done, part, total, seconds):
        self.counts.append(done)

    def end(self, task, seconds, store):
        self.ended.append(task.label)

    def late(self, task):
        self.missed.append(task.label)


class Threads(ThreadPoolExecutor):
    """Helpers in threads."""

    def __init__(self, slots):
        super().__init__(slots)
        self.slots = slots


class Never(Executor):
    """Helpers that are still starting."""

    slots = 3

    def submit(self, fn, /, *args, **kwargs):
        return Future()


class Unable(Executor):
    """Helpers that know no such task."""

    slots = 2

    def submit(self, fn, /, *args, **kwargs):
        future = Future()
        future.set_exception(ValueError("no such method here"))
        return future


def steps(seed, log, count=30):
    """Networks, and what reads some of those before it."""
    rng = stream(seed, "steps")
    networks, queue = [], []
    for i in range(count):
        if rng.random() < 0.3:
            networks.append(f"network-{i}")
            queue.append(Step(f"{i} {networks[-1]}", makes=frozenset(networks[-1:]), log=log))
        else:
            some = rng.permutation(networks)[: rng.integers(3)]
            queue.append(Step(f"{i}", needs=frozenset(map(str, some)), log=log))
    return queue


@pytest.mark.parametrize("slots", [1, 3])
@pytest.mark.parametrize("seed", range(4))
def test_everything_is_done_once_and_after_what_it_needs(seed, slots, store):
    log, watch = [], Recorder()
    queue = steps(seed, log)
    with Threads(slots) as helpers:
        run_in_turn(queue, store, watch, helpers=helpers)
    labels = [step.label for step in queue]
    assert sorted(label for label, _ in log) == sorted(watch.ended) == sorted(labels)
    assert {thread for _, thread in log} - {threading.current_thread()}
    assert watch.counts == sorted(watch.counts)


@pytest.mark.parametrize("helpers", [None, Never(), Unable()])
def test_without_helpers_it_is_done_here_and_in_order(helpers, store):
    log, watch = [], Recorder()
    queue = steps(0, log)
    run_in_turn(queue, store, watch, helpers=helpers)
    assert {thread for _, thread in log} == {threading.current_thread()}
    assert sorted(watch.ended) == sorted(step.label for step in queue)
    if helpers is None:
        assert watch.ended == [step.label for step in queue]


def test_what_is_known_is_told_and_not_done_again(store):
    log, watch = [], Recorder()
    queue = steps(0, log, 6)
    log += [(queue[4].label, None), (queue[5].label, None)]
    with Threads(1) as helpers:
        run_in_turn(queue, store, watch, helpers=helpers)
    assert watch.ended[:2] == [queue[4].label, queue[5].label]
    assert len(log) == len(watch.ended) == 6


def test_an_error_comes_out_though_a_helper_met_it_first(store):
    class Wrong(Step):
        def run(self, store, report):
            raise ValueError("x has no spread")

    with Threads(2) as helpers, pytest.raises(ValueError, match="no spread"):
        run_in_turn([Step("0"), Wrong("1")], store, Recorder(), helpers=helpers)


def test_a_budget_ends_the_wait_for_helpers(store):
    begun, over, log, watch = threading.Event(), threading.Event(), [], Recorder()

    class Endless(Step):
        def run(self, store, report):
            begun.set()
            over.wait()

    class Beside(Step):
        def run(self, store, report):
            begun.wait()
            super().run(store, report)

    with Threads(1) as helpers:
        try:
            run_in_turn([Beside("0", log=log), Endless("1")], store, watch, 2.0, helpers=helpers)
        finally:
            over.set()
    assert watch.ended == ["0"]
    assert watch.missed == ["1"]


def test_helpers_are_one_fewer_than_the_environment_asks_for(monkeypatch):
    monkeypatch.setenv("NPTLAB_WORKERS", "3")
    assert helper_pool() is None  # tests compute in this process
    monkeypatch.setenv("NPTLAB_ENGINE", "local")
    pool = helper_pool()
    assert pool.slots == 2
    pool.shutdown()
    monkeypatch.setenv("NPTLAB_WORKERS", "1")
    assert helper_pool() is None


def test_two_that_want_one_network_train_it_once(store, monkeypatch):
    """Whoever comes second waits for the first."""
    source = Simulated(benchmark=Gaussian(dim_x=3, dim_theta=2), gamma=0.3)
    trainings = tuple(Training(source=source, recipe=QUICK, seed=seed) for seed in range(2))
    begun, train = [], trained_scores.train_and_store

    def slowly(store, trainings, report):
        begun.append(trainings)
        time.sleep(0.2)
        return train(store, trainings, report)

    monkeypatch.setattr(trained_scores, "train_and_store", slowly)
    works = [TrainTask(trainings=trainings), TrainTask(trainings=trainings[::-1])]
    args = (store, lambda fraction, live: None)
    threads = [threading.Thread(target=work.run, args=args) for work in works]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(begun) == 1
    assert all(work.done(store) for work in works)


@pytest.fixture
def helped(monkeypatch, quick_training):
    """What helpers do: two that have started, for networks that learn little."""
    pool = WorkerPool(2)
    while pool.ready < pool.slots:
        time.sleep(0.05)
    work, ended = [], SharedQueue.ended

    def noted(self):
        work.extend(done := ended(self))
        return done

    monkeypatch.setattr(SharedQueue, "ended", noted)
    # The first answer is this process's own.
    pools = iter([None, pool])
    monkeypatch.setattr("validation_core.api.helpers.helper_pool", lambda: next(pools))
    yield work
    assert pool.pids() == []


@pytest.mark.slow
def test_a_diagnosis_is_the_same_with_helpers(tmp_path, helped):
    table = npt.Table(*arrays())
    alone, shared = (npt.diagnose(table, store=Store(tmp_path / name)) for name in ("1", "2"))
    assert helped
    assert shared.questions == alone.questions
    assert shared.sentences == alone.sentences
    pvalues = [[record.pvalue for record in result.records] for result in (alone, shared)]
    np.testing.assert_allclose(*np.array(pvalues, dtype=float), rtol=1e-9)


def test_helpers_come_where_any_localizer_is_missing(monkeypatch, store):
    """Also where that of the first of several tables is known."""
    asked = []
    monkeypatch.setattr("validation_core.api.helpers.helper_pool", lambda: asked.append(1))
    theta, x, q = arrays()
    uploads = [npt.Table(theta, x, scale * q).upload for scale in (1.0, 1.3)]
    queue = [task for upload in uploads for task in tasks.tasks(upload, [CoLT()], 0)]
    first = tasks.longest_training(queue)
    monkeypatch.setattr(TrainTask, "done", lambda task, store: task == first)
    with helper_processes(queue, store, uploads):
        assert asked == [1]
    with helper_processes([first], store, uploads[:1]):
        assert asked == [1]


@pytest.mark.slow
def test_a_comparison_is_the_same_with_helpers(tmp_path, helped):
    theta, x, q = arrays()
    tables = {"q": npt.Table(theta, x, q), "wider": npt.Table(theta, x, 1.3 * q)}
    alone, shared = (npt.compare(tables, store=Store(tmp_path / name)) for name in ("1", "2"))
    assert helped
    assert shared.sentences == alone.sentences
    values = [[measure.values for measure in result.measures] for result in (alone, shared)]
    np.testing.assert_allclose(*np.array(values, dtype=float), rtol=1e-9)
