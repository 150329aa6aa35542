"""Where work runs: in this process or in worker processes, watched and cancelled from anywhere."""

from .job import (
    Interrupted,
    JobState,
    Report,
    SelfCheck,
    Task,
    _Job,
    _SerialExecutor,
    _TaskError,
    job_key,
)
from .pool import WorkerPool
from .runner import Engine
from .start import Services, _local_pool, start

__all__ = [
    "Engine",
    "Interrupted",
    "JobState",
    "Report",
    "SelfCheck",
    "Services",
    "Task",
    "WorkerPool",
    "_Job",
    "_SerialExecutor",
    "_TaskError",
    "_local_pool",
    "job_key",
    "start",
]
