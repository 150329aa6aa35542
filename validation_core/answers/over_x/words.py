"""The map in words: whether q fails at some x, at which, by how much, or alike at every x."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from validation_core.answers.base import Found, called
from validation_core.diagnosis.called import column
from validation_core.diagnosis.claims import Claims
from validation_core.diagnosis.words import equals
from validation_core.omnibus.coordinates import CHOSEN, COLUMNS, COMPONENTS

LEVEL = 0.05
_MANY_BEYOND = 0.25  # share of truths beyond all draws from which a shift is told as a bound

Parts = Sequence[Mapping[str, Any]]


def say(
    found: Found, names: Sequence[str], x_names: Sequence[str] = (), claims: Claims | None = None
) -> tuple[str, ...]:
    """The answer first; then the next worst place, what the p-values are of, and what was done.

    Args:
        found: the parts that are done.
        names: of the parameters.
        x_names: of the columns of x.
        claims: what may be claimed; None leaves this panel a level of its own.
    """
    parts: Parts = found.plain["parts"]
    if claims is not None:
        return (*_claimed(parts, names, x_names, claims), _how(parts, claims), *_notes(parts))
    pairs = [pair for pair in worst(parts) if pair["p_varies"] <= LEVEL]
    if pairs:
        first = (
            f"q's error changes over x (p {equals(varies(parts))}). "
            f"{_place(pairs[0], names, x_names)}"
        )
        said = [first, *_next(pairs, names, x_names)]
    elif right(parts) <= LEVEL:
        said = [_alike(parts, names)]
    else:
        said = [_silent(parts)]
    return (*said, _how(parts), *_notes(parts))


def _claimed(
    parts: Parts, names: Sequence[str], x_names: Sequence[str], claims: Claims
) -> list[str]:
    """What may be said under the verdict's error rate."""
    pairs = [one for one in worst(judged(parts, claims)) if one["p_varies"] <= claims.alpha]
    if claims.over_x() <= claims.alpha:
        p = f"p {equals(claims.over_x())}, adjusted in the verdict's family"
        if pairs:
            place = _place(pairs[0], names, x_names)
            return [f"q's error changes over x ({p}). {place}", *_next(pairs, names, x_names)]
        return [
            f"q's error changes over x ({p}), in how parameters depend on one another or in "
            "places that no single coordinate shows."
        ]
    if claims.found:
        return [
            f"q is wrong, but no sign that its error changes over x "
            f"(p {equals(claims.over_x())}, adjusted in the verdict's family)."
            f"{_overall(parts, names)}"
        ]
    return [
        f"No sign of an error at any place of x (p {equals(claims.over_x())} that something "
        f"changes over x, adjusted in the verdict's family).{_caught(parts)}"
    ]


def judged(parts: Parts, claims: Claims | None) -> Parts:
    """The parts with p-values of the verdict's family, where there is one."""
    if claims is None:
        return parts

    def pair(one: Mapping[str, Any]) -> Mapping[str, Any]:
        p = claims.place(one["kind"], one["parameter"], one["along"], int(one["which"]))
        return {**one, "p_varies": p, "p_right": claims.pvalue}

    return [{**part, "pairs": [pair(one) for one in part["pairs"]]} for part in parts]


def finds(found: Found) -> bool:
    """Whether q is called wrong somewhere, at this panel's own level."""
    return min(varies(found.plain["parts"]), right(found.plain["parts"])) <= LEVEL


def worst(parts: Parts) -> list[Mapping[str, Any]]:
    """Pairs of all parts, the smallest p first.

    Null tables give many the same p: then a parameter comes before the classifier's score, which
    says neither which one nor how it is off, and the larger difference before the smaller.
    """
    every = [pair for part in parts for pair in part["pairs"]]
    return sorted(
        every, key=lambda pair: (pair["p_varies"], pair["kind"] == "learned", -_contrast(pair))
    )


def worst_row(found: Found) -> int | None:
    """A row, counted from 0, in the middle of the worst place; None where none is found."""
    pairs = [pair for pair in worst(found.plain["parts"]) if pair["p_varies"] <= LEVEL]
    return int(pairs[0]["row"]) if pairs else None


def varies(parts: Parts) -> float:
    """p that nothing changes over x, over all parts."""
    return float(min(part["p_varies"] for part in parts))


def right(parts: Parts) -> float:
    """p that all values are those of a right q, over all parts."""
    return float(min(part["p_right"] for part in parts))


def coordinate(pair: Mapping[str, Any], names: Sequence[str], x_names: Sequence[str] = ()) -> str:
    """What a pair is looked at along, to read."""
    along, which = pair["along"], int(pair["which"])
    if along == "component":
        return f"principal component {which + 1} of x"
    if along == "mean":
        return f"q's mean of {called(names, which)}"
    if along == "plane":
        return f"({column(0, x_names)}, {column(1, x_names)})"
    return column(which, x_names)


def feature(pair: Mapping[str, Any], names: Sequence[str]) -> str:
    """What is off, to read."""
    if pair["kind"] == "learned":
        return "score of the truth"
    return f"{pair['kind']} of {called(names, pair['parameter'])}"


def region(pair: Mapping[str, Any], names: Sequence[str], x_names: Sequence[str] = ()) -> str:
    """The stretch of x, to read."""
    what, outer = coordinate(pair, names, x_names), pair["outside_of"]
    if pair["along"] == "plane":
        around = ", ".join(f"{one:.3g}" for one in pair["centre"])
        reach = ", ".join(f"{one:.2g}" for one in pair["radius"])
        return f"{what} is {'not ' * outer}within ({reach}) of ({around})"
    low, high = pair["low"], pair["high"]
    if low is None and high is None:
        return "x is anything"
    if low is None:
        return f"{what} < {high:.3g}"
    if high is None:
        return f"{what} ≥ {low:.3g}"
    if outer:
        return f"{what} < {low:.3g} or ≥ {high:.3g}"
    return f"{low:.3g} ≤ {what} < {high:.3g}"


def size(kind: str, quoted: Mapping[str, Any]) -> str:
    """A number with its interval, signed as it is."""
    if quoted["value"] is None:
        return f"unknown ({quoted['n']} rows)"
    high = quoted["high"]
    ends = f"[{quoted['low']:.2f}, {'…' if high is None else format(high, '.2f')}]"
    return f"{quoted['value']:.2f} {ends}" if kind == "width" else _minus(
        f"{quoted['value']:+.2f} [{quoted['low']:+.2f}, {quoted['high']:+.2f}]"
    )  # fmt: skip


def _place(pair: Mapping[str, Any], names: Sequence[str], x_names: Sequence[str]) -> str:
    where = f"Where {region(pair, names, x_names)} ({pair['share']:.0%} of the rows)"
    inside, outside = (_off(pair, pair[side], names) for side in ("inside", "outside"))
    return f"{where}, {inside}{_or_more(pair)}; elsewhere, {outside}."


def _or_more(one: Mapping[str, Any]) -> str:
    """What makes a shift by ranks a bound."""
    beyond = one.get("beyond", 0.0)
    if beyond - one.get("beyond_usual", 0.0) <= _MANY_BEYOND:
        return ""
    return f" (or more: {beyond:.0%} of the truths there lie beyond all of q's draws)"


def _off(pair: Mapping[str, Any], quoted: Mapping[str, Any], names: Sequence[str]) -> str:
    """How q is off in a region, by numbers that are not those of its choice."""
    kind = pair["kind"]
    if quoted["value"] is None:
        return f"too few rows ({quoted['n']}) to say by how much"
    if kind == "learned":
        return f"the truth's score lies {size(kind, quoted)} sd from where q's draws' lie"
    whose = f"q's {called(names, pair['parameter'])}"
    if kind == "shift":
        side = "low" if quoted["value"] >= 0 else "high"
        return f"{whose} sits {_unsigned(quoted)} posterior sd too {side}"
    high = quoted["high"]
    off = "narrow" if quoted["low"] > 1 else "wide" if high is not None and high < 1 else ""
    spread = f"{size(kind, quoted)} times as wide as its draws"
    return (
        f"{whose} is {f'too {off}' if off else 'not told from right'}: the truth spreads {spread}"
    )


def _unsigned(quoted: Mapping[str, Any]) -> str:
    sign = 1 if quoted["value"] >= 0 else -1
    low, high = sorted((sign * quoted["low"], sign * quoted["high"]))
    return _minus(f"{abs(quoted['value']):.2f} [{low:.2f}, {high:.2f}]")


def _next(
    pairs: Sequence[Mapping[str, Any]], names: Sequence[str], x_names: Sequence[str]
) -> list[str]:
    """The worst place of another parameter or kind, and how many more there are."""
    first = pairs[0]
    other = [one for one in pairs if (one["kind"], one["parameter"])
             != (first["kind"], first["parameter"])]  # fmt: skip
    if not other:
        return []
    told = _place(other[0], names, x_names)
    rest = len({(one["kind"], one["parameter"]) for one in pairs}) - 2
    more = f" {rest} more {'varies' if rest == 1 else 'vary'} over x." if rest > 0 else ""
    return [f"{told}{more}"]


def _alike(parts: Parts, names: Sequence[str]) -> str:
    """Wrong, but nowhere more than elsewhere."""
    rows = max(part["rows"] for part in parts)
    return (
        f"q is wrong (p {equals(right(parts))}), but as far as {rows} rows tell, alike at every x "
        f"(p {equals(varies(parts))} that its error changes over x).{_overall(parts, names)}"
    )


def _overall(parts: Parts, names: Sequence[str]) -> str:
    """What is farthest from a right q over all x."""
    every = [one for part in parts for one in part["overall"] if one["value"] is not None]
    most = max(every, key=lambda one: (_off_at_all(one), _distance(one)), default=None)
    return f" Over all x, {_off(most, most, names)}{_or_more(most)}." if most else ""


def _caught(parts: Parts) -> str:
    anywhere = [] if parts[0]["constant"] else parts
    sees = [part["sees"] for part in anywhere if part["sees"] is not None]
    if not sees:
        return ""
    return (
        f" An error of {max(sees):.2f} posterior sd over a fifth of x would have been found in "
        "about 80 of 100 such tables."
    )


def _silent(parts: Parts) -> str:
    return (
        f"No sign of an error at any place of x: p {equals(right(parts))} against a right q, "
        f"p {equals(varies(parts))} that something changes over x.{_caught(parts)}"
    )


def _how(parts: Parts, claims: Claims | None = None) -> str:
    pairs = sum(part["pairs_looked_at"] for part in parts)
    nulls = " and ".join(f"{part['nulls']:,}" for part in parts)
    sources = {
        "ranks": "the truth's rank in every parameter on {rows} rows",
        "learned": "its rank under the classifier's score on {rows} rows that no network saw",
    }
    looked = " and ".join(sources[part["name"]].format(rows=part["rows"]) for part in parts)
    adjusted = (
        f"p is adjusted for all {pairs} pairs of an error and a coordinate, by {nulls} null "
        "tables each" if claims is None
        else "p is adjusted for everything that the verdict looked at, these "
        f"{pairs} pairs of an error and a coordinate among it"
    )  # fmt: skip
    return (
        f"Looked at {looked}, over every stretch of each coordinate; {adjusted}. Places were "
        "chosen by half of the rows and are quoted by the other half, in normal scores: one is "
        "one posterior sd where q is Gaussian. Brackets are 95% intervals."
    )  # fmt: skip


def _notes(parts: Parts) -> list[str]:
    first = parts[0]
    said = []
    which, means = (
        (", those that q's means follow most", ", and q's means")
        if first["aside"] else (", evenly spaced", "")
    )  # fmt: skip
    if first["many"]:
        said.append(
            f"x has {first['columns']:,} columns, more than {COLUMNS}: looked along {CHOSEN} of "
            f"them{which}, {COMPONENTS} principal components{means}."
        )
    for part in parts:
        if 0 < part["looked_at"] < part["parameters"]:
            said.append(
                f"There are {part['parameters']:,} parameters: half of the rows chose the "
                f"{part['looked_at']} whose ranks are farthest from uniform; the other half is "
                "what is tested and quoted."
            )
    if first["aside"]:
        said.append(
            f"q's means are those of {first['aside']} draws at each x, kept from the ranks."
        )
    if first["constant"]:
        said.append("x never varies, so that there is only one place to look at.")
    return said


def _contrast(pair: Mapping[str, Any]) -> float:
    inside, outside = pair["inside"]["value"], pair["outside"]["value"]
    return 0.0 if inside is None or outside is None else abs(inside - outside)


def _off_at_all(one: Mapping[str, Any]) -> int:
    """2 for a parameter whose interval leaves out a right q's value, 1 for the classifier's."""
    middle, high = 1.0 if one["kind"] == "width" else 0.0, one["high"]
    off = one["low"] > middle or (high is not None and high < middle)
    return off * (1 if one["kind"] == "learned" else 2)


def _distance(one: Mapping[str, Any]) -> float:
    """How far an overall value is from a right q's, in half widths of its interval."""
    middle = 1.0 if one["kind"] == "width" else 0.0
    high = one["high"] if one["high"] is not None else one["value"]
    return abs(one["value"] - middle) / max(high - one["low"], 1e-12)


def _minus(text: str) -> str:
    return text.replace("-", "−")
