"""Where work runs: in this process or in worker processes, watched and cancelled from anywhere."""

from .check import SelfCheck
from .job import Interrupted, Job, JobState, job_key
from .pool import WorkerPool
from .runner import Engine
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
