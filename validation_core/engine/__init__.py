"""Where work runs: in this process or in worker processes, watched and cancelled from anywhere."""

from .job import Interrupted, JobState, Report, SelfCheck, Task, job_key
from .pool import WorkerPool
from .runner import Engine
from .start import Services, start

__all__ = [
    "Engine",
    "Interrupted",
    "JobState",
    "Report",
    "SelfCheck",
    "Services",
    "Task",
    "WorkerPool",
    "job_key",
    "start",
]
