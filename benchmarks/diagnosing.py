"""A diagnosis through the engine, as the page asks for it: `... diagnosing FILE CACHE`.

Prints one JSON object: seconds until the first and the last result, and which came when.
"""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path

from validation_core import diagnosis, engine, tables
from validation_core.diagnosis import tasks as work
from validation_core.store import Store

SEED = 0


def main(file: Path, cache: Path) -> None:
    """Wait for warm workers, then read, submit and watch."""
    services = engine.start(Store(cache))
    pool = services.engine.executor
    assert isinstance(pool, engine.WorkerPool)
    tables.warm()  # as the page does where a file is chosen
    while pool.ready < pool.slots:  # a visitor who looks for a file gives them this time
        time.sleep(0.02)
    start = time.perf_counter()
    store = services.store
    upload = tables.read(file)
    work.save_upload(store, upload)
    methods = diagnosis.default_methods()
    job = services.engine.submit(work.tasks(upload, methods, SEED), "benchmark")
    came: dict[str, float] = {}
    while True:
        active = job.snapshot().active
        records, to_come = work.records(store, upload, methods, SEED)
        for record in records:
            if record.status == "ran":
                came.setdefault(record.label, time.perf_counter() - start)
        if not active:
            break
        time.sleep(0.01)
    verdict = diagnosis.verdict(records, upload, seed=SEED, pending=to_come)
    seconds = time.perf_counter() - start
    state = job.snapshot()
    print(json.dumps({
        "came": came, "seconds": seconds, "state": state.state, "message": state.message,
        "verdict": verdict.verdict, "to_come": to_come,
    }))  # fmt: skip
    services.engine.close()


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
