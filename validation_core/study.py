"""Studies: frozen specifications of a computation, whose result is stored under their key.

    class MapStudy(Study[Maps], spec="map"):      # fields: the data, options and seed
        def compute(self, store, report) -> Maps  # the only method to write

A study is done when the store holds its result: progress counts keys, a restart submits missing
ones, and users who need the same result wait for one computation.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, ClassVar, Generic, TypeVar, get_args, get_origin

from validation_core.codec import dump, load
from validation_core.keys import Specification, canonical_text
from validation_core.provenance import Stopwatch, loaded_device, versions

if TYPE_CHECKING:
    from validation_core.array_files import Stored
    from validation_core.store import Store

R = TypeVar("R")


Report = Callable[[float, Mapping[str, Any]], None]
"""Called with the fraction done and a small payload for a page to draw meanwhile."""


def throttled(send: Report, seconds: float) -> Report:
    """Pass on the first report, then one each so many seconds, and the last."""
    last = 0.0

    def report(fraction: float, live: Mapping[str, Any]) -> None:
        nonlocal last
        now = time.monotonic()
        if now - last >= seconds or fraction >= 1:
            last = now
            send(fraction, live)

    return report


class Study(Specification, Generic[R]):
    """A computation whose result is kept in the store.

    A subclass is a frozen dataclass with a `label` and `compute`; where it reads trained networks
    it lists their `trainings`, so that the engine trains each of them once and first.
    """

    result: ClassVar[type[Any]]
    """Class R of its result: a frozen dataclass or a NamedTuple."""
    gpu: ClassVar[bool] = True
    """Whether it may run a network, and so queues for the GPU where there is one."""

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        for base in getattr(cls, "__orig_bases__", ()):
            kinds = [kind for kind in get_args(base) if isinstance(kind, type)]
            if kinds and isinstance(get_origin(base), type):
                cls.result = kinds[0]

    @property
    def label(self) -> str:
        """A description in one line."""
        raise NotImplementedError

    @property
    def trainings(self) -> tuple[Specification, ...]:
        """Trainings of the networks that it reads."""
        return ()

    @property
    def needs(self) -> frozenset[str]:
        """Keys of results that must exist first: it waits while another study makes one."""
        return frozenset(training.key for training in self.trainings)

    @property
    def makes(self) -> frozenset[str]:
        """Keys of results that other studies wait for."""
        return frozenset()

    def compute(self, store: Store, report: Report) -> R:
        """Compute the result; `report(fraction, {})` may be called on the way."""
        raise NotImplementedError

    def run(self, store: Store, report: Report) -> None:
        """Compute and store the result."""
        watch = Stopwatch()
        result = self.compute(store, report)
        self.keep(store, result, seconds=watch.seconds)
        report(1.0, {})

    def keep(
        self, store: Store, result: R, *, seconds: float | None = None, device: str | None = None
    ) -> None:
        """Store a result with its specification, library versions and run time in seconds.

        With the seconds goes the device of networks, by default that of this process.
        """
        arrays, tree = dump(result)
        meta: dict[str, object] = {"label": self.label, "result": tree, "versions": versions()}
        if seconds is not None:
            meta |= {
                "seconds": round(seconds, 3),
                "device": loaded_device() if device is None else device,
            }
        store.save("results", self.key, arrays, spec=canonical_text(self), meta=meta)

    def done(self, store: Store) -> bool:
        """Whether the store holds the result."""
        return store.has("results", self.key)

    def load(self, store: Store) -> R | None:
        """The stored result, or None."""
        stored = store.load("results", self.key)
        if stored is None:
            return None
        if "result" not in stored.meta:
            return self._older(stored)
        return load(self.result, stored.arrays, stored.meta["result"])

    def _older(self, stored: Stored) -> R:
        """A result of an older format: arrays by field name, other fields in the metadata."""
        return load(self.result, stored.arrays, {**stored.meta, **dump(stored.arrays)[1]})
