"""Are stated probabilities right: of classes, or of the values of a discrete parameter.

A table of probabilities p(class | x) with the true classes is tested as it is. Of a parameter with
few values q's draws state shares; there the test is exact since the true value is any of a row's
slots if q is right (`statistics.reliability.pooled_shares`). Where a table of probabilities has x,
its regions are looked at in the same test (`diagnosis.reliability_over_x`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, NamedTuple

import numpy as np

from validation_core.diagnosis.reliability_over_x import (
    EventPlace,
    XRegions,
    place_sentence,
    regions_of,
)
from validation_core.diagnosis.tasks import load_upload
from validation_core.relabelling.claims import parameter_name
from validation_core.rng import stream
from validation_core.statistics.reliability import (
    BrierSplit,
    ClassLabels,
    brier_split,
    events_of,
    pooled_shares,
    pvalues_beyond_curve,
    reliability_checks,
    reliability_curve,
)
from validation_core.study import Report, Study
from validation_core.tables import ProbabilitiesUpload, TableUpload, Upload
from validation_core.tables.discrete import MOST_VALUES
from validation_core.text import equals, level_text
from validation_core.types import Array

if TYPE_CHECKING:
    from validation_core.store import Store

TABLES = 999
"""Tables of classes that are drawn from the stated probabilities."""
_GRID = np.linspace(0, 1, 101)
_BINS = 10
_OFTEN_MISSED = 3.3  # sds of a mean: about 80% power under the correction for all checks
_LOOKED = 1000  # rows that a column is recognised by


class EventReliability(NamedTuple):
    """How often one event happens beside the probabilities that are stated of it."""

    event: int
    """The class; -1: that the most probable class is the true one."""
    said: float
    """Mean stated probability; of a discrete parameter the mean share of q's draws."""
    happened: float
    """Share of rows in which it happened."""
    share: float
    """z of the mean: above 0 where it happened more often than stated."""
    confidence: float
    """z of the slope: below 0 where high probabilities happen too rarely, low ones too often."""
    p_share: float
    """Adjusted p that the mean is right;"""
    p_confidence: float
    """that the slope is;"""
    p_curve: float
    """that the whole curve is."""
    brier: BrierSplit
    by_chance: float
    """Mean of the Brier score's reliability part if the probabilities are right."""
    curve: Array
    """(3, 101) the curve by isotonic regression, and the band of right ones, over 0 to 1."""
    groups: Array
    """(B, 4) rows in groups by stated probability: its mean, the share that happened, the number
    of rows, and the largest stated one."""

    p_over_x: float | None = None
    """that it is off alike at every x, or at all rows of equal stated probability, whichever is
    larger; None where x is not known, or does not vary."""
    place: EventPlace | None = None
    """Where over x it is off most; None where no region has rows enough."""

    @property
    def pvalue(self) -> float:
        """The smallest adjusted p of its checks over all rows."""
        return min(self.p_share, self.p_confidence, self.p_curve)


@dataclass(frozen=True, eq=False)
class Reliability:
    """The test of all stated probabilities, and what is off of each event."""

    n: int
    classes: int
    pvalue: float
    """Exact, of everything together."""
    p_surprise: float
    """Adjusted p that true classes are as surprising as the probabilities say."""
    events: tuple[EventReliability, ...]
    values: tuple[float, ...] = ()
    """Values of a discrete parameter; none of classes."""
    x_rows: int = 0
    """Rows that were looked at over x; 0 where x is not known, or does not vary."""

    @property
    def p_over_x(self) -> float | None:
        """p that nothing is off more at some x than at others, beyond an error of the curve, which
        depends on the stated probability alone; None without x."""
        return min((one.p_over_x for one in self.events if one.p_over_x is not None), default=None)


@dataclass(frozen=True, kw_only=True)
class ReliabilityStudy(Study[Reliability], spec="reliability"):
    """The reliability of the stated probabilities of an upload."""

    version: ClassVar[int] = 3
    gpu: ClassVar[bool] = False
    digest: str
    parameter: int | None = None
    """The discrete parameter of a table; None for a table of probabilities."""
    seed: int = 0

    @property
    def label(self) -> str:
        return "Reliability of stated probabilities"

    def compute(self, store: Store, report: Report) -> Reliability:
        upload, rng = load_upload(store, self.digest), stream(self.seed, "reliability")
        p, classes, values = _stated(upload, self.parameter)
        regions = _regions(upload, self.seed)
        checks = reliability_checks(
            p, classes, rng, TABLES, None if regions is None else regions.sums
        )
        beyond = None
        if regions is not None:
            own = stream(self.seed, "reliability", "beyond the curve")
            beyond = pvalues_beyond_curve(p, classes, own, regions.sums)
        report(0.5, {})
        by_check = dict(zip(checks.of, range(len(checks.of)), strict=True))
        events = events_of(p)
        found = []
        hits = events.happened(classes, p.argmax(axis=1))
        for at, (which, hit) in enumerate(zip(events.of, hits, strict=True)):
            stated, true = events.p[:, at], hit.astype(np.float64)
            said = _own_share(upload, float(stated.mean()), float(true.mean()))
            curve = reliability_curve(stated, true, _GRID, rng)
            share, slope, whole = (by_check[c, at] for c in ("share", "confidence", "curve"))
            p_over_x = None
            if beyond is not None:
                over_x = float(checks.adjusted[by_check["over_x", at]])
                p_over_x = max(over_x, float(beyond[at]))
            found.append(
                EventReliability(
                    event=which,
                    said=said,
                    happened=float(true.mean()),
                    share=float(checks.z[share]),
                    confidence=float(checks.z[slope]),
                    p_share=float(checks.adjusted[share]),
                    p_confidence=float(checks.adjusted[slope]),
                    p_curve=float(checks.adjusted[whole]),
                    brier=brier_split(stated, true),
                    by_chance=curve.by_chance,
                    curve=np.stack([curve.happens, curve.low, curve.high]),
                    groups=_groups(stated, true),
                    p_over_x=p_over_x,
                    place=regions.worst(stated, true) if regions else None,
                )
            )
        return Reliability(
            n=len(p),
            classes=p.shape[1],
            pvalue=checks.pvalue,
            p_surprise=float(checks.adjusted[-1]),
            events=tuple(found),
            values=tuple(float(value) for value in values),
            x_rows=len(regions.rows) if regions else 0,
        )


def _groups(stated: Array, hit: Array) -> Array:
    """Rows in groups (B, 4) of about equal number by stated probability, equal ones together."""
    edges = np.unique(np.quantile(stated, np.linspace(0, 1, _BINS + 1)[1:-1]))
    place = np.searchsorted(edges, stated, side="left")
    return np.array([
        (stated[here].mean(), hit[here].mean(), here.sum(), stated[here].max())
        for group in np.unique(place)
        for here in [place == group]
    ])  # fmt: skip


def _stated(upload: Upload, parameter: int | None) -> tuple[Array, ClassLabels, Array]:
    """Probabilities (N, C), true classes (N,), and the values of a discrete parameter."""
    if isinstance(upload, ProbabilitiesUpload):
        return upload.data.p, upload.data.classes, np.zeros(0)
    assert isinstance(upload, TableUpload)
    assert parameter is not None
    data = upload.data
    return pooled_shares(data.theta[:, parameter], data.q[..., parameter])


def _own_share(upload: Upload, pooled: float, happened: float) -> float:
    """The mean probability that q states itself: of a table, without the truth, which is one of
    the K + 1 slots that shares are counted among."""
    k = upload.k if isinstance(upload, TableUpload) else 0
    return ((k + 1) * pooled - happened) / k if k else pooled


def _regions(upload: Upload, seed: int) -> XRegions | None:
    """Regions of x of a table of probabilities; None without x.

    Those of a discrete parameter are part of the table's own verdict.
    """
    if not isinstance(upload, ProbabilitiesUpload):
        return None
    return regions_of(upload.data.x, upload.data.p, stream(seed, "reliability", "over x"))


def discrete_parameters(upload: Upload) -> tuple[int, ...]:
    """Parameters of a table that a user names as discrete, or whose numbers are few and whole."""
    if not isinstance(upload, TableUpload) or upload.groups is not None:
        return ()
    data = upload.data
    some = slice(None, None, max(1, len(data) // _LOOKED))
    out = []
    for j in range(data.theta.shape[1]):
        if j in upload.discrete:
            out.append(j)
            continue
        first = np.unique(data.q[some, :, j])
        if len(first) > MOST_VALUES or (first != np.floor(first)).any():
            continue
        whole = np.unique(np.append(np.unique(data.q[..., j]), data.theta[:, j]))
        if 2 <= len(whole) <= MOST_VALUES and (whole == np.floor(whole)).all():
            out.append(j)
    return tuple(out)


def reliability_study(upload: Upload, parameter: str | None, seed: int) -> ReliabilityStudy:
    """The study of an upload's stated probabilities.

    Args:
        upload: probabilities of classes, or a table with a discrete parameter.
        parameter: its name; None where there is but one.
        seed: of the drawn classes.

    Raises:
        ValueError: where there is no such parameter, or nothing that states probabilities.
    """
    if isinstance(upload, ProbabilitiesUpload):
        return ReliabilityStudy(digest=upload.digest, seed=seed)
    found = discrete_parameters(upload)
    names = [parameter_name(upload.names, j) for j in found]
    if parameter is None and len(found) == 1:
        return ReliabilityStudy(digest=upload.digest, parameter=found[0], seed=seed)
    if parameter not in names:
        raise ValueError(
            f"Stated probabilities are probabilities (N, C) with label (N,), or q's shares of a "
            f"parameter with 2 to {MOST_VALUES} whole numbers; got "
            f"{'none named' if parameter is None else repr(parameter)} and the discrete "
            f"parameters {', '.join(names) or 'none'}. Name one of these, or bring probabilities."
        )
    return ReliabilityStudy(
        digest=upload.digest, parameter=found[names.index(parameter)], seed=seed
    )


def class_names(found: Reliability, names: Sequence[str]) -> list[str]:
    """Names of the classes: a user's, or the values of a discrete parameter."""
    if found.values:
        return [f"{value:g}" for value in found.values]
    return [names[c] if c < len(names) else f"class_{c + 1}" for c in range(found.classes)]


def event_name(one: EventReliability, classes: Sequence[str]) -> str:
    """The name of an event: that of its class."""
    return "the most probable class" if one.event < 0 else classes[one.event]


def clearest_first(events: Sequence[EventReliability]) -> list[EventReliability]:
    """Events by their p-values, among equal ones by how far off they are."""
    return sorted(events, key=lambda one: (one.pvalue, -max(abs(one.share), abs(one.confidence))))


def worst_over_x(found: Reliability) -> EventReliability | None:
    """The event that is off most clearly in part of x; None where no part has rows enough."""
    off = [(one.p_over_x, -one.place.z, i) for i, one in enumerate(found.events) if one.place]
    return found.events[min(off)[-1]] if off else None


def reliability_sentences(
    found: Reliability, names: Sequence[str], alpha: float, x_names: Sequence[str]
) -> tuple[str, ...]:
    """How sure the verdict is, what is off most clearly, where over x, and the Brier score."""
    classes = class_names(found, names)
    wrong = found.pvalue <= alpha
    worst = clearest_first(found.events)[0]
    first = (
        f"At level {level_text(alpha)} the stated probabilities are wrong (p "
        f"{equals(found.pvalue)}, exact over {found.n:,} rows)."
        if wrong
        else f"Classes drawn from the stated probabilities often differ from them as much as the "
        f"true ones do (p {equals(found.pvalue)}, {found.n:,} rows)."
    )
    said = [first]
    if not wrong:
        said.append(_missed(found))
    elif min(worst.pvalue, found.p_surprise) <= alpha:
        said.append(_off(worst, event_name(worst, classes), alpha))
    else:
        worst = worst_over_x(found) or worst
    if found.p_over_x is not None:
        said.append(_over_x(found, classes, alpha, x_names))
    split = worst.brier
    name = event_name(worst, classes)
    said.append(
        f"Brier score of {name}: {split.score:.4f} = {split.reliability:.4f} for unreliable "
        f"probabilities ({worst.by_chance:.4f} of it by chance alone) − {split.resolution:.4f} "
        f"for telling rows apart + {split.uncertainty:.4f} for chance itself."
    )
    return tuple(said)


def _off(one: EventReliability, name: str, alpha: float) -> str:
    """What is off of the clearest event, as far as it is claimed."""
    if one.p_share <= min(alpha, one.p_confidence):
        return (
            f"{name}: stated with {one.said:.1%} on average, and true in {one.happened:.1%} of "
            f"rows."
        )
    if one.p_confidence <= alpha:
        high, low = one.groups[-1], one.groups[0]
        how = "over-confident" if one.confidence < 0 else "under-confident"
        return (
            f"{name}: q is {how}. Of the {high[2]:.0f} rows with the highest probabilities, "
            f"{high[0]:.1%} on average, it is true in {high[1]:.1%}; of the {low[2]:.0f} with the "
            f"lowest, {low[0]:.1%}, in {low[1]:.1%}."
        )
    if one.p_curve <= alpha:
        return f"{name}: some probabilities are too high, others too low; see its curve."
    return (
        "Single classes are not told to be off; true classes are stated with other probabilities "
        "than they should be."
    )


def _over_x(
    found: Reliability, classes: Sequence[str], alpha: float, x_names: Sequence[str]
) -> str:
    """Whether, and where over x, an event is off more than elsewhere."""
    p, worst = found.p_over_x, worst_over_x(found)
    assert p is not None, "x was looked at"
    if worst is None or worst.place is None:
        return f"No part of x has enough of the {found.x_rows:,} rows to be looked at alone."
    if p <= alpha:
        return (
            f"They are off more in part of x than elsewhere, at equal stated probability (p "
            f"{equals(p)}): "
            f"{place_sentence(event_name(worst, classes), worst.place, x_names)}"
        )
    return (
        f"No part of x stands out: parts differ as much by chance, or by an error that depends on "
        f"the stated probability alone (p {equals(p)}, {found.x_rows:,} rows)."
    )


def _missed(found: Reliability) -> str:
    """Which error would often be missed, of the event that varies most."""
    widest = max(one.said * (1 - one.said) for one in found.events)
    return (
        f"That does not show that they are right: a mean probability off by less than about "
        f"{_OFTEN_MISSED * np.sqrt(widest / found.n):.1%} would often be missed."
    )
