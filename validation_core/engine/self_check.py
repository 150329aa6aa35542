"""A small task that checks that workers run and agree with this process to the bit."""

from __future__ import annotations

import hashlib
import os
import time
from collections.abc import Collection
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from validation_core import keys
from validation_core.keys import Arrays, Specification
from validation_core.rng import stream
from validation_core.store import Store
from validation_core.study import Report

_SIZE = 50_000


@dataclass(frozen=True, kw_only=True)
class SelfCheck(Specification, spec="self_check"):
    """Draw random numbers, sort them, and store a fingerprint of every bit."""

    gpu: ClassVar[bool] = False
    makes: ClassVar[Collection[str]] = ()
    needs: ClassVar[Collection[str]] = ()

    seed: int = 0
    rounds: int = 20

    @property
    def label(self) -> str:
        """A description in one line."""
        return f"Check of a worker, seed {self.seed}"

    def done(self, store: Store) -> bool:
        """Whether the store holds its fingerprint."""
        return store.has("results", self.key)

    def run(self, store: Store, report: Report) -> None:
        """Compute and store; about 3 ms a round.

        Raises:
            ValueError: when there is nothing to compute.
        """
        start = time.perf_counter()
        arrays = self._numbers(report)
        meta = {"label": self.label, "seconds": time.perf_counter() - start, "pid": os.getpid()}
        store.save("results", self.key, arrays, spec=keys.canonical_text(self), meta=meta)

    def agrees(self, store: Store) -> bool:
        """Whether the stored fingerprint equals that of this process, to the bit."""
        stored = store.load("results", self.key)
        here = self._numbers(lambda fraction, live: None)
        return stored is not None and keys.digest(**stored.arrays) == keys.digest(**here)

    def _numbers(self, report: Report) -> Arrays:
        if self.rounds < 1:
            raise ValueError(f"A check needs at least one round; got {self.rounds}. Raise it.")
        rng, hasher = stream(self.seed, "self check"), hashlib.sha256()
        means = np.empty(self.rounds)
        for i in range(self.rounds):
            numbers = np.exp(np.sort(rng.standard_normal(_SIZE)))
            hasher.update(numbers.tobytes())
            means[i] = numbers.mean()
            report((i + 1) / self.rounds, {"round": i + 1})
        return {"means": means, "fingerprint": np.frombuffer(hasher.digest(), np.uint8)}
