"""A diagnosis through the engine, as the page asks for it: `... diagnosing FILE CACHE`.

Prints one JSON object: seconds until the first and the last result, and which came when.
"""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path

from validation_core import diagnosis, engine, tasks_diagnose, uploads
from validation_core.store import Store


def main(file: Path, cache: Path) -> None:
    """Wait for warm workers, then read, submit and watch."""
    services = engine.start(Store(cache))
    pool = services.engine.executor
    assert isinstance(pool, engine.WorkerPool)
    while pool.ready < pool.slots:  # a visitor who looks for a file gives them this time
        time.sleep(0.02)
    start = time.perf_counter()
    upload = uploads.read(file)
    tasks_diagnose.keep(services.store, upload)
    methods = diagnosis.default_methods()
    tasks = [tasks_diagnose.DiagnoseTask(digest=upload.digest, method=one) for one in methods]
    job = services.engine.submit(tasks, "benchmark")
    came: dict[str, float] = {}
    while True:
        active = job.snapshot().active
        for task in tasks:
            if task.method.label not in came and task.done(services.store):
                came[task.method.label] = time.perf_counter() - start
        if not active:
            break
        time.sleep(0.01)
    records = [record for task in tasks if (record := task.load(services.store))]
    said = diagnosis.verdict(upload, records, 0.05, 0) if len(records) == len(tasks) else None
    seconds = time.perf_counter() - start
    print(json.dumps({
        "came": came, "seconds": seconds, "state": job.snapshot().state,
        "message": job.snapshot().message, "verdict": said.verdict if said else None,
        "training": {r.label: r.seconds for r in records},
    }))  # fmt: skip
    services.engine.close()


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
