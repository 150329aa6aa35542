"""Worker processes: warm, one thread each, ended at once when their work is cancelled.

They are started as `python -m validation_core.engine.worker` and speak JSON lines over their
standard input and output; a spawned child of multiprocessing would run the app's script again. A
worker ends when its input does, so none outlives this process however it ends.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
from collections import deque
from collections.abc import Callable
from concurrent.futures import CancelledError, Executor, Future
from contextlib import suppress
from pathlib import Path
from typing import IO, Any, TypeVar, cast

from validation_core import keys
from validation_core.engine.task import Task, TaskError, TaskReply, TaskStopped, on_gpu, perform
from validation_core.settings import ENGINE, WORKERS, worker_count
from validation_core.store import Store
from validation_core.study import Report

T = TypeVar("T")

_ONE_THREAD = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")
_LARGEST = 256
_TRIES = 3  # consecutive workers that may end before they are ready
_RUNS = 2  # attempts at one task: a second one after its worker ended unexpectedly


class _Pending(Future[None]):
    """The future of a task; cancelling it ends the process that runs it."""

    def __init__(self, pool: WorkerPool, task: Task, store: Store, report: Report) -> None:
        super().__init__()
        self.message = json.dumps({"task": keys.encode(task), "store": store.place()})
        self.gpu = task.gpu
        self.store = store
        self.report = report
        self.stopped = False
        self.runs = 0
        self._pool = pool

    def cancel(self) -> bool:
        """Stop the task, waiting or running."""
        return super().cancel() or self._pool.stop(self)


class _Worker:
    """A worker process, and the thread that reads its replies."""

    def __init__(self, pool: WorkerPool) -> None:
        self.task: _Pending | None = None
        self.ready = False
        self.killed = False
        package = Path(__file__).parents[1]
        self.process = subprocess.Popen(
            [sys.executable, "-m", f"{package.name}.engine.worker"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            encoding="utf-8",
            cwd=package.parent,
            # signals of the terminal go to this process alone, which ends its workers
            process_group=0 if os.name == "posix" else None,
            env={**os.environ, **dict.fromkeys((*_ONE_THREAD, WORKERS.name), "1")},
        )
        self.thread = threading.Thread(target=self._listen, args=(pool,), daemon=True)
        self.thread.start()

    @property
    def idle(self) -> bool:
        alive = not self.killed and self.process.poll() is None
        return self.ready and self.task is None and alive

    def kill(self) -> None:
        self.killed = True
        self.process.kill()

    def send(self, message: str) -> None:
        pipe = cast("IO[str]", self.process.stdin)
        with suppress(OSError):  # it has ended: the reading thread handles that
            pipe.write(message + "\n")
            pipe.flush()

    def _listen(self, pool: WorkerPool) -> None:
        with cast("IO[str]", self.process.stdout) as lines:
            for line in lines:
                pool.heard(self, json.loads(line))
        self.process.wait()
        with suppress(OSError):  # unflushed input of a process that has ended
            cast("IO[str]", self.process.stdin).close()
        pool.lost(self)


class WorkerPool(Executor):
    """An executor of tasks on warm worker processes, started at once in the background.

    Args:
        size: number of workers; by default one per core, at most four. Where they compute on a
            GPU, only one task that runs a network runs at a time; tasks without one go on.
    """

    def __init__(self, size: int | None = None) -> None:
        if size is not None and not 1 <= size <= _LARGEST:
            raise ValueError(
                f"A pool has at least one worker and at most {_LARGEST}; got {size}. Set "
                "NPTLAB_WORKERS."
            )
        self.slots = size or worker_count()
        self.device = ""
        self._lock = threading.RLock()
        self._queue: deque[_Pending] = deque()
        self._workers: list[_Worker] = []
        self._failures = 0
        self._unstarted = ""  # why the last worker could not be started
        self._closed = False
        self._replace()

    def submit(self, fn: Callable[..., T], /, *args: Any, **kwargs: object) -> Future[T]:
        """Queue `perform(task, store, report)`, the only function that workers run."""
        if fn is not perform or kwargs or len(args) != 3:
            raise ValueError(
                f"Workers run engine.task.perform(task, store, report) only; got {fn!r}. "
                "Make it a task."
            )
        task, store, report = args
        pending = _Pending(self, task, store, report)
        with self._lock:
            if self._closed:
                raise RuntimeError("A pool that was shut down takes no tasks. Start another.")
            self._queue.append(pending)
            if not self._workers:  # no worker could be started before: retry
                self._failures = 0
                self._replace()
        self._fail_without_workers()
        self._assign()
        return cast("Future[T]", pending)

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """End every worker at once, whatever it is running."""
        del cancel_futures
        with self._lock:
            self._closed = True
            workers, waiting = list(self._workers), list(self._queue)
            self._queue.clear()
        for pending in waiting:
            if not pending.cancel():  # it waited for another worker after its first one ended
                pending.set_exception(CancelledError())
        for worker in workers:
            if worker.task:
                worker.task.stopped = True
            worker.kill()
        for worker in workers if wait else []:
            if worker.thread is not threading.current_thread():
                worker.thread.join()

    def stop(self, pending: _Pending) -> bool:
        """End the process that runs a task, and start another one."""
        with self._lock:
            for worker in self._workers:
                if worker.task is pending:
                    pending.stopped = True
                    worker.kill()
                    return True
            again = pending in self._queue  # its worker has ended, another is to run it
            if again:
                self._queue.remove(pending)
        if again:
            pending.set_exception(CancelledError())
        return again

    def pids(self) -> list[int]:
        """Process ids of the workers, busy ones first."""
        with self._lock:
            ordered = sorted(self._workers, key=lambda worker: worker.task is None)
            return [worker.process.pid for worker in ordered]

    @property
    def ready(self) -> int:
        """The number of warm workers."""
        with self._lock:
            return sum(worker.ready for worker in self._workers)

    def heard(self, worker: _Worker, message: TaskReply) -> None:
        """Handle one reply of a worker (called from its thread)."""
        if "ready" in message:
            self._welcome(worker, message["ready"])
        elif worker.task and "progress" in message:
            with suppress(TaskStopped):  # its process is being ended anyway
                worker.task.report(*message["progress"])
            return
        else:
            self._ended(worker, message)
        self._assign()

    def lost(self, worker: _Worker) -> None:
        """Handle the end of a worker's process: retry or fail its task, and replace it."""
        with self._lock:
            pending, worker.task = worker.task, None
            self._workers.remove(worker)
            if pending and not pending.stopped and pending.runs < _RUNS and not self._closed:
                self._queue.appendleft(pending)
                pending = None
            self._failures = 0 if worker.ready else self._failures + 1
            self._unstarted = f"exit code {worker.process.returncode}"
            self._replace()
        if pending and pending.stopped:
            pending.set_exception(CancelledError())
        elif pending:
            pending.set_exception(TaskError(_why(worker.process.returncode)))
        self._fail_without_workers()
        self._assign()

    def _welcome(self, worker: _Worker, device: str) -> None:
        with self._lock:
            worker.ready = True
            self.device = device
            self._failures = 0
            self._replace()

    def _ended(self, worker: _Worker, message: TaskReply) -> None:
        with self._lock:
            pending, worker.task = worker.task, None
        if pending is None:
            return
        for notice in message.get("notices", ()):
            pending.store.note(notice)
        if "error" in message:
            pending.set_exception(TaskError(message["error"]))
        else:
            pending.set_result(None)

    def _replace(self) -> None:
        with self._lock:
            if self._closed or not all(worker.ready for worker in self._workers):
                return  # one at a time, so that the first is warm soonest
            if len(self._workers) < self.slots and self._failures < _TRIES:
                try:
                    self._workers.append(_Worker(self))
                except OSError as error:
                    self._failures, self._unstarted = _TRIES, str(error)

    def _fail_without_workers(self) -> None:
        """Fail the tasks that wait, where no worker process can be started."""
        with self._lock:
            waiting = [] if self._workers or self._closed else list(self._queue)
            for orphan in waiting:
                self._queue.remove(orphan)
        for orphan in waiting:
            if orphan.running() or orphan.set_running_or_notify_cancel():
                reason = f"No worker process could be started ({self._unstarted})."
                orphan.set_exception(TaskError(reason))

    def _assign(self) -> None:
        """Give waiting tasks to idle workers."""
        with self._lock:
            for worker in self._workers:
                if worker.idle:
                    worker.task = self._next()
                    if worker.task:
                        worker.task.runs += 1
                        worker.send(worker.task.message)

    def _next(self) -> _Pending | None:
        """The first task that may start; a second one on the GPU waits."""
        at_work = [worker.task for worker in self._workers if worker.task]
        gpu_busy = on_gpu(self.device) and any(task.gpu for task in at_work)
        for pending in [task for task in self._queue if not (gpu_busy and task.gpu)]:
            self._queue.remove(pending)
            if pending.running() or pending.set_running_or_notify_cancel():
                return pending
        return None


def helper_pool() -> WorkerPool | None:
    """Workers beside a process that computes too: one fewer than NPTLAB_WORKERS, or None.

    Raises:
        ValueError: when NPTLAB_WORKERS is no number.
    """
    count = worker_count() - 1
    return WorkerPool(count) if count and ENGINE.value() != "serial" else None


def local_pool() -> WorkerPool:
    """Worker processes of this machine, as many as NPTLAB_WORKERS says.

    Raises:
        ValueError: when it is no number.
    """
    return WorkerPool(worker_count())


def _why(code: int) -> str:
    if code == -9:
        return (
            "The worker process was ended from outside, most often for want of memory. "
            "Choose smaller sizes, or try again."
        )
    return f"The worker process ended unexpectedly (exit code {code}). Try again."
