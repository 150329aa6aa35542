"""Uploaded tables where tasks find them: in this process, or in the store under their digest."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar
from weakref import WeakValueDictionary

import numpy as np

from validation_core.diagnosis import learning, run
from validation_core.keys import Specification
from validation_core.scores import Recipe
from validation_core.tables import Upload
from validation_core.types import PosteriorTable

if TYPE_CHECKING:
    from validation_core.store import Store

_here: WeakValueDictionary[str, Upload] = WeakValueDictionary()  # not read again by this process


def hold(upload: Upload) -> None:
    """Let tasks of this process use an upload for as long as it is alive, without the store."""
    _here[upload.digest] = upload


def keep(store: Store, upload: Upload) -> None:
    """Put an upload where worker processes find it."""
    if not store.has("tables", upload.digest):
        meta = {"label": f"{upload.n} rows", "names": list(upload.names)}
        store.save("tables", upload.digest, upload.arrays(), spec="upload", meta=meta)


def table(store: Store, digest: str) -> Upload:
    """The upload of a digest.

    Raises:
        ValueError: when the store has let it go.
    """
    if digest in _here:
        return _here[digest]
    stored = store.load("tables", digest)
    if stored is None:
        raise ValueError(
            f"A diagnosis needs its table in the store; got none for {digest}. Upload it again."
        )
    upload = Upload.of(stored.arrays, order="NKD")
    hold(upload)
    return upload


@dataclass(frozen=True, kw_only=True)
class Uploaded(Specification, spec="uploaded"):
    """An upload as the source of a network's training rows (see `models.Source`)."""

    version: ClassVar[int] = 2

    digest: str

    @property
    def label(self) -> str:
        """What it is, for a list of trained models."""
        return f"Uploaded table {self.digest[:8]}"

    def training_set(self, recipe: Recipe, seed: int, store: Store) -> Any:
        """The rows that no test looks at."""
        return learning.training_set(table(store, self.digest), recipe, seed)

    def test_table(
        self, n: int, k: int, rng: np.random.Generator, *, seed: int, store: Store
    ) -> PosteriorTable:
        """The rows that no network of this seed learns from, however many were asked for."""
        del n, k, rng
        return run.test_table(table(store, self.digest), seed)
