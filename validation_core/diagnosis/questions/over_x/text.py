"""The map over x in words: whether q fails at some x, at which, by how much, or everywhere."""

from __future__ import annotations

from collections.abc import Sequence

from validation_core.diagnosis.claims import Claims, called, column
from validation_core.diagnosis.questions.over_x.features import Estimate, Kind
from validation_core.diagnosis.questions.over_x.scan import Disc
from validation_core.diagnosis.questions.over_x.study import (
    LEVEL,
    Beyond,
    ErrorsOverX,
    Overall,
    Place,
)
from validation_core.diagnosis.records import equals
from validation_core.omnibus.places import CHOSEN, COLUMNS, COMPONENTS

_MANY_BEYOND = 0.25  # share of truths beyond all draws from which a shift is told as a bound


def describe(
    result: ErrorsOverX,
    names: Sequence[str],
    x_names: Sequence[str] = (),
    claims: Claims | None = None,
) -> tuple[str, ...]:
    """The answer first; then the next worst place, what the p-values are of, and what was done.

    Args:
        result: the parts that are done.
        names: of the parameters.
        x_names: of the columns of x.
        claims: what may be claimed; None leaves this panel a level of its own.
    """
    if claims is not None:
        claimed = _claimed(result, names, x_names, claims)
        return (*claimed, _basis(result, claims), *_notes(result))
    places = [place for place in result.worst if place.p_varies <= LEVEL]
    if places:
        first = (
            f"q's error changes over x (p {equals(result.p_varies)}). "
            f"{_place(places[0], names, x_names)}"
        )
        sentences = [first, *_next(places, names, x_names)]
    elif result.p_right <= LEVEL:
        sentences = [_alike(result, names)]
    else:
        sentences = [_silent(result)]
    return (*sentences, _basis(result), *_notes(result))


def _claimed(
    result: ErrorsOverX, names: Sequence[str], x_names: Sequence[str], claims: Claims
) -> list[str]:
    """What may be said under the verdict's error rate."""
    places = [place for place in result.judged(claims).worst if place.p_varies <= claims.alpha]
    if claims.over_x() <= claims.alpha:
        p = f"p {equals(claims.over_x())}, adjusted in the verdict's family"
        if places:
            first = _place(places[0], names, x_names)
            return [f"q's error changes over x ({p}). {first}", *_next(places, names, x_names)]
        return [
            f"q's error changes over x ({p}), in how parameters depend on one another or in "
            "places that no single coordinate shows."
        ]
    if claims.found:
        return [
            f"q is wrong, but no sign that its error changes over x "
            f"(p {equals(claims.over_x())}, adjusted in the verdict's family)."
            f"{_overall(result, names)}"
        ]
    return [
        f"No sign of an error at any place of x (p {equals(claims.over_x())} that something "
        f"changes over x, adjusted in the verdict's family).{_caught(result)}"
    ]


def coordinate(place: Place, names: Sequence[str], x_names: Sequence[str] = ()) -> str:
    """What a pair is looked at along, to read."""
    along, which = place.along, place.which
    if along == "component":
        return f"principal component {which + 1} of x"
    if along == "mean":
        return f"q's mean of {called(names, which)}"
    if along == "plane":
        return f"({column(0, x_names)}, {column(1, x_names)})"
    return column(which, x_names)


def feature(place: Place, names: Sequence[str]) -> str:
    """What is off, to read."""
    if place.kind == "learned":
        return "score of the truth"
    return f"{place.kind} of {called(names, place.parameter)}"


def region(place: Place, names: Sequence[str], x_names: Sequence[str] = ()) -> str:
    """The stretch of x, to read."""
    what, where = coordinate(place, names, x_names), place.region
    if isinstance(where, Disc):
        around = ", ".join(f"{component:.3g}" for component in where.centre)
        reach = ", ".join(f"{component:.2g}" for component in where.radius)
        return f"{what} is {'not ' * where.outside_of}within ({reach}) of ({around})"
    low, high = where.low, where.high
    if low is None and high is None:
        return "x is anything"
    if low is None:
        return f"{what} < {high:.3g}"
    if high is None:
        return f"{what} ≥ {low:.3g}"
    if where.outside_of:
        return f"{what} < {low:.3g} or ≥ {high:.3g}"
    return f"{low:.3g} ≤ {what} < {high:.3g}"


def size(kind: Kind, estimate: Estimate) -> str:
    """A number with its interval, signed as it is."""
    if estimate.value is None:
        return f"unknown ({estimate.n} rows)"
    if kind == "width":
        high = "…" if estimate.high is None else format(estimate.high, ".2f")
        return f"{estimate.value:.2f} [{estimate.low:.2f}, {high}]"
    return _minus(f"{estimate.value:+.2f} [{estimate.low:+.2f}, {estimate.high:+.2f}]")


def _place(place: Place, names: Sequence[str], x_names: Sequence[str]) -> str:
    where = f"Where {region(place, names, x_names)} ({place.share:.0%} of the rows)"
    inside, outside = (_off(place, part, names) for part in (place.inside, place.outside))
    return f"{where}, {inside}{_or_more(place.beyond)}; elsewhere, {outside}."


def _or_more(beyond: Beyond | None) -> str:
    """What makes a shift by ranks a bound."""
    if beyond is None or beyond.share - beyond.usual <= _MANY_BEYOND:
        return ""
    return f" (or more: {beyond.share:.0%} of the truths there lie beyond all of q's draws)"


def _off(what: Place | Overall, estimate: Estimate, names: Sequence[str]) -> str:
    """How q is off in a region, by numbers that are not those of its choice."""
    if estimate.value is None or estimate.low is None:
        return f"too few rows ({estimate.n}) to say by how much"
    if what.kind == "learned":
        return f"the truth's score lies {size('learned', estimate)} sd from where q's draws' lie"
    whose = f"q's {called(names, what.parameter)}"
    if what.kind == "shift":
        side = "low" if estimate.value >= 0 else "high"
        return f"{whose} sits {_unsigned(estimate)} posterior sd too {side}"
    high = estimate.high
    off = "narrow" if estimate.low > 1 else "wide" if high is not None and high < 1 else ""
    spread = f"{size('width', estimate)} times as wide as its draws"
    return (
        f"{whose} is {f'too {off}' if off else 'not told from right'}: the truth spreads {spread}"
    )


def _unsigned(estimate: Estimate) -> str:
    value, low, high = estimate.value, estimate.low, estimate.high
    assert value is not None
    assert low is not None
    assert high is not None
    low, high = (low, high) if value >= 0 else (-high, -low)
    return _minus(f"{abs(value):.2f} [{low:.2f}, {high:.2f}]")


def _next(places: Sequence[Place], names: Sequence[str], x_names: Sequence[str]) -> list[str]:
    """The worst place of another parameter or kind, and how many more there are."""
    features = list(dict.fromkeys((place.kind, place.parameter) for place in places))
    if len(features) < 2:
        return []
    second = next(place for place in places if (place.kind, place.parameter) == features[1])
    rest = len(features) - 2
    more = f" {rest} more {'varies' if rest == 1 else 'vary'} over x." if rest > 0 else ""
    return [f"{_place(second, names, x_names)}{more}"]


def _alike(result: ErrorsOverX, names: Sequence[str]) -> str:
    """Wrong, but nowhere more than elsewhere."""
    rows = max(part.rows for part in result.parts)
    return (
        f"q is wrong (p {equals(result.p_right)}), but as far as {rows} rows tell, alike at "
        f"every x (p {equals(result.p_varies)} that its error changes over x)."
        f"{_overall(result, names)}"
    )


def _overall(result: ErrorsOverX, names: Sequence[str]) -> str:
    """What is farthest from a right q over all x."""
    overall = [size for part in result.parts for size in part.overall]
    sizes = [size for size in overall if size.size.value is not None]
    most = max(sizes, key=_farthest, default=None)
    return f" Over all x, {_off(most, most.size, names)}{_or_more(most.beyond)}." if most else ""


def _farthest(overall: Overall) -> tuple[int, float]:
    """What orders sizes over all x: whether the interval leaves out a right q's value, first of a
    parameter, then of the classifier's score; and how far off it is, in half widths of it."""
    value, low, high = overall.size.value, overall.size.low, overall.size.high
    assert value is not None
    assert low is not None
    middle = 1.0 if overall.kind == "width" else 0.0
    off = low > middle or (high is not None and high < middle)
    width = max((value if high is None else high) - low, 1e-12)
    return off * (1 if overall.kind == "learned" else 2), abs(value - middle) / width


def _caught(result: ErrorsOverX) -> str:
    anywhere = () if result.parts[0].constant else result.parts
    sees = [part.sees for part in anywhere if part.sees is not None]
    if not sees:
        return ""
    return (
        f" An error of {max(sees):.2f} posterior sd over a fifth of x would have been found in "
        "about 80 of 100 such tables."
    )


def _silent(result: ErrorsOverX) -> str:
    return (
        f"No sign of an error at any place of x: p {equals(result.p_right)} against a right q, "
        f"p {equals(result.p_varies)} that something changes over x.{_caught(result)}"
    )


def _basis(result: ErrorsOverX, claims: Claims | None = None) -> str:
    pairs = sum(part.pairs_looked_at for part in result.parts)
    nulls = " and ".join(f"{part.nulls:,}" for part in result.parts)
    sources = {
        "ranks": "the truth's rank in every parameter on {rows} rows",
        "learned": "its rank under the classifier's score on {rows} rows that no network saw",
    }
    basis = " and ".join(sources[part.name].format(rows=part.rows) for part in result.parts)
    adjusted = (
        f"p is adjusted for all {pairs} pairs of an error and a coordinate, by {nulls} null "
        "tables each"
        if claims is None
        else "p is adjusted for everything that the verdict looked at, these "
        f"{pairs} pairs of an error and a coordinate among it"
    )
    return (
        f"Looked at {basis}, over every stretch of each coordinate; {adjusted}. Places were "
        "chosen by half of the rows and are quoted by the other half, in normal scores: one is "
        "one posterior sd where q is Gaussian. Brackets are 95% intervals."
    )


def _notes(result: ErrorsOverX) -> list[str]:
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
                f"{part.looked_at} whose ranks are farthest from uniform; the other half is "
                "what is tested and quoted."
            )
    if first.aside:
        notes.append(f"q's means are those of {first.aside} draws at each x, kept from the ranks.")
    if first.constant:
        notes.append("x never varies, so that there is only one place to look at.")
    return notes


def _minus(text: str) -> str:
    return text.replace("-", "−")
