"""Where work runs: in this process or in worker processes, watched and cancelled from anywhere."""

from .job import (
    Interrupted,
    Job,
    JobState,
    Report,
    SelfCheck,
    SerialExecutor,
    Task,
    TaskError,
    job_key,
)
from .pool import WorkerPool
from .runner import Engine
from .start import Services, local_pool, start

__all__ = [
    "Engine",
    "Interrupted",
    "Job",
    "JobState",
    "Report",
    "SelfCheck",
    "SerialExecutor",
    "Services",
    "Task",
    "TaskError",
    "WorkerPool",
    "job_key",
    "local_pool",
    "start",
]
