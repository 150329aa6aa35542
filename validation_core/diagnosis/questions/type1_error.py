"""Check the checker: how often the tests reject q on tables of this shape in which q is right."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from scipy.special import bdtr, bdtrc

from validation_core import codec, statistics
from validation_core.diagnosis import tasks
from validation_core.diagnosis.null_tables.method_battery import MethodBattery, verdict_pvalues
from validation_core.diagnosis.null_tables.trials import (
    ExcludedMethod,
    partition_methods,
    self_made_obstacle,
    thin_draws,
    trial_count,
)
from validation_core.diagnosis.questions.base import Names, Question, Rows, TableStudy
from validation_core.drawing import style
from validation_core.drawing.drawn import Drawn
from validation_core.drawing.marks import Axis, Mark, Panel, Points, VLine
from validation_core.drawing.power_curves import REJECTED
from validation_core.drawing.rank_histogram import rank_histogram
from validation_core.methods.base import Method, kind_of
from validation_core.relabelling.played_truths import SelfMadeTables, pick_slots
from validation_core.rng import stream
from validation_core.study import Report
from validation_core.tables import TableUpload, Upload
from validation_core.text import level_text, share_interval_text
from validation_core.types import Array, Float

if TYPE_CHECKING:
    from validation_core.relabelling.claims import Claims
    from validation_core.store import Store


_SURE = 0.05
"""Chance that any of the rates is called off though all tests keep their level."""


@dataclass(frozen=True)
class _Rejections:
    """How often a test rejects at the level, with the exact 95% interval of the rate."""

    rejections: int
    rate: float
    low: float
    high: float
    outside: str
    """`too often`, `too seldom`, or empty where the level is kept."""


@dataclass(frozen=True)
class _MethodLevel:
    """The rejections of one test."""

    name: str
    label: str
    title: str
    rejections: _Rejections = field(metadata=codec.shown(flat=True))


@dataclass(frozen=True, eq=False)
class _TypeIError:
    """Rejections of each test, and of the verdict, where q is right."""

    trials: int
    alpha: float
    draws: int
    """Beside each truth."""
    thinned: bool
    """Whether draws were left out to save time."""
    verdict: _Rejections
    tests: tuple[_MethodLevel, ...]
    left_out: tuple[ExcludedMethod, ...]
    pvalues: Array
    """Of each test (M, T)."""
    adjusted: Array
    """The verdict's (T,)."""


@dataclass(frozen=True, kw_only=True)
class _TypeIErrorStudy(TableStudy[_TypeIError], spec="checker"):
    """Rejections of each test, and of the verdict, on tables made of this one's own draws.

    The networks are those of the diagnosis: they learnt from other rows, and a test keeps its
    level with any score that was fixed beforehand.
    """

    about: ClassVar[str] = "Level of the tests"

    methods: tuple[Method, ...]
    alpha: float = 0.05

    def answer(self, upload: TableUpload, store: Store, report: Report) -> _TypeIError:
        """Test every self-made table."""
        few = thin_draws(upload)
        eligible, left = partition_methods(few, self.methods)
        networks = dict(zip(self.trainings, self.networks(store, report), strict=True))

        def network(method: Method) -> Any:
            training = tasks.method_training(upload, method, self.seed)
            assert training is not None
            return networks[training]

        battery = MethodBattery.of(few, eligible, self.seed, network)
        count = trial_count(upload.n, upload.dims[0])
        rng = stream(self.seed, "checker", "draws")
        trials = SelfMadeTables(few.data, pick_slots(count, few.n, few.k, rng))
        pieces: list[Float] = []
        for i, piece in enumerate(trials.pieces()):
            pieces.append(battery.pvalues(piece, self.seed, "checker", i))
            report(sum(part.shape[1] for part in pieces) / count, {})
        pvalues = np.concatenate(pieces, axis=1)
        adjusted = verdict_pvalues(pvalues, eligible, len(eligible))
        *rates, verdict = (_rate(p, self.alpha, len(eligible) + 1) for p in (*pvalues, adjusted))
        return _TypeIError(
            trials=count,
            alpha=self.alpha,
            draws=few.k - 1,
            thinned=few.k < upload.k,
            verdict=verdict,
            tests=tuple(
                _MethodLevel(method.name, method.label, method.title, rate)
                for method, rate in zip(eligible, rates, strict=True)
            ),
            left_out=left,
            pvalues=pvalues,
            adjusted=adjusted,
        )


def _rate(pvalue: Float, alpha: float, rates: int) -> _Rejections:
    """Rejections at the level, the rate with its exact 95% interval, and whether it is off."""
    n, count = len(pvalue), int((pvalue <= alpha).sum())
    low, high = statistics.clopper_pearson(count, n)
    outside = ""
    if bdtrc(count - 1, n, alpha) <= _SURE / (2 * rates):
        outside = "too often"
    elif bdtr(count, n, alpha) <= _SURE / (2 * rates):
        outside = "too seldom"
    return _Rejections(count, count / n, float(low), float(high), outside)


class TypeIErrorQuestion(Question["_TypeIError"]):
    """Whether the tests keep their level on tables of this shape."""

    name = "checker"
    title = "Check the checker"
    reading_guide = (
        "In each of these tables a draw of q, picked at random at each x, takes the true "
        "value's place, so that q is correct by construction. The tests that judged your "
        "table judge them. A test that keeps its level rejects in about 5 of 100, and its "
        "p-values are spread evenly; one that rejects more often would give false alarms on "
        "your table too."
    )

    def obstacle(self, upload: Upload) -> str | None:
        return self_made_obstacle(upload)

    def studies(
        self, upload: TableUpload, methods: Sequence[Method], seed: int
    ) -> tuple[_TypeIErrorStudy, ...]:
        """One, with the networks that the diagnosis trains; none where no method can be asked."""
        eligible = (
            [] if self.obstacle(upload) else partition_methods(thin_draws(upload), methods)[0]
        )
        if not eligible:
            return ()
        networks = [
            tasks.method_training(upload, method, seed)
            for method in eligible
            if not method.is_fixed
        ]
        trainings = tuple(dict.fromkeys(training for training in networks if training is not None))
        study = _TypeIErrorStudy(
            digest=upload.digest, seed=seed, trainings=trainings, methods=tuple(methods)
        )
        return (study,)

    def gather(self, results: Sequence[_TypeIError]) -> _TypeIError:
        return results[0]

    def describe(self, result: _TypeIError, names: Names, claims: Claims) -> tuple[str, ...]:
        """The level of the verdict first, then what is off, and what was not asked."""
        del names, claims
        level = level_text(result.alpha)
        sentences = [
            f"On {result.trials} tables where q is correct (made of its own draws), the verdict "
            f"found a problem in {_percent(result.verdict)}; its level is {level}."
        ]
        off = [test for test in result.tests if test.rejections.outside]
        sentences += map(_consequence, off)
        if result.verdict.outside == "too often":
            sentences.append(
                "That is more often than the level allows: do not rely on the verdict alone."
            )
        if not off:
            sentences.append(
                f"Each test by itself rejected as often as its level of {level} says, as far as "
                f"{result.trials} tables can tell."
            )
        return tuple(sentences)

    def notes(self, result: _TypeIError, names: Names) -> tuple[str, ...]:
        del names
        few = f"To save time, these tables have {result.draws} draws of q at each x."
        return (*([few] if result.thinned else []), *map(str, result.left_out))

    def rows(self, result: _TypeIError, names: Names, claims: Claims) -> Rows:
        """One row for each test and one for the verdict, the highest rate first."""
        del names, claims
        rates = [*((test.title, test.rejections) for test in result.tests)]
        rates.append(("Verdict", result.verdict))
        return [
            {
                "test": title,
                "rejections": rate.rejections,
                "tables": result.trials,
                "rate": rate.rate,
                "95% low": rate.low,
                "95% high": rate.high,
                "level": result.alpha,
                "rejects": rate.outside or "as stated",
            }
            for title, rate in sorted(rates, key=lambda named_rate: -named_rate[1].rate)
        ]

    def figures(self, result: _TypeIError, names: Names, claims: Claims) -> tuple[Drawn, ...]:
        """Rates with their intervals, then p-values of the tests whose rates are farthest off."""
        del names, claims
        by_test = zip(result.tests, result.pvalues, strict=True)
        order = sorted(by_test, key=lambda test: -abs(test[0].rejections.rate - result.alpha))
        return (_rates(result), *(_pvalues(test, pvalues) for test, pvalues in order[:_DRAWN]))


def _consequence(test: _MethodLevel) -> str:
    consequence = (
        "do not rely on its p-value on a table of this shape"
        if test.rejections.outside == "too often"
        else "it is conservative here and loses some power"
    )
    rate = test.rejections
    return f"{test.title} rejected {rate.outside}, in {_percent(rate)}: {consequence}."


def _percent(rate: _Rejections) -> str:
    return share_interval_text((rate.rate, rate.low, rate.high))


_DRAWN = 6
_BINS = 20
_LINE = 26  # pixels that one test takes


def _rates(result: _TypeIError) -> Drawn:
    rows = [_MethodLevel("", "", "Verdict", result.verdict), *result.tests]
    top = min(1.0, 1.15 * max([result.alpha, *(row.rejections.high for row in rows)]))
    marks: list[Mark] = [VLine(result.alpha, dash="dash")]
    for place, row in enumerate(rows):
        rate = row.rejections
        marks.append(
            Points(
                [rate.rate],
                [place],
                left=[rate.low],
                right=[rate.high],
                color=style.method_style(row.name).color if row.name else style.P,
                size=9,
                hover=f"{row.title}: %{{x:.1%}} of {result.trials}",
            )
        )
    panel = Panel(
        marks,
        x=Axis((0, top), REJECTED, percent=True),
        y=Axis.of_rows([row.title for row in rows]),
        height=90 + _LINE * len(rows),
    )
    return Drawn(
        "How often the tests reject a correct q",
        panel,
        f"Dashed: the level, {level_text(result.alpha)}. A test that keeps it has its bar across "
        "the dashed line or left of it, whatever q is; lines are 95% intervals.",
    )


def _pvalues(test: _MethodLevel, pvalue: Array) -> Drawn:
    words, kind = ("p-value", "tables", "even"), kind_of(test.name)
    read = (
        "If the test keeps its level, all bars stay in the grey band in 95 of 100 cases. A peak "
        "on the left: the test rejects too often; a peak on the right: it is conservative."
    )
    if kind.ranks_parameters or kind.decides:
        read = (
            "The p-value is adjusted for all that the test looks at, and often is 1: that bar may "
            "lie above the grey band. If the test keeps its level, no other bar does in 95 of 100 "
            "cases. A peak on the left: the test rejects too often."
        )
    return Drawn(
        f"p-values of {test.title}",
        rank_histogram(pvalue, bins=_BINS, words=words, height=200),
        read,
    )
