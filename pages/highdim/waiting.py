"""The job that makes a system's result, shown while the result is not there."""

from collections.abc import Sequence
from typing import Any

from pages.ui import jobs
from pages.ui.services import services
from validation_core.engine import Task
from validation_core.scores.trained_scores import Training, TrainTask
from validation_core.study import Study


def ready(study: Study[Any], trainings: Sequence[Training] = ()) -> bool:
    """Whether the result is stored; where it is not, draw the job that makes it.

    Args:
        study: the study.
        trainings: networks that the job trains one by one, before the study.
    """
    if study.done(services().store):
        jobs.only("highdim", (), "")
        return True
    tasks: list[Task] = [*(TrainTask(trainings=(one,)) for one in trainings), study]
    jobs.panel(jobs.only("highdim", tasks, study.label), follow=True)
    return False
