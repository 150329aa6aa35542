"""Discriminative calibration: can a learned score tell the truth from q's draws at its x?"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, ClassVar, Literal

import numpy as np

from validation_core.methods.base import Further, Method, ScoreKind
from validation_core.methods.words import signed
from validation_core.scores import slot_classifier
from validation_core.scores import slots as slots_score
from validation_core.scores.slot_classifier import SlotClassifier
from validation_core.scores.slots import Slots
from validation_core.statistics import slots
from validation_core.statistics.slots import Kind
from validation_core.types import (
    Array,
    Benchmark,
    Budget,
    MethodStyle,
    Outcome,
    Paper,
    Scores,
    TableScores,
)

if TYPE_CHECKING:
    from validation_core.diagnosis.records import Effect, Record
    from validation_core.figures.outcome import Drawn
    from validation_core.tables import Upload

Net = Literal["quadratic", "paper", "within"]

_SHOWN: Mapping[Net, str] = {"paper": "paper", "within": "within x"}
_WHOLE = 400  # draws at an x that a score within x sees, at most


@dataclass(frozen=True, kw_only=True)
class DC(Method):
    """Held-out divergence of a classifier of slots, tested by permutations within x.

    The truth always lies in slot 0, which a classifier that sees slots would learn and reject
    every q for: here one score g(theta, x) serves all slots, so that it cannot.
    """

    name: ClassVar[str] = "dc"
    title: ClassVar[str] = "Discriminative calibration"
    paper: ClassVar[Paper] = Paper(
        "Yao, Domke",
        2023,
        "Discriminative calibration: check Bayesian computation from simulations and flexible "
        "classifier",
        "Algorithm 1",
    )
    summary: ClassVar[str] = "Can a classifier tell the truth from q's own draws at the same x?"
    statistic: ClassVar[str] = "held-out divergence, in nats"
    style: ClassVar[MethodStyle] = MethodStyle("#A8791B", "dot", "hexagon")
    turn: ClassVar[int] = 20
    score_kind: ClassVar[ScoreKind] = "recipe"
    kind: Kind = field(
        default="multiclass",
        metadata={
            "label": "Classes",
            "help": "Which of the m + 1 slots is the truth, or truth against draw, balanced.",
        },
    )
    m: int = field(
        default=10,
        metadata={"label": "m", "min": 1, "max": 1000, "help": "Draws of q beside each truth."},
    )
    permutations: int = field(
        default=999,
        metadata={
            "label": "Permutations",
            "min": 19,
            "max": 100_000,
            "help": "The smallest p-value is 1 / (permutations + 1).",
        },
    )
    net: Net = field(
        default="quadratic",
        metadata={
            "label": "Score",
            "help": "Products of whitened coordinates beside 32 hidden units, the authors' units "
            "alone, or trees and units that see each draw among all others at its x.",
        },
    )

    def __post_init__(self) -> None:
        for name in ("m", "permutations"):
            if getattr(self, name) < 1:
                raise ValueError(
                    f"{name} is at least 1; got {getattr(self, name)}. The defaults are 10 draws "
                    "and 999 permutations."
                )
        self.recipe(max(slot_classifier.FEWEST, slots_score.FEWEST), self.m)

    @property
    def label(self) -> str:
        return f"DC {self.kind}" + f" {_SHOWN.get(self.net, '')}".rstrip()

    @property
    def degrades(self) -> bool:
        return True

    @property
    def verdict_score(self) -> str:
        return "dc"

    def recipe(self, n: int, k: int, benchmark: Benchmark | None = None) -> SlotClassifier | Slots:
        """How its scorer is trained: on a table as large as a test's."""
        del benchmark
        if self.net == "within":
            whole = 1 + max(self.m, _WHOLE)
            return Slots(
                loss=self.kind, n=n, k=max(k, self.m), m=self.m, scored=self.m, whole=whole
            )
        return SlotClassifier(kind=self.kind, n=n, m=self.m, net=self.net)

    def budget(self, n: int, k: int = 1) -> Budget:
        """m draws at each x; all where a score sees them, if only m are told from the truth."""
        return Budget(n, n * (max(k, self.m) if self.net == "within" else self.m))

    def obstacle(self, upload: Upload) -> str | None:
        wanted = self.budget(1, upload.k).q
        if wanted <= upload.k:
            return None
        return (
            f"It compares the truth with {wanted} draws of q at its x; got {upload.k}. Upload "
            f"more draws or set m={upload.k}."
        )

    @property
    def scoring(self) -> float:
        return 0.4

    @property
    def resamples(self) -> int:
        return self.permutations

    def unfit(self, k: int) -> str | None:
        if self.net == "within":
            return "its score sees each draw among the others, so that every table is scored anew"
        wanted = self.budget(1, k - 1).q
        if wanted <= k - 1:
            return None
        return f"it wants {wanted} draws beside the one that plays the truth; there are {k - 1}"

    @classmethod
    def further(cls) -> Further:
        return Further(
            cls(permutations=1999, net="within"),
            2,
            "how far q is from the truth, as a divergence in nats with its interval",
        )

    def effects(self, outcome: Outcome) -> dict[str, Effect]:
        arrays = outcome.arrays
        return {
            "divergence": float(outcome.statistic),
            "divergence_low": float(arrays["low"]),
            "divergence_high": float(arrays["high"]),
            "divergence_most": float(arrays["most"]),
        }

    @classmethod
    def findings(cls, record: Record, x_names: Sequence[str] = ()) -> tuple[str, ...]:
        del x_names
        effect = record.effect
        return (
            f"Divergence of q's draws from the truth, as far as this score tells them apart: "
            f"{signed(effect['divergence'])} nats [{signed(effect['divergence_low'])}, "
            f"{signed(effect['divergence_high'])}], a 95% interval; 0 is guessing, "
            f"{effect['divergence_most']:.2f} the most there can be.",
        )

    @classmethod
    def figures(cls, arrays: Mapping[str, Array], names: Sequence[str] = ()) -> list[Drawn]:
        from validation_core.methods.dc import figures

        return figures.outcome(arrays, names)

    def test(self, scores: Scores, rng: np.random.Generator) -> Outcome:
        """One-sided: a large divergence; of more than m draws the first m are taken.

        arrays: rows (..., n), what each simulation adds; null (..., B), the divergence of truths
        put in random slots; low, high: its 95% normal interval over simulations, conditional on
        the score; most: the largest it could be. Negative divergences are those of a score that
        does worse than guessing, and are shown.

        Raises:
            ValueError: with fewer than m draws or two simulations, or a score that is not finite.
        """
        assert isinstance(scores, TableScores)
        truth, draws = scores.truth[..., 0, :], scores.draws[..., 0, :, :]
        n, k = draws.shape[-2:]
        if k < self.m:
            raise ValueError(
                f"Discriminative calibration with m = {self.m} needs {self.m} draws at each x; "
                f"got {k}. Lower m or bring more draws."
            )
        both = np.concatenate([truth[..., None], draws[..., : self.m]], axis=-1)
        values = slots.contributions(both, self.kind)
        permutation = slots.permutation(values, self.permutations, rng)
        rows = values[..., 0]
        low, high = slots.mean_interval(rows)
        return Outcome(
            permutation.statistic,
            permutation.pvalue,
            self.budget(n, k),
            arrays={
                "rows": rows,
                "null": permutation.null,
                "low": low,
                "high": high,
                "most": np.full(low.shape, slots.most(self.kind, self.m)),
            },
        )
