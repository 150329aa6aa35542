"""Several trainings in one process: side by side on a processor, in turn on a GPU."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

from validation_core.learn import perceptron
from validation_core.learn.training import Report
from validation_core.settings import worker_count

_Data = TypeVar("_Data")
_Recipe = TypeVar("_Recipe")
_Network = TypeVar("_Network")


def train_each(
    train: Callable[[_Data, _Recipe, int, Report | None], _Network],
    data: Sequence[_Data],
    recipe: _Recipe,
    seeds: Sequence[int],
    report: Report | None = None,
    device: str | None = None,
) -> list[_Network]:
    """One network for each set of data and seed, each as if trained alone, to the bit.

    On a processor the trainings share its cores, a thread for each: torch lets Python's lock go
    while it multiplies. A product of several networks at once would save an eighth to a quarter
    of the work there, but rounds otherwise, by how many they are. On a GPU they come in turn.

    Args:
        train: trains one network of a recipe on data and a seed, and calls its report, if given.
        data: one set for each network.
        recipe: of all networks.
        seeds: as many.
        report: called with the fraction of all done, and the live numbers of the first network.
        device: where they are trained.
    """
    course = _Course(report, len(data))
    work = [
        (one, recipe, seed, course.of(i) if report else None)
        for i, (one, seed) in enumerate(zip(data, seeds, strict=True))
    ]
    threads = min(worker_count(), len(work))
    if threads < 2 or not perceptron.pick_device(device).startswith("cpu"):
        return [train(*each) for each in work]
    with ThreadPoolExecutor(threads) as pool:
        futures = [pool.submit(train, *each) for each in work]
        try:
            return [future.result() for future in futures]
        except BaseException as error:
            course.stop(error)  # those under way end at their next report
            for future in futures:
                future.cancel()
            raise


class _Course:
    """Progress of several trainings as one."""

    def __init__(self, report: Report | None, count: int) -> None:
        self._report, self._done = report, [0.0] * count
        self._lock = threading.Lock()
        self._stopped: BaseException | None = None

    def of(self, index: int) -> Report:
        """The report of one of them."""

        def tell(fraction: float, live: Mapping[str, float]) -> None:
            with self._lock:
                if self._stopped is not None:
                    raise self._stopped
                self._done[index] = fraction
                if self._report is not None:
                    self._report(sum(self._done) / len(self._done), {} if index else live)

        return tell

    def stop(self, error: BaseException) -> None:
        """Let each of the others end, by this error, at its next report."""
        with self._lock:
            self._stopped = error
