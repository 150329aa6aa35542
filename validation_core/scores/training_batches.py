"""Trainings cut into batches that are trained together: one recipe, one shape, bounded memory."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, is_dataclass
from typing import Any, Generic, Protocol, TypeVar

import numpy as np

from validation_core.scores import Recipe
from validation_core.text import more_text

AT_ONCE = 1 << 30
"""Bytes of draws in memory at once; one network's draws may take more by themselves."""


class _Planned(Protocol):
    """A network to be trained."""

    @property
    def recipe(self) -> Recipe:
        """How."""
        ...

    @property
    def label(self) -> str:
        """Its name in a list."""
        ...


_Training = TypeVar("_Training", bound=_Planned)


class FailedTraining(ValueError):
    """Networks that could not be trained, beside others that were."""

    @classmethod
    def of(cls, failures: Mapping[_Training, Exception]) -> FailedTraining:
        """The first of them by name, with its error."""
        training, error = next(iter(failures.items()))
        text = str(error) if isinstance(error, ValueError) else f"{type(error).__name__}: {error}"
        return cls(f"{training.label}: {text}{more_text(len(failures) - 1)}")


@dataclass(frozen=True)
class TrainingBatch(Generic[_Training]):
    """Trainings of one recipe, each with its draws, which are arrays of the same shapes."""

    trainings: Sequence[_Training]
    data: Sequence[Any]

    def alone(self) -> Iterator[TrainingBatch[_Training]]:
        """Each training by itself."""
        for training, data in zip(self.trainings, self.data, strict=True):
            yield TrainingBatch([training], [data])


def training_batches(
    trainings: Sequence[_Training],
    draw: Callable[[_Training], Any],
    failed: Callable[[_Training, Exception], None],
    at_once: int = AT_ONCE,
) -> Iterator[TrainingBatch[_Training]]:
    """Trainings in batches, each drawn when the one before it has been used.

    Args:
        trainings: in the order in which they are trained.
        draw: the draws that a network learns from.
        failed: told of a training whose draws cannot be had, which is left out.
        at_once: bytes of the draws of a batch, at most, unless it is of one network.
    """
    some: list[_Training] = []
    drawn: list[Any] = []
    kind, size = None, 0
    for training in trainings:
        try:
            data = draw(training)
        except Exception as error:
            failed(training, error)
            continue
        arrays = list(_arrays(data))
        own = training.recipe, [array.shape for array in arrays]
        needed = sum(array.nbytes for array in arrays)
        if some and (own != kind or size + needed > at_once):
            yield TrainingBatch(some, drawn)
            some, drawn, size = [], [], 0
        some, drawn = [*some, training], [*drawn, data]
        kind, size = own, size + needed
        del data, arrays  # nothing but the batch holds on to the draws
    if some:
        yield TrainingBatch(some, drawn)


def _arrays(value: object) -> Iterator[np.ndarray]:
    """The arrays that draws are made of."""
    if isinstance(value, np.ndarray):
        yield value
    elif isinstance(value, tuple | list):
        for each in value:
            yield from _arrays(each)
    elif is_dataclass(value):
        for field in fields(value):
            yield from _arrays(getattr(value, field.name))
