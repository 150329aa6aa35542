"""L-C2ST: is q right at one observation? A classifier's distance from guessing there."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, ClassVar

import numpy as np
from scipy.special import expit

from validation_core import scores as scoring
from validation_core.methods.base import Further, Method, ScoreKind, Work
from validation_core.scores.lc2st import LC2STClassifier, LocalScore
from validation_core.statistics.local import distance_of_logits, least_pvalue, local
from validation_core.types import (
    Array,
    Budget,
    MethodStyle,
    Outcome,
    Paper,
    PosteriorTable,
    Scores,
    TableScores,
)

if TYPE_CHECKING:
    from validation_core.diagnosis.records import Effect, Record
    from validation_core.figures.outcome import Drawn

_NULL = 2.5e-5  # seconds of training one of its networks, for each row
_LEVEL = 0.05  # that a test must be able to reach


@dataclass(frozen=True, kw_only=True)
class LC2ST(Method):
    """Local C2ST with nulls by swaps within pairs, the +1 rule and Holm over observations.

    The swaps make the test exact for the global null, p = q at every x; at one x_o it is
    approximate. The score's sign: d = sigmoid(logit) is the learned chance that a draw is the
    truth, 1 - d in Linhart's notation; the statistic is the same.
    """

    name: ClassVar[str] = "lc2st"
    title: ClassVar[str] = "L-C2ST"
    paper: ClassVar[Paper] = Paper(
        "Linhart, Gramfort, Rodrigues",
        2023,
        "L-C2ST: local diagnostics for posterior approximations in simulation-based inference",
        "Algorithms 1 and 2",
    )
    summary: ClassVar[str] = "Does a classifier tell q's draws from the truth at one observation?"
    statistic: ClassVar[str] = "mean squared distance of d from 1/2 at the worst x_o"
    style: ClassVar[MethodStyle] = MethodStyle("#5B7FA6", "dashdot", "triangle-down")
    turn: ClassVar[int] = 22
    score_kind: ClassVar[ScoreKind] = "trial"
    nulls: int = field(
        default=100,
        metadata={
            "label": "Null classifiers",
            "help": "The smallest p-value is observations / (nulls + 1).",
            "min": 19,
            "max": 1000,
        },
    )
    points: int = field(
        default=1,
        metadata={
            "label": "Observations",
            "help": "x_o to look at, corrected by Holm; each needs twenty nulls.",
            "min": 1,
            "max": 50,
        },
    )
    hidden: int = field(
        default=32,
        metadata={"label": "Hidden units", "help": "Of both layers.", "min": 2, "max": 256},
    )
    epochs: int = field(
        default=15,
        metadata={
            "label": "Epochs",
            "help": "More: finer places, and more noise.",
            "min": 1,
            "max": 1000,
        },
    )

    def __post_init__(self) -> None:
        if min(self.nulls, self.points, self.hidden, self.epochs) < 1:
            raise ValueError(
                "nulls, points, hidden and epochs are at least 1; got "
                f"{self.nulls}, {self.points}, {self.hidden}, {self.epochs}. Raise them."
            )
        self._require(self.points)

    @property
    def label(self) -> str:
        where = f" at {self.points} x" if self.points > 1 else ""
        return f"L-C2ST{where}"

    def sizes(self, n: int, k: int) -> tuple[tuple[int, int], tuple[int, int]]:
        """n pairs to learn from; then `points` observations with k draws of q at each."""
        return (n, 1), (self.points, k)

    def budget(self, n: int, k: int = 1) -> Budget:
        return Budget(n, n + self.points * k)

    def learn(self, train: PosteriorTable, rng: np.random.Generator) -> LocalScore:
        """All nulls + 1 networks, as one batch.

        Raises:
            ValueError: if there are fewer than 8 rows or a number is not finite.
        """
        recipe = LC2STClassifier(nulls=self.nulls, hidden=self.hidden, epochs=self.epochs)
        return recipe.learn(train, rng)

    def at(
        self, train: PosteriorTable, x_o: Array, draws: Array, rng: np.random.Generator
    ) -> Outcome:
        """The test at given observations, whose truth nobody needs to know.

        The same as `test(scores.apply(learn(train), PosteriorTable(any, x_o, draws)))`; to look at
        further observations without learning again, keep what `learn` gave.

        Args:
            train: rows with the truth and at least one draw of q, none of them from x_o.
            x_o: one observation (M,), or a grid of them (P, M).
            draws: q's draws there: (K, D), or (P, K, D).
            rng: draws labels, starts and order.

        Raises:
            ValueError: if the shapes do not fit, P needs more nulls, or `learn` raises.
        """
        observations, samples = np.atleast_2d(x_o), draws[None] if draws.ndim == 2 else draws
        if samples.ndim != 3 or len(observations) != len(samples) or samples.shape[1] < 1:
            raise ValueError(
                "every observation has draws of its own; got x_o of shape "
                f"{np.shape(x_o)} and draws {draws.shape}; give (P, M) and (P, K, D)"
            )
        self._require(len(observations))
        look = PosteriorTable(samples[:, 0], observations, samples)
        return self.test(scoring.apply(self.learn(train, rng), look), rng)

    @property
    def resamples(self) -> int:
        return self.nulls

    def places(self, n: int, k: int) -> int:
        return sum(rows for rows, _ in self.sizes(n, k))

    def cost(self, work: Work) -> float:
        return _NULL * self.sizes(work.n, work.k)[0][0] * (1 + self.nulls)

    @classmethod
    def further(cls) -> Further:
        return Further(
            cls(nulls=1000),
            4,
            "whether q is wrong at one observation, and where among its draws there",
        )

    def effects(self, outcome: Outcome) -> dict[str, Effect]:
        return {"T": float(outcome.statistic)}

    @classmethod
    def findings(cls, record: Record, x_names: Sequence[str] = ()) -> tuple[str, ...]:
        effect = record.effect
        x = effect.get("x_o", [])
        labels = x_names if len(x_names) == len(x) else [f"x_{i + 1}" for i in range(len(x))]
        values = ", ".join(f"{name} = {value:.3g}" for name, value in zip(labels, x, strict=True))
        points = len(effect.get("rows", [0]))
        where = (
            "Looked at one held-out observation, the nearest to the median of x:"
            if points == 1
            else f"Looked at the {points} held-out observations nearest to the median of x, the "
            f"worst "
            "of which is"
        )
        return (
            f"{where} row {effect['row']}, counted from 0{f' ({values})' if values else ''}. "
            "There T, the mean squared distance from 1/2 of the learned chance that a draw is "
            "the truth, is "
            f"{effect['T']:.3g}. Its classifiers learnt from the rows that are not held out.",
        )

    @classmethod
    def figures(cls, arrays: Mapping[str, Array], names: Sequence[str] = ()) -> list[Drawn]:
        from validation_core.methods.lc2st import figures

        return figures.outcome(arrays, names)

    @classmethod
    def pictures(
        cls,
        record: Record,
        *,
        alpha: float = 0.05,
        names: Sequence[str] = (),
        only: int | None = None,
    ) -> list[Drawn]:
        """Also the draws where it looked, coloured."""
        from validation_core.methods.lc2st import figures

        del alpha, only
        theta = record.arrays.get("theta_q", np.zeros((0, 0, 0)))
        maps = figures.maps(record.arrays, theta, names) if theta.size else []
        return [*figures.outcome(record.arrays, names), *maps]

    def test(self, scores: Scores, rng: np.random.Generator) -> Outcome:
        """T = mean (d - 1/2)^2 at each observation against the nulls' there; Holm's smallest p.

        Scores: the classifier's logits first, then those of H nulls. Without a null p is 1.

        budget: of the look; `budget(n, k)` has the table it learnt from as well.
        arrays: t, pvalues, adjusted (..., P), nulls (..., P, H), worst (...): the observation
        with the smallest p. Of one trial also d (P, K) and, at the worst, null_d (H, K).
        """
        del rng
        assert isinstance(scores, TableScores)
        distances = distance_of_logits(scores.draws)  # (..., H + 1, P)
        each = local(distances[..., 0, :], np.moveaxis(distances[..., 1:, :], -2, -1))
        worst = each.worst
        arrays: dict[str, Array] = {
            "t": each.statistic,
            "pvalues": each.pvalue,
            "adjusted": each.adjusted,
            "nulls": each.nulls,
            "worst": worst.astype(np.float64),
        }
        if scores.draws.ndim == 3:
            null_logits = scores.draws[1:, int(worst)]
            arrays |= {"d": _chance(scores.draws[0]), "null_d": _chance(null_logits)}
        points, k = scores.draws.shape[-2:]
        return Outcome(
            np.take_along_axis(each.statistic, worst[..., None], axis=-1)[..., 0],
            each.adjusted.min(axis=-1),
            Budget(0, points * k),
            arrays=arrays,
            effect={"least_pvalue": least_pvalue(points, each.nulls.shape[-1])},
        )

    def _require(self, points: int) -> None:
        if least_pvalue(points, self.nulls) > _LEVEL:
            raise ValueError(
                f"p-values below {_LEVEL:g} need {round(points / _LEVEL) - 1} null classifiers "
                f"for {points} observations; got {self.nulls}, so that no data could reject. "
                "Raise the nulls or look at fewer observations."
            )


def _chance(logits: Array) -> Array:
    return expit(logits.astype(np.float64)).astype(np.float32)
