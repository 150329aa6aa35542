"""Where a command's work runs, and how it is watched."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import Executor

from validation_core.command.options import tell
from validation_core.engine import (
    DaskExecutor,
    Engine,
    JobState,
    SerialExecutor,
    Task,
    local_pool,
    on_cluster,
)
from validation_core.store import Store

_ME = "command line"
_EVERY = 5.0  # seconds between lines


def run_on_engine(tasks: Sequence[Task], store: Store, name: str, label: str) -> JobState:
    """Run tasks where `name` says, telling progress and what the store has to say.

    Args:
        tasks: what is wanted.
        store: where results go.
        name: `local` for worker processes, `serial` for this one, `dask:ADDRESS` for a cluster or
            `dask:ADDRESS,local` for one that may be replaced by this machine.
        label: what to call it.

    Returns:
        How the job ended; some of its tasks may have failed.

    Raises:
        ValueError: for another name, or a cluster that does not answer.
    """
    engine = Engine(store, _executor(name))
    told: set[str] = set()
    try:
        job = engine.submit(tasks, _ME, label)
        state = job.snapshot()
        while state.active:
            state = engine.wait(job.key, _ME, timeout=_EVERY)
            for notice in [notice for notice in store.notices if notice not in told]:
                told.add(notice)
                tell(notice)
            tell(f"{state.seconds:6.1f} s  {state.done} of {state.total} done")
    finally:
        engine.close()
    return state


def _executor(name: str) -> Executor:
    kind, _, rest = name.partition(":")
    address, _, fallback = rest.partition(",")
    if name == "local":
        return local_pool()
    if name == "serial":
        return SerialExecutor()
    if kind != "dask" or not address or fallback not in ("", "local"):
        raise ValueError(
            "An engine is local, serial, dask:ADDRESS or dask:ADDRESS,local; got "
            f"{name!r}. Leave --engine out to use the processors of this machine."
        )
    executor = on_cluster(address, local_pool if fallback else None, tell)
    if isinstance(executor, DaskExecutor):
        try:
            executor.connect()
        except ValueError:
            executor.shutdown()
            raise
    return executor
