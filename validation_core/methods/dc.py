"""Discriminative calibration: does a learned score tell the truth from draws at its x?"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, ClassVar, Literal

import numpy as np

from validation_core.drawing import style
from validation_core.drawing.drawn import Drawn
from validation_core.drawing.marks import Axis, Bars, Line, Note, Panel, Points, VLine, empty
from validation_core.drawing.null_histogram import beside, permutation_histogram
from validation_core.methods.base import (
    Further,
    Method,
    RecordView,
    ScoreKind,
    effect_interval_text,
)
from validation_core.scores import slot_classifier
from validation_core.scores import slots as score_slots
from validation_core.scores.slot_classifier import SlotClassifier
from validation_core.scores.slots import Slots
from validation_core.statistics import slots
from validation_core.statistics.slots import SlotLoss
from validation_core.text import number_text
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
    from validation_core.methods.record import Effect, Record
    from validation_core.tables import Upload


_Net = Literal["quadratic", "paper", "within"]

_SHOWN: Mapping[_Net, str] = {
    "quadratic": "our features",
    "paper": "authors' net",
    "within": "within x",
}
_SEED_NAMES: Mapping[_Net, str] = {"quadratic": "", "paper": " paper", "within": " within x"}
_WHOLE = 400  # draws at an x that a score within x sees, at most

_BINS = 40
_BAR_HEIGHT = 150  # pixels


@dataclass(frozen=True, kw_only=True)
class DC(Method):
    """Held-out divergence of a classifier of slots, tested by permutations within x.

    The truth always lies in slot 0, which a classifier that sees slots would learn and reject
    every q for: here one score g(theta, x) serves all slots, so that it cannot.

    Examples:
        >>> from validation_core.types import TableScores
        >>> truth, draws = rng.normal(1, 1, (1, 60)), rng.normal(0, 1, (1, 60, 20))
        >>> outcome = npt.DC(permutations=99).test(TableScores(truth, draws), rng)
        >>> f"{outcome.statistic:.3g}, p = {outcome.pvalue:.2g}"
        '0.335, p = 0.01'
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
    summary: ClassVar[str] = "Can a classifier tell true values from q's own draws at the same x?"
    statistic: ClassVar[str] = "held-out divergence, in nats"
    style: ClassVar[MethodStyle] = MethodStyle("#A8791B", "dot", "hexagon")
    turn: ClassVar[int] = 20
    runs_unasked: ClassVar[bool] = False
    score_kind: ClassVar[ScoreKind] = "recipe"
    kind: SlotLoss = field(
        default="multiclass",
        metadata={
            "label": "Classes",
            "help": (
                "Which of the m + 1 slots holds the true value, or true value against draw, "
                "balanced."
            ),
        },
    )
    m: int = field(
        default=10,
        metadata={
            "label": "m",
            "min": 1,
            "max": 1000,
            "help": ("Draws of q beside each true value."),
        },
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
    net: _Net = field(
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
        self.recipe(max(slot_classifier.FEWEST, score_slots.FEWEST), self.m)

    @property
    def label(self) -> str:
        return f"DC {_SHOWN[self.net]}" + (" binary" if self.kind == "binary" else "")

    @property
    def seed_name(self) -> str:
        return f"DC {self.kind}{_SEED_NAMES[self.net]}"

    @property
    def degrades(self) -> bool:
        return True

    @property
    def verdict_score(self) -> str:
        return "dc"

    def recipe(self, n: int, k: int, benchmark: Benchmark | None = None) -> SlotClassifier | Slots:
        """How its slot classifier is trained: on a table as large as a test's."""
        del benchmark
        if self.net == "within":
            whole = 1 + max(self.m, _WHOLE)
            return Slots(
                loss=self.kind, n=n, k=max(k, self.m), m=self.m, scored=self.m, whole=whole
            )
        return SlotClassifier(kind=self.kind, n=n, m=self.m, net=self.net)

    def budget(self, n: int, k: int = 1) -> Budget:
        """m draws at each x; all where the score sees them, though m compete with the truth."""
        return Budget(n, n * (max(k, self.m) if self.net == "within" else self.m))

    def obstacle(self, upload: Upload) -> str | None:
        wanted = self.budget(1, upload.k).q
        if wanted <= upload.k:
            return None
        return (
            f"It compares the true value with {wanted} draws of q at its x; got {upload.k}. "
            f"Upload more draws or set m={upload.k}."
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
        return (
            f"it wants {wanted} draws beside the one in the true value's place; there are {k - 1}"
        )

    @classmethod
    def further(cls) -> Further:
        return Further(
            cls(permutations=1999, net="within"),
            2,
            "how far q is from p, as a divergence in nats with its interval",
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
        effect = record.effect.numbers
        return (
            "Divergence of q's draws from true values, as far as this score tells them apart: "
            f"{effect_interval_text(effect, 'divergence', '+.3f')} nats, a 95% interval; 0 is "
            f"guessing, {effect['divergence_most']:.2f} the most there can be.",
        )

    @classmethod
    def pictures(cls, record: Record, view: RecordView) -> list[Drawn]:
        del view  # a slot has one score, whatever the parameters
        arrays = record.arrays
        none = np.empty(0)
        each, permuted = (np.asarray(arrays.get(name, none)) for name in ("rows", "null"))
        estimate = float(each.mean(dtype=float)) if each.size else np.nan
        low, high, most = (float(arrays.get(name, np.nan)) for name in ("low", "high", "most"))
        return [
            Drawn(
                "The divergence against its null",
                divergence_null_histogram(permuted, estimate),
                "Grey: the same scores, with the true value of every simulation put in a "
                "random slot among q's draws at its x. If q were correct, the red line would "
                "fall anywhere among them.",
            ),
            Drawn(
                "How far the score tells q's draws from true values",
                divergence_bar(estimate, low, high, most),
                "The bar is a 95% interval over the simulations of the test, for this score. If "
                "q were correct, it would reach 0 or end below it: a score that learnt noise does "
                "worse than guessing.",
            ),
            Drawn(
                "Simulation by simulation",
                row_contributions(each, most),
                "Right of the dashed line the score prefers the true value, left of it a draw "
                "of q. If q were correct, the mean over all simulations would not lie right "
                "of it.",
            ),
        ]

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


def divergence_null_histogram(permuted: Array, observed: float) -> Panel:
    """Divergences (B,) of truths put in random slots in grey, the observed one in red."""
    label, hover = "divergence, true values in random slots", "%{x:.3g} nats: %{y}"
    return permutation_histogram(permuted, observed, label, hover=hover)


def divergence_bar(estimate: float, low: float, high: float, most: float) -> Panel:
    """The divergence with its interval, from 0 (guessing) to `most` (always recognised).

    Negative where the score does worse than guessing: not cut off.
    """
    if not np.isfinite([estimate, low, high, most]).all():
        return empty("No divergence yet", height=_BAR_HEIGHT)
    left, right = min(0.0, low), max(most, high)
    pad = 0.06 * (right - left)
    color = style.method_style("dc").color
    return Panel(
        [
            Line([low, high], [0, 0], color=color, width=6, opacity=0.5),
            Points(
                [estimate],
                [0],
                color=color,
                size=12,
                symbol="diamond",
                hover=f"{estimate:.3g} nats, {low:.3g} to {high:.3g}",
            ),
            VLine(0, dash="dash"),
            VLine(most),
            Note(estimate, -0.5, number_text(estimate), color=color, anchor="middle"),
            Note(0, 0.75, "guessing", color=style.NULL, shift=4),
            Note(most, 0.75, f"at most {most:.3g}", color=style.NULL, anchor="end", shift=-4),
        ],
        x=Axis((left - pad, right + pad), "divergence, in nats"),
        y=Axis((-1, 1), hidden=True),
        height=_BAR_HEIGHT,
    )


def row_contributions(values: Array, most: float) -> Panel:
    """Term of each simulation (n,) in the divergence, and their mean in red."""
    if values.size == 0:
        return empty("No simulations yet")
    label = "log predictive density beyond guessing, in nats"
    x = Axis(style.padded(np.append(values, [0.0, most])), label)
    counts, edges = np.histogram(values, _BINS, x.limits)
    top = 1.25 * float(counts.max())
    mean = float(values.mean(dtype=float))
    return Panel(
        [
            Bars(edges, counts, color=style.Q, opacity=0.6, hover="%{x:.3g} nats: %{y}"),
            VLine(0, dash="dash"),
            VLine(mean, color=style.OBSERVED, width=2.5),
            beside(f"mean {number_text(mean)}", mean, 0.95 * top, style.OBSERVED, x),
        ],
        x=x,
        y=Axis((0, top), "simulations"),
        height=style.HEIGHT,
    )
