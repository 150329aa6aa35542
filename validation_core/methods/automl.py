"""AutoML two-sample test: is a learned witness higher under p than under q?"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, ClassVar, Literal, get_args

import numpy as np
from scipy.special import expit

from validation_core.drawing import style
from validation_core.drawing.drawn import Drawn
from validation_core.drawing.marks import Anchor, Axis, Bars, Note, Panel, VLine, empty
from validation_core.drawing.null_histogram import permutation_histogram
from validation_core.methods.base import Further, Layout, Method, RecordView, ScoreKind
from validation_core.scores import witness, witness_rows
from validation_core.scores.witness import Witness, WitnessEngine
from validation_core.statistics.witness_test import permuted
from validation_core.text import signed_text
from validation_core.types import (
    Array,
    Benchmark,
    BlockScores,
    Budget,
    MethodStyle,
    Outcome,
    Paper,
    Scores,
)

if TYPE_CHECKING:
    from validation_core.methods.record import Effect, Record

_ENGINES = (*get_args(WitnessEngine), "classifier")
_BINS = 40
_WEIGHT = "weight "  # before a member's name, in the summary of an ensemble


@dataclass(frozen=True, kw_only=True)
class AutoML(Method):
    """Difference of a regression witness's means, by permutation.

    The paper's witness is AutoGluon's. The default here is an ensemble of our own in its style,
    deterministic and stored as plain arrays; FLAML and AutoGluon can be asked for where installed.
    With `classifier` the witness is the probability of p that C2ST thresholds, of the network
    that it and the conformal tests read; beta degrades it with theirs.

    Examples:
        >>> from validation_core.types import BlockScores
        >>> scores = BlockScores(p=rng.normal(1, 1, 200), q=rng.normal(0, 1, 200))
        >>> outcome = npt.AutoML(permutations=99).test(scores, rng)
        >>> f"{outcome.statistic:.3g}, p = {outcome.pvalue:.2g}"
        '0.981, p = 0.01'
    """

    name: ClassVar[str] = "automl"
    title: ClassVar[str] = "AutoML two-sample test"
    paper: ClassVar[Paper] = Paper(
        "Kübler, Stimper, Buchholz, Muandet, Schölkopf",
        2022,
        "AutoML two-sample test",
        "Sections 2 and 3",
    )
    summary: ClassVar[str] = "Is a witness, regressed on p against q, higher under p on average?"
    statistic: ClassVar[str] = "difference of the witness's means"
    style: ClassVar[MethodStyle] = MethodStyle("#B03A76", "longdashdot", "pentagon")
    turn: ClassVar[int] = 21
    runs_unasked: ClassVar[bool] = False
    layout: ClassVar[Layout] = "blocks"
    version: ClassVar[int] = 2

    engine: WitnessEngine | Literal["classifier"] = field(
        default="ensemble",
        metadata={
            "label": "Witness",
            "help": "Our AutoML-style ensemble, a library's search where it is installed, or the "
            "classifier of C2ST.",
        },
    )
    seconds: int = field(
        default=60,
        metadata={
            "label": "Time for the witness, in seconds",
            "min": 1,
            "max": 86_400,
            "help": "The ensemble begins no member after it; a library searches until then. Where "
            "it cuts something off, results depend on the machine's speed.",
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

    def __post_init__(self) -> None:
        if self.permutations < 1:
            raise ValueError(
                f"permutations is at least 1; got {self.permutations}. 999 serves most levels."
            )
        if self.engine not in _ENGINES:
            raise ValueError(
                f"engine is one of {', '.join(_ENGINES)}; got {self.engine!r}. Choose one of "
                "those."
            )
        if self.engine != "classifier":
            self.recipe(witness_rows.FEWEST, 1)

    @property
    def label(self) -> str:
        if self.engine == "classifier":
            return "AutoML of the classifier"
        return witness.NAMES[self.engine]

    @property
    def score_kind(self) -> ScoreKind:  # type: ignore[override]  # of each engine its own
        return "classifier" if self.engine == "classifier" else "recipe"

    @property
    def scores_by_number(self) -> bool:  # type: ignore[override]  # the classifier has no trees
        return self.engine != "classifier"

    def recipe(self, n: int, k: int, benchmark: Benchmark | None = None) -> Witness:
        """How its witness is trained: on as many rows of p and of q as a test has."""
        del k, benchmark
        assert self.engine != "classifier"
        return Witness(engine=self.engine, n=n, seconds=self.seconds)

    @property
    def in_spreads(self) -> bool:
        return True

    @property
    def scoring(self) -> float:
        return super().scoring if self.reads_classifier else 7.0

    @property
    def resamples(self) -> int:
        return self.permutations

    @classmethod
    def further(cls) -> Further:
        return Further(
            cls(permutations=1999),
            7,
            "trees, neighbours, a ridge and a network together, where one classifier sees nothing",
        )

    def effects(self, outcome: Outcome) -> dict[str, Effect]:
        return {"tau": float(outcome.statistic)}

    @classmethod
    def findings(cls, record: Record, x_names: Sequence[str] = ()) -> tuple[str, ...]:
        del x_names
        effect = record.effect
        took = f" It was learnt in {effect.training_seconds:.1f} s on rows that no test reads."
        tau = signed_text(effect.numbers["tau"], "+.3f")
        return (f"The witness is higher under p than under q by {tau}.{took}",)

    @classmethod
    def pictures(cls, record: Record, view: RecordView) -> list[Drawn]:
        del view  # a witness is one number, whatever the parameters
        arrays = record.arrays
        none = np.empty(0)
        p, q = (np.asarray(arrays.get(side, none)) for side in "pq")
        difference = (
            float(p.mean(dtype=float) - q.mean(dtype=float)) if p.size and q.size else np.nan
        )
        return [
            Drawn(
                "The difference against its null",
                _null(np.asarray(arrays.get("null", none)), difference),
                "Grey: the difference of the witness's means after rows of p and q were "
                "relabelled at random. If q were correct, the red line would be one of them, "
                "anywhere in the grey; far to its right, q is wrong in a way that the witness "
                "has found.",
            ),
            Drawn(
                "What the witness says",
                _values(p, q),
                "The witness is high where a row looks like p's. If q were correct, both "
                "histograms would have one shape and one mean, but for chance.",
            ),
        ]

    @classmethod
    def training_figures(cls, summary: Mapping[str, float]) -> list[Drawn]:
        if not any(name.startswith(_WEIGHT) for name in summary):
            return []
        return [
            Drawn(
                "What the witness is made of",
                member_weights(summary),
                "Each member's weight, chosen on held-out folds. If q were correct, none of them "
                "would explain held-out labels (R² near 0).",
            )
        ]

    def test(self, scores: Scores, rng: np.random.Generator) -> Outcome:
        """One-sided: large tau = mean_p h - mean_q h.

        arrays: p (..., n_p), q (..., n_q), the witness's values; null (..., B), tau of each
        relabelling.
        """
        assert isinstance(scores, BlockScores)
        p, q = scores.p, scores.q
        if self.engine == "classifier":
            p, q = expit(p), expit(q)
        permutation = permuted(p, q, self.permutations, rng)
        return Outcome(
            permutation.statistic,
            permutation.pvalue,
            Budget(p.shape[-1], q.shape[-1]),
            arrays={"p": p, "q": q, "null": permutation.null},
        )


def _null(relabelled: Array, observed: float) -> Panel:
    """tau of every relabelling (B,) in grey, the observed one in red."""
    label, hover = "tau of relabelled rows", "tau = %{x:.3g}: %{y}"
    return permutation_histogram(relabelled, observed, label, hover=hover)


def _values(p: Array, q: Array) -> Panel:
    """Shares of the witness's values under p (n_p,) and q (n_q,), and the two means."""
    if p.size == 0 or q.size == 0:
        return empty("No witness yet")
    x = Axis(style.padded(np.concatenate([p, q])), "witness")
    shares = [np.histogram(side, _BINS, x.limits)[0] / side.size for side in (p, q)]
    edges = np.linspace(*x.limits, _BINS + 1)
    top = 1.25 * max(float(share.max()) for share in shares)
    means = float(p.mean()), float(q.mean())
    sides = list(zip("pq", shares, means, (style.P, style.Q), _sides(*means), strict=True))
    return Panel(
        [
            *(
                Bars(
                    edges,
                    share,
                    color=color,
                    opacity=0.5,
                    label=name,
                    hover=f"{name}: %{{y:.1%}} near %{{x:.3g}}",
                )
                for name, share, _, color, _ in sides
            ),
            *(VLine(mean, color=color) for _, _, mean, color, _ in sides),
            *(
                Note(mean, 0.95 * top, f"mean of {name}", color=color, anchor=anchor, shift=shift)
                for name, _, mean, color, (anchor, shift) in sides
            ),
        ],
        x=x,
        y=Axis((0, top), "share", percent=True),
        height=style.HEIGHT,
    )


def member_weights(summary: Mapping[str, float]) -> Panel:
    """The weight of every member as a bar, with its R² on held-out labels.

    Args:
        summary: `weight NAME` and `r2 NAME` of each, from the summary of a trained witness.
    """
    weights = {
        name.removeprefix(_WEIGHT): value
        for name, value in summary.items()
        if name.startswith(_WEIGHT)
    }
    if not weights:
        return empty("No members yet")
    names = list(weights)
    labels = [f"{name} · R² {summary[f'r2 {name}']:.3f}" for name in names]
    color = style.method_style("automl").color
    bars = [
        Bars([i - 0.3, i + 0.3], [w], color=color, opacity=1, upright=False, hover="%{x:.0%}")
        for i, w in enumerate(weights.values())
    ]
    return Panel(
        bars,
        x=Axis((0, 1), "weight in the witness", percent=True),
        y=Axis.of_rows(labels),
        height=style.HEIGHT,
    )


def _sides(p: float, q: float) -> tuple[tuple[Anchor, int], tuple[Anchor, int]]:
    """Where the labels of two means go: away from one another."""
    right: tuple[Anchor, int] = ("start", 6)
    left: tuple[Anchor, int] = ("end", -6)
    return (right, left) if p >= q else (left, right)
