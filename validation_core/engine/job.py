"""Jobs: tasks submitted together, and their progress."""

from __future__ import annotations

import threading
import time
from collections.abc import Hashable, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field
from typing import Literal, NamedTuple, cast

from validation_core import keys
from validation_core.engine.task import Task
from validation_core.keys import JSON

JobStatus = Literal["queued", "running", "done", "cancelled", "failed"]
ACTIVE: tuple[JobStatus, ...] = ("queued", "running")


@dataclass(frozen=True)
class JobState:
    """Snapshot of a job, for a page."""

    key: str
    label: str
    state: JobStatus
    fraction: float
    done: int
    total: int
    message: str
    live: Mapping[str, JSON]
    """Payload of the task that reported last."""
    started: float
    """Time of submission, in seconds since 1970."""
    seconds: float
    subscribers: int
    failures: Mapping[str, str]
    """Error messages by the key of each failed task; the others go on."""
    waited: float = 0.0
    """Of the seconds, those before its first task had its turn."""
    found: int = 0
    """Of the tasks, those that were done before."""

    @property
    def active(self) -> bool:
        """Whether it is waiting or running."""
        return self.state in ACTIVE

    @property
    def history(self) -> Mapping[str, Sequence[float]]:
        """Training curves of the network that reported last."""
        return cast("Mapping[str, Sequence[float]]", self.live.get("history") or {})


class Interrupted(NamedTuple):
    """A job that a server left unfinished; `problem` says why it cannot be resumed.

    `subscriber` is the visitor who submitted it first.
    """

    key: str
    label: str
    done: int
    total: int
    created: float
    problem: str = ""
    subscriber: str = ""


def job_key(tasks: Sequence[Task]) -> str:
    """The key of the job of these tasks."""
    return keys.key(tuple(task.key for task in tasks))


@dataclass(eq=False)
class TaskRun:
    """One task under way, for every job that waits for it."""

    task: Task
    key: str
    state: JobStatus = "queued"
    fraction: float = 0.0
    live: Mapping[str, JSON] = field(default_factory=dict)
    error: str = ""
    stopped: bool = False
    future: Future[None] | None = None
    jobs: list[Job] = field(default_factory=list)
    makes: frozenset[str] = frozenset()
    needs: frozenset[str] = frozenset()
    gpu: bool = True
    alike: Hashable | None = None
    together: Sequence[TaskRun] = ()
    """The runs that one worker was given at once, this one among them."""

    def __post_init__(self) -> None:
        self.makes, self.needs = frozenset(self.task.makes), frozenset(self.task.needs)
        self.gpu = self.task.gpu
        self.alike = getattr(self.task, "alike", None)

    @property
    def begun(self) -> bool:
        """Whether a worker has it: the worker may still be starting."""
        return self.future is None or self.future.running() or self.future.done()


class Job:
    """Tasks submitted together, and their subscribers."""

    def __init__(
        self, key: str, label: str, tasks: tuple[Task, ...], lock: threading.RLock
    ) -> None:
        self.key = key
        self.label = label
        self.tasks = tasks
        self.total = len({task.key for task in tasks})
        self.runs: list[TaskRun] = []
        self.watchers: dict[str, float] = {}
        self.cancelled = False
        self.latest: TaskRun | None = None
        self.served = 0  # when it last got a turn; here never
        self.ended: float | None = None  # by the monotonic clock
        self.started = time.time()
        self._submitted = self._turned = time.monotonic()
        self._lock = lock

    def take_turn(self, turn: int) -> None:
        """Note that a task of it is about to run."""
        if self.state == "queued":
            self._turned = time.monotonic()
        self.served = turn

    @property
    def state(self) -> JobStatus:
        """Its present state, or how it ended."""
        states = {run.state for run in self.runs}
        if self.cancelled:
            return "cancelled"
        if "running" in states or ("queued" in states and states - {"queued"}):
            return "running"
        if "queued" in states:
            return "queued"
        return "failed" if states - {"done"} else "done"

    def snapshot(self) -> JobState:
        """A snapshot of the job."""
        with self._lock:
            left = sum(run.state != "done" for run in self.runs)
            parts = sum(run.fraction for run in self.runs if run.state == "running")
            done, now = self.total - left, self.ended or time.monotonic()
            turned = now if self.state == "queued" else self._turned
            return JobState(
                key=self.key,
                label=self.label,
                state=self.state,
                fraction=min((done + parts) / self.total, 1.0) if self.total else 1.0,
                done=done,
                total=self.total,
                message=self._message(done),
                live=self.latest.live if self.latest else {},
                started=self.started,
                seconds=now - self._submitted,
                subscribers=len(self.watchers),
                failures={run.key: run.error for run in self.runs if run.state == "failed"},
                waited=turned - self._submitted,
                found=self.total - len(self.runs),
            )

    def _message(self, done: int) -> str:
        failed = [run for run in self.runs if run.state == "failed"]
        if failed and self.state == "failed":
            more = f" ({len(failed)} of {self.total} failed)" if self.total > 1 else ""
            return f"{failed[0].task.label}: {failed[0].error}{more}"
        if self.state == "queued":
            return "Waiting for its turn"
        sent = [run for run in self.runs if run.state == "running"]
        if sent and not any(run.begun for run in sent):
            return "Waiting for a worker"
        running = next((run for run in sent if run.begun), None)
        now = self.latest if self.latest and self.latest.state == "running" else running
        count = f"{done} of {self.total} done" if self.total > 1 else ""
        return " · ".join(part for part in (count, now.task.label if now else "") if part)
