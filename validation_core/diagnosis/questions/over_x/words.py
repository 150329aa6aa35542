"""Errors over x in sentences."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from validation_core.diagnosis.questions.base import LEVEL
from validation_core.diagnosis.questions.calibration.words import at_least
from validation_core.diagnosis.questions.over_x.features import OverXKind
from validation_core.diagnosis.questions.over_x.region_words import region_text
from validation_core.diagnosis.questions.over_x.result import ErrorsOverX, OverXPlace
from validation_core.diagnosis.questions.over_x.sizes import FeatureSize
from validation_core.relabelling.claims import Claims, parameter_name
from validation_core.relabelling.places import CHOSEN, COLUMNS, COMPONENTS
from validation_core.text import interval_text, list_text, number_text
from validation_core.types import Interval

_USUAL = 0.05  # share of a right q's truths beyond all draws from which on it is said
_NOTHING_SEEN: Mapping[OverXKind, str] = {
    "shift": "no bias is seen",
    "width": "no error of its width is seen",
    "learned": "no difference is seen",
}


def feature_text(place: OverXPlace, names: Sequence[str]) -> str:
    """Name the error: `bias of theta_1`."""
    if place.kind == "learned":
        return "score of the true values"
    kind = "bias" if place.kind == "shift" else place.kind
    return f"{kind} of {parameter_name(names, place.parameter)}"


def size_text(kind: OverXKind, estimate: FeatureSize) -> str:
    """A number with its interval, signed as it is."""
    if estimate.open:
        return "unknown (beyond all draws)" if estimate.value is None else _bound(estimate)
    if estimate.value is None:
        return f"unknown ({estimate.n} rows)"
    if kind == "width":
        high = "…" if estimate.high is None else format(estimate.high, ".2f")
        return f"{estimate.value:.2f} [{estimate.low:.2f}, {high}]"
    assert estimate.low is not None
    assert estimate.high is not None
    return interval_text((estimate.value, estimate.low, estimate.high), "+.2f")


def _bound(estimate: FeatureSize) -> str:
    """A shift whose other end is open, signed."""
    low, high = estimate.low, estimate.high
    if low is not None:
        return f"at least +{number_text(low, 2)}"
    return f"at most {number_text(high or 0.0, 2)}"


def place_text(place: OverXPlace, names: Sequence[str], x_names: Sequence[str]) -> str:
    """Say where a place lies, how q is off there, and how elsewhere."""
    where = f"Where {region_text(place, names, x_names)} ({place.share:.0%} of the rows)"
    inside = _off(place, place.inside, names)
    beyond = beyond_text(place)
    return f"{where}, {inside}{f': {beyond}' if beyond else ''}; {_elsewhere(place, names)}."


def _elsewhere(place: OverXPlace, names: Sequence[str]) -> str:
    """q's error outside a place: no number where its interval holds that of a right q."""
    outside, null = place.outside, 1.0 if place.kind == "width" else 0.0
    if outside.value is not None and not outside.excludes(null):
        return f"elsewhere, {_NOTHING_SEEN[place.kind]}"
    return f"elsewhere, {_off(place, outside, names)}"


def beyond_text(place: OverXPlace) -> str:
    """How many true values of a place lie beyond all draws, where that makes a size a bound."""
    if place.beyond is None or not place.inside.open:
        return ""
    share, usual = place.beyond.share, place.beyond.usual
    right = f" ({usual:.0%} if q were correct)" if usual > _USUAL else ""
    return f"{share:.0%} of the true values there lie beyond all of q's draws{right}"


def _off(what: OverXPlace, estimate: FeatureSize, names: Sequence[str]) -> str:
    """How q is off in a region, by numbers that are not those of its choice."""
    whose = f"q's {parameter_name(names, what.parameter)}"
    if what.kind == "width" and estimate.open:
        return f"the width of {whose} cannot be told"
    if estimate.value is None:
        return f"too few rows ({estimate.n}) to say by how much"
    if what.kind == "learned":
        off = size_text("learned", estimate)
        return f"the true values' score lies {off} sd from that of q's draws"
    if what.kind == "shift":
        return f"{whose} sits {_unsigned(estimate)}"
    high = estimate.high
    narrow, wide = high is not None and high < 1, (estimate.low or 0.0) > 1
    off = " (too narrow)" if narrow else " (too wide)" if wide else ""
    return f"{whose} is {size_text('width', estimate)} times as wide as it should be{off}"


def _unsigned(estimate: FeatureSize) -> str:
    value, low, high = estimate.value, estimate.low, estimate.high
    assert value is not None
    side = "high" if value >= 0 else "low"
    if estimate.open:
        ends = (math.nan if end is None else end for end in (low, high))
        return f"{at_least(Interval(value, *ends))} too {side}"
    assert low is not None
    assert high is not None
    low, high = (low, high) if value >= 0 else (-high, -low)
    return f"{interval_text((abs(value), low, high))} posterior sd too {side}"


def next_place(
    places: Sequence[OverXPlace], names: Sequence[str], x_names: Sequence[str]
) -> list[str]:
    """The worst place of another parameter or kind, of those whose size is told from a right
    q's, and how many more there are."""
    some = [place for place in places if place.told or place.kind == "learned"]
    places = some if places[0] in some else [places[0], *some]
    features = list(dict.fromkeys((place.kind, place.parameter) for place in places))
    if len(features) < 2:
        return []
    second = next(place for place in places if (place.kind, place.parameter) == features[1])
    rest = len(features) - 2
    more = f" {rest} more {'varies' if rest == 1 else 'vary'} over x." if rest > 0 else ""
    return [f"{place_text(second, names, x_names)}{more}"]


def caught_text(result: ErrorsOverX, claims: Claims) -> str:
    """Say with which error over a fifth of x q would be found wrong; empty where unknown."""
    size = result.detectable(claims)
    if size is None:
        return ""
    return (
        f" With a bias of {size:.2f} posterior sd in one parameter over a fifth of x, q would be "
        "found wrong, if not always found to change over x, in about 80 of 100 such tables."
    )


def basis_text(result: ErrorsOverX) -> str:
    """Say how many rows, coordinates and null tables the scans read."""
    pairs = sum(part.pairs_looked_at for part in result.parts)
    nulls = list_text([f"{part.nulls:,}" for part in result.parts])
    sources = {
        "ranks": "true values' ranks in every parameter on {rows} rows",
        "learned": "their ranks under the classifier's score on {rows} rows that no network saw",
    }
    basis = list_text([sources[part.name].format(rows=part.rows) for part in result.parts])
    return (
        f"Looked at {basis}, over every stretch of each coordinate. p is adjusted for all "
        f"{pairs} pairs of an error and a coordinate, by {nulls} null tables each, and is "
        "never below the verdict's. One half of the rows found the regions and, of places with "
        f"equal p or p above {LEVEL:g}, which comes first; the other half measured them, in "
        "normal scores: one is one posterior sd where q is Gaussian. Brackets are 95% intervals. "
        "A place is told where p, of all rows, is small, and after the first where its interval "
        "excludes a correct q: where either barely does, sizes are rather too large."
    )


def scan_notes(result: ErrorsOverX) -> list[str]:
    """Say which columns and parameters of a large table were looked at."""
    first = result.parts[0]
    notes = []
    which, means = (
        (", those that q's means follow most", ", and q's means")
        if first.aside
        else (", evenly spaced", "")
    )
    if first.many:
        notes.append(
            f"x has {first.columns:,} columns, more than {COLUMNS}: looked along {CHOSEN} of "
            f"them{which}, {COMPONENTS} principal components{means}."
        )
    for part in result.parts:
        if 0 < part.looked_at < part.parameters:
            notes.append(
                f"There are {part.parameters:,} parameters: half of the rows chose the "
                f"{part.looked_at} whose ranks are farthest from uniform; the other half tests "
                "and measures them."
            )
    if first.aside:
        notes.append(
            f"q's means come from {first.aside} draws at each x that the ranks do not use."
        )
    if first.constant:
        notes.append("x never varies, so there is only one place to look at.")
    return notes
