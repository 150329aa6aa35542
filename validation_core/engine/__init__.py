"""The job engine: tasks run in this process or in workers, and can be watched and cancelled."""

from validation_core.engine.job import Interrupted, JobState, job_key
from validation_core.engine.self_check import SelfCheck
from validation_core.engine.task import Task

from .pool import WorkerPool
from .runner import Engine
from .start import Services, start

__all__ = [
    "Engine",
    "Interrupted",
    "JobState",
    "SelfCheck",
    "Services",
    "Task",
    "WorkerPool",
    "job_key",
    "start",
]
