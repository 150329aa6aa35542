"""`mend`: weights for q's draws, judged on rows that they did not learn from."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from validation_core.api.ask import QuestionResult, ask
from validation_core.api.keywords import checked_keywords
from validation_core.api.result import Result, Rows
from validation_core.api.table import Table, as_table
from validation_core.api.work import Watch
from validation_core.drawing.drawn import Drawn
from validation_core.mending import Mended
from validation_core.mending.files import mend_files
from validation_core.mending.function import pick_by_weight
from validation_core.mending.reweighting import weighed_columns
from validation_core.rng import stream
from validation_core.store import Store
from validation_core.tables import TableUpload, Upload
from validation_core.tables.reading import File
from validation_core.types import Interval


@dataclass(frozen=True, eq=False, repr=False)
class MendResult(Result):
    """What weights regain in nats, and the weights; where they do not help, none are offered.

    Examples:
        >>> mended = npt.mend(table, progress=False)
        >>> mended.offered, mended.weights().shape
        (True, (60, 20))
        >>> mended.draws(10).shape
        (60, 10, 2)
    """

    answer: QuestionResult
    table: TableUpload

    @property
    def numbers(self) -> Mended:
        """The typed record of the result: arrays and plain values by field."""
        found = self.answer.numbers
        assert isinstance(found, Mended)
        return found

    @property
    def title(self) -> str:
        return self.answer.title

    @property
    def offered(self) -> bool:
        """Whether the weights help on rows that they did not learn from."""
        return self.numbers.offered

    @property
    def gain(self) -> Interval:
        """Nats regained, with the ends of a 95% interval."""
        return self.numbers.gain

    @property
    def sentences(self) -> tuple[str, ...]:
        return self.answer.sentences

    def figures(self) -> tuple[Drawn, ...]:
        return self.answer.figures()

    def rows(self) -> Rows:
        return self.answer.rows()

    def to_json(self) -> str:
        return self.answer.to_json()

    def weights(self) -> NDArray[np.float64]:
        """Weights (N, K) of each row's draws, in their order, of sum 1, learned without the row.

        Of more than 400 draws so many are weighed, picked at random; the others weigh 0.

        Raises:
            ValueError: where no mend is offered.
        """
        self._require()
        log_weight = self.numbers.log_weight[:, 1:]
        weight = np.exp(log_weight - log_weight.max(axis=1, keepdims=True))
        weight = np.asarray(weight / weight.sum(axis=1, keepdims=True), np.float64)
        columns = weighed_columns(self.table.data)
        if columns is None:
            return weight
        every = np.zeros(self.table.data.q.shape[:2])
        np.put_along_axis(every, columns, weight, axis=1)
        return every

    def draws(self, count: int | None = None, seed: int = 0) -> NDArray[np.floating]:
        """Mended draws (N, count, D): q's own at each x, picked by weight with replacement.

        Args:
            count: draws at each x; by default a row's effective number, in the median.
            seed: of the picking.

        Raises:
            ValueError: where no mend is offered.
        """
        weight = self.weights()
        if count is None:
            count = max(1, round(self.numbers.effective * self.numbers.draws))
        return pick_by_weight(self.table.data.q, weight, count, stream(seed, "mend", "draws"))

    def mend(
        self, x: ArrayLike, theta_q: ArrayLike, count: int | None = None, seed: int = 0
    ) -> NDArray[np.floating]:
        """Mended draws (n, count, D) of new draws of the same q.

        Args:
            x: data (n, M), or one row.
            theta_q: draws there (n, K, D), or (K, D) of one row.
            count: draws at each x; by default K.
            seed: of the picking.

        Raises:
            ValueError: where no mend is offered, or for other shapes than the table's.
        """
        self._require()
        q = np.asarray(theta_q)
        rng = stream(seed, "mend", "new draws")
        return self.numbers.mending().mend(np.asarray(x), q, count or q.shape[-2], rng)

    def _require(self) -> None:
        if not self.offered:
            estimate, low, high = self.gain
            raise ValueError(
                "A mend is offered where it helps on rows that it was not learned from; got "
                f"{estimate:.3f} nats [{low:.3f}, {high:.3f}]. Keep q's draws as they are."
            )

    def files(self) -> Mapping[str, Callable[[], bytes]]:
        """What makes the bytes of mend.npz, mend.py and weighted.npz; none without an offer."""
        return mend_files(self.numbers, self.table)

    def _writers(self) -> Mapping[str, Callable[[], bytes]]:
        def of(name: str) -> Callable[[], bytes]:
            def write() -> bytes:
                self._require()
                return self.files()[name]()

            return write

        return {**super()._writers(), ".npz": of("mend.npz"), ".py": of("mend.py")}


@checked_keywords()
def mend(
    table: Table | Upload | File | Mapping[str, ArrayLike],
    *,
    alpha: float = 0.05,
    seed: int = 0,
    store: Store | None = None,
    progress: bool | Watch = True,
) -> MendResult:
    """Weigh q's draws by a score learned beside it, and say what that is worth on other rows.

    Each fifth of the rows is judged by weights that were learned on others. Weights are offered
    only where they help there; `save("mend.npz")` and `save("mend.py")` mend new draws with NumPy
    alone. It takes some 20 seconds for 1,000 rows of 200 draws.

    Args:
        table: theta (N, D), x (N, ...), theta_q (N, K, D); or a file that holds them.
        alpha: level of what is claimed about q.
        seed: of the fifths, the trees and the labellings.
        store: of results; by default the user's cache folder.
        progress: True for a bar on terminals and in notebooks, False for silence, or a `Watch`.

    Raises:
        ValueError: for a table that cannot be mended, with why, or draws that look mistaken.

    Examples:
        >>> mended = npt.mend(table, progress=False)
        >>> mended.title
        'Mend it'
    """
    upload = as_table(table).upload
    answer = ask("mend", upload, alpha=alpha, seed=seed, store=store, progress=progress)
    assert isinstance(upload, TableUpload), "two samples have an obstacle"
    return MendResult(answer, upload)
