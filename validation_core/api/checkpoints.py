"""`Checkpoints`: diagnoses of one estimator while it trains, and their comparison."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import reduce
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from validation_core.api.compare import ComparisonResult, compare
from validation_core.api.diagnose import DiagnosisResult, diagnose
from validation_core.api.keywords import checked_keywords
from validation_core.api.result import Rows
from validation_core.api.table import Table
from validation_core.export.progress import rows_text
from validation_core.methods import Omnibus
from validation_core.methods.base import Method
from validation_core.store import Store
from validation_core.tables import TableUpload
from validation_core.tables.package_arrays import array_of

Draw = Callable[[NDArray[Any], int], Any]
"""`draw(x, k)` for x (N, ...): k draws of q at each, (N, k, D), as an array or a tensor."""
DrawOfModel = Callable[[Any, NDArray[Any], int], Any]
"""`draw(model, x, k)`: the same of the model that is being trained."""
_QUICK = (Omnibus(learned=False), "sbc")  # train nothing


class Checkpoints:
    """Diagnose an estimator after each epoch, on one set of simulations, and compare the epochs.

    Each verdict holds by itself at the level, for simulations that neither trained q nor stopped
    its training. To pick an epoch by them is to look at them many times: `compare` corrects for
    that, and the picked q is diagnosed anew on fresh simulations.

    Args:
        theta: (N, D), fresh from the prior.
        x: (N, ...), simulated from each.
        k: draws at each x.
        names: labels of the D parameters.
        methods: tests of each checkpoint; by default relabelling without learned scores, which
            decides, and SBC: they train nothing.
        alpha: level of each checkpoint's verdict.
        seed: of the tests.
        store: of results; by default the user's cache folder.

    Examples:
        >>> checkpoints = npt.Checkpoints(theta, x, k=20)
        >>> for epoch, sd in enumerate((0.5, 1.0), 1):
        ...     draw = lambda x, k: x[:, None] + sd * rng.standard_normal((len(x), k, 2))
        ...     _ = checkpoints(draw, f"epoch {epoch}")
        >>> [row["verdict"] for row in checkpoints.rows()]
        ['problem found', 'no problem found']
        >>> checkpoints.compare().labels
        ('epoch 1', 'epoch 2')
    """

    tables: dict[str, Table]
    """Draws of each checkpoint, by label."""
    results: dict[str, DiagnosisResult]
    """Diagnosis of each checkpoint, by label."""

    @checked_keywords()
    def __init__(
        self,
        theta: ArrayLike,
        x: ArrayLike,
        k: int = 200,
        *,
        names: Sequence[str] = (),
        methods: Sequence[str | Method] | None = _QUICK,
        alpha: float = 0.05,
        seed: int = 0,
        store: Store | None = None,
    ) -> None:
        # Copies, so that nothing changes them between two epochs.
        self._theta, self._x = np.array(array_of(theta)), np.array(array_of(x))
        self._k, self._names = k, names
        self._methods, self._alpha, self._seed = methods, alpha, seed
        self._store = store
        self.tables, self.results = {}, {}

    def __call__(self, draw: Draw, label: str = "") -> DiagnosisResult:
        """Draw from the estimator as it is now, and diagnose it.

        Args:
            draw: draw(x, k) for all x (N, ...) returns (N, k, D).
            label: of the checkpoint; by default its place.

        Raises:
            ValueError: for a label that was given before, or draws that are no table.
        """
        label = label or f"checkpoint {len(self.tables) + 1}"
        if label in self.tables:
            raise ValueError(f"A checkpoint has a label of its own; got {label!r} again.")
        theta_q = array_of(draw(self._x.copy(), self._k))
        table = Table(self._theta, self._x, theta_q, names=self._names, order="NKD")
        result = diagnose(
            table,
            self._methods,
            "none",
            alpha=self._alpha,
            seed=self._seed,
            store=self._store,
            progress=False,
        )
        self.tables[label], self.results[label] = table, result
        return result

    def rows(self) -> Rows:
        """A row for each checkpoint: label, verdict, p-value."""
        return [
            {"checkpoint": label, "verdict": result.verdict, "pvalue": result.pvalue}
            for label, result in self.results.items()
        ]

    def compare(self, reference: str | int = 0) -> ComparisonResult:
        """Compare the checkpoints row by row; p-values are adjusted for all of them.

        A row at which some checkpoint has no finite draws is left out of all, and said to be.

        `compare().link()` is the address of the comparison in the dashboard.

        Args:
            reference: the checkpoint that differences are taken from, by label or place: 0 is the
                first, -1 the last.

        Raises:
            TypeError: for a reference that is neither a label nor a place.
            ValueError: for fewer than two checkpoints, or a reference that is none of them.
        """
        tables, lacking = self._of_same_rows()
        compared = compare(
            tables, reference=reference, seed=self._seed, store=self._store, progress=False
        )
        if not lacking:
            return compared
        told = f"{rows_text(lacking)} without finite draws at some checkpoint: not compared there."
        return replace(compared, left_out=(*compared.left_out, told))

    def _of_same_rows(self) -> tuple[dict[str, Table], int]:
        """The tables with the rows that all of them hold, and how many others some hold."""
        held = [_rows(table) for table in self.tables.values()]
        common, all_rows = (
            reduce(of, held, held[0] if held else np.arange(0))
            for of in (np.intersect1d, np.union1d)
        )
        if len(common) == len(all_rows):
            return self.tables, 0
        return {
            label: Table(
                self._theta[common],
                self._x[common],
                table.arrays()["theta_q"][np.isin(rows, common)],
                names=self._names,
                order="NKD",
            )
            for (label, table), rows in zip(self.tables.items(), held, strict=True)
        }, len(all_rows) - len(common)

    def lightning(self, draw: DrawOfModel, every: int = 1) -> Any:
        """A callback of Lightning, for `Trainer(callbacks=[...])`.

        Drawing leaves the training's random numbers as they were.

        Args:
            draw: draw(module, x, k) returns (N, k, D); called in evaluation mode.
            every: epochs between two checkpoints.
        """
        return _lightning_callback(self, draw, every)

    def keras(self, draw: DrawOfModel, every: int = 1) -> Any:
        """A callback of Keras, for `fit(callbacks=[...])`; BayesFlow's workflows take it too.

        Args:
            draw: draw(model, x, k) returns (N, k, D).
            every: epochs between two checkpoints.
        """
        return _keras_callback(self, draw, every)


def _rows(table: Table) -> NDArray[Any]:
    """The places (N,) of a table's rows among the simulations."""
    upload = table.upload
    saved = upload.saved_rows if isinstance(upload, TableUpload) else None
    return np.arange(table.n) if saved is None else saved


def _lightning_callback(checkpoints: Checkpoints, draw: DrawOfModel, every: int) -> Any:
    base = _lightning()

    class _AtEpochs(base):  # type: ignore[misc, valid-type]  # known when installed
        def on_train_epoch_end(self, trainer: Any, module: Any) -> None:
            epoch = trainer.current_epoch + 1
            if epoch % every == 0:
                with _evaluating(module):
                    checkpoints(lambda x, k: draw(module, x, k), f"epoch {epoch}")

    return _AtEpochs()


def _lightning() -> Any:
    """The base class of Lightning's callbacks, under either of its names.

    Raises:
        ImportError: where neither is installed.
    """
    try:
        from lightning.pytorch import Callback
    except ImportError:
        from pytorch_lightning import Callback
    return Callback


@contextmanager
def _evaluating(module: Any) -> Iterator[None]:
    """A module in evaluation mode, without gradients; torch's random numbers stay as they were."""
    import torch

    training = module.training
    module.eval()
    try:
        with torch.no_grad(), torch.random.fork_rng():
            yield
    finally:
        module.train(training)


def _keras_callback(checkpoints: Checkpoints, draw: DrawOfModel, every: int) -> Any:
    from keras.callbacks import Callback

    class _AtEpochs(Callback):  # type: ignore[misc]  # known when Keras is installed
        def on_epoch_end(self, epoch: int, logs: Any = None) -> None:
            if (epoch + 1) % every == 0:
                checkpoints(lambda x, k: draw(self.model, x, k), f"epoch {epoch + 1}")

    return _AtEpochs()
