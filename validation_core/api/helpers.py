"""Helper processes of a diagnosis: whether they are worth their start, and their end."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from validation_core.diagnosis import tasks
from validation_core.engine import Task, WorkerPool
from validation_core.engine.pool import helper_pool
from validation_core.store import Store
from validation_core.tables import Upload

_SHARED = 64e6  # bytes of the largest table that is copied to a second process


@contextmanager
def helper_processes(
    queue: Sequence[Task], store: Store, uploads: Sequence[Upload], budget: float | None = None
) -> Iterator[WorkerPool | None]:
    """Worker processes that share the work.

    None where the work ends before they have started, for large tables, which each would copy, and
    under a short budget, since they take tasks from the end of the queue.
    """
    # The queue may have trainings of several tables, some of them done.
    long = any(tasks.longest_training([task]) and not task.done(store) for task in queue)
    size = sum(array.nbytes for upload in uploads for array in upload.arrays().values())
    pool = helper_pool() if long and size <= _SHARED and budget is None else None
    if pool is None:
        yield None
        return
    for upload in uploads:
        tasks.save_upload(store, upload)
    try:
        yield pool
    finally:
        pool.shutdown()
