"""The engine: runs jobs, each shared by all visitors who submit the same tasks.

A job's state is in the store: progress counts results, and a record of the job's tasks lets the
next server submit those whose results are missing.
"""

from __future__ import annotations

import itertools
import os
import threading
import time
import uuid
from collections.abc import Mapping, Sequence
from concurrent.futures import Executor, Future
from contextlib import suppress
from pathlib import Path
from typing import cast

import filelock

from validation_core import keys
from validation_core.engine.job import ACTIVE, Interrupted, Job, JobState, TaskRun, job_key
from validation_core.engine.task import (
    JoinableTask,
    Task,
    TaskStopped,
    describe_error,
    on_gpu,
    perform,
)
from validation_core.keys import JSON
from validation_core.store import Store, StoreFullError

_PATIENCE = 15 * 60.0  # seconds that a job goes on with nobody watching
_KEPT = 50  # jobs remembered, ended ones included
_OWNERS = "engines"  # folder of their locks


class Engine:
    """Runs jobs on an executor, one computation for all subscribers of the same tasks.

    Args:
        store: of results, and of the records of unfinished jobs.
        executor: runs the tasks; `slots` is the number at once, `gpus` that of tasks with
            networks (by default one where its `device` is cuda). With `listen(changed)` it
            calls `changed` when it has room for more.
        patience: seconds after which a job without watchers is stopped.
    """

    def __init__(self, store: Store, executor: Executor, *, patience: float = _PATIENCE) -> None:
        self.store = store
        self.executor = executor
        self.patience = patience
        self._lock = threading.RLock()
        self._jobs: dict[str, Job] = {}
        self._runs: dict[str, TaskRun] = {}
        self._turns = itertools.count(1)
        self._local = threading.local()
        self._closing = False
        self._name = uuid.uuid4().hex
        self._alive = self._live()
        if listen := getattr(executor, "listen", None):
            listen(self._dispatch)

    @property
    def device(self) -> str:
        """The device of networks, reported by the first warm worker; empty until then."""
        return str(getattr(self.executor, "device", ""))

    @property
    def slots(self) -> int:
        """The number of tasks that may run at once."""
        return int(getattr(self.executor, "slots", 1))

    def submit(self, tasks: Sequence[Task], subscriber: str, label: str = "") -> Job:
        """Submit a job that runs those of the tasks whose results are missing.

        Joins the running job of these tasks when there is one.
        """
        with self._lock:
            job = self._jobs.get(job_key(tasks))
            if job is None or not job.snapshot().active:
                job = self._new(tasks, label, subscriber)
            job.watchers[subscriber] = time.monotonic()
        self._dispatch()
        return job

    def jobs(self) -> list[Job]:
        """Jobs of this server, newest first, ended ones included."""
        with self._lock:
            return list(reversed(self._jobs.values()))

    def find(self, key: str) -> Job | None:
        """The job of a key, or None when this server has none."""
        with self._lock:
            return self._jobs.get(key)

    def touch(self, key: str, subscriber: str) -> None:
        """Record that a subscriber is still watching."""
        with self._lock:
            job = self._jobs.get(key)
            if job and subscriber in job.watchers:
                job.watchers[subscriber] = time.monotonic()

    def wait(self, key: str, subscriber: str, timeout: float = 60.0) -> JobState:
        """Watch a job until it ends, or for `timeout` seconds.

        Raises:
            KeyError: for a job this server does not know.
        """
        job, until = self._jobs[key], time.monotonic() + timeout
        while (state := job.snapshot()).active and time.monotonic() < until:
            self.touch(key, subscriber)
            time.sleep(0.01)
        return state

    def leave(self, key: str, subscriber: str) -> None:
        """Remove a subscriber; when the last one leaves, the job stops."""
        with self._lock:
            job = self._jobs.get(key)
            if job is None or job.watchers.pop(subscriber, None) is None:
                return
            last = not job.watchers
        if last:
            self.cancel(key)

    def cancel(self, key: str) -> None:
        """Stop a job for all subscribers; tasks that another job needs go on."""
        with self._lock:
            job = self._jobs.get(key)
            if job is None or not job.snapshot().active:
                return
            job.cancelled = True
            self._end(job)
            orphans = [run for run in job.runs if run.state in ACTIVE and not self._wanted(run)]
            for run in orphans:
                run.stopped = True
                self._runs.pop(run.key, None)
        for run in orphans:
            if run.future and all(each.stopped for each in run.together):
                run.future.cancel()

    def interrupted(self) -> list[Interrupted]:
        """Unfinished jobs of servers that have ended, newest first."""
        records = self.store.records().items()
        interrupted = [
            self._interrupted(key, record.spec, record.meta)
            for key, record in records
            if not self._is_active(key) and not self._owner_lives(str(record.meta.get("owner")))
        ]
        return sorted(interrupted, key=lambda job: job.created, reverse=True)

    def resume(self, key: str, subscriber: str) -> Job:
        """Submit the missing tasks of an interrupted job.

        Raises:
            ValueError: when there is no such record, or its tasks are of another version.
        """
        record = self.store.load("jobs", key)
        if record is None:
            raise ValueError(f"An interrupted job must have a record; got {key!r}. Ask anew.")
        tasks = keys.read(record.spec)  # what cannot be read stays on record
        self.forget(key)
        return self.submit(tasks, subscriber, str(record.meta.get("label", "")))

    def forget(self, key: str) -> None:
        """Delete the record of an interrupted job; its results stay."""
        self.store.delete("jobs", key)

    def close(self) -> None:
        """End the executor; records of unfinished jobs remain, to be resumed."""
        with self._lock:
            self._closing = True
        self.executor.shutdown()
        if self._alive is not None:
            self._alive.release()
            with suppress(OSError):
                Path(self._alive.lock_file).unlink()

    def _new(self, tasks: Sequence[Task], label: str, subscriber: str) -> Job:
        key = job_key(tasks)
        job = Job(key, label or (tasks[0].label if tasks else ""), tuple(tasks), self._lock)
        different = {task.key: task for task in tasks}
        missing = {name: task for name, task in different.items() if not task.done(self.store)}
        problem = self._record(job, subscriber) if missing else ""
        for name, task in missing.items():
            if problem:
                run = TaskRun(task, name, state="failed", error=problem)
            else:
                run = self._runs.get(name) or self._runs.setdefault(name, TaskRun(task, name))
            run.jobs.append(job)
            job.runs.append(run)
        self._jobs.pop(key, None)  # the newest is last
        self._jobs[key] = job
        self._forget_old()
        if problem or not missing:
            self._end(job)
        return job

    def _record(self, job: Job, subscriber: str) -> str:
        """Record a job so that it can be resumed; returns the reason where that fails."""
        meta = {
            "label": job.label,
            "owner": self._name,
            "created": job.started,
            "subscriber": subscriber,
        }
        try:
            self.store.save("jobs", job.key, {}, spec=keys.canonical_text(job.tasks), meta=meta)
        except StoreFullError as error:
            return str(error)
        return ""

    def _dispatch(self) -> None:
        """Start all tasks that can start, also those enabled by one that ends at once."""
        if getattr(self._local, "busy", False):
            return
        self._local.busy = True
        try:
            while runs := self._next():
                self._launch(runs)
        finally:
            self._local.busy = False

    def _next(self) -> Sequence[TaskRun]:
        """The next task of the job that has the fewest running or was served longest ago.

        A long job thus does not delay a short one, even where one task runs at a time. On a GPU
        the tasks of that job which are like it come with it, but for its first: a page draws that
        network while the others are trained.
        """
        with self._lock:
            working = [run for run in self._runs.values() if run.state == "running"]
            taken = {id(run.together): run for run in working}  # one of each worker's
            if self._closing or len(taken) >= self.slots:
                return ()
            coming: frozenset[str] = frozenset().union(*(run.makes for run in self._runs.values()))
            left = self._gpus - sum(run.gpu for run in taken.values())
            ready = [
                run
                for run in self._runs.values()
                if run.state == "queued"
                and not (run.needs & coming)
                and not (run.gpu and left <= 0)
            ]
            if not ready:
                return ()
            busy = [job for run in taken.values() for job in run.jobs]
            chosen = min(
                ready, key=lambda run: min((busy.count(job), job.served) for job in run.jobs)
            )
            runs = [chosen]
            if on_gpu(self.device) and chosen.alike is not None and chosen.jobs[0].served:
                others = (run for run in ready if run is not chosen and run.jobs == chosen.jobs)
                like = [chosen, *(run for run in others if run.alike == chosen.alike)]
                runs = like[: -(-len(like) // left)]  # a share for each GPU that is free
            turn = next(self._turns)
            for job in chosen.jobs:
                job.take_turn(turn)
            for run in runs:
                run.state, run.together = "running", runs
            return runs

    @property
    def _gpus(self) -> int:
        """The number of tasks with networks that may run at once."""
        usual = 1 if on_gpu(self.device) else self.slots
        return int(getattr(self.executor, "gpus", usual))

    def _launch(self, runs: Sequence[TaskRun]) -> None:
        """Send the tasks of these runs to a worker, several as one."""

        def report(fraction: float, live: Mapping[str, JSON]) -> None:
            self._reported(runs, fraction, live)

        try:
            future = self.executor.submit(perform, _one_task(runs), self.store, report)
        except Exception as error:  # a task that cannot be sent has failed, not the server
            future = Future()
            future.set_exception(error)
        for run in runs:
            run.future = future
        future.add_done_callback(lambda ended: self._finished(runs, ended))
        if all(run.stopped for run in runs):  # cancelled while they were being sent
            future.cancel()

    def _reported(
        self, runs: Sequence[TaskRun], fraction: float, live: Mapping[str, JSON]
    ) -> None:
        with self._lock:
            for run in reversed(runs):  # a job shows the first
                run.fraction, run.live = min(max(float(fraction), 0.0), 1.0), live
                for job in run.jobs:
                    job.latest = run
        self._stop_unwatched()
        if all(run.stopped for run in runs):
            raise TaskStopped

    def _finished(self, runs: Sequence[TaskRun], ended: Future[None]) -> None:
        with self._lock:
            if self._closing:
                return
            error = None if ended.cancelled() else ended.exception()
            for run in runs:
                run.state = "done"
                if run.stopped or ended.cancelled():
                    run.state = "cancelled"
                elif error is not None and not (len(runs) > 1 and run.task.done(self.store)):
                    run.state, run.error = "failed", describe_error(error)
                if self._runs.get(run.key) is run:
                    del self._runs[run.key]
            for job in {id(job): job for run in runs for job in run.jobs}.values():
                if job.ended is None and not job.snapshot().active:
                    self._end(job)
        self._stop_unwatched()
        self._dispatch()

    def _end(self, job: Job) -> None:
        job.ended = time.monotonic()
        self.store.delete("jobs", job.key)

    def _wanted(self, run: TaskRun) -> bool:
        return any(job.ended is None for job in run.jobs)

    def _stop_unwatched(self) -> None:
        oldest = time.monotonic() - self.patience
        with self._lock:
            left = [
                job.key
                for job in self._jobs.values()
                if job.ended is None and max(job.watchers.values(), default=oldest) < oldest
            ]
        for key in left:
            self.cancel(key)

    def _forget_old(self) -> None:
        for key, job in list(self._jobs.items())[:-_KEPT]:
            if job.ended is not None:
                del self._jobs[key]

    def _is_active(self, key: str) -> bool:
        job = self.find(key)
        return job is not None and job.ended is None

    def _interrupted(self, key: str, spec: str, meta: Mapping[str, JSON]) -> Interrupted:
        label, since = str(meta.get("label", "")), meta.get("created")
        created = float(since) if isinstance(since, int | float) else 0.0
        whose = str(meta.get("subscriber", ""))
        try:
            tasks = keys.read(spec)
            done = sum(task.done(self.store) for task in tasks)
            return Interrupted(key, label, done, len(tasks), created, subscriber=whose)
        except (ValueError, TypeError, KeyError, AttributeError, ImportError) as error:
            return Interrupted(key, label, 0, 0, created, describe_error(error), whose)

    def _live(self) -> filelock.BaseFileLock | None:
        """Hold a lock that the system releases when this process ends: jobs are then interrupted.

        None where nothing can be written: then no job is recorded either.
        """
        try:
            lock = self.store.lock(_OWNERS, keys.key(self._name))
            lock.acquire()
        except OSError:
            return None
        with suppress(OSError):  # an unreadable folder has no locks
            for path in self.store.root.glob(f"{_OWNERS}/*.lock"):
                if path != Path(lock.lock_file) and not _held(path):
                    path.unlink(missing_ok=True)  # left by a server that was killed
        return lock

    def _owner_lives(self, name: str) -> bool:
        # hashed: the name in a record is arbitrary text
        return _held(self.store.root / _OWNERS / f"{keys.key(name)}.lock")


def _one_task(runs: Sequence[TaskRun]) -> Task:
    """The task of a run, or that of several joined."""
    first, *others = (cast("JoinableTask", run.task) for run in runs)
    return first.joined(others) if others else first


def _held(path: Path) -> bool:
    """Whether a process holds this lock."""
    if not os.path.exists(path):
        return False
    lock = filelock.FileLock(path, thread_local=False)
    try:
        lock.acquire(blocking=False)
        lock.release()
    except filelock.Timeout:
        return True
    except OSError:  # an unwritable folder has no server
        return False
    return False
