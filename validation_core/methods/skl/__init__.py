"""Symmetric divergence: log p - log q at the truth less that at q's draws, within each x."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from validation_core.methods.base import RANK_ROWS, Method
from validation_core.methods.words import percent
from validation_core.scores import ratio
from validation_core.scores.ratio import Ratio
from validation_core.statistics import divergence as nats
from validation_core.types import (
    Array,
    Benchmark,
    MethodStyle,
    Outcome,
    Paper,
    Scores,
    TableScores,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from validation_core.diagnosis.records import Record
    from validation_core.figures.outcome import Drawn
    from validation_core.tables import Upload
    from validation_core.tables.floats import Range

_SURE = 2.0  # half widths of a 95% interval, beyond which chance does not reach
_SOME = 1e-3  # nats: float32 rounds to less
_LONG = 1e6  # nats from which on digits are too many to read
_MOST = 100_000  # relabelings
_KEPT = 10_000
"""Rows whose d an outcome keeps for its histogram: bounds what a record of a large table holds."""


@dataclass(frozen=True, kw_only=True)
class SKL(Method):
    """KL(p || q) + KL(q || p), averaged over x, in nats, and an exact test that it is 0.

    The score is log p(theta, x) - log q(theta | x), up to anything that depends on x alone. It
    is compared within an x only: pooled over x, log p(x) would swamp it.
    """

    name: ClassVar[str] = "skl"
    title: ClassVar[str] = "Symmetric divergence"
    paper: ClassVar[Paper] = Paper(
        "Domke",
        2021,
        "An easy to interpret diagnostic for approximate inference: symmetric divergence over "
        "simulations",
        "Algorithm 1; tested by relabelling within x",
    )
    summary: ClassVar[str] = "How many nats lie between p and q, and could it be none?"
    statistic: ClassVar[str] = "mean within-x difference of log p - log q, in nats"
    style: ClassVar[MethodStyle] = MethodStyle("#6B8E23", "solid", "hourglass")
    turn: ClassVar[int] = 3
    relabelings: int = field(
        default=nats.RELABELINGS,
        metadata={
            "label": "Relabelings",
            "min": 19,
            "max": _MOST,
            "help": "The smallest p-value is 1 / (relabelings + 1).",
        },
    )

    def __post_init__(self) -> None:
        if not 1 <= self.relabelings <= _MOST:
            raise ValueError(
                f"relabelings are 1 to {_MOST:,}; got {self.relabelings:,}. The default is "
                f"{nats.RELABELINGS:,}."
            )

    @property
    def label(self) -> str:
        return "Symmetric divergence"

    def score_on(self, benchmark: Benchmark, gamma: float) -> Ratio:
        return Ratio(benchmark, gamma)

    def known_scores(self, upload: Upload) -> TableScores | None:
        return ratio.of_densities(upload.densities)

    def least_rows(self, upload: Upload) -> tuple[int, str]:
        del upload
        return RANK_ROWS, "averages over rows"

    def obstacle(self, upload: Upload) -> str | None:
        return ratio.obstacle(upload)

    def squared(self, upload: Upload) -> Sequence[Range]:
        del upload
        return ()

    @property
    def scoring(self) -> float:
        return 0.05

    @property
    def resamples(self) -> int:
        return self.relabelings

    def unfit(self, k: int) -> str | None:
        del k
        return "it reads log densities, which a made table does not carry"

    @classmethod
    def findings(cls, record: Record, x_names: Sequence[str] = ()) -> tuple[str, ...]:
        del x_names
        return nats_in_words(record.effect)

    @classmethod
    def figures(cls, arrays: Mapping[str, Array], names: Sequence[str] = ()) -> list[Drawn]:
        from validation_core.methods.skl import figures

        return figures.outcome(arrays, names)

    def test(self, scores: Scores, rng: np.random.Generator) -> Outcome:
        """One-sided: a large mean of d. Rows with a ratio that is not finite are left out.

        arrays: d (..., n), of the first rows of a large table; null (..., B), means with other
        truths; skl, ci_low, ci_high (...), the mean with its 95% normal interval. Without
        leading axes also boot_low, boot_high, median, largest, auc with auc_low and auc_high, and
        effect: k simulations averaged over, draws of q at each, rows left out as infinite, heavy,
        and tail where it can be told.

        Raises:
            ValueError: with fewer than two rows whose ratios are finite.
        """
        assert isinstance(scores, TableScores)
        truth, draws = (np.asarray(ratios, np.float64) for ratios in (scores.truth, scores.draws))
        truth, draws = truth[..., 0, :], draws[..., 0, :, :]
        relabelled = nats.relabelled(truth, draws, rng, self.relabelings)
        with np.errstate(invalid="ignore"):
            d = truth - draws.mean(axis=-1)
        arrays: dict[str, Array] = {"null": relabelled.null}
        statistic: Array = relabelled.statistic
        effect: dict[str, float] = {}
        if d.ndim == 1:
            more, effect = _told(d, truth, draws, rng)
            arrays |= more
            statistic = more["skl"]  # to the last digit
            d = d[np.isfinite(d)]
        else:
            each = nats.means(d)
            arrays |= {"skl": each.estimate, "ci_low": each.low, "ci_high": each.high}
        return Outcome(
            statistic,
            relabelled.pvalue,
            self.budget(*scores.draws.shape[-2:]),
            {**arrays, "d": d[..., :_KEPT]},
            effect,
        )


def _told(
    d: Array, truth: Array, draws: Array, rng: np.random.Generator
) -> tuple[dict[str, Array], dict[str, float]]:
    """What one table's d (n,) say beyond their mean, as arrays of one number and as an effect."""
    divergence = nats.divergence(d, rng)
    shares = nats.paired(truth, draws)
    auc = nats.means(shares[~np.isnan(shares)])
    arrays = {
        "skl": divergence.estimate,
        "ci_low": divergence.low,
        "ci_high": divergence.high,
        "boot_low": divergence.boot_low,
        "boot_high": divergence.boot_high,
        "median": divergence.median,
        "largest": divergence.largest,
        "auc": auc.estimate,
        "auc_low": np.maximum(auc.low, 0.0),
        "auc_high": np.minimum(auc.high, 1.0),
    }
    effect: dict[str, float] = {
        "k": d.size - divergence.infinite,
        "draws": draws.shape[-1],
        "infinite": divergence.infinite,
        "heavy": divergence.heavy,
    }
    if np.isfinite(divergence.tail):
        effect["tail"] = divergence.tail
    return {name: np.asarray(value) for name, value in arrays.items()}, effect


def nats_in_words(told: Mapping[str, Any]) -> tuple[str, ...]:
    """A symmetric divergence in sentences, from the numbers of its record."""
    rows = told["k"] + told["infinite"]
    draws = "one draw" if told["draws"] == 1 else f"{told['draws']:,} draws"
    sentences = [
        f"Symmetric divergence KL(p || q) + KL(q || p), mean over x: {_nats(told['skl'])} nats "
        f"[{_ends(told, 'ci')}], from {told['k']:,} simulations with {draws} of q at each; by the "
        f"bootstrap [{_ends(told, 'boot')}]; median of its terms {_nats(told['median'])}, "
        f"largest {_nats(told['largest'])}.",
        f"log p / q is higher at the truth than at a draw of q in {percent(told, 'auc')} of "
        f"pairs at the same x; 50% if q were right.",
    ]
    if told["skl"] + _SURE * (told["ci_high"] - told["skl"]) < -_SOME:
        sentences.append(
            "No divergence is below 0, and this is, by more than chance: the log densities do not "
            "belong together. Are log p and log q exchanged, in different coordinates, or off by "
            "a constant at the truths that the draws lack?"
        )
    if told["infinite"]:
        sentences.append(
            f"In {told['infinite']:,} of {rows:,} rows a log density is not finite: there the "
            f"divergence is infinite, and the number is that of the other rows."
        )
    if told["heavy"]:
        sentences.append(
            f"Its terms have a heavy tail (Pareto k = {told['tail']:.2f}, above 0.5): few rows "
            f"carry the mean, and the intervals are too short. The p-value stays valid."
        )
    return tuple(sentences)


def _ends(told: Mapping[str, Any], name: str) -> str:
    return f"{_nats(told[f'{name}_low'])}, {_nats(told[f'{name}_high'])}"


def _nats(value: float) -> str:
    text = f"{value:.3f}" if abs(value) < _LONG else f"{value:.4g}"
    return f"−{text[1:]}" if value < 0 else text
