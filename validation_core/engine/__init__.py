"""Where work runs: in this process or in worker processes, watched and cancelled from anywhere."""

from .check import SelfCheck
from .jobs import Engine, Interrupted, Job, JobState, job_key
from .pool import WorkerPool
from .start import Services, start
from .tasks import Report, SerialExecutor, Task, TaskError

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
    "start",
]
