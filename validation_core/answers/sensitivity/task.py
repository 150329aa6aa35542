"""Sensitivity as pieces of work: each injection by ranks, then with a classifier, then CoLT's."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from validation_core import keys, statistics
from validation_core.answers.asked import needs_draws, parted, thinned
from validation_core.answers.base import Answer, Found
from validation_core.answers.sensitivity import search
from validation_core.answers.sensitivity.curve import POWER, smallest, told_by
from validation_core.answers.sensitivity.trials import Bench, Course, verdicts
from validation_core.answers.tilts import DEFECTS
from validation_core.diagnosis.obstacles import obstacle as cannot
from validation_core.methods import Omnibus
from validation_core.tasks import Live
from validation_core.types import Array, Method
from validation_core.uploads import Upload

if TYPE_CHECKING:
    from validation_core.store import Store

DEFAULT = ("bias", "bias_all", "too_narrow", "missing_mode")
"""What is injected unasked: what is in one parameter comes first."""

STAGES = ("ranks", "classifier", "localizer")
"""In the order of cost; each goes on from the one before."""

_READS: Mapping[str, tuple[str, ...]] = {
    "ranks": ("coordinates", "table", "reference"), "classifier": ("classifier",),
    "localizer": ("localizer",),
}  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class Sensitivity(Answer):
    """The power of the tests against one injection on one table, up to one stage."""

    about: ClassVar[str] = "Sensitivity"
    version: ClassVar[int] = 2

    injection: str
    methods: tuple[Method, ...]
    stage: int = 0
    alpha: float = 0.05

    @property
    def label(self) -> str:
        return f"Sensitivity to {self.injection}, {STAGES[self.stage]}, an uploaded table"

    @property
    def before(self) -> Sensitivity | None:
        """The stage that this one goes on from."""
        return replace(self, stage=self.stage - 1) if self.stage else None

    @property
    def makes(self) -> frozenset[str]:
        """Its own key: the next stage waits for it."""
        return frozenset({self.key})

    @property
    def needs(self) -> frozenset[str]:
        return frozenset({keys.key(self.before)} if self.before else ())

    def answer(self, upload: Upload, store: Store, report: Live) -> Found:
        """Ask this stage's tests where the earlier ones leave it open.

        plain: see `_plain`. arrays: strengths (L,) and pvalues (L, methods, T), NaN where not
        asked.
        """
        few = thinned(upload)
        asked, left = _asked(few, self.methods)
        bench = Bench(few, DEFECTS[self.injection], asked, self.seed)
        tests = sum(cannot(method, upload) is None for method in self.methods)
        course, ratio = Course(bench, tests, self.alpha), None
        if self.before is not None:
            found = self.before.load(store)
            if found is None:
                self.before.run(store, lambda fraction, live: None)
                found = self.before.load(store)
            assert found is not None
            arrays = found.arrays
            course = Course(bench, tests, self.alpha, arrays["strengths"], arrays["pvalues"])
            ratio = found.plain["injections"][0]["ratio"]

        def tell(fraction: float) -> None:
            report(fraction, {})

        now = [one for one in asked if one.reads in _READS[STAGES[self.stage]]]
        if self.stage == 0:
            search.by_ranks(bench, course, now, tell)
        elif self.stage == 1:
            ratio = self._ratio(bench, course)
            search.by_classifier(bench, course, now, tell)
        else:
            search.by_localizer(bench, course, now)
        return Found(
            {**self._plain(course, ratio, left), "thinned": few.k < upload.k},
            {"strengths": course.strengths, "pvalues": course.pvalues},
        )

    def _ratio(self, bench: Bench, course: Course) -> float | None:
        """How many times the rows half of what ranks find takes; None where only the law says."""
        methods = [one for one in bench.methods if one.reads in _READS["ranks"]]
        # Relabelling is not of ranks alone: rows that are drawn again would repeat their x.
        if not methods or any(isinstance(one, Omnibus) for one in methods):
            return None
        size = _smallest(course)["smallest"]
        return None if size is None else search.times_the_rows(bench, course, methods, size)

    def _plain(
        self, course: Course, ratio: float | None, left: Mapping[str, str]
    ) -> dict[str, Any]:  # fmt: skip
        """Every number as JSON.

        injections: one, with injection, title, unit, neutral, strengths, in how many parameters
        it sits and in which, nats and whether they are exact, powers of the verdict and of each
        test at each strength (None where it was not asked), smallest and its interval, ratio and
        rows_for_half, networks, localizer. Beside it what holds for all.
        """
        bench = course.bench
        strengths, pvalues = course.strengths, course.pvalues
        found, keep = _smallest(course), _counts(course)[2]
        reads = [method.reads for method in bench.methods]
        ran = np.any(~np.isnan(pvalues), axis=(0, 2))  # (M,)
        kinds = {reads[i] for i in np.flatnonzero(ran)}
        times = ratio if ratio is not None else search.LAW
        rows = None if found["smallest"] is None else round(times * bench.upload.n)
        one = {
            "injection": bench.injection.name, "title": bench.injection.title,
            "unit": bench.injection.unit, "stage": self.stage,
            "neutral": search.neutral(bench.injection.strengths),
            "strengths": strengths.tolist(), "spread": bench.injection.spread,
            "parameter": bench.pool.parameter if bench.injection.spread == "one" else None,
            "nats": _nats(bench, strengths.tolist(), found), "exact": bench.injection.exact,
            "verdict": [
                None if power is None else {**power, "bound": not kept}
                for power, kept in zip(
                    (
                        _power(verdicts(p, bench.methods, course.tests, self.alpha))
                        for p in pvalues
                    ),
                    keep.tolist(), strict=True,
                )
            ],
            "tests": [
                {"name": method.name, "label": method.label, "title": method.title,
                 "power": [_power(p[~np.isnan(p)] <= self.alpha) for p in pvalues[:, i]]}
                for i, method in enumerate(bench.methods)
            ],
            **found,
            "ratio": ratio, "rows_for_half": rows,
            "rows_by": "resampling" if ratio is not None else "scaling law",
            "trials": bench.trials,
            "networks": "classifier" in kinds,
            "localizer": "localizer" in kinds,
        }  # fmt: skip
        return {
            "injections": [one], "alpha": self.alpha, "power": POWER, "n": bench.upload.n,
            "draws": bench.upload.k - 1, "tests": course.tests,
            "relabelled": any(isinstance(one, Omnibus) for one in bench.methods),
            "parameters": bench.upload.dims[0],
            "left_out": [{"label": label, "reason": reason} for label, reason in left.items()],
        }  # fmt: skip


def _nats(
    bench: Bench, strengths: Sequence[float], sizes: Mapping[str, float | None]
) -> dict[str, Any] | None:
    """What the strengths and the smallest one found are in nats; None where it is not known, or
    where nothing changes at any strength."""
    nats = bench.injection.nats
    if nats is None or not nats(bench.pool, bench.injection.strengths[-1]):
        return None
    return {
        "strengths": [nats(bench.pool, one) for one in strengths],
        **{name: None if one is None else nats(bench.pool, one) for name, one in sizes.items()},
    }


def _power(rejected: Array) -> dict[str, Any] | None:
    """A rate with its exact 95% interval."""
    n, count = int(np.size(rejected)), int(np.sum(rejected))
    if n == 0:
        return None
    low, high = statistics.clopper_pearson(count, n)
    return {"rejections": count, "trials": n, "rate": count / n, "low": float(low),
            "high": float(high)}  # fmt: skip


def _counts(course: Course) -> tuple[Array, Array, Any]:
    """Verdicts that reject and trials at each strength (L,), and which strengths tell."""
    pvalues = course.pvalues
    methods = course.bench.methods
    rejected = [verdicts(p, methods, course.tests, course.alpha) for p in pvalues]
    trials = np.array([len(one) for one in rejected], dtype=np.float64)
    counts = np.array([one.sum() for one in rejected], dtype=np.float64)
    asked = np.sum(~np.isnan(pvalues).all(-1), axis=-1)
    return counts, trials, told_by(asked, counts / np.maximum(trials, 1)) & (trials > 0)


def _smallest(course: Course) -> dict[str, float | None]:
    """The smallest strength that the verdict finds, and its interval, as strengths."""
    zero = search.neutral(course.bench.injection.strengths)
    counts, trials, keep = _counts(course)
    found = smallest(course.strengths[keep] - zero, counts[keep], trials[keep])
    names = ("smallest", "smallest_low", "smallest_high")
    sizes = (found.size, found.low, found.high)
    return {name: None if s is None else zero + s for name, s in zip(names, sizes, strict=True)}


def _asked(upload: Upload, methods: Sequence[Method]) -> tuple[list[Method], dict[str, str]]:
    """The methods that are asked about injected tables, and why others are not, by label."""
    fit, left = parted(upload, methods)
    reads = [kind for kinds in _READS.values() for kind in kinds]
    for method in fit:
        if method.reads not in reads:
            left[method.label] = "its training and its relabelings take too long at each strength"
    return [method for method in fit if method.reads in reads], left


def obstacle(upload: Upload) -> str | None:
    """Why no table can be made of this upload's own draws; None where it can."""
    return needs_draws(upload)


def tasks(
    upload: Upload, methods: Sequence[Method], seed: int, injections: Sequence[str] = DEFAULT
) -> tuple[Sensitivity, ...]:
    """All injections by ranks, then all with classifiers, then all with localizers.

    Raises:
        ValueError: for an injection that is not known.
    """
    if unknown := [name for name in injections if name not in DEFECTS]:
        raise ValueError(
            f"What is injected is one of {', '.join(DEFECTS)}; got {unknown[0]!r}. Choose "
            "some of those."
        )
    asked = [] if obstacle(upload) else _asked(thinned(upload), methods)[0]
    if not asked:
        return ()
    wanted = [name for name in injections if DEFECTS[name].least_dims <= upload.dims[0]]
    stages = [
        stage for stage, name in enumerate(STAGES)
        if stage < 2 or any(method.reads in _READS[name] for method in asked)
    ]  # fmt: skip
    return tuple(
        Sensitivity(
            digest=upload.digest, seed=seed, injection=name, methods=tuple(methods), stage=stage
        )
        for stage in stages
        for name in wanted
    )
