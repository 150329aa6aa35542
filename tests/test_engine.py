"""The engine: shared jobs, real cancelling, a crash loses one task, resume, exact agreement."""

import ast
import errno
import os
import signal
import subprocess
import sys
import threading
import time
from concurrent.futures import CancelledError, Executor, Future
from dataclasses import dataclass

import numpy as np
import pytest

from tests.conftest import ROOT
from validation_core import engine as engines
from validation_core import keys
from validation_core.engine import Engine, SelfCheck, WorkerPool, job_key
from validation_core.engine.task import SerialExecutor, TaskError, perform
from validation_core.keys import Specification
from validation_core.store import Store
from validation_core.study import throttled

LONG = 10**7
LONG_WAIT = 300.0
"""Seconds until what should happen counts as never happening, on a machine with other work."""


@dataclass(frozen=True)
class Step(Specification):
    """A task of the tests, for executors that run in this process."""

    name: str = "a"
    fails: bool = False
    makes: tuple[str, ...] = ()
    needs: tuple[str, ...] = ()
    gpu: bool = True

    @property
    def label(self):
        return f"Step {self.name}"

    def done(self, store):
        return store.has("results", self.key)

    def run(self, store, report):
        gate = GATE
        gate.entered.append(self.name)
        report(0.5, {"name": self.name})
        gate.open.wait(LONG_WAIT)
        report(0.75, {"name": self.name})
        if self.fails:
            raise ValueError(f"The rule; got {self.name}.")
        store.save("results", self.key, {"a": np.ones(2)}, spec=keys.canonical_text(self), meta={})


class Gate:
    """What steps pass, who was given to an executor, and who has come by."""

    def __init__(self):
        self.given = []
        self.entered = []
        self.open = threading.Event()
        self.open.set()


GATE = Gate()


class Threads(SerialExecutor):
    """Each task in a thread of its own, so that a test can watch it from outside."""

    slots = 2

    def submit(self, fn, /, *args, **kwargs):
        GATE.given.append(args[0].name)
        future = engines.pool.Future()
        future.set_running_or_notify_cancel()

        def run():
            try:
                future.set_result(fn(*args, **kwargs))
            except Exception as error:
                future.set_exception(error)

        threading.Thread(target=run).start()
        return future


@pytest.fixture(autouse=True)
def gate(monkeypatch):
    monkeypatch.setattr("tests.test_engine.GATE", Gate())
    yield GATE
    GATE.open.set()


@pytest.fixture
def serial(store):
    engine = Engine(store, SerialExecutor())
    yield engine
    engine.close()


@pytest.fixture
def threaded(store, gate):
    gate.open.clear()
    engine = Engine(store, Threads())
    yield engine
    gate.open.set()
    engine.close()


def eventually(condition):
    """It becomes true, however slow the machine."""
    until = time.monotonic() + LONG_WAIT
    while not condition():
        assert time.monotonic() < until, "waited in vain"
        time.sleep(0.005)


def test_reports_are_thinned_and_the_first_and_last_always_pass():
    sent = []
    report = throttled(lambda fraction, live: sent.append((fraction, live)), LONG_WAIT)
    for fraction in (0.1, 0.5, 0.9, 1.0):
        report(fraction, {"row": fraction})
    assert sent == [(0.1, {"row": 0.1}), (1.0, {"row": 1.0})]


def test_a_serial_job_is_done_when_it_was_submitted(serial, store, gate):
    tasks = [Step("a"), Step("b"), Step("a")]
    state = serial.submit(tasks, "me", "Two steps").snapshot()
    assert (state.state, state.done, state.total, state.fraction) == ("done", 2, 2, 1.0)
    assert (state.key, state.label, state.subscribers) == (job_key(tasks), "Two steps", 1)
    assert all(task.done(store) for task in tasks)
    assert serial.submit(tasks, "me").snapshot().state == "done"
    assert gate.entered == ["a", "b"]
    assert serial.submit([], "me").snapshot().state == "done"


def test_hundreds_of_serial_tasks_do_not_pile_up(serial):
    state = serial.submit([Step(str(i)) for i in range(300)], "me").snapshot()
    assert (state.state, state.done) == ("done", 300)


def test_one_failing_task_fails_its_job_and_no_other(serial, store, gate):
    job = serial.submit([Step("a", fails=True), Step("b")], "me")
    state = job.snapshot()
    assert (state.state, state.done, state.total) == ("failed", 1, 2)
    assert state.message == "Step a: The rule; got a. (1 of 2 failed)"
    assert state.failures == {Step("a", fails=True).key: "The rule; got a."}
    assert serial.interrupted() == []
    assert Step("b").done(store)
    again = serial.submit(job.tasks, "me").snapshot()
    assert again.state == "failed"
    assert gate.entered == ["a", "b", "a"]


def test_two_who_ask_for_the_same_wait_for_one(threaded, gate):
    first, two = (threaded.submit([Step("a")], who) for who in ("one", "two"))
    assert first is two
    eventually(lambda: first.snapshot().fraction == 0.5)
    assert first.snapshot().live == {"name": "a"}
    assert first.snapshot().subscribers == 2
    threaded.leave(first.key, "one")
    threaded.leave(first.key, "nobody")
    assert first.snapshot().state == "running"
    gate.open.set()
    assert threaded.wait(first.key, "two", LONG_WAIT).state == "done"
    assert gate.entered == ["a"]


def test_the_last_one_to_leave_stops_it(threaded, store, gate):
    job = threaded.submit([Step("a")], "one")
    threaded.submit([Step("a")], "two")
    eventually(lambda: gate.entered)
    threaded.leave(job.key, "one")
    threaded.leave(job.key, "two")
    assert job.snapshot().state == "cancelled"
    gate.open.set()
    eventually(lambda: job.runs[0].state == "cancelled")
    assert not Step("a").done(store)
    assert threaded.submit(job.tasks, "one") is not job
    assert threaded.wait(job.key, "one", LONG_WAIT).state == "done"


def test_work_that_another_job_waits_for_goes_on(threaded, gate):
    both = threaded.submit([Step("a"), Step("b")], "one")
    single = threaded.submit([Step("a")], "two")
    eventually(lambda: len(gate.entered) == 2)
    threaded.cancel(both.key)
    gate.open.set()
    assert threaded.wait(single.key, "two", LONG_WAIT).state == "done"
    assert both.snapshot().state == "cancelled"
    assert sorted(gate.entered) == ["a", "b"]


def test_a_job_tells_how_long_it_waited_and_what_it_found_done(threaded, store, gate):
    gate.open.set()
    Step("done before").run(store, lambda fraction, live: None)
    gate.open.clear()
    first = threaded.submit([Step("1"), Step("2")], "first")
    second = threaded.submit([Step("done before"), Step("3")], "second")
    eventually(lambda: first.snapshot().state == "running")
    assert first.snapshot().waited < first.snapshot().seconds
    waiting = second.snapshot()
    assert (waiting.state, waiting.found, waiting.total) == ("queued", 1, 2)
    assert waiting.waited == waiting.seconds > 0
    gate.open.set()
    ended = threaded.wait(second.key, "second", LONG_WAIT)
    assert waiting.waited <= ended.waited < ended.seconds
    assert ended.fraction == 1


def test_a_short_job_is_not_kept_waiting_by_a_long_one(threaded, gate):
    long = threaded.submit([Step(str(i)) for i in range(10)], "long")
    job = threaded.submit([Step("short")], "short")
    eventually(lambda: len(gate.entered) == 2)
    assert job.snapshot().state == "queued"
    gate.open.set()
    threaded.wait(job.key, "short", LONG_WAIT)
    assert gate.given.index("short") <= 3  # threads may enter in another order
    threaded.wait(
        long.key, "long", LONG_WAIT
    )  # or its last steps would enter the next test's gate


def test_a_task_waits_for_the_one_that_makes_what_it_needs(threaded, gate):
    tasks = [Step("power", needs=("net",)), Step("train", makes=("net",))]
    job = threaded.submit(tasks, "me")
    eventually(lambda: gate.entered)
    time.sleep(0.05)
    assert gate.entered == ["train"]
    gate.open.set()
    assert threaded.wait(job.key, "me", LONG_WAIT).state == "done"
    assert gate.entered == ["train", "power"]
    alone = threaded.submit([Step("other", needs=("nobody makes",))], "me")
    assert threaded.wait(alone.key, "me", LONG_WAIT).state == "done"


def test_a_failure_is_known_while_the_others_go_on(threaded, gate):
    """Those that need what the failed one was to make go on as well."""
    wrong = Step("train", fails=True, makes=("net",))
    tasks = [wrong, Step("power", needs=("net",)), *(Step(str(i)) for i in range(3))]
    job = threaded.submit(tasks, "me")
    eventually(lambda: len(gate.entered) == 2)
    assert job.snapshot().failures == {}
    gate.open.set()
    state = threaded.wait(job.key, "me", LONG_WAIT)
    assert (state.state, state.done, state.total) == ("failed", 4, 5)
    assert state.failures == {wrong.key: "The rule; got train."}
    assert sorted(gate.entered) == ["0", "1", "2", "power", "train"]


class Gpu(Threads):
    """Three workers that share one GPU."""

    slots = 3
    device = "cuda"


@pytest.fixture
def gpu(store, gate):
    gate.open.clear()
    engine = Engine(store, Gpu())
    yield engine
    gate.open.set()
    engine.close()


def test_one_task_at_a_time_has_the_gpu_and_others_go_alongside(gpu, gate):
    tasks = [Step("g1"), Step("g2"), Step("c1", gpu=False), Step("g3"), Step("c2", gpu=False)]
    job = gpu.submit([*tasks, Step("c3", gpu=False)], "me")
    eventually(lambda: len(gate.entered) == 3)
    assert sorted(gate.entered) == ["c1", "c2", "g1"]
    assert {run.task.name for run in job.runs if run.state == "running"} == {"g1", "c1", "c2"}
    gate.open.set()
    assert gpu.wait(job.key, "me", LONG_WAIT).state == "done"
    assert [name for name in gate.entered if name[0] == "g"] == ["g1", "g2", "g3"]


def test_tasks_on_the_gpu_never_overlap(store, gate):
    now, most = set(), []

    @dataclass(frozen=True)
    class Watched(Step):
        def run(self, store, report):
            now.add(self.name)
            most.append((sum(name[0] == "g" for name in now), len(now)))
            time.sleep(0.005)
            now.discard(self.name)
            store.save("results", self.key, {}, spec="", meta={})

    engine = Engine(store, Gpu())
    tasks = [Watched(f"{kind}{i}", gpu=kind == "g") for i in range(8) for kind in "gc"]
    job = engine.submit(tasks, "me")
    assert engine.wait(job.key, "me", LONG_WAIT).state == "done"
    assert max(gpus for gpus, _ in most) == 1
    assert max(count for _, count in most) >= 2
    engine.close()


@dataclass(frozen=True)
class Alike(Step):
    """A step that runs together with others of its kind."""

    kind: str = "one recipe"
    parts: tuple[str, ...] = ()

    @property
    def alike(self):
        return self.kind

    def joined(self, others):
        return Together(parts=(self, *others))


@dataclass(frozen=True)
class Together(Specification):
    """Steps as one task; those that fail do so after the others."""

    parts: tuple[Alike, ...]

    @property
    def name(self):
        return "+".join(part.name for part in self.parts)

    def run(self, store, report):
        for part in sorted(self.parts, key=lambda part: part.fails):
            part.run(store, report)


def test_on_a_gpu_tasks_that_are_alike_run_as_one_but_for_the_first(store, gate):
    engine = Engine(store, Gpu())
    steps = [Alike(str(i)) for i in range(4)]
    job = engine.submit([*steps, Alike("other", kind="another")], "me")
    assert engine.wait(job.key, "me", LONG_WAIT).state == "done"
    assert gate.given == ["0", "1+2+3", "other"]
    assert all(step.done(store) for step in steps)
    engine.close()


def test_tasks_that_are_alike_run_apart_on_processors_and_one_share_on_each_gpu(store, gate):
    engine = Engine(store, Threads())
    job = engine.submit([Alike(str(i)) for i in range(4)], "me")
    assert engine.wait(job.key, "me", LONG_WAIT).state == "done"
    assert gate.given == ["0", "1", "2", "3"]

    class Two(Gpu):
        gpus = 2

    gate.given.clear()
    gate.open.clear()  # a GPU that is free again by then would take a part of the other's share
    several = Engine(store, Two())
    job = several.submit([Step("first", gpu=False), *(Alike(f"s{i}") for i in range(4))], "me")
    eventually(lambda: len(gate.given) == 3)
    gate.open.set()
    assert several.wait(job.key, "me", LONG_WAIT).state == "done"
    assert gate.given == ["first", "s0+s1", "s2+s3"]
    engine.close()
    several.close()


def test_of_tasks_that_run_as_one_those_that_ended_well_are_done(gpu, gate):
    first, fails = Alike("first"), Alike("wrong", fails=True)
    job = gpu.submit([first, fails, Alike("right")], "me")
    gate.open.set()
    state = gpu.wait(job.key, "me", LONG_WAIT)
    assert (state.state, state.done) == ("failed", 2)
    assert state.failures == {fails.key: "The rule; got wrong."}


def test_tasks_that_run_as_one_end_when_nobody_wants_any_of_them(gpu, gate):
    steps = [Alike(name) for name in "abc"]
    mine = gpu.submit(steps, "me")
    gate.open.set()
    gpu.wait(mine.key, "me", LONG_WAIT)
    gate.open.clear()
    many = gpu.submit([Step("early", gpu=False), *(Alike(f"x{i}") for i in range(3))], "me")
    eventually(lambda: "x0" in gate.entered)
    one = gpu.submit([Alike("x1")], "you")
    gpu.cancel(many.key)
    assert one.snapshot().active
    gate.open.set()
    assert gpu.wait(one.key, "you", LONG_WAIT).state == "done"


def test_a_job_that_queues_for_the_gpu_waits_its_turn_and_no_longer(gpu, gate):
    long = gpu.submit([Step(f"g{i}") for i in range(10)], "long")
    short = gpu.submit([Step("short")], "short")
    direct = gpu.submit([Step("plain", gpu=False)], "plain")
    eventually(lambda: len(gate.entered) == 2)
    assert sorted(gate.entered) == ["g0", "plain"]
    assert short.snapshot().message == "Waiting for its turn"
    gate.open.set()
    for job in (direct, short, long):
        gpu.wait(job.key, "me", LONG_WAIT)
    assert gate.given.index("short") <= 3


def test_a_task_that_was_sent_waits_until_a_worker_takes_it_up(store):
    class Starting(Executor):
        def submit(self, fn, /, *args, **kwargs):
            self.future = Future()
            return self.future

    executor = Starting()
    engine = Engine(store, executor)
    job = engine.submit([Step("one"), Step("two")], "me")
    assert job.snapshot().message == "Waiting for a worker"
    executor.future.set_running_or_notify_cancel()
    assert job.snapshot().message == "0 of 2 done · Step one"
    engine.close()


def test_an_executor_may_say_how_many_gpus_there_are_and_that_there_is_more_room(store, gate):
    class Growing(Gpu):
        slots = 1
        gpus = 1

        def listen(self, changed):
            self.changed = changed

    executor = Growing()
    engine = Engine(store, executor)
    gate.open.clear()
    job = engine.submit([Step(str(i)) for i in range(4)], "me")
    eventually(lambda: gate.entered)
    executor.slots, executor.gpus = 3, 2
    executor.changed()
    eventually(lambda: len(gate.entered) == 2)
    time.sleep(0.05)
    assert len(gate.entered) == 2
    gate.open.set()
    assert engine.wait(job.key, "me", LONG_WAIT).state == "done"
    engine.close()


def test_nobody_watching_stops_a_job(store, gate):
    engine = Engine(store, Threads(), patience=0.05)
    gate.open.clear()
    job = engine.submit([Step("a"), Step("b"), Step("c")], "gone")
    eventually(lambda: len(gate.entered) == 2)
    time.sleep(0.06)
    engine.touch(job.key, "a stranger")
    gate.open.set()
    eventually(lambda: job.snapshot().state == "cancelled")
    engine.patience = LONG_WAIT
    watched = engine.submit([Step("d")], "here")
    assert engine.wait(watched.key, "here", LONG_WAIT).state == "done"
    engine.close()


def test_a_new_engine_resumes_what_is_missing(store, gate):
    gate.open.clear()
    tasks = [Step("a"), Step("b"), Step("c")]
    first = Engine(store, Threads())
    job = first.submit(tasks, "me", "Three steps")
    second = Engine(store, SerialExecutor())
    assert second.interrupted() == []  # its server lives
    store.save("results", tasks[0].key, {}, spec="", meta={})
    first.close()
    (left,) = second.interrupted()
    assert (left.key, left.label, left.done, left.total) == (job.key, "Three steps", 1, 3)
    gate.open.set()
    eventually(lambda: all(task.done(store) for task in tasks[:2]))
    gate.entered.clear()
    state = second.resume(left.key, "me").snapshot()
    assert (state.state, state.key, state.label) == ("done", job.key, "Three steps")
    assert gate.entered == ["c"]
    assert second.interrupted() == []
    with pytest.raises(ValueError, match="must have a record"):
        second.resume(left.key, "me")
    second.close()


def test_a_record_that_cannot_be_read_says_so(serial, store):
    gone = '[{"type":"validation_core.gone:Task","version":1}]'
    store.save("jobs", "k", {}, spec=gone, meta={"label": "Old <b>job</b>", "created": 1.0})
    (left,) = serial.interrupted()
    assert left.label == "Old <b>job</b>"
    assert "Only specifications" in left.problem
    with pytest.raises(ValueError, match="Only specifications"):
        serial.resume("k", "me")
    assert serial.interrupted() == [left]
    serial.forget("k")
    assert serial.interrupted() == []


@pytest.fixture(scope="module")
def pool():
    pool = WorkerPool(2)
    yield pool
    pool.shutdown()


@pytest.fixture
def workers(pool, store, monkeypatch):
    eventually(lambda: pool.ready > 0)
    engine = Engine(store, pool)
    yield engine
    for job in engine.jobs():
        engine.cancel(job.key)


def alive(pid):
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


def test_workers_agree_with_this_process_to_the_bit(workers, store, tmp_path):
    tasks = [SelfCheck(seed=seed, rounds=5) for seed in range(4)]
    job = workers.submit(tasks, "me")
    assert workers.wait(job.key, "me", LONG_WAIT).state == "done"
    here = Store(tmp_path / "here")
    Engine(here, SerialExecutor()).submit(tasks, "me")
    for task in tasks:
        there, own = (place.load("results", task.key) for place in (store, here))
        assert keys.digest(**there.arrays) == keys.digest(**own.arrays)
        assert there.meta["pid"] != own.meta["pid"] == os.getpid()
        assert task.agrees(store)
    assert not SelfCheck(seed=9).agrees(store)


def test_warm_workers_do_what_comes_and_no_new_ones_start_for_it(workers, pool, store):
    eventually(lambda: pool.ready == 2)
    warm = set(pool.pids())
    for seed in range(10, 13):
        task = SelfCheck(seed=seed, rounds=100)
        job = workers.submit([task], "me")
        eventually(lambda job=job: job.snapshot().live)
        assert job.snapshot().live["round"] >= 1
        workers.wait(job.key, "me", LONG_WAIT)
        assert store.load("results", task.key).meta["pid"] in warm
    assert set(pool.pids()) == warm


def test_cancelling_ends_the_process_and_another_takes_its_place(workers, pool, store):
    job = workers.submit([SelfCheck(seed=2, rounds=LONG)], "me")
    eventually(lambda: job.snapshot().fraction > 0)
    pid = pool.pids()[0]
    workers.leave(job.key, "me")
    assert job.snapshot().state == "cancelled"
    eventually(lambda: not alive(pid))
    assert not SelfCheck(seed=2, rounds=LONG).done(store)
    after = workers.submit([SelfCheck(seed=3, rounds=1)], "me")
    assert workers.wait(after.key, "me", LONG_WAIT).state == "done"
    eventually(lambda: len(pool.pids()) == 2)
    with pytest.raises(CancelledError):
        job.runs[0].future.result(LONG_WAIT)


def test_a_crash_loses_no_task(workers, pool, store):
    """The one whose process ended is run once more."""
    tasks = [SelfCheck(seed=seed, rounds=150) for seed in (40, 41)]
    job = workers.submit(tasks, "me")
    eventually(lambda: any(run.fraction > 0 for run in job.runs))
    os.kill(pool.pids()[0], signal.SIGKILL)
    state = workers.wait(job.key, "me", LONG_WAIT)
    assert (state.state, state.done, state.failures) == ("done", 2, {})
    assert all(task.agrees(store) for task in tasks)


def test_two_crashes_lose_one_task(workers, pool, store):
    long = SelfCheck(seed=4, rounds=LONG)
    job = workers.submit([*(SelfCheck(seed=s, rounds=3) for s in range(5, 9)), long], "me")
    for _ in range(2):
        eventually(lambda: job.snapshot().done == 4 and job.runs[-1].fraction > 0)
        pid = pool.pids()[0]  # of the one at work
        os.kill(pid, signal.SIGKILL)
        eventually(lambda pid=pid: not alive(pid) and pid not in pool.pids())
        job.runs[-1].fraction = 0.0
    state = workers.wait(job.key, "me", LONG_WAIT)
    assert (state.state, state.done, state.total) == ("failed", 4, 5)
    assert "seed 4: The worker process was ended from outside" in state.message
    assert not long.done(store)
    after = workers.submit([SelfCheck(seed=10, rounds=1)], "me")
    assert workers.wait(after.key, "me", LONG_WAIT).state == "done"


def test_what_waits_for_a_second_process_may_be_cancelled(store, monkeypatch):
    pool = WorkerPool(1)
    reports = []
    future = pool.submit(
        perform, SelfCheck(rounds=LONG), store, lambda fraction, live: reports.append(fraction)
    )
    eventually(lambda: reports)
    pid = pool.pids()[0]
    os.kill(pid, signal.SIGKILL)
    eventually(lambda: pid not in pool.pids())
    assert future.cancel()
    with pytest.raises(CancelledError):
        future.result(LONG_WAIT)
    pool.shutdown()


def test_a_pool_on_a_gpu_gives_it_to_one_task_at_a_time(pool, store, monkeypatch):
    eventually(lambda: pool.ready == 2)
    monkeypatch.setattr(pool, "device", "cuda")
    monkeypatch.setattr(SelfCheck, "gpu", True)
    on_gpu = [
        pool.submit(perform, SelfCheck(seed=s, rounds=LONG), store, lambda fraction, live: None)
        for s in (30, 31)
    ]
    monkeypatch.setattr(SelfCheck, "gpu", False)
    job = pool.submit(perform, SelfCheck(seed=32, rounds=1), store, lambda fraction, live: None)
    job.result(LONG_WAIT)
    assert [future.running() for future in on_gpu] == [True, False]
    assert on_gpu[0].cancel()
    eventually(on_gpu[1].running)
    assert on_gpu[1].cancel()


def test_an_error_in_a_worker_is_told_in_its_words(workers):
    job = workers.submit([SelfCheck(rounds=0)], "me")
    assert workers.wait(job.key, "me", LONG_WAIT).message == (
        "Check of a worker, seed 0: A check needs at least one round; got 0. Raise it."
    )


def test_a_store_notice_of_a_worker_reaches_this_process(pool, store, monkeypatch):
    eventually(lambda: pool.ready > 0)
    blocked = store.root / "file"
    blocked.write_text("")
    store.root = blocked
    future = pool.submit(perform, SelfCheck(rounds=1), store, lambda fraction, live: None)
    future.result(LONG_WAIT)
    assert "must be writable" in store.notices[0]


def test_tasks_wait_for_a_free_worker_and_may_be_cancelled_there(workers, pool, store):
    quiet = [lambda fraction, live: None] * 3
    long = [
        pool.submit(perform, SelfCheck(seed=s, rounds=LONG), store, quiet[0]) for s in (20, 21)
    ]
    waiting = pool.submit(perform, SelfCheck(seed=22, rounds=1), store, quiet[0])
    assert not waiting.running()
    assert waiting.cancel()
    assert waiting.cancelled()
    assert all(future.cancel() for future in long)
    for future in long:
        with pytest.raises(CancelledError):
            future.result(LONG_WAIT)


def test_workers_use_one_thread_and_never_see_a_page(workers, pool):
    env = [entry.split("=") for entry in environment(pool.pids()[0])]
    threads = {name: value for name, *rest in env for value in rest if name.endswith("_THREADS")}
    assert threads.items() >= {
        ("OMP_NUM_THREADS", "1"),
        ("OPENBLAS_NUM_THREADS", "1"),
        ("MKL_NUM_THREADS", "1"),
    }
    for path in ROOT.glob("validation_core/engine/*"):
        if path.suffix == ".py":
            names = [
                node.module if isinstance(node, ast.ImportFrom) else node.names[0].name
                for node in ast.walk(ast.parse(path.read_text()))
                if isinstance(node, ast.Import | ast.ImportFrom)
            ]
            assert not any("streamlit" in (name or "") for name in names)
    with open(f"/proc/{pool.pids()[0]}/maps") as maps:
        assert "streamlit" not in maps.read()


def environment(pid):
    with open(f"/proc/{pid}/environ") as file:
        return file.read().split("\0")


def test_workers_end_with_their_input():
    """As when the program that started one has gone."""
    command = [sys.executable, "-m", "validation_core.engine.worker"]
    worker = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, cwd=ROOT)
    worker.stdin.close()
    assert worker.wait(LONG_WAIT) == 0


def test_a_pool_that_was_shut_down_takes_no_tasks():
    pool = WorkerPool(1)
    pool.shutdown()
    with pytest.raises(RuntimeError, match="shut down"):
        pool.submit(perform, SelfCheck(), Store(), print)


def test_workers_that_cannot_start_are_said_and_not_tried_for_ever(store, monkeypatch):
    monkeypatch.setattr("sys.executable", "/bin/false")
    pool = WorkerPool(1)
    future = pool.submit(perform, SelfCheck(), store, lambda fraction, live: None)
    with pytest.raises(TaskError, match="No worker process could be started"):
        future.result(LONG_WAIT)
    pool.shutdown()


def test_a_machine_that_gives_no_process_fails_the_tasks(store, monkeypatch):
    def refuse(*arguments, **options):
        raise OSError(errno.EAGAIN, "Resource temporarily unavailable")

    monkeypatch.setattr(subprocess, "Popen", refuse)
    pool = WorkerPool(1)
    for _ in range(2):
        future = pool.submit(perform, SelfCheck(), store, lambda fraction, live: None)
        with pytest.raises(TaskError, match=r"could be started \(.*temporarily unavailable\)"):
            future.result(LONG_WAIT)
    pool.shutdown()


def test_start_reads_the_environment(monkeypatch, store):
    monkeypatch.setenv("NPTLAB_ENGINE", "serial")
    services = engines.start(store)
    assert isinstance(services.engine.executor, SerialExecutor)
    assert services.store is store
    services.engine.close()
    monkeypatch.setenv("NPTLAB_ENGINE", "cloud")
    with pytest.raises(ValueError, match="local or serial; got 'cloud'"):
        engines.start(store)
    monkeypatch.setenv("NPTLAB_ENGINE", "local")
    for size, rule in (("two", "whole number"), ("0", "from 1 to 256")):
        monkeypatch.setenv("NPTLAB_WORKERS", size)
        with pytest.raises(ValueError, match=rule):
            engines.start(store)
