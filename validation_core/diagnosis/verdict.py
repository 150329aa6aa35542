"""From the records of all methods to one verdict, in words that never say more than was found.

Where relabelling within x ran, it alone is the verdict: one exact test of everything that is
looked at, under whose error rate every claim is made. The tests of the papers stand beside it,
each with its own p-value. Without it (two samples, or tests that were asked for by name) p-values
are adjusted by Holm over the tests that ran. Either way, if q is right, a problem is found in at
most a share alpha of uploads.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any, Literal

import numpy as np

from validation_core import __version__, statistics
from validation_core.diagnosis import sensitivity, words
from validation_core.diagnosis.claims import Claims
from validation_core.diagnosis.effects import LISTED
from validation_core.diagnosis.records import SMALLEST, Record
from validation_core.diagnosis.sensitivity import Shift
from validation_core.diagnosis.words import ENOUGH
from validation_core.omnibus import Omnibus
from validation_core.scores.quantities import LOG_Q, QUANTITIES, labels
from validation_core.tables import Upload
from validation_core.types import Array

Verdict = Literal["problem found", "no problem found", "not enough data"]


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
    shift: Shift | None
    claims: Claims | None = None
    """What may be claimed, where relabelling ran."""
    pending: int = 0
    """Methods whose results are still to come."""

    @property
    def sentence(self) -> str:
        """The verdict to read. It may hold names a user chose: escape it where it is drawn."""
        return words.sentence(self)

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
        return record.status == "ran" and (self.claims is None or record.kind.decides)

    def remark(self, record: Record) -> str | None:
        """What makes a method's answer weaker than it looks, beside these others."""
        tests = len(self.adjusted) + self.pending
        if self.claims is not None:
            beside = self.adjusted.get(record.label, 1.0) <= self.alpha and not self.counts(record)
            if beside and not self.claims.found and not self.pending:
                return (
                    f"{record.label} rejects by itself. The verdict, which is exact over "
                    f"everything that is looked at, does not: take this for a hint."
                )
            tests = 1 if record.kind.decides else tests - 1
        return words.remark(record, tests=tests, alpha=self.alpha)

    def to_json(self) -> dict[str, Any]:
        """One object, as the command line prints it with a few fields more."""
        dim_theta, dim_x = self.upload.dims
        return {
            "verdict": self.verdict,
            "sentence": self.sentence,
            "alpha": self.alpha,
            "seed": self.seed,
            "n": self.upload.n,
            "k": self.upload.k,
            "dim_theta": dim_theta,
            "dim_x": dim_x,
            "pvalue": self.pvalue,
            "families": (
                self.claims.families(self.upload.names, self.upload.x_names) if self.claims else []
            ),
            "methods": [self._method(record) for record in self.records],
            "parameters": [asdict(parameter) for parameter in self.parameters],
            "where": [self._where(record) for record in self.records if _mapped(record)],
            "cause": [{"parameter": p.name, "reading": p.reading} for p in self.flagged],
            "sensitivity": self._sensitivity(),
            "dropped": dict(self.upload.dropped),
            "warnings": list(self.upload.warnings),
            "notes": list(self.upload.notes),
            "digest": self.upload.digest,
            "version": __version__,
        }

    def _method(self, record: Record) -> dict[str, Any]:
        adjusted = self.adjusted.get(record.label)
        return {
            **record.plain(),
            "pvalue_adjusted": adjusted,
            "counts": self.counts(record),
            "remark": self.remark(record),
        }

    @property
    def pvalue(self) -> float | None:
        """Of the verdict: relabelling's, or the smallest after Holm; None where no test ran."""
        if self.claims is not None:
            return self.claims.pvalue
        return min(self.adjusted.values(), default=None)

    def _where(self, record: Record) -> dict[str, Any]:
        """The ball to which q gives the wrong mass, if it gives any: CoLT's."""
        effect, x, centre = record.effect, record.arrays["x_median"], record.arrays["centre"]
        pairs = zip(self.upload.names, centre, strict=True)
        return {
            "method": record.name,
            "label": record.label,
            **{name: effect[name] for name in ("u_star", "inside", "inside_low", "inside_high")},
            "centre": [{"parameter": name, "value": float(value)} for name, value in pairs],
            "x": [float(value) for value in x] if len(x) <= LISTED else None,
            "distance": record.statistic,
            "distance_low": effect["low"],
            "distance_high": effect["high"],
        }

    def _sensitivity(self) -> list[dict[str, Any]]:
        if self.shift is None:
            return []
        size, power, test = self.shift
        return [{"kind": "shift", "posterior_sd": size, "power": power, "test": test}]


def verdict(
    records: Sequence[Record],
    upload: Upload,
    *,
    alpha: float = 0.05,
    seed: int = 0,
    pending: int = 0,
) -> Diagnosis:
    """The diagnosis that these records support.

    Args:
        records: of the methods that have answered.
        upload: what they were asked about.
        alpha: level of the whole diagnosis.
        seed: reported with it.
        pending: methods yet to answer; they count in Holm's correction as if their p-values were
            1, so that a problem found early stays found.

    Raises:
        ValueError: for a level outside (0, 1).
    """
    if not 0 < alpha < 1:
        raise ValueError(f"The level lies between 0 and 1; got {alpha}. 0.05 is usual.")
    ran = [record for record in records if record.status == "ran"]
    claims = _claims(ran, alpha)
    if claims is not None:
        return _relabelled(claims, records, upload, alpha, seed, pending)
    raw = np.array([record.pvalue for record in ran] + [1.0] * pending, dtype=float)
    raw[raw <= SMALLEST] = 0.0  # a bound, not a number to multiply
    holm = np.maximum(statistics.holm(raw), SMALLEST) if len(raw) else raw
    adjusted = {record.label: float(p) for record, p in zip(ran, holm, strict=False)}
    parameters = _parameters(ran, upload.names, len(raw))
    shift = _shift(ran, upload, alpha / max(1, len(raw)))
    state = _state(min(adjusted.values(), default=None), shift, alpha, pending)
    return Diagnosis(
        state, alpha, seed, upload, tuple(records), adjusted, parameters, shift, pending=pending
    )


def _claims(ran: Sequence[Record], alpha: float) -> Claims | None:
    for record in ran:
        if record.kind.decides:
            return Claims(Omnibus.read(record.arrays), alpha, float(record.effect["share"]))
    return None


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
        for i, parameter in enumerate(_parameters(ran, upload.names, 1))
    )
    critical = claims.result.critical(alpha * claims.share, "means")
    size = sensitivity.by_relabelling(upload.n, upload.k, critical)
    shift = Shift(size, sensitivity.POWER, "omnibus")
    state = _state(claims.pvalue, shift, alpha, pending)
    return Diagnosis(
        state, alpha, seed, upload, tuple(records), adjusted, parameters, shift, claims, pending
    )


def _of_quantity(one: Parameter, at: int, claims: Claims) -> float:
    """A test quantity's p in the verdict's family."""
    kind = one.family
    if kind == "marginals":
        return claims.parameter(at)
    return claims.densities() if kind == LOG_Q else claims.together()


_SHIFTED = {
    "squared_norm": (
        "the truth lies nearer to the centre than q's draws (under-confident)",
        "the truth lies farther out than q's draws (over-confident)",
    ),
    "products": ("lower at the truth than at q's draws", "higher at the truth than at q's draws"),
    LOG_Q: (
        "q is less dense at the truth than at its own draws (over-confident)",
        "q is denser at the truth than at its own draws (under-confident)",
    ),
}
"""By family of test quantities that are no parameters, what low and high ranks say."""


def _mapped(record: Record) -> bool:
    return record.kind.localizes and record.status == "ran"


def _parameters(ran: Sequence[Record], names: Sequence[str], tests: int) -> tuple[Parameter, ...]:
    sbc = next((record for record in ran if record.kind.ranks_parameters), None)
    if sbc is None:
        return ()
    u, distances, pvalues = (sbc.arrays[name] for name in ("u", "statistics", "pvalues"))
    quantities = [(kind, name) for kind in _families(sbc) for name in labels([kind], names)]
    count = len(pvalues) * tests
    return tuple(
        Parameter(
            name,
            float(distance),
            max(float(p), SMALLEST),
            float(np.clip(count * p, SMALLEST, 1.0)),
            float(ranks.mean()),
            float(12 * ranks.var()),
            reading(ranks, kind),
            kind,
        )
        for (kind, name), ranks, distance, p in zip(quantities, u, distances, pvalues, strict=True)
    )


def _families(sbc: Record) -> list[str]:
    """Names of the kinds of quantities that were ranked."""
    return [list(QUANTITIES)[int(kind)] for kind in sbc.arrays["kinds"]]


def reading(u: Array, kind: str = "marginals") -> str:
    """What ranks that should be uniform look like: shifted, U-shaped, or heaped in the middle.

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
    return (
        "q is too narrow (over-confident)" if z_spread > 0 else "q is too wide (under-confident)"
    )


def _shift(ran: Sequence[Record], upload: Upload, level: float) -> Shift | None:
    by_name = {record.name: record for record in ran}
    if "sbc" in by_name and "marginals" in _families(by_name["sbc"]):
        each = level / len(by_name["sbc"].arrays["pvalues"])
        size = sensitivity.by_ranks(upload.n, upload.k, each)
        return Shift(size, sensitivity.POWER, "sbc")
    if "multiple" in by_name:
        used = by_name["multiple"]
        size = sensitivity.by_scores(used.draws_p, used.draws_q, level)
        return Shift(size, sensitivity.POWER, "multiple")
    return None


def _state(p: float | None, shift: Shift | None, alpha: float, pending: int) -> Verdict:
    if p is not None and p <= alpha:
        return "problem found"
    blind = shift.size > ENOUGH if shift else p is None
    return "not enough data" if blind and not pending else "no problem found"
