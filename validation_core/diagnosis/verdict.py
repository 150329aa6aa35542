"""From the records of all methods to one verdict, in words that never say more than was found.

Where relabelling within x ran, it alone is the verdict: one exact test of everything that is
looked at, under whose error rate every claim is made. The tests of the papers stand beside it,
each with its own p-value. Without it (two samples, or tests that were asked for by name) p-values
are adjusted by Holm over the tests that ran. Either way, if q is right, a problem is found in at
most a share alpha of uploads.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, NamedTuple

import numpy as np

from validation_core import __version__, codec, statistics
from validation_core.diagnosis import learning
from validation_core.diagnosis.detectable_shift import (
    POWER,
    detectable_shift_by_ranks,
    detectable_shift_by_relabelling,
    detectable_shift_by_scores,
)
from validation_core.keys import JSON
from validation_core.methods.record import LISTED, Record, remark
from validation_core.methods.sbc import CONTINUOUS
from validation_core.relabelling.claims import Claims
from validation_core.relabelling.result import OmnibusResult
from validation_core.relabelling.table_statistics import relabelled_pools
from validation_core.scores.quantities import LOG_Q, OWN, kinds_of, labels, ranked_quantities
from validation_core.tables import RanksUpload, SamplesUpload, TableUpload, Upload
from validation_core.tables.discrete import event_shares
from validation_core.tables.weights import Weighting
from validation_core.text import SMALLEST, count_text, equals, level_text
from validation_core.types import Array, check_level

Verdict = Literal["problem found", "no problem found", "not enough data"]

ENOUGH = 0.5
"""Shift in posterior sds that a silent test must have been able to see to count as an answer."""
_NAMED = 3  # parameters named in the sentence; the table has them all
_AROUND = "This is said of q around x_o, where the table was simulated, not over the prior."
_ENDS = 0.96  # of |2 u - 1|: the outermost ranks


@dataclass(frozen=True, eq=False)
class Parameter:
    """How one parameter's true values, or another test quantity's, rank among q's draws (SBC)."""

    name: str
    statistic: float
    pvalue: float
    pvalue_adjusted: float
    """In the verdict's family; without relabelling, by Bonferroni over parameters and tests."""
    mean_rank: float
    spread: float
    """Variance of the ranks times 12: 1 if q is right, above 1 if q is too narrow."""
    reading: str
    """What the ranks look like, in words; a hint at the cause, not a test of its own."""
    family: str = "marginals"
    """The kind of test quantity."""


class NoClaims(NamedTuple):
    """That relabelling within x has no part in a diagnosis: no question can be asked under it."""

    why: str


@dataclass(frozen=True, eq=False)
class Diagnosis:
    """A verdict and everything it rests on."""

    verdict: Verdict
    alpha: float
    seed: int
    upload: Upload
    records: tuple[Record, ...]
    adjusted: Mapping[str, float]
    """By the label of each method that ran: relabelling's own p, and Holm's over the others."""
    parameters: tuple[Parameter, ...]
    shift: _Shift | None
    claims: Claims | NoClaims
    """What questions may claim, all at one level."""
    pending: int = 0
    """Methods whose results are still to come."""

    @property
    def relabelled(self) -> bool:
        """Whether relabelling is the verdict, not Holm over tests that were asked for by name."""
        return any(record.status == "ran" and record.kind.decides for record in self.records)

    @property
    def tested(self) -> bool:
        """Whether any test ran."""
        return any(record.status == "ran" for record in self.records)

    def require_claims(self) -> Claims:
        """The claims under which questions are asked.

        Raises:
            ValueError: where nothing may be claimed, with why.
        """
        if isinstance(self.claims, NoClaims):
            raise ValueError(f"A question is asked under relabelling's claims. {self.claims.why}")
        return self.claims

    @property
    def sentence(self) -> str:
        """The verdict to read. It may hold names a user chose: escape it where it is drawn."""
        return _verdict_sentence(self)

    @property
    def flagged(self) -> tuple[Parameter, ...]:
        """Parameters that SBC rejects after all corrections, the worst first."""
        bad = [
            parameter for parameter in self.parameters if parameter.pvalue_adjusted <= self.alpha
        ]
        return tuple(sorted(bad, key=lambda one: one.pvalue_adjusted))

    @property
    def worst(self) -> int | None:
        """Index of the parameter whose ranks are farthest from uniform; None without SBC."""
        distances = [parameter.statistic for parameter in self.parameters]
        return int(np.argmax(distances)) if distances else None

    def counts(self, record: Record) -> bool:
        """Whether the verdict rests on a method."""
        return record.status == "ran" and (not self.relabelled or record.kind.decides)

    def remark(self, record: Record) -> str | None:
        """Say why a method's answer is weaker than it looks; None where it is not."""
        tests = len(self.adjusted) + self.pending
        if self.relabelled:
            beside = self.adjusted.get(record.label, 1.0) <= self.alpha and not self.counts(record)
            if beside and not self.require_claims().found and not self.pending:
                return (
                    f"{record.label} rejects by itself. The verdict, which is exact over "
                    "everything that is looked at, does not: take this as a hint."
                )
            tests = 1 if record.kind.decides else tests - 1
        return remark(record, tests=tests, alpha=self.alpha, weighted=self._weighting is not None)

    def to_json(self) -> dict[str, JSON]:
        """One object, as the command line prints it with a few fields more."""
        dim_theta, dim_x = self.upload.dims
        return {
            "verdict": self.verdict,
            "sentence": self.sentence,
            "alpha": self.alpha,
            "seed": self.seed,
            "n": self.upload.n,
            "k": self.upload.drawn[0],
            "dim_theta": dim_theta,
            "dim_x": dim_x,
            "pvalue": self.pvalue,
            "families": self.families(),
            "methods": [self._method(record) for record in self.records],
            "parameters": codec.to_json(self.parameters),
            "where": [self._where(record) for record in self.records if _mapped(record)],
            "cause": [{"parameter": p.name, "reading": p.reading} for p in self.flagged],
            "sensitivity": self._sensitivity(),
            "dropped": dict(self.upload.dropped),
            "mistakes": codec.to_json(self.upload.mistakes),
            "corrected": codec.to_json(self.upload.corrected),
            "warnings": list(self.upload.warnings),
            "notes": list(self.upload.notes),
            "digest": self.upload.digest,
            "version": __version__,
            **({} if self._weighting is None else {"weights": self._weighting.to_json()}),
        }

    @property
    def _weighting(self) -> Weighting | None:
        return self.upload.weighting if isinstance(self.upload, TableUpload) else None

    def families(self) -> list[dict[str, Any]]:
        """Each family of claims that the verdict rests on, the smallest p first."""
        if not self.relabelled:
            return []
        return self.require_claims().families(self.upload.names, self.upload.x_names)

    def _method(self, record: Record) -> dict[str, JSON]:
        adjusted = self.adjusted.get(record.label)
        return {
            **record.to_json(),
            "pvalue_adjusted": adjusted,
            "counts": self.counts(record),
            "remark": self.remark(record),
        }

    @property
    def pvalue(self) -> float | None:
        """Of the verdict: relabelling's, or the smallest after Holm; None where no test ran."""
        if self.relabelled:
            return self.require_claims().pvalue
        return min(self.adjusted.values(), default=None)

    def _where(self, record: Record) -> dict[str, JSON]:
        """The ball to which q gives the wrong mass, if it gives any: CoLT's."""
        numbers = record.effect.numbers
        x, centre = record.arrays["x_median"], record.arrays["centre"]
        pairs = zip(self.upload.names, centre, strict=True)
        return {
            "method": record.name,
            "label": record.label,
            **{name: numbers[name] for name in ("u_star", "inside", "inside_low", "inside_high")},
            "centre": [{"parameter": name, "value": float(value)} for name, value in pairs],
            "x": [float(value) for value in x] if len(x) <= LISTED else None,
            "distance": record.statistic,
            "distance_low": numbers["low"],
            "distance_high": numbers["high"],
        }

    def _sensitivity(self) -> list[dict[str, JSON]]:
        if self.shift is None:
            return []
        size, power, test, _ = self.shift
        return [{"kind": "shift", "posterior_sd": size, "power": power, "test": test}]


def verdict(
    records: Sequence[Record],
    upload: Upload,
    *,
    alpha: float = 0.05,
    seed: int = 0,
    pending: int = 0,
    asked_under: Record | None = None,
) -> Diagnosis:
    """The diagnosis that these records support.

    Args:
        records: of the methods that have answered.
        upload: what they were asked about.
        alpha: level of the whole diagnosis.
        seed: reported with it.
        pending: methods yet to answer; they count in Holm's correction as if their p-values were
            1, so that a problem found early stays found.
        asked_under: relabelling's record for questions, where it is none of these methods.

    Raises:
        ValueError: for a level outside (0, 1).
    """
    check_level(alpha)
    ran = [record for record in records if record.status == "ran"]
    for record in ran:
        if record.kind.decides:
            return _relabelled(
                _claims(record, alpha, upload), records, upload, alpha, seed, pending
            )
    raw = np.array([record.pvalue for record in ran] + [1.0] * pending, dtype=float)
    raw[raw <= SMALLEST] = 0.0  # a bound, not a number to multiply
    holm = np.maximum(statistics.holm(raw), SMALLEST) if len(raw) else raw
    adjusted = {record.label: float(p) for record, p in zip(ran, holm, strict=False)}
    parameters = _parameters(ran, upload, len(raw))
    shift = _shift(ran, upload, alpha / max(1, len(raw)))
    state = _state(min(adjusted.values(), default=None), shift, alpha, pending)
    claims = (
        _none(records, pending) if asked_under is None else _claims(asked_under, alpha, upload)
    )
    return Diagnosis(
        state, alpha, seed, upload, tuple(records), adjusted, parameters, shift, claims, pending
    )


def read_line(diagnosis: Diagnosis) -> str:
    """Describe the upload in a line, with the level and the seed."""
    upload = diagnosis.upload
    dim_theta, dim_x = upload.dims
    rows, parameters = count_text(upload.n, "row"), count_text(dim_theta, "parameter")
    if isinstance(upload, SamplesUpload):
        summary = f"Two samples, {upload.n:,} points in the smaller one, {dim_theta:,} quantities"
    elif isinstance(upload, RanksUpload):
        summary = f"{rows} of {upload.ranked}, {parameters}"
    else:
        data = f"{dim_x:,} data" if dim_x else "no x"
        summary = f"{rows} with {upload.drawn[1]} of q at each, {parameters}, {data}"
    summary += "".join(f"; {read}" for read in upload.read_as)
    lost = "".join(
        f"; {count_text(count, 'row')} left out ({why})" for why, count in upload.dropped.items()
    )
    return f"{summary}{lost}. Level {level_text(diagnosis.alpha)}, seed {diagnosis.seed}."


def _claims(relabelling: Record, alpha: float, upload: Upload) -> Claims:
    own = upload.own_quantities
    return Claims(OmnibusResult.read(relabelling.arrays), alpha, tuple(own), event_shares(own))


def _none(records: Sequence[Record], pending: int) -> NoClaims:
    """Why relabelling is not among these records."""
    reasons = [record.reason for record in records if record.kind.decides and record.reason]
    waiting = "It has not answered yet." if pending else "It was not asked for."
    return NoClaims(f"Relabelling within x did not run. {reasons[0] if reasons else waiting}")


def _relabelled(
    claims: Claims,
    records: Sequence[Record],
    upload: Upload,
    alpha: float,
    seed: int,
    pending: int,
) -> Diagnosis:
    """The verdict of relabelling within x, other tests beside it."""
    ran = [record for record in records if record.status == "ran"]
    others = [record for record in ran if not record.kind.decides]
    raw = np.array([record.pvalue for record in others], dtype=float)
    raw[raw <= SMALLEST] = 0.0
    holm = np.maximum(statistics.holm(raw), SMALLEST) if len(raw) else raw
    adjusted = {record.label: claims.pvalue for record in ran if record.kind.decides}
    adjusted |= {record.label: float(p) for record, p in zip(others, holm, strict=True)}
    parameters = tuple(
        replace(parameter, pvalue_adjusted=_of_quantity(parameter, i, claims))
        for i, parameter in enumerate(_parameters(ran, upload, 1))
    )
    shift = _shift_by_relabelling(claims, upload, alpha, seed)
    state = _state(claims.pvalue, shift, alpha, pending)
    return Diagnosis(
        state, alpha, seed, upload, tuple(records), adjusted, parameters, shift, claims, pending
    )


def _of_quantity(one: Parameter, at: int, claims: Claims) -> float:
    """A test quantity's p in the verdict's family."""
    kind = one.family
    if kind == "marginals":
        return claims.parameter(at)
    if kind == OWN:
        return claims.quantity(one.name)
    return claims.densities() if kind == LOG_Q else claims.together()


_SHIFTED = {
    "squared_norm": (
        "true values lie nearer to the centre than q's draws (under-confident)",
        "true values lie farther out than q's draws (over-confident)",
    ),
    "products": (
        "lower at true values than at q's draws",
        ("higher at true values than at q's draws"),
    ),
    LOG_Q: (
        "q is less dense at true values than at its own draws (over-confident)",
        "q is denser at true values than at its own draws (under-confident)",
    ),
    OWN: ("lower at true values than at q's draws", "higher at true values than at q's draws"),
}
"""By family of test quantities that are no parameters, what low and high ranks say."""


def _mapped(record: Record) -> bool:
    return record.kind.localizes and record.status == "ran"


def _parameters(ran: Sequence[Record], upload: Upload, tests: int) -> tuple[Parameter, ...]:
    names, own = upload.names, ranked_quantities(upload.own_quantities)
    sbc = next((record for record in ran if record.kind.ranks_parameters), None)
    if sbc is None:
        return ()
    u, distances, pvalues = (sbc.arrays[name] for name in ("u", "statistics", "pvalues"))
    quantities = [
        (kind, name)
        for kind in _families(sbc)
        for name in (own if kind == OWN else labels([kind], names))
    ]
    count = len(pvalues) * tests
    return tuple(
        Parameter(
            name=name,
            statistic=float(distance),
            pvalue=max(float(p), SMALLEST),
            pvalue_adjusted=float(np.clip(count * p, SMALLEST, 1.0)),
            mean_rank=float(ranks.mean()),
            spread=float(12 * ranks.var()),
            reading=reading_of_ranks(ranks, kind),
            family=kind,
        )
        for (kind, name), ranks, distance, p in zip(quantities, u, distances, pvalues, strict=True)
    )


def _families(sbc: Record) -> list[str]:
    """Names of the kinds of quantities that were ranked."""
    return kinds_of(sbc.arrays["kinds"])


def reading_of_ranks(u: Array, kind: str = "marginals") -> str:
    """Describe ranks that should be uniform: shifted, U-shaped, or heaped in the middle.

    Args:
        u: ranks (n,) of one test quantity.
        kind: its family: only a parameter's own ranks tell where q lies and how wide it is.
    """
    n = len(u)
    z_mean = (u.mean() - 0.5) * np.sqrt(12 * n)
    # Around their own mean: ranks that all lie at one end are shifted, not spread.
    z_spread = (u.var() - 1 / 12) * np.sqrt(180 * n)
    if max(abs(z_mean), abs(z_spread)) < 3:
        return "no plain shift or wrong width"
    if kind in _SHIFTED:
        low, high = _SHIFTED[kind]
        shifted = high if z_mean > 0 else low
        return shifted if abs(z_mean) >= 3 else "too many or too few extreme ranks"
    if abs(z_mean) > abs(z_spread):
        return "q sits too low" if z_mean > 0 else "q sits too high"
    if abs(z_mean) >= 2:  # a shift of a skewed law spreads its ranks as well
        return "its ranks are off in place and in spread"
    # A width moves the middle and the ends alike; tails move the ends against the middle.
    z_ends = (np.mean(np.abs(2 * u - 1) > _ENDS) - (1 - _ENDS)) * np.sqrt(
        n / (_ENDS * (1 - _ENDS))
    )
    if z_spread < 0 < z_ends - 2:
        return "q's tails are too light"
    if z_ends + 2 < 0 < z_spread:
        return "q's tails are too heavy"
    return (
        "q is too narrow (over-confident)" if z_spread > 0 else "q is too wide (under-confident)"
    )


def _shift(ran: Sequence[Record], upload: Upload, level: float) -> _Shift | None:
    by_name = {record.name: record for record in ran}
    if "sbc" in by_name and "marginals" in _families(by_name["sbc"]):
        each = level / len(by_name["sbc"].arrays["pvalues"])
        size = detectable_shift_by_ranks(upload.n, upload.effective_k or CONTINUOUS, each)
        return _Shift(size, POWER, "sbc", upload.n)
    if "multiple" in by_name:
        used = by_name["multiple"]
        size = detectable_shift_by_scores(used.draws_p, used.draws_q, level)
        return _Shift(size, POWER, "multiple", upload.n)
    return None


def _shift_by_relabelling(claims: Claims, upload: Upload, alpha: float, seed: int) -> _Shift:
    critical = claims.result.critical(alpha, "means")
    n, k, d = upload.n, upload.effective_k, upload.dims[0]
    training = learning.training_and_held_out_rows(upload, seed)[0]
    pools = relabelled_pools(n, k, d, seed, groups=upload.groups, training=training)
    size = detectable_shift_by_relabelling(pools, critical, d)
    return _Shift(size, POWER, "omnibus", n * pools.independent)


def _state(p: float | None, shift: _Shift | None, alpha: float, pending: int) -> Verdict:
    if p is not None and p <= alpha:
        return "problem found"
    blind = shift.size > ENOUGH if shift else p is None
    return "not enough data" if blind and not pending else "no problem found"


class _Shift(NamedTuple):
    """A shift in posterior sds, the power it is caught with, and by what."""

    size: float
    power: float
    test: str
    rows: float
    """Rows, each with draws of its own, that catch it: fewer than there are where some share."""

    def rows_for(self, size: float) -> float:
        """Rows, each with draws of its own, that catch a shift of this size."""
        return self.rows * (self.size / size) ** 2  # it falls with the square root of the rows


def _verdict_sentence(found: Diagnosis) -> str:
    """The finding, and how sure it is; of a file with a mistake this first, or its correction."""
    upload = found.upload
    if upload.unusable:
        findings = " ".join(one.finding for one in upload.mistakes)
        return f"Correct the file first. {findings}"
    done = " ".join(one.done for one in upload.corrected)
    finding = f"{_finding(found)} Corrected: {done}" if done else _finding(found)
    return " ".join((finding, *scope_text(upload)))


def scope_text(upload: Upload) -> tuple[str, ...]:
    """A sentence on what the verdict is of, where that is not q over the prior."""
    around = isinstance(upload, TableUpload) and upload.around is not None
    return (_AROUND,) * around


def _finding(found: Diagnosis) -> str:
    """The finding, and how sure it is."""
    if found.verdict == "problem found":
        return _problem(found)
    if found.pending:
        return f"Nothing speaks against q so far; {found.pending} still to answer."
    if found.verdict == "not enough data":
        return _too_little(found)
    return _silent(found)


def _problem(found: Diagnosis) -> str:
    readings = [f"{parameter.name}: {parameter.reading}" for parameter in found.flagged[:_NAMED]]
    names = found.upload.names
    magnitudes = found.require_claims().sentences(names) if found.relabelled else ()
    by_rank = [f"By rank, {'; '.join(readings)}."] if readings else []
    return " ".join([_rejection(found), *magnitudes, *by_rank])


def _rejection(found: Diagnosis) -> str:
    """The clearest rejection, in a sentence without a reading of ranks."""
    if found.relabelled:
        upload, claims = found.upload, found.require_claims()
        return (
            f"At level {level_text(found.alpha)} true values and q's draws differ (p "
            f"{equals(claims.pvalue)}, exact over everything that was looked at). "
            f"Clearest: {claims.clearest(upload.names, upload.x_names)}."
        )
    titles = {record.label: record.title for record in found.records}
    label = min(found.adjusted, key=lambda each: found.adjusted[each])
    tests = len(found.adjusted) + found.pending
    return (
        f"At level {level_text(found.alpha)} true values and q's draws differ: {titles[label]} "
        "gives p "
        f"{equals(found.adjusted[label])}{f', adjusted for {tests} tests' if tests > 1 else ''}."
    )


def _silent(found: Diagnosis) -> str:
    if found.shift is None:
        return (
            "No test rejects q. What shift these would have caught is not known: run SBC or "
            "Multiple as well to see."
        )
    best = ", with the best possible classifier," if found.shift.test == "multiple" else ""
    where = " in one parameter" if found.relabelled else ""
    p = f" (p {equals(found.pvalue)})" if found.relabelled else ""
    return (
        f"No problem found in {found.upload.n:,} rows{p}: a test of this size{best} would find a "
        f"shift of {found.shift.size:.2f} posterior sd{where} with {found.shift.power:.0%} power."
    )


def _too_little(found: Diagnosis) -> str:
    if found.shift is None:
        return "No test could run on this table."
    rows = math.ceil(found.shift.rows_for(ENOUGH) / 10) * 10
    own = "" if found.upload.groups is None else ", each with draws of its own,"
    return (
        f"No test rejects q, but a test of this size has {found.shift.power:.0%} power only "
        f"for a shift of {found.shift.size:.2g} posterior sd or more. About {rows} rows{own} "
        f"would show one of {ENOUGH:g}."
    )
