"""The store and the engine of a server, configured by its environment."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Executor
from typing import NamedTuple

from validation_core.engine.pool import local_pool
from validation_core.engine.runner import Engine
from validation_core.engine.task import SerialExecutor
from validation_core.settings import ENGINE, FALLBACK, SCHEDULER
from validation_core.store import Store

Say = Callable[[str], None]


class Services(NamedTuple):
    """Store and engine shared by all pages of a server."""

    store: Store
    engine: Engine


def start(store: Store | None = None) -> Services:
    """Open the store, the usual one where none is named, and start the engine.

    NPTLAB_SCHEDULER is the address of a Dask scheduler; where it does not answer, jobs fail with a
    message, or run here with NPTLAB_FALLBACK=local. Without it NPTLAB_ENGINE is `local` (worker
    processes, the default) or `serial` (this process), and NPTLAB_WORKERS the number of workers.

    Raises:
        ValueError: when one of them has an invalid value.
    """
    store = store or Store.usual()
    return Services(store, Engine(store, executor(None, store.note)))


def _on_cluster(address: str, here: Callable[[], Executor] | None, say: Say) -> Executor:
    """An executor on a Dask cluster, or its local replacement with a notice.

    Raises:
        ValueError: for text that is no address.
    """
    from validation_core.engine.cluster.executor import DaskExecutor
    from validation_core.engine.cluster.scheduler import ClusterUnreachable

    cluster = DaskExecutor(address)
    if here is None:
        return cluster
    try:
        cluster.connect()
    except ClusterUnreachable as error:
        cluster.shutdown()
        say(f"The work runs on this machine instead of the cluster. {error}")
        return here()
    return cluster


def executor(name: str | None, say: Say) -> Executor:
    """The executor of a name, or of the environment's settings.

    Args:
        name: `local` for worker processes, `serial` for this process, `dask:ADDRESS` for a cluster
            or `dask:ADDRESS,local` for one that may be replaced by this machine; None for the
            settings NPTLAB_SCHEDULER, NPTLAB_FALLBACK and NPTLAB_ENGINE.
        say: called with a message when this machine replaces the cluster.

    Raises:
        ValueError: for another name, or a cluster of that name that does not answer.
    """
    if name is None:
        return _of_environment(say)
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
    return _connected(_on_cluster(address, local_pool if fallback else None, say))


def _connected(chosen: Executor) -> Executor:
    """Connect to a cluster; one that does not answer raises before any task is sent."""
    from validation_core.engine.cluster.executor import DaskExecutor

    if isinstance(chosen, DaskExecutor):
        try:
            chosen.connect()
        except ValueError:
            chosen.shutdown()
            raise
    return chosen


def _of_environment(say: Say) -> Executor:
    kind, address, fallback = ENGINE.value(), SCHEDULER.value(), FALLBACK.value()
    if address:
        return _on_cluster(address, local_pool if fallback else None, say)
    return SerialExecutor() if kind == "serial" else local_pool()
