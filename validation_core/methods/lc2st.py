"""L-C2ST: is q right at one observation? A classifier's distance from guessing there."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np
from scipy.special import expit

from validation_core import scores as scoring
from validation_core.scores.local import Local, LocalScore
from validation_core.statistics.local import distance_of_logits, least_pvalue, local
from validation_core.types import (
    Array,
    Budget,
    Draws,
    Layout,
    Outcome,
    Paper,
    Reads,
    Scores,
    TableScores,
)

_LEVEL = 0.05  # that a test must be able to reach


@dataclass(frozen=True, kw_only=True)
class LC2ST:
    """Local C2ST with nulls by swaps within pairs, the +1 rule and Holm over observations.

    The swaps make the test exact for the global null, p = q at every x; at one x_o it is
    approximate. The score's sign: d = sigmoid(logit) is the learned chance that a draw is the
    truth, 1 - d in Linhart's notation; the statistic is the same.
    """

    name: ClassVar[str] = "lc2st"
    title: ClassVar[str] = "L-C2ST"
    paper: ClassVar[Paper] = Paper(
        "Linhart, Gramfort, Rodrigues", 2023,
        "L-C2ST: local diagnostics for posterior approximations in simulation-based inference",
        "Algorithms 1 and 2",
    )  # fmt: skip
    summary: ClassVar[str] = "Does a classifier tell q's draws from the truth at one observation?"
    statistic: ClassVar[str] = "mean squared distance of d from 1/2 at the worst x_o"
    layout: ClassVar[Layout] = "table"
    reads: ClassVar[Reads] = "local"
    version: ClassVar[int] = 1

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

    def learn(self, train: Draws, rng: np.random.Generator) -> LocalScore:
        """All nulls + 1 networks, as one batch.

        Raises:
            ValueError: if there are fewer than 8 rows or a number is not finite.
        """
        recipe = Local(nulls=self.nulls, hidden=self.hidden, epochs=self.epochs)
        return recipe.learn(train, rng)

    def at(self, train: Draws, x_o: Array, draws: Array, rng: np.random.Generator) -> Outcome:
        """The test at given observations, whose truth nobody needs to know.

        The same as `test(scores.apply(learn(train), Draws(any, x_o, draws)))`; to look at
        further observations without learning again, keep what `learn` gave.

        Args:
            train: rows with the truth and at least one draw of q, none of them from x_o.
            x_o: one observation (M,), or a grid of them (P, M).
            draws: q's draws there: (K, D), or (P, K, D).
            rng: draws labels, starts and order.

        Raises:
            ValueError: if the shapes do not fit, P needs more nulls, or `learn` raises.
        """
        seen, drawn = np.atleast_2d(x_o), draws[None] if draws.ndim == 2 else draws
        if drawn.ndim != 3 or len(seen) != len(drawn) or drawn.shape[1] < 1:
            raise ValueError(
                "every observation has draws of its own; got x_o of shape "
                f"{np.shape(x_o)} and draws {draws.shape}; give (P, M) and (P, K, D)"
            )
        self._require(len(seen))
        look = Draws(drawn[:, 0], seen, drawn)
        return self.test(scoring.apply(self.learn(train, rng), look), rng)

    def test(self, scores: Scores, rng: np.random.Generator) -> Outcome:
        """T = mean (d - 1/2)^2 at each observation against the nulls' there; Holm's smallest p.

        Scores: the classifier's logits first, then those of H nulls. Without a null p is 1.

        budget: of the look; `budget(n, k)` has the table it learnt from as well.
        arrays: t, pvalues, adjusted (..., P), nulls (..., P, H), worst (...): the observation
        with the smallest p. Of one trial also d (P, K) and, at the worst, null_d (H, K).
        """
        del rng
        assert isinstance(scores, TableScores)
        found = distance_of_logits(scores.draws)  # (..., H + 1, P)
        each = local(found[..., 0, :], np.moveaxis(found[..., 1:, :], -2, -1))
        worst = each.worst
        arrays: dict[str, Array] = {
            "t": each.statistic, "pvalues": each.pvalue, "adjusted": each.adjusted,
            "nulls": each.nulls, "worst": worst.astype(np.float64),
        }  # fmt: skip
        if scores.draws.ndim == 3:
            shown = scores.draws[1:, int(worst)]
            arrays |= {"d": _chance(scores.draws[0]), "null_d": _chance(shown)}
        points, k = scores.draws.shape[-2:]
        return Outcome(
            np.take_along_axis(each.statistic, worst[..., None], axis=-1)[..., 0],
            each.adjusted.min(axis=-1), Budget(0, points * k), arrays=arrays,
            effect={"least_pvalue": least_pvalue(points, each.nulls.shape[-1])},
        )  # fmt: skip

    def _require(self, points: int) -> None:
        if least_pvalue(points, self.nulls) > _LEVEL:
            raise ValueError(
                f"p-values below {_LEVEL:g} need {round(points / _LEVEL) - 1} null classifiers "
                f"for {points} observations; got {self.nulls}, so that no data could reject. "
                "Raise the nulls or look at fewer observations."
            )


def _chance(logits: Array) -> Array:
    return expit(logits.astype(np.float64)).astype(np.float32)
