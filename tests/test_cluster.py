"""A Dask cluster: the same bits as here, cancelled, survived; and what is said without one."""

import itertools
import os
import sys
import threading
import time
from concurrent.futures import CancelledError

import numpy as np
import pytest

from tests.cluster import Cluster
from tests.test_engine import LONG, LONG_WAIT, eventually
from validation_core import diagnosis, engine, keys
from validation_core.api.work import run_on_engine
from validation_core.bayes import Hospitals
from validation_core.bayes.laplace import Laplace
from validation_core.bayes.regressions import Concrete
from validation_core.bayes.variational import Variational
from validation_core.benchmarks.digits import Digits
from validation_core.benchmarks.gaussian import Gaussian
from validation_core.cli import main
from validation_core.cli.options import ProgressLines
from validation_core.diagnosis import tasks as diagnoses
from validation_core.diagnosis.tasks import DiagnoseTask, UploadSource
from validation_core.engine import Engine, SelfCheck
from validation_core.engine.cluster import executor as dask_executor
from validation_core.engine.cluster import scheduler, worker
from validation_core.engine.cluster.entries import Name, names_read
from validation_core.engine.cluster.executor import DaskExecutor
from validation_core.engine.cluster.scheduler import ClusterUnreachable, SchedulerLink, SeenWorker
from validation_core.engine.task import SerialExecutor, TaskError, perform
from validation_core.methods import C2ST, SBC, Multiple, Uniform
from validation_core.scores.classifier import Classifier
from validation_core.scores.trained_scores import Simulated, Training, TrainTask, network_behind
from validation_core.store import Store
from validation_core.sweep.plan import Batch, MethodTrials
from validation_core.sweep.trials import TrialDesign
from validation_core.symmetric_divergence import InferenceRun, RunTermsStudy
from validation_core.tables import Upload

distributed = pytest.importorskip("distributed", reason="pip install .[dask]")
pytestmark = [
    # Dask's own: sockets and loops of processes that are ended, ports that are taken
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
    pytest.mark.filterwarnings("ignore::UserWarning:distributed"),
    pytest.mark.filterwarnings("ignore::DeprecationWarning:distributed"),
    pytest.mark.filterwarnings("ignore::RuntimeWarning:distributed"),
]

NOBODY = "tcp://127.0.0.1:9"
QUICK = Classifier(train=200, epochs=3, lr=2e-3, batch=64, hidden=16, layers=2)


@pytest.fixture(scope="module")
def both(tmp_path_factory):
    """A scheduler and two workers for all tests of this file that want no other."""
    with Cluster(tmp_path_factory.mktemp("dask")) as two:
        yield two


@pytest.fixture
def cluster(both):
    """Two workers, also where an earlier test ended one."""
    both.keep(2)
    return both


@pytest.fixture(scope="module")
def connection(both):
    executor = DaskExecutor(both.address)
    yield executor
    executor.shutdown()


@pytest.fixture
def executor(cluster, connection):
    """Connected to two workers that have said who they are."""
    eventually(lambda: connection.slots == 2 and connection.device == "cpu")
    return connection


@pytest.fixture
def store(tmp_path):
    return Store(tmp_path / "store")


@pytest.fixture
def there(executor, store):
    """An engine whose tasks run on the cluster."""
    engine = Engine(store, executor)
    yield engine
    for job in engine.jobs():
        engine.cancel(job.key)


@pytest.fixture
def here(tmp_path):
    """A store, and an engine that fills it in this process."""
    engine = Engine(Store(tmp_path / "here"), SerialExecutor())
    yield engine
    engine.close()


@pytest.fixture
def impatient(monkeypatch):
    """A scheduler that does not answer is given up at once."""
    monkeypatch.setattr(scheduler, "CONNECT_SECONDS", 0.3)


def sweep(trials=12, gammas=(0.0, 0.3)):
    """Powers, each behind the training of the network that it reads."""
    benchmark = Gaussian(perturbation="mean_shift", dim_x=3, dim_theta=2)
    made = []
    for gamma in gammas:
        training = Training(source=Simulated(benchmark=benchmark, gamma=gamma), recipe=QUICK)
        made += [
            TrainTask(trainings=(training,)),
            Batch(parts=tuple(
                MethodTrials(source=training.source, method=method, network=training, beta=0.0,
                     design=TrialDesign(trials=1, n=50, k=1), first=0, count=trials)
                for method in (C2ST(), Multiple(), Uniform(m=5))
            )),
        ]  # fmt: skip
    return made


def finish(engine, job):
    """How a job ended."""
    state = engine.wait(job.key, "me", LONG_WAIT)
    assert not state.active, "it does not end"
    return state


def bits(store, kind, key):
    return keys.digest(**store.load(kind, key).arrays)


def same(one, other, tasks):
    """Whether two stores hold the same bits for every network and result of these tasks."""
    models = [key for task in tasks for key in getattr(task, "makes", ())]
    results = [part.key for task in tasks if not isinstance(task, TrainTask)
               for part in getattr(task, "parts", [task])]  # fmt: skip
    names = [*(("models", key) for key in models), *(("results", key) for key in results)]
    return all(bits(one, *name) == bits(other, *name) for name in names)


def test_workers_agree_with_this_process_to_the_bit(there, here):
    tasks = [*(SelfCheck(seed=seed, rounds=3) for seed in range(4)), *sweep()]
    job = there.submit(tasks, "me")
    state = finish(there, job)
    assert (state.state, state.done) == ("done", 8)
    assert here.submit(tasks, "me").snapshot().state == "done"
    assert same(there.store, here.store, tasks)
    pids = {there.store.load("results", task.key).meta["pid"] for task in tasks[:4]}
    assert os.getpid() not in pids
    parts = [part for task in tasks if isinstance(task, Batch) for part in task.parts]
    for part in parts:
        one, other = (part.load(engine.store).pvalues for engine in (there, here))
        np.testing.assert_array_equal(one, other)


def test_a_worker_uses_the_network_that_is_sent(there, here):
    """The network under this key is another one, which no worker would have trained."""
    train, power = sweep(gammas=(0.25,))
    other = Training(source=power.parts[0].source, recipe=QUICK, seed=9)
    here.submit([TrainTask(trainings=(other,))], "me")
    found = here.store.load("models", keys.key(other))
    for store in (there.store, here.store):
        (key,) = train.makes
        store.save("models", key, found.arrays, spec=found.spec, meta=found.meta)
    here.submit([power], "me")
    job = there.submit([power], "me")
    assert finish(there, job).state == "done"
    assert same(there.store, here.store, [power])


def test_a_worker_asks_for_the_table_of_an_upload(there, here):
    rng = np.random.default_rng(0)
    theta, x = rng.normal(size=(60, 2)), rng.normal(size=(60, 1))
    arrays = {"theta": theta, "x": x, "theta_q": rng.normal(size=(60, 20, 2))}
    upload = Upload.of(arrays, order="NKD")
    tasks = diagnosis.tasks.tasks(upload, [SBC()], seed=0)
    job = there.submit(tasks, "me")
    state = finish(there, job)
    assert "needs its table in the store" in state.message
    assert state.failures.keys() == {tasks[0].key}
    for store in (there.store, here.store):
        diagnoses.save_upload(store, upload)
    job = there.submit(tasks, "me")
    assert finish(there, job).state == "done"
    here.submit(tasks, "me")
    assert same(there.store, here.store, tasks)


def test_workers_infer_with_the_same_covariates(there, here):
    few = {"iterations": 20, "datasets": 3}
    both = [InferenceRun(model=Concrete(), inference=Laplace(adjusted=one), **few)
            for one in (False, True)]  # fmt: skip
    tasks = [*both, InferenceRun(model=Hospitals(), inference=Variational(), **few)]
    job = there.submit(tasks, "me")
    state = finish(there, job)
    assert state.state == "done", state.message
    here.submit(tasks, "me")
    for task in tasks:
        for one in (task, RunTermsStudy(of=task)):
            assert bits(there.store, "results", one.key) == bits(here.store, "results", one.key)


def test_a_large_network_is_scattered_once_and_again_where_who_has_it_dies(
    cluster, there, here, monkeypatch
):
    monkeypatch.setattr(dask_executor, "SCATTER_BYTES", 0)
    (train, _), benchmark = sweep(gammas=(0.15,)), {"gammas": (0.15,)}
    first, second, third = (sweep(trials=trials, **benchmark)[1] for trials in (2, 3, 400))
    tasks = [train, first, second, third]
    (key,) = train.makes
    futures = there.executor.scattered
    futures.clear()
    for task in tasks[:3]:
        assert finish(there, there.submit([task], "me")).state == "done"
    networks = [name for name in futures if key in name]
    assert len(networks) == 1
    client = there.executor.link.client()
    ((holder, *others),) = client.who_has([futures[networks[0]]]).values()
    job = there.submit([third], "me")
    eventually(lambda: job.runs[0].fraction > 0)
    for worker_address in (holder, *others):
        cluster.kill(client.run(os.getpid, workers=[worker_address])[worker_address])
    cluster.keep(2)
    state = finish(there, job)
    assert state.state == "done", state.message
    here.submit(tasks, "me")
    assert same(there.store, here.store, tasks)


def test_a_task_names_what_it_reads():
    train, power = sweep(gammas=(0.2,))
    (key,) = train.makes
    assert Name("models", key) in names_read(power)
    assert {Name("results", part.key) for part in power.parts} <= names_read(power)
    digits = Digits()
    behind = network_behind(digits)
    source = Simulated(benchmark=digits, gamma=0.3)
    assert Name("models", behind.key) in names_read(
        TrainTask(trainings=(Training(source=source),))
    )
    upload = UploadSource(digest="abc")
    of_upload = Training(source=upload, recipe=QUICK)
    diagnose = DiagnoseTask(digest="abc", method=C2ST(), recipe=QUICK)
    assert {Name("tables", "abc"), Name("models", of_upload.key)} <= names_read(diagnose)
    run = InferenceRun(model=Concrete(), inference=Laplace(adjusted=True), iterations=20)
    (before,) = run.needs
    assert Name("results", before) in names_read(run)


def test_progress_arrives_and_cancelling_stops(there, executor):
    tasks = [SelfCheck(seed=seed, rounds=LONG) for seed in (2, 3)]
    job = there.submit(tasks, "me")
    eventually(lambda: all(run.fraction > 0 for run in job.runs))
    assert job.snapshot().live["round"] >= 1
    there.leave(job.key, "me")
    assert job.snapshot().state == "cancelled"
    with pytest.raises(CancelledError):
        job.runs[0].future.result(LONG_WAIT)
    client = executor.link.client()
    eventually(lambda: not any(client.processing().values()))
    after = there.submit([SelfCheck(seed=seed, rounds=1) for seed in (4, 5, 6)], "me")
    assert finish(there, after).state == "done"
    assert not any(task.done(there.store) for task in tasks)


def test_a_task_whose_program_has_gone_stops(cluster, there, executor, store):
    own = DaskExecutor(cluster.address)
    reports = []
    own.submit(perform, SelfCheck(seed=70, rounds=LONG), store, lambda f, live: reports.append(f))
    eventually(lambda: reports)
    own.link.close()
    client = executor.link.client()
    eventually(lambda: not any(client.processing().values()))
    own.shutdown()


def test_what_one_program_waits_for_holds_up_no_other(cluster, there, tmp_path):
    """Dask calls back from one thread, which all connections of a process share."""
    saving, go_on = threading.Event(), threading.Event()

    class SlowStore(Store):
        def save(self, *name, **content):
            saving.set()
            assert go_on.wait(LONG_WAIT)
            super().save(*name, **content)

    own = DaskExecutor(cluster.address)
    future = own.submit(perform, SelfCheck(seed=71, rounds=1), SlowStore(tmp_path), print)
    try:
        assert saving.wait(LONG_WAIT)
        job = there.submit([SelfCheck(seed=72, rounds=1)], "me")
        assert finish(there, job).state == "done"
        assert not future.done()
    finally:
        go_on.set()
    assert future.result(LONG_WAIT) is None
    own.shutdown()


def test_a_result_is_not_awaited_on_a_connection_that_is_closed(executor):
    link = SchedulerLink(executor.link.address, "topic", print)
    late = link.client().submit(time.sleep, 4, pure=False)
    waiting = threading.Thread(target=link.close)
    waiting.start()
    with pytest.raises(CancelledError):
        dask_executor.outcome(late)
    waiting.join()
    with pytest.raises(CancelledError):
        dask_executor.outcome(late)


def test_an_error_in_a_worker_is_told_in_its_words(there):
    job = there.submit([SelfCheck(rounds=0), SelfCheck(seed=8, rounds=1)], "me")
    state = finish(there, job)
    assert (state.state, state.done) == ("failed", 1)
    (failure,) = state.failures.values()
    assert failure == "A check needs at least one round; got 0. Raise it."


def test_only_tasks_are_sent(executor, store):
    with pytest.raises(ValueError, match="Make it a task"):
        executor.submit(print, 1)
    with pytest.raises(TypeError, match="plain values"):
        executor.submit(perform, object(), store, print)


@pytest.mark.parametrize("name", ["numpy", "torch", "this program's code"])
def test_a_worker_that_computes_otherwise_is_refused(cluster, store, monkeypatch, name):
    own = worker.own_versions()
    monkeypatch.setattr(worker, "required_versions", lambda: {**own, name: "0.1"})
    executor = DaskExecutor(cluster.address)
    future = executor.submit(perform, SelfCheck(rounds=1), store, print)
    with pytest.raises(TaskError, match=rf"it has {name} {own[name]} instead of 0\.1"):
        future.result(LONG_WAIT)
    executor.shutdown()


def test_a_worker_without_this_program_gets_no_task_but_is_named(cluster, there, store, tmp_path):
    """It was started elsewhere; the other two do the work."""
    hidden = tmp_path / "hidden" / "validation_core.py"  # before an installed one
    hidden.parent.mkdir()
    hidden.write_text("raise ModuleNotFoundError(name=__name__)")
    stranger = cluster.start_worker(env={"PYTHONPATH": str(hidden.parent)})
    try:
        eventually(lambda: len(there.executor.workers.seen) == 3)
        tasks = [SelfCheck(seed=seed, rounds=2) for seed in range(50, 62)]
        job = there.submit(tasks, "me")
        assert finish(there, job).state == "done"
        eventually(lambda: any("cannot run this program" in note for note in _notes(there, store)))
        assert there.executor.slots == 2
    finally:
        cluster.dismiss(stranger)
    eventually(lambda: len(there.executor.workers.seen) == 2)


def _notes(there, store):
    """What the store has been told; told with each task that is sent."""
    job = there.submit([SelfCheck(seed=int(time.time() * 1e6), rounds=1)], "me")
    finish(there, job)
    return store.notices


def test_a_sweep_survives_a_worker_that_dies(cluster, there, here):
    tasks = sweep(trials=100, gammas=(0.0, 0.1, 0.2, 0.3))
    job = there.submit(tasks, "me")
    eventually(lambda: job.snapshot().done >= 2)
    assert job.snapshot().active
    cluster.workers[0].kill()
    state = finish(there, job)
    assert (state.state, state.done, state.failures) == ("done", 8, {})
    here.submit(tasks, "me")
    assert same(there.store, here.store, tasks)


BROKEN = """
import os
import numpy as np
from pathlib import Path
from validation_core import keys
from validation_core.engine.cluster import worker

# a preload may be loaded twice
honest = worker._honest = getattr(worker, "_honest", worker.run_task)


def entries(result, change):
    return {**result, "entries": [{**entry, **change(entry)} for entry in result["entries"]]}


def arrays(result, change):
    return entries(result, lambda entry: {
        "arrays": {name: change(np.array(array)) for name, array in entry["arrays"].items()}})


HOW = {
    "no result": lambda result: None,
    "p-values of another shape": lambda result: entries(result, lambda entry: {
        "arrays": {name: array[:-1] if name == "pvalues" else array
                   for name, array in entry["arrays"].items()}}),
    "results of another type": lambda result: {**result, "entries": "none"},
    "numbers of another type": lambda result: arrays(result, lambda a: a.astype(str)),
    "objects": lambda result: arrays(result, lambda a: a.astype(object)),
    "no numbers": lambda result: arrays(
        result, lambda a: np.full_like(a, np.nan) if a.dtype.kind == "f" else a),
    "no arrays": lambda result: entries(result, lambda entry: {"arrays": {}}),
    "no entries": lambda result: {**result, "entries": []},
    "entries without their parts": lambda result: {**result, "entries": [{"key": 3}]},
    "a name outside": lambda result: entries(result, lambda entry: {"key": "../../etc"}),
    "a table": lambda result: entries(result, lambda entry: {"kind": "tables"}),
    "another name": lambda result: entries(result, lambda entry: {"key": "k"}),
}


def run_task(request, *given):
    result = honest(request, *given)
    how = Path(os.environ["BROKEN"]).read_text()
    return HOW[how](result) if result.get("entries") and how else result


worker.run_task = run_task
"""
WAYS = [
    line.split('"')[1] for line in BROKEN.splitlines() if line.startswith('    "') and ": " in line
]


@pytest.fixture(scope="module")
def mixed(tmp_path_factory):
    """A sound worker and one that is broken in the way that a file says, or not yet."""
    folder = tmp_path_factory.mktemp("mixed")
    preload, way = folder / "broken.py", folder / "way"
    preload.write_text(BROKEN)
    way.write_text("")
    with Cluster(folder, workers=1) as cluster:
        cluster.start_worker("--preload", str(preload), env={"BROKEN": str(way)})
        yield cluster, way


@pytest.fixture
def broken(mixed):
    """A function: how the worker is broken -> an executor on it and a sound one."""
    cluster, way = mixed
    opened = []

    def connect(how):
        way.write_text(how)
        opened.append(DaskExecutor(cluster.address))
        eventually(lambda: opened[-1].slots == 2 and opened[-1].device == "cpu")
        return opened[-1]

    yield connect
    way.write_text("")
    for executor in opened:
        executor.shutdown()


def test_there_are_many_ways_to_be_broken():
    assert len(WAYS) == 12


@pytest.mark.parametrize("how", WAYS)
def test_what_a_broken_worker_sends_is_refused_and_done_elsewhere(broken, store, here, how):
    engine = Engine(store, broken(how))
    tasks = sweep()
    state = finish(engine, engine.submit(tasks, "me"))
    assert (state.state, state.failures) == ("done", {})
    here.submit(tasks, "me")
    assert same(store, here.store, tasks)
    until_refused(engine)
    (refused,) = [note for note in store.notices if "must compute as this program" in note]
    assert "tcp://127.0.0.1" in refused
    engine.close()


def until_refused(engine):
    """Whether the broken worker had its turn already is the scheduler's to say."""
    gammas = itertools.count(1)
    until = time.monotonic() + LONG_WAIT
    while engine.executor.slots == 2:
        assert time.monotonic() < until, "it is never refused"
        tasks = sweep(gammas=(next(gammas) / 1000,))
        assert finish(engine, engine.submit(tasks, "me")).state == "done"
    finish(engine, engine.submit([SelfCheck(seed=0, rounds=1)], "me"))  # says it


def test_a_task_fails_readably_where_all_workers_send_what_is_none(mixed, broken, store):
    cluster, _ = mixed
    sound = cluster.workers[0]
    own = broken("no numbers")
    client = own.link.client()
    pids = client.run(os.getpid)
    (address,) = [name for name, pid in pids.items() if pid == sound.pid]
    own.workers.refuse(address, "it is another test's")
    future = own.submit(perform, sweep()[0], store, lambda f, live: None)
    with pytest.raises(TaskError, match="no finite numbers"):
        future.result(LONG_WAIT)
    assert store.entries() == []


def test_a_sound_worker_passes_every_check(broken, store, here):
    own = broken("")
    engine = Engine(store, own)
    tasks = [*sweep(), *(SelfCheck(seed=seed, rounds=2) for seed in range(4))]
    assert finish(engine, engine.submit(tasks, "me")).state == "done"
    assert own.slots == 2
    assert not [notice for notice in store.notices if "must compute" in notice]
    here.submit(tasks, "me")
    assert same(store, here.store, tasks)
    engine.close()


def test_one_that_sends_garbage_one_that_dies_and_one_that_comes_late(mixed, broken, store, here):
    cluster, _ = mixed
    own = broken("no numbers")
    engine = Engine(store, own)
    tasks = sweep(trials=60, gammas=(0.0, 0.1, 0.2, 0.3))
    job = engine.submit(tasks, "me")
    eventually(lambda: job.snapshot().done >= 1)
    late = cluster.start_worker()
    eventually(lambda: len(own.workers.seen) == 3)
    cluster.workers[0].kill()
    cluster.workers[0].wait()
    state = finish(engine, job)
    assert (state.state, state.done, state.failures) == ("done", 8, {})
    here.submit(tasks, "me")
    assert same(store, here.store, tasks)
    engine.close()
    cluster.workers[0] = late  # the sound one of those that come after


def restrictions(executor):
    """What each task that the scheduler knows asks of a worker."""

    def of(dask_scheduler):
        return [task.resource_restrictions for task in dask_scheduler.tasks.values()]

    return executor.link.client().run_on_scheduler(of)


def test_a_scheduler_without_workers_says_so_and_one_that_is_lost_too(store, tmp_path):
    with Cluster(tmp_path, workers=0) as empty:
        own = DaskExecutor(empty.address)
        engine = Engine(store, own)
        job = engine.submit([SelfCheck(rounds=1)], "me")
        eventually(lambda: store.notices)
        assert "has no worker yet" in store.notices[0]
        assert own.slots == 1
        eventually(lambda: restrictions(own))
        empty.end_scheduler()
        eventually(lambda: not job.snapshot().active)
        assert "was lost while this ran" in job.snapshot().message
        engine.close()


def test_tasks_that_run_networks_go_where_a_gpu_is_declared(store, tmp_path):
    with Cluster(tmp_path, workers=0) as declared:
        own = DaskExecutor(declared.address)
        for amount in (1, 2):
            declared.start_worker("--resources", f"GPU={amount}")
        eventually(lambda: (own.slots, own.gpus) == (2, 3))
        future = own.submit(perform, sweep(gammas=(0.0,))[0], store, lambda f, live: None)
        eventually(lambda: restrictions(own) or future.done())
        assert restrictions(own) == [{"GPU": 1}] or future.done()
        future.result(LONG_WAIT)
        own.shutdown()


@pytest.mark.parametrize(
    ("gpus", "device", "room"),
    [
        ({"a": 0.0, "b": 0.0}, "cpu", 3),
        ({"a": 0.0, "b": 0.0}, "cuda", 1),
        ({"a": 1.0, "b": 2.0}, "cuda", 3),
        ({"a": 1.0, "b": 0.0}, "cuda", 1),
    ],
)
def test_room_for_tasks_that_run_networks(gpus, device, room, impatient):
    own = DaskExecutor(NOBODY)
    threads = {"a": 1, "b": 2}
    own.workers.seen = {name: SeenWorker(threads[name], gpus[name]) for name in threads}
    own.workers.device = device
    assert (own.slots, own.gpus) == (3, room)
    where = own.workers.where(gpu=True)
    assert where == ({"resources": {"GPU": 1}} if any(gpus.values()) else {})
    own.workers.refuse("b", "it is old")
    assert own.slots == 1
    assert own.workers.where(gpu=False) == {"workers": ["a"], "allow_other_workers": True}
    own.shutdown()


def test_a_scheduler_that_does_not_answer_fails_jobs_and_no_server(
    monkeypatch, store, impatient, cluster
):
    """Asked once for hundreds of tasks; they run once it is there."""
    asked = []
    connect = SchedulerLink.connect
    monkeypatch.setattr(SchedulerLink, "connect", lambda self: asked.append(1) or connect(self))
    monkeypatch.setenv("NPTLAB_SCHEDULER", NOBODY)
    services = engine.start(store)
    tasks = [SelfCheck(seed=seed, rounds=1) for seed in range(300)]
    job = services.engine.submit(tasks, "me")
    eventually(lambda: not job.snapshot().active)
    state = job.snapshot()
    assert (state.state, len(state.failures), len(asked)) == ("failed", 300, 1)
    for words in (NOBODY, "`dask scheduler --port 9`", "NPTLAB_FALLBACK=local"):
        assert words in state.message
    services.engine.executor.link.address = cluster.address
    monkeypatch.setattr(scheduler, "RETRY_SECONDS", 0.0)
    monkeypatch.setattr(scheduler, "CONNECT_SECONDS", LONG_WAIT)
    again = services.engine.submit(tasks[:5], "me")
    assert finish(services.engine, again).state == "done"
    services.engine.close()


def test_it_falls_back_only_when_told_and_says_so(monkeypatch, store, impatient):
    monkeypatch.setenv("NPTLAB_SCHEDULER", NOBODY)
    monkeypatch.setenv("NPTLAB_FALLBACK", "local")
    module = sys.modules["validation_core.engine.start"]  # `engine.start` is its function
    monkeypatch.setattr(module, "local_pool", SerialExecutor)
    services = engine.start(store)
    assert isinstance(services.engine.executor, SerialExecutor)
    assert "runs on this machine instead" in store.notices[0]
    assert NOBODY in store.notices[0]
    services.engine.close()
    monkeypatch.setenv("NPTLAB_FALLBACK", "maybe")
    with pytest.raises(ValueError, match="NPTLAB_FALLBACK is local"):
        engine.start(store)
    monkeypatch.delenv("NPTLAB_FALLBACK")
    monkeypatch.setenv("NPTLAB_SCHEDULER", "cluster")
    with pytest.raises(ValueError, match="like tcp://host:8786; got 'cluster'"):
        engine.start(store)


def test_the_package_that_is_missing_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "distributed", None)
    with pytest.raises(ClusterUnreachable, match=r"pip install '\.\[dask\]'"):
        SchedulerLink(NOBODY, "topic", print).client()


def test_the_command_line_refuses_a_cluster_that_does_not_answer(capsys, impatient, monkeypatch):
    command = ["power", "--benchmark", "gaussian", "--method", "sbc", "--gamma", "0",
               "--trials", "2", "--n", "50", "--k", "10"]  # fmt: skip
    assert main([*command, "--engine", f"dask:{NOBODY}"]) == 2
    heard = capsys.readouterr()
    assert heard.out == ""
    (said,) = heard.err.strip().splitlines()
    for words in (NOBODY, "dask scheduler", "`,local`"):
        assert words in said
    module = sys.modules["validation_core.engine.start"]
    monkeypatch.setattr(module, "local_pool", SerialExecutor)
    assert main([*command, "--engine", f"dask:{NOBODY},local"]) == 0
    heard = capsys.readouterr()
    assert "runs on this machine instead" in heard.err
    assert "SBC" in heard.out


@pytest.mark.parametrize("name", ["cloud", "dask", "dask:", "dask:tcp://a:1,cloud", "local:1"])
def test_an_engine_is_one_of_four(name, store):
    with pytest.raises(ValueError, match="dask:ADDRESS,local"):
        run_on_engine([], store, ProgressLines(), "Nothing", name)


def test_the_command_line_runs_on_a_cluster(cluster, store, capsys):
    tasks = [SelfCheck(seed=seed, rounds=2) for seed in range(3)]
    state = run_on_engine(tasks, store, ProgressLines(), "Three checks", f"dask:{cluster.address}")
    assert (state.state, state.label) == ("done", "Three checks")
    assert "3 of 3 done" in capsys.readouterr().err
    assert all(task.agrees(store) for task in tasks)
