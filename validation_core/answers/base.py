"""What an answer is: a task on an uploaded table, and the plain numbers and arrays it leaves.

Parameter names are not part of an answer: the same draws are the same work whatever they are
called. Names come in where an answer is told or drawn.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar

from validation_core import keys, models
from validation_core.diagnosis import tasks
from validation_core.diagnosis.called import called
from validation_core.models import Training
from validation_core.tasks import Live
from validation_core.types import Array
from validation_core.uploads import Upload

if TYPE_CHECKING:
    from validation_core.store import Store

__all__ = ["Answer", "Found", "called"]


@dataclass(frozen=True, eq=False)
class Found:
    """One answer: every number of it as JSON holds them, and the arrays that its figures draw."""

    plain: Mapping[str, Any]
    arrays: Mapping[str, Array]


@dataclass(frozen=True, kw_only=True)
class Answer:
    """Work on an uploaded table whose result is a `Found` in the store.

    A subclass sets `about` and `version`, adds its own fields, and computes in `answer`.
    """

    version: ClassVar[int] = 1
    about: ClassVar[str]
    """What it works out, for the list of jobs: `Sizes of errors`."""

    digest: str
    seed: int = 0
    trainings: tuple[Training, ...] = ()
    """The networks that it reads; they are trained first, or by itself where they are missing."""

    @cached_property
    def key(self) -> str:
        return keys.key(self)

    @property
    def label(self) -> str:
        return f"{self.about}, an uploaded table"

    @property
    def needs(self) -> frozenset[str]:
        """Keys of the networks: the engine lets their training come first."""
        return frozenset(keys.key(one) for one in self.trainings)

    def done(self, store: Store) -> bool:
        return store.has("results", self.key)

    def run(self, store: Store, report: Live) -> None:
        """Work it out and keep it."""
        found = self.answer(tasks.table(store, self.digest), store, report)
        store.save(
            "results", self.key, dict(found.arrays), spec=keys.text(self),
            meta={"label": self.label, "found": dict(found.plain)},
        )  # fmt: skip
        report(1.0, {})

    def load(self, store: Store) -> Found | None:
        """The stored answer, or None."""
        kept = store.load("results", self.key)
        return None if kept is None else Found(kept.meta["found"], kept.arrays)

    def answer(self, upload: Upload, store: Store, report: Live) -> Found:
        """The answer for this table; `report(fraction, {})` may be called on the way."""
        raise NotImplementedError

    def networks(self, store: Store, report: Live) -> tuple[Any, ...]:
        """The trained networks, in the order of `trainings`."""
        return tuple(models.trained(store, one, report) for one in self.trainings)
