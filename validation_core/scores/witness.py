"""The witness of the AutoML two-sample test: a regression of "from p or from q" on (theta, x)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal, get_args

import numpy as np

from validation_core import sampling
from validation_core.scores import Recipe
from validation_core.scores.witness_rows import WitnessRows, rows_of_blocks, rows_of_table
from validation_core.types import Benchmark, PosteriorTable, TwoSamples

if TYPE_CHECKING:
    from validation_core.keys import Arrays
    from validation_core.scores.witness_search import TrainedSearch
    from validation_core.scores.witness_training import TrainedEnsemble
    from validation_core.study import Report

WitnessEngine = Literal["ensemble", "flaml", "autogluon"]
NAMES: Mapping[WitnessEngine, str] = {
    "ensemble": "AutoML-style",
    "flaml": "AutoML FLAML",
    "autogluon": "AutoML AutoGluon",
}
"""Label of each engine; ours is in the style of AutoGluon, and not called that."""


@dataclass(frozen=True, kw_only=True)
class Witness(Recipe, spec="witness"):
    """A regression of 1 on p's rows and 0 on q's, with class-balancing weights.

    Kuebler et al. (2022), Section 3: the witness of least squared error has the largest
    signal-to-noise ratio. `ensemble` is deterministic wherever all members begin within
    `seconds`; the searches of FLAML and AutoGluon stop by the clock and are not reproducible to
    the bit: they are valid tests whatever they find, as a witness never sees the test rows.
    """

    engine: WitnessEngine = "ensemble"
    n: int = field(default=1000, metadata={"label": "Training rows from p, and from q"})
    seconds: float = field(default=60.0, metadata={"label": "Time for it, in seconds"})

    def __post_init__(self) -> None:
        if self.engine not in get_args(WitnessEngine):
            raise ValueError(
                f"engine is one of {', '.join(get_args(WitnessEngine))}; got {self.engine!r}. "
                "Choose one of those."
            )
        if not 0 <= self.seconds <= 86_400:
            raise ValueError(
                f"seconds lies between 0 and 86400; got {self.seconds}. 60 is the paper's."
            )

    @property
    def label(self) -> str:
        """Short description for a list of trained models."""
        return f"witness {NAMES[self.engine]}"

    @property
    def places(self) -> int:
        return self.n

    def cost(self) -> float:
        return 2.6

    def sample(self, benchmark: Benchmark, gamma: float, rng: np.random.Generator) -> WitnessRows:
        """Independent rows of p and of q."""
        return rows_of_blocks(sampling.blocks(benchmark, gamma, self.n, self.n, rng))

    def of_table(self, draws: PosteriorTable, rng: np.random.Generator) -> WitnessRows:
        """The truths of a table and its draws of q."""
        del rng  # the folds are dealt at learning
        return rows_of_table(draws)

    def of_blocks(self, blocks: TwoSamples, rng: np.random.Generator) -> WitnessRows:
        """Two plain samples."""
        del rng
        return rows_of_blocks(blocks)

    def learn_all(
        self, data: Sequence[WitnessRows], seeds: Sequence[int], report: Report | None = None
    ) -> list[TrainedEnsemble] | list[TrainedSearch]:
        """One witness for each set of rows and seed, in turn.

        Raises:
            ValueError: when the engine is not installed, with the package to install.
        """
        pairs = list(zip(data, seeds, strict=True))
        if self.engine == "ensemble":
            from validation_core.scores import witness_training

            return [
                witness_training.train_ensemble(rows, self.seconds, seed, report)
                for rows, seed in pairs
            ]
        from validation_core.scores import witness_search

        return [
            witness_search.search_witness(rows, self.engine, self.seconds, seed)
            for rows, seed in pairs
        ]

    def read(
        self, arrays: Arrays, *, seconds: float, device: str
    ) -> TrainedEnsemble | TrainedSearch:
        """Trained witness from the output of its `arrays`."""
        if self.engine == "ensemble":
            from validation_core.scores.witness_training import TrainedEnsemble

            return TrainedEnsemble.read(arrays, seconds=seconds, device=device)
        from validation_core.scores.witness_search import TrainedSearch

        return TrainedSearch.read(arrays, library=self.engine, seconds=seconds, device=device)
