"""The study of the tests' power against one injection on one table, stage by stage."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, ClassVar

import numpy as np
from numpy.typing import NDArray

from validation_core import statistics
from validation_core.diagnosis.injections import DEFECTS
from validation_core.diagnosis.null_tables.trials import (
    ExcludedMethod,
    partition_methods,
    thin_draws,
)
from validation_core.diagnosis.plan import method_obstacle
from validation_core.diagnosis.questions.base import TableStudy
from validation_core.diagnosis.questions.sensitivity.experiment import (
    PowerExperiment,
    SearchCurve,
    verdict_rejections,
)
from validation_core.diagnosis.questions.sensitivity.longer_tables import (
    ROWS_FOR_HALF_SIZE,
    rows_factor_for_half,
)
from validation_core.diagnosis.questions.sensitivity.result import (
    STAGES,
    InjectedNats,
    InjectionPower,
    MethodPower,
    Power,
    Sensitivity,
    VerdictPower,
)
from validation_core.diagnosis.questions.sensitivity.search import (
    search_by_classifier,
    search_by_localizer,
    search_by_ranks,
)
from validation_core.diagnosis.questions.sensitivity.smallest_size import (
    POWER,
    informative_points,
    smallest_detectable_size,
)
from validation_core.methods.base import Method
from validation_core.study import Report
from validation_core.tables import TableUpload, Upload
from validation_core.types import Array, Interval

if TYPE_CHECKING:
    from validation_core.store import Store


@dataclass(frozen=True, kw_only=True)
class SensitivityStudy(TableStudy[Sensitivity], spec="sensitivity"):
    """The power of the tests against one injection on one table, up to one stage."""

    about: ClassVar[str] = "Sensitivity"
    version: ClassVar[int] = 8

    injection: str
    methods: tuple[Method, ...]
    stage: int = 0
    alpha: float = 0.05

    @property
    def label(self) -> str:
        return f"Sensitivity to {self.injection}, {STAGES[self.stage]}, an uploaded table"

    @property
    def before(self) -> SensitivityStudy | None:
        """The stage that this one goes on from."""
        return replace(self, stage=self.stage - 1) if self.stage else None

    @property
    def makes(self) -> frozenset[str]:
        """Its own key: the next stage waits for it."""
        return frozenset({self.key})

    @property
    def needs(self) -> frozenset[str]:
        return frozenset({self.before.key} if self.before else ())

    def answer(self, upload: TableUpload, store: Store, report: Report) -> Sensitivity:
        """Ask this stage's tests where the earlier ones leave it open."""
        few = thin_draws(upload)
        eligible, left = evaluated_methods(few, self.methods)
        experiment = PowerExperiment(few, DEFECTS[self.injection], eligible, self.seed)
        tests = sum(method_obstacle(method, upload) is None for method in self.methods)
        earlier = self._earlier(store)
        if earlier is None:
            curve, ratio = SearchCurve(experiment, tests, self.alpha), None
        else:
            curve = SearchCurve(experiment, tests, self.alpha, earlier.strengths, earlier.pvalues)
            ratio = earlier.ratio
        ratio = self._ask(curve, ratio, report)
        return Sensitivity(
            injections=(self._injection(curve, ratio),),
            alpha=self.alpha,
            power=POWER,
            n=few.n,
            draws=few.k - 1,
            tests=tests,
            relabelled=any(method.decides for method in eligible),
            parameters=len(experiment.pool.moving),
            left_out=left,
            thinned=few.k < upload.k,
        )

    def _earlier(self, store: Store) -> InjectionPower | None:
        """The result of the stage before, worked out where the store lacks it."""
        if self.before is None:
            return None
        if not self.before.done(store):
            self.before.run(store, lambda fraction, live: None)
        stored = self.before.load(store)
        assert stored is not None
        return stored.injections[0]

    def _ask(self, curve: SearchCurve, ratio: float | None, report: Report) -> float | None:
        """Evaluate this stage's tests; how many times the rows half of what is found takes."""

        def tell(fraction: float) -> None:
            report(fraction, {})

        methods = curve.experiment.methods
        now = [method for method in methods if method.stage == STAGES[self.stage]]
        if self.stage == 0:
            search_by_ranks(curve, now, tell)
        elif self.stage == 1:
            ratio = _ratio(curve)
            search_by_classifier(curve, now, tell)
        else:
            search_by_localizer(curve, now)
        return ratio

    def _injection(self, curve: SearchCurve, ratio: float | None) -> InjectionPower:
        experiment, injection = curve.experiment, curve.experiment.injection
        strengths, size = tuple(curve.strengths.tolist()), _smallest(curve)
        ran = np.any(~np.isnan(curve.pvalues), axis=(0, 2))  # (M,)
        stages = {experiment.methods[i].stage for i in np.flatnonzero(ran)}
        times = ratio if ratio is not None else ROWS_FOR_HALF_SIZE
        one = injection.spread == "one" or len(experiment.pool.moving) == 1
        return InjectionPower(
            injection=injection.name,
            title=injection.title,
            unit=injection.unit,
            stage=self.stage,
            neutral=injection.neutral,
            strengths=strengths,
            spread=injection.spread,
            parameter=experiment.pool.parameter if one else None,
            nats=_nats(experiment, strengths, size),
            exact=injection.exact,
            verdict=_verdict_powers(curve),
            tests=_method_powers(curve),
            smallest=size,
            ratio=ratio,
            rows_for_half=round(times * experiment.upload.n) if size.known else None,
            rows_by="resampling" if ratio is not None else "scaling law",
            trials=experiment.trials,
            networks="classifier" in stages,
            localizer="localizer" in stages,
            pvalues=curve.pvalues,
        )


def _ratio(curve: SearchCurve) -> float | None:
    """Factor of the rows that half of what ranks find takes; None where only the law says."""
    methods = [method for method in curve.experiment.methods if method.stage == "ranks"]
    # Relabelling is not of ranks alone: rows that are drawn again would repeat their x.
    if not methods or not all(method.ranks_only for method in methods):
        return None
    size = _smallest(curve)
    return rows_factor_for_half(curve, methods, size.estimate) if size.known else None


def _nats(
    experiment: PowerExperiment, strengths: Sequence[float], size: Interval
) -> InjectedNats | None:
    nats, pool = experiment.injection.nats, experiment.pool
    if nats is None or not nats(pool, experiment.injection.strengths[-1]):
        return None

    def of(strength: float) -> float:
        value = None if np.isnan(strength) else nats(pool, strength)
        return np.nan if value is None else value

    return InjectedNats(tuple(map(of, strengths)), Interval(*map(of, size)))


def _verdict_powers(curve: SearchCurve) -> tuple[VerdictPower | None, ...]:
    methods, keep = curve.experiment.methods, _counts(curve)[2]
    powers = [
        _power(verdict_rejections(p, methods, curve.tests, curve.alpha)) for p in curve.pvalues
    ]
    return tuple(
        None if power is None else VerdictPower(**vars(power), bound=not firm)
        for power, firm in zip(powers, keep.tolist(), strict=True)
    )


def _method_powers(curve: SearchCurve) -> tuple[MethodPower, ...]:
    return tuple(
        MethodPower(
            method.name,
            method.label,
            method.title,
            tuple(_power(p[~np.isnan(p)] <= curve.alpha) for p in curve.pvalues[:, i]),
        )
        for i, method in enumerate(curve.experiment.methods)
    )


def _power(rejected: NDArray[np.bool_]) -> Power | None:
    """A rate with its exact 95% interval."""
    n, count = int(np.size(rejected)), int(np.sum(rejected))
    if n == 0:
        return None
    low, high = statistics.clopper_pearson(count, n)
    return Power(count, n, count / n, float(low), float(high))


def _counts(curve: SearchCurve) -> tuple[Array, Array, NDArray[np.bool_]]:
    """Verdicts that reject and trials at each strength (L,), and which strengths tell."""
    pvalues = curve.pvalues
    methods = curve.experiment.methods
    rejected = [verdict_rejections(p, methods, curve.tests, curve.alpha) for p in pvalues]
    trials = np.array([len(rejections) for rejections in rejected], dtype=np.float64)
    counts = np.array([rejections.sum() for rejections in rejected], dtype=np.float64)
    tests_run = np.sum(~np.isnan(pvalues).all(-1), axis=-1)
    return (
        counts,
        trials,
        informative_points(tests_run, counts / np.maximum(trials, 1)) & (trials > 0),
    )


def _smallest(curve: SearchCurve) -> Interval:
    """The smallest strength that the verdict finds, and its interval, as strengths."""
    zero = curve.experiment.injection.neutral
    counts, trials, keep = _counts(curve)
    threshold = smallest_detectable_size(curve.strengths[keep] - zero, counts[keep], trials[keep])
    return Interval(*(np.nan if size is None else zero + size for size in threshold))


def evaluated_methods(
    upload: Upload, methods: Sequence[Method]
) -> tuple[list[Method], tuple[ExcludedMethod, ...]]:
    """The methods that are asked about injected tables, and why others are not."""
    fit, left = partition_methods(upload, methods)
    reason = "its training and its relabelings take too long at each strength"
    slow = [ExcludedMethod(method.label, reason) for method in fit if not method.stage]
    return [method for method in fit if method.stage], (*left, *slow)
