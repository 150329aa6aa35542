"""Sensitivity: what would these tests have caught on this table?

A draw of q plays the truth and is then moved, or is chosen with unequal chances, so that q has a
known defect of a known size; the tests of the diagnosis judge many such tables, networks trained
on the same defect included.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, ClassVar

import numpy as np
from numpy.typing import NDArray

from validation_core import codec, statistics
from validation_core.diagnosis.injections import DEFECTS
from validation_core.diagnosis.null_tables import (
    ExcludedMethod,
    partition_methods,
    self_made_obstacle,
    thin_draws,
)
from validation_core.diagnosis.plan import method_obstacle
from validation_core.diagnosis.questions.base import Json, Names, Question, Row, Rows, TableStudy
from validation_core.diagnosis.questions.sensitivity import search
from validation_core.diagnosis.questions.sensitivity.search import (
    POWER,
    PowerExperiment,
    SearchCurve,
    informative_points,
    smallest_detectable_size,
    verdict_rejections,
)
from validation_core.drawing import style
from validation_core.drawing.drawn import Drawn
from validation_core.drawing.marks import (
    Axis,
    Band,
    HLine,
    Line,
    Mark,
    Panel,
    Points,
    VLine,
    empty,
)
from validation_core.drawing.power_curves import rejection_axis
from validation_core.methods.base import Method
from validation_core.relabelling.claims import parameter_name
from validation_core.study import Report
from validation_core.tables import TableUpload, Upload
from validation_core.text import capitalise, interval_text
from validation_core.types import Array, Interval

if TYPE_CHECKING:
    from validation_core.diagnosis.verdict import Diagnosis
    from validation_core.relabelling.claims import Claims
    from validation_core.store import Store


DEFAULT = ("bias", "bias_all", "too_narrow", "missing_mode")
"""What is injected unasked: what is in one parameter comes first."""


class SensitivityQuestion(Question["_Sensitivity"]):
    """How large a defect would have to be for these tests to find it on such a table."""

    name = "sensitivity"
    title = "What would these tests have caught?"
    reading_guide = (
        "Each curve is the share of simulated tables in which a defect of that strength is "
        "found. In them a draw of q takes the true value's place and is moved, in one "
        "parameter or direction drawn at random or in all parameters, so that q is wrong by "
        "just that much. Nats are the divergence KL(p‖q), computed as if q were normal where "
        "the sentence says so. Where the verdict's curve passes 80%, a defect of that size "
        "would most likely have been found. The curves begin at the level, about 5%, on the "
        "left, whether q is correct or not. Tests not run at a strength count as silent "
        "there: the verdict's power is then a lower bound."
    )
    long = True

    def obstacle(self, upload: Upload) -> str | None:
        return self_made_obstacle(upload)

    def studies(
        self,
        upload: TableUpload,
        methods: Sequence[Method],
        seed: int,
        injections: Sequence[str] = DEFAULT,
    ) -> tuple[SensitivityStudy, ...]:
        """All injections by ranks, then all with classifiers, then all with localizers.

        Raises:
            ValueError: for an injection that is not known.
        """
        if unknown := [name for name in injections if name not in DEFECTS]:
            raise ValueError(
                f"What is injected is one of {', '.join(DEFECTS)}; got {unknown[0]!r}. Choose "
                "some of those."
            )
        eligible = [] if self.obstacle(upload) else _evaluated(thin_draws(upload), methods)[0]
        if not eligible:
            return ()
        wanted = [name for name in injections if DEFECTS[name].least_dims <= upload.dims[0]]
        stages = [
            stage
            for stage, name in enumerate(STAGES)
            if stage < 2 or any(method.stage == name for method in eligible)
        ]
        return tuple(
            SensitivityStudy(
                digest=upload.digest,
                seed=seed,
                injection=name,
                methods=tuple(methods),
                stage=stage,
            )
            for stage in stages
            for name in wanted
        )

    def gather(self, results: Sequence[_Sensitivity]) -> _Sensitivity:
        """Each injection at the latest stage that is done."""
        latest: dict[str, _InjectionPower] = {}
        for injection in (injection for result in results for injection in result.injections):
            name = injection.injection
            if name not in latest or latest[name].stage < injection.stage:
                latest[name] = injection
        return replace(results[0], injections=tuple(latest.values()))

    def describe(self, result: _Sensitivity, names: Names, claims: Claims) -> tuple[str, ...]:
        """What would be found, what half of it would take; then what could have been missed."""
        del claims
        injections = result.injections
        sentences = [_sentence(injection, result, names.theta) for injection in injections]
        return (*sentences, *_missed(injections))

    def notes(self, result: _Sensitivity, names: Names) -> tuple[str, ...]:
        del names
        return (_how(result), *map(str, result.left_out))

    def rows(self, result: _Sensitivity, names: Names, claims: Claims) -> Rows:
        """One row for each defect, strength and test, the verdict first, the strongest first."""
        del names, claims
        return [
            row
            for injection in result.injections
            for i in reversed(range(len(injection.strengths)))
            for title, powers in (
                ("Verdict", injection.verdict),
                *((test.title, test.power) for test in injection.tests),
            )
            if (power := powers[i]) is not None
            for row in (_row(injection, i, title, power),)
        ]

    def figures(self, result: _Sensitivity, names: Names, claims: Claims) -> tuple[Drawn, ...]:
        """One figure for each defect."""
        del names, claims
        return tuple(_curves(injection, result) for injection in result.injections)

    def complete(self, document: Json, result: _Sensitivity, diagnosis: Diagnosis) -> None:
        del diagnosis
        document["sensitivity"] += [
            {"kind": injection.injection, **codec.to_json(injection)}
            for injection in result.injections
        ]


STAGES = ("ranks", "classifier", "localizer")
"""In the order of cost; each goes on from the one before."""


@dataclass(frozen=True)
class _Power:
    """A share of tables in which a defect is found, with its exact 95% interval."""

    rejections: int
    trials: int
    rate: float
    low: float
    high: float


@dataclass(frozen=True)
class _VerdictPower(_Power):
    """The verdict's power."""

    bound: bool
    """Whether it is but a lower bound, as fewer tests were asked than at weaker defects."""


@dataclass(frozen=True)
class _MethodPower:
    """One test's power at each strength (L,); None where it was not asked."""

    name: str
    label: str
    title: str
    power: tuple[_Power | None, ...]


@dataclass(frozen=True)
class _InjectedNats:
    """What strengths (L,) and the smallest one found are in nats."""

    strengths: tuple[float, ...]
    smallest: Interval


@dataclass(frozen=True, eq=False)
class _InjectionPower:
    """The power against one injection, up to one stage."""

    injection: str
    title: str
    unit: str
    stage: int
    neutral: float
    """The strength that changes nothing."""
    strengths: tuple[float, ...]
    """(L,), ascending."""
    spread: str
    """In how many parameters it sits: one, two, all, or empty for a direction."""
    parameter: int | None
    """The one that it sits in."""
    nats: _InjectedNats | None
    """None where they are not known, or where nothing changes at any strength."""
    exact: bool
    """Whether nats hold whatever q is; otherwise they hold if q is near normal."""
    verdict: tuple[_VerdictPower | None, ...]
    tests: tuple[_MethodPower, ...]
    smallest: Interval
    """The smallest strength that the verdict finds with 80% power, NaN where none is known."""
    ratio: float | None
    """How many times the rows half of it takes, where resampling has told."""
    rows_for_half: int | None
    rows_by: str
    trials: int
    networks: bool
    """Whether a classifier was trained."""
    localizer: bool
    pvalues: Array
    """(L, methods, T), NaN where not asked."""


@dataclass(frozen=True, eq=False)
class _Sensitivity:
    """The power of the tests against injections on one table, and what holds for all of them."""

    injections: tuple[_InjectionPower, ...]
    alpha: float
    power: float
    n: int
    draws: int
    """Beside each truth."""
    tests: int
    relabelled: bool
    """Whether the verdict is relabelling's."""
    parameters: int
    left_out: tuple[ExcludedMethod, ...]
    thinned: bool
    """Whether draws were left out to save time."""


@dataclass(frozen=True, kw_only=True)
class SensitivityStudy(TableStudy[_Sensitivity], spec="sensitivity"):
    """The power of the tests against one injection on one table, up to one stage."""

    about: ClassVar[str] = "Sensitivity"
    version: ClassVar[int] = 4

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

    def answer(self, upload: TableUpload, store: Store, report: Report) -> _Sensitivity:
        """Ask this stage's tests where the earlier ones leave it open."""
        few = thin_draws(upload)
        eligible, left = _evaluated(few, self.methods)
        experiment = PowerExperiment(few, DEFECTS[self.injection], eligible, self.seed)
        tests = sum(method_obstacle(method, upload) is None for method in self.methods)
        earlier = self._earlier(store)
        if earlier is None:
            curve, ratio = SearchCurve(experiment, tests, self.alpha), None
        else:
            curve = SearchCurve(experiment, tests, self.alpha, earlier.strengths, earlier.pvalues)
            ratio = earlier.ratio
        ratio = self._ask(curve, ratio, report)
        return _Sensitivity(
            injections=(self._injection(curve, ratio),),
            alpha=self.alpha,
            power=POWER,
            n=few.n,
            draws=few.k - 1,
            tests=tests,
            relabelled=any(method.decides for method in eligible),
            parameters=few.dims[0],
            left_out=left,
            thinned=few.k < upload.k,
        )

    def _earlier(self, store: Store) -> _InjectionPower | None:
        """What the stage before has told; it is worked out where the store lacks it."""
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
            search.search_by_ranks(curve, now, tell)
        elif self.stage == 1:
            ratio = _ratio(curve)
            search.search_by_classifier(curve, now, tell)
        else:
            search.search_by_localizer(curve, now)
        return ratio

    def _injection(self, curve: SearchCurve, ratio: float | None) -> _InjectionPower:
        experiment, injection = curve.experiment, curve.experiment.injection
        strengths, size = tuple(curve.strengths.tolist()), _smallest(curve)
        ran = np.any(~np.isnan(curve.pvalues), axis=(0, 2))  # (M,)
        stages = {experiment.methods[i].stage for i in np.flatnonzero(ran)}
        times = ratio if ratio is not None else search.ROWS_FOR_HALF_SIZE
        return _InjectionPower(
            injection=injection.name,
            title=injection.title,
            unit=injection.unit,
            stage=self.stage,
            neutral=search.neutral_strength(injection.strengths),
            strengths=strengths,
            spread=injection.spread,
            parameter=experiment.pool.parameter if injection.spread == "one" else None,
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
    """How many times the rows half of what ranks find takes; None where only the law says."""
    methods = [method for method in curve.experiment.methods if method.stage == "ranks"]
    # Relabelling is not of ranks alone: rows that are drawn again would repeat their x.
    if not methods or not all(method.ranks_only for method in methods):
        return None
    size = _smallest(curve)
    return search.rows_factor_for_half(curve, methods, size.estimate) if size.known else None


def _nats(
    experiment: PowerExperiment, strengths: Sequence[float], size: Interval
) -> _InjectedNats | None:
    nats, pool = experiment.injection.nats, experiment.pool
    if nats is None or not nats(pool, experiment.injection.strengths[-1]):
        return None

    def of(strength: float) -> float:
        value = None if np.isnan(strength) else nats(pool, strength)
        return np.nan if value is None else value

    return _InjectedNats(tuple(map(of, strengths)), Interval(*map(of, size)))


def _verdict_powers(curve: SearchCurve) -> tuple[_VerdictPower | None, ...]:
    methods, keep = curve.experiment.methods, _counts(curve)[2]
    powers = [
        _power(verdict_rejections(p, methods, curve.tests, curve.alpha)) for p in curve.pvalues
    ]
    return tuple(
        None if power is None else _VerdictPower(**vars(power), bound=not firm)
        for power, firm in zip(powers, keep.tolist(), strict=True)
    )


def _method_powers(curve: SearchCurve) -> tuple[_MethodPower, ...]:
    return tuple(
        _MethodPower(
            method.name,
            method.label,
            method.title,
            tuple(_power(p[~np.isnan(p)] <= curve.alpha) for p in curve.pvalues[:, i]),
        )
        for i, method in enumerate(curve.experiment.methods)
    )


def _power(rejected: NDArray[np.bool_]) -> _Power | None:
    """A rate with its exact 95% interval."""
    n, count = int(np.size(rejected)), int(np.sum(rejected))
    if n == 0:
        return None
    low, high = statistics.clopper_pearson(count, n)
    return _Power(count, n, count / n, float(low), float(high))


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
    zero = search.neutral_strength(curve.experiment.injection.strengths)
    counts, trials, keep = _counts(curve)
    threshold = smallest_detectable_size(curve.strengths[keep] - zero, counts[keep], trials[keep])
    return Interval(*(np.nan if size is None else zero + size for size in threshold))


def _evaluated(
    upload: Upload, methods: Sequence[Method]
) -> tuple[list[Method], tuple[ExcludedMethod, ...]]:
    """The methods that are asked about injected tables, and why others are not."""
    fit, left = partition_methods(upload, methods)
    reason = "its training and its relabelings take too long at each strength"
    slow = [ExcludedMethod(method.label, reason) for method in fit if not method.stage]
    return [method for method in fit if method.stage], (*left, *slow)


_PHRASES: Mapping[str, str] = {
    "bias": "a bias of {} posterior sd in {}",
    "bias_all": "a bias of {} posterior sd in {}",
    "too_wide_one": "a q {} times as wide as it should be in {}",
    "too_wide": "a q {} times as wide as it should be in {}",
    "too_narrow_one": "a q {} times as wide as it should be in {}",
    "too_narrow": "a q {} times as wide as it should be in {}",
    "wrong_correlation": "a q {} times as wide as it should be along a direction that no "
    "parameter shows",
    "heavy_tails": "a q with tails of a Student's t of 1 / {} degrees of freedom in {}",
    "light_tails": (
        "a q with tails too light (true values have those of a Student's t of 1 / {} degrees "
        "of freedom) in {}"
    ),
    "missing_mode": "a missing mode with a share of {} of the true posterior's mass",
    "spurious_mode": "a share of {} of q's mass where no true value lies",
    "ignores_x": "a q blind to x, with a correlation of {} between true values' residuals and x",
    "support_leak": "a share of {} of q's mass outside the true posterior's support, over {}",
    "tilt_bias": "a defect of {} nats along {}",
    "tilt_narrow": "a defect of {} nats that draws q together in {}",
    "tilt_wide": "a defect of {} nats that spreads q out in {}",
    "tilt_correlation": "a defect of {} nats along the product of {}",
}
"""With its size and, after it, the parameters that it sits in."""

_NOUNS: Mapping[str, str] = {
    "bias": "a bias in one parameter",
    "bias_all": "a bias in all parameters",
    "too_wide_one": "too wide a q in one parameter",
    "too_wide": "too wide a q in all parameters",
    "too_narrow_one": "too narrow a q in one parameter",
    "too_narrow": "too narrow a q in all parameters",
    "missing_mode": "a missing mode",
    "spurious_mode": "mass where no true value lies",
    "ignores_x": "blindness to x",
    "tilt_bias": "a tilt along one parameter",
    "tilt_correlation": "a wrong correlation",
    "tilt_narrow": "a q drawn together in one parameter",
    "tilt_wide": "a q spread out in one parameter",
}


def _phrase(injection: _InjectionPower, size: str, where: str) -> str:
    """A defect of a size in words, and in which parameters it sits."""
    unknown = f"{injection.title} ({{}} {injection.unit})"
    return _PHRASES.get(injection.injection, unknown).format(size, where)


def _where(injection: _InjectionPower, result: _Sensitivity, names: Sequence[str]) -> str:
    """In how many parameters a defect sits, and by which rule they were chosen."""
    d = result.parameters
    if d == 1:
        return parameter_name(names, 0)
    if injection.spread == "all":
        return f"all {d} parameters at once"
    if injection.spread == "two":
        return "two parameters, drawn at random"
    if injection.parameter is None:
        return "one parameter, drawn at random in each table"
    return f"one parameter ({parameter_name(names, injection.parameter)}, drawn at random)"


def _sentence(injection: _InjectionPower, result: _Sensitivity, names: Sequence[str]) -> str:
    power, where = f"{result.power:.0%} power", _where(injection, result, names)
    if not injection.strengths:
        return f"Not computed yet: what would be found of a q that is {injection.title}."
    if not injection.smallest.known:
        last = injection.verdict[-1]
        assert last is not None
        most = _phrase(injection, _shown(injection, injection.strengths[-1]), where)
        who = "these tests" if injection.networks else "the tests that train no network"
        return (
            f"{capitalise(most)}, the strongest tried, would not be found with {power} by {who}: "
            f"they found it in {interval_text((last.rate, last.low, last.high), '.0%')} of the "
            "tables."
        )
    estimate, *ends = injection.smallest
    low, high = (
        edge if math.isnan(end) else _shown(injection, end)
        for end, edge in zip(ends, ("below", "above"), strict=True)
    )
    if _inverted(injection):
        turned = {"below": "above", "above": "below"}
        low, high = turned.get(high, high), turned.get(low, low)
    size = f"{_shown(injection, estimate)} [{low}, {high}]"
    _table = f"about {_rounded(injection.rows_for_half or 0):,} simulations"
    law = (
        "" if injection.rows_by == "resampling" else ", if what is found shrinks as 1 / sqrt(rows)"
    )
    share = "A quarter" if injection.unit == "nats" else "Half"
    return (
        f"{capitalise(_phrase(injection, size, where))} would be found with {power}"
        f"{_beside(injection)}. {share} of it would need {_table}{law}."
    )


def _beside(injection: _InjectionPower) -> str:
    """The smallest size in nats, or where it is nats already, what bias is as far off."""
    if injection.nats is None or not injection.nats.smallest.known:
        return ""
    nats = injection.nats.smallest.estimate
    if injection.unit == "nats":
        bias = f", like a bias of {_two_digits(math.sqrt(2 * nats))} posterior sd"
        return bias if injection.injection == "tilt_bias" else ""
    return f": {_two_digits(nats)} nats" + ("" if injection.exact else " if q is near normal")


def _missed(injections: Sequence[_InjectionPower]) -> tuple[str, ...]:
    """What these sizes leave open, in nats; nothing before anything is found."""
    open_ = [
        f"{_NOUNS[injection.injection]} of up to {_two_digits(injection.nats.smallest.estimate)}"
        for injection in injections
        if injection.nats is not None
        and injection.nats.smallest.known
        and injection.injection in _NOUNS
    ]
    if not open_:
        return ()
    return (
        f"What could have been missed, in nats: {'; '.join(open_)}; and defects of other kinds.",
    )


def _shown(injection: _InjectionPower, strength: float) -> str:
    """A strength in its unit; one that is shown in nats, in those."""
    if _inverted(injection):  # all widths are told as q's by the width that it needs
        return f"{1 / strength:.3g}"
    if injection.unit != "nats":
        return _number(strength, injection)
    nats = injection.nats
    if nats is None:  # the parameter never varies, and nothing leans anywhere
        return "0"
    by_strength = dict(zip(injection.strengths, nats.strengths, strict=True))
    by_strength |= zip(injection.smallest, nats.smallest, strict=True)
    return _two_digits(by_strength[strength])


def _inverted(injection: _InjectionPower) -> bool:
    """Whether its strength is how many times too narrow q is."""
    return injection.injection.startswith("too_narrow")


def _two_digits(value: float) -> str:
    """Two digits that tell, never as a power of ten."""
    if value <= 0:
        return "0"
    return f"{float(f'{value:.2g}'):.{max(0, 1 - math.floor(math.log10(value)))}f}"


def _number(value: float, injection: _InjectionPower) -> str:
    """With as many digits as tell two of how far the smallest found departs from no defect."""
    size = injection.smallest.estimate if injection.smallest.known else value
    off = abs((size or value) - injection.neutral)
    digits = 2 if off <= 0 else min(5, max(1, 1 - math.floor(math.log10(off))))
    return f"{value:.{digits}f}"


def _rounded(rows: int) -> int:
    """Two digits are known of a number of rows."""
    return int(float(f"{rows:.2g}"))


def _how(result: _Sensitivity) -> str:
    stages = [injection for injection in result.injections if not injection.networks]
    trials = min(injection.trials for injection in result.injections)
    open_ = [injection.title for injection in result.injections if not injection.localizer]
    rests = "relabelling within x" if result.relabelled else f"Holm over {result.tests} tests"
    sentence = (
        f"Power of the verdict at level {result.alpha:.3g}, {rests}, on "
        f"{trials} tables for each strength; brackets are 95% intervals."
    )
    if result.thinned:
        sentence = (
            f"{sentence} To save time, these tables have {result.draws} draws of q at each x."
        )
    if stages:
        return f"{sentence} So far without the tests that train a network, which can only add."
    if open_:
        return f"{sentence} CoLT's localizer was not trained for: {', '.join(open_)}."
    return f"{sentence} CoLT's localizer was trained at one strength of each."


def _row(injection: _InjectionPower, i: int, title: str, power: _Power) -> Row:
    nats = "" if injection.nats is None else round(injection.nats.strengths[i], 6)
    return {
        "q is": injection.title,
        "strength": nats if injection.unit == "nats" else injection.strengths[i],
        "unit": injection.unit,
        "nats": nats,
        "test": title,
        "found": power.rate,
        "95% low": power.low,
        "95% high": power.high,
        "tables": power.trials,
    }


_HEIGHT = 340
_CAPTION = (
    "Share of tables with a defect of this strength that reject q: by the verdict (thick, with "
    "its 95% interval), by each test alone at the level. Dashed: 80%, and the strength where "
    "the verdict gets there. With no defect at all, none would rise above the dotted level."
)


def _curves(injection: _InjectionPower, result: _Sensitivity) -> Drawn:
    title = f"If q were {injection.title}"
    if not injection.strengths:
        return Drawn(title, empty("Nothing computed yet", height=_HEIGHT), _CAPTION)
    in_nats = injection.nats if injection.unit == "nats" else None
    strengths = injection.strengths if in_nats is None else in_nats.strengths
    size = (injection.smallest if in_nats is None else in_nats.smallest).estimate
    sizes = np.array(strengths) - injection.neutral
    tests = [test for test in injection.tests if any(test.power)]
    marks: list[Mark] = [
        HLine(result.power, dash="dash"),
        HLine(result.alpha, dash="dot"),
        *_verdict(sizes, injection.verdict),
        *(mark for test in tests for mark in _test(sizes, test)),
    ]
    if injection.smallest.known:
        marks.append(VLine(size - injection.neutral, color=style.P, dash="dash"))
    styles = [style.method_style(test.name) for test in tests]
    beyond = f" beyond {injection.neutral:g}" if injection.neutral else ""
    decades = 10.0 ** np.arange(np.floor(np.log10(sizes[0])), np.ceil(np.log10(sizes[-1])) + 1)
    ticks = [float(t) for t in np.outer(decades, [1, 3]).ravel() if sizes[0] <= t <= sizes[-1]]
    panel = Panel(
        marks,
        x=Axis((sizes[0], sizes[-1]), f"{injection.unit}{beyond}", log=True, ticks=ticks or None),
        y=rejection_axis(),
        height=_HEIGHT,
        legend=[
            ("Verdict", style.P, "line"),
            *((t.title, look.color, look.symbol) for t, look in zip(tests, styles, strict=True)),
        ],
    )
    return Drawn(title, panel, _CAPTION)


def _verdict(sizes: Array, powers: Sequence[_VerdictPower | None]) -> list[Mark]:
    # Where fewer tests were asked than at weaker defects, there is but a lower bound: a false dip.
    firm = {i: p for i, p in enumerate(powers) if p is not None and not p.bound}
    if not firm:
        return []
    x = sizes[list(firm)]
    rate, low, high = np.array([(power.rate, power.low, power.high) for power in firm.values()]).T
    hover = "verdict at %{x:.3g}: %{y:.0%}"
    return [
        Band(x, low, high, color=style.P, opacity=0.18, label="Verdict"),
        Line(x, rate, color=style.P, width=4, label="Verdict", hover=hover),
    ]


def _test(sizes: Array, test: _MethodPower) -> tuple[Mark, Mark]:
    powers = {i: power for i, power in enumerate(test.power) if power is not None}
    x, rate = sizes[list(powers)], [power.rate for power in powers.values()]
    color, dash, symbol = style.method_style(test.name)
    hover = f"{test.title} at %{{x:.3g}}: %{{y:.0%}}"
    return (
        Line(x, rate, color=color, dash=dash, width=1.5, label=test.title),
        Points(x, rate, color=color, symbol=symbol, size=6, label=test.title, hover=hover),
    )
