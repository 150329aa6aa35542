"""One observation in words: what L-C2ST says there, what the rows nearby say, and CoLT's ball."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from validation_core.answers.base import Found, called
from validation_core.answers.over_x import column
from validation_core.diagnosis.claims import Claims
from validation_core.diagnosis.words import equals

LEVEL = 0.05
_TOLD = 8  # draws of q from which quarters of them mean something
_NAMED = 5  # columns named in a warning


def say(
    found: Found, names: Sequence[str], x_names: Sequence[str] = (), claims: Claims | None = None
) -> tuple[str, ...]:
    """The answer first, then where it was looked, and what the numbers rest on.

    Args:
        found: both parts, or one.
        names: of the parameters.
        x_names: of the columns of x.
        claims: what may be claimed; None leaves this panel a level of its own.
    """
    told = found.plain
    said: list[str] = []
    if "local" in told:
        own = told["place"]["kind"] == "observed"
        if claims is None or (claims.observation() if own else claims.pvalue) <= claims.alpha:
            said.append(_answer(told["local"], told["near"], names))
        else:
            said.append(_unclaimed(told["local"], told["near"], names, claims, own=own))
        said += _where(told["place"], x_names)
        said.append(_basis(told["local"], told["near"]))
    if "ball" in told:
        said.append(_ball(told["ball"]))
    return tuple(said)


def finds(found: Found) -> bool:
    """Whether q is called wrong at this observation, at this panel's own level."""
    return "local" in found.plain and found.plain["local"]["pvalue"] <= LEVEL


def worst(near: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """Parameters, those whose shift or width is farthest from a right q's in intervals first."""
    return sorted(near["parameters"], key=lambda one: -max(_shifted(one), _stretched(one)))


def number(one: Mapping[str, Any], kind: str) -> str:
    """A shift or width with its interval."""
    sign = "+" if kind == "shift" else ""
    ends = [format(one[f"{kind}{end}"], f"{sign}.2f") for end in ("", "_low", "_high")]
    return f"{ends[0]} [{ends[1]}, {ends[2]}]".replace("-", "−")


def _answer(local: Mapping[str, Any], near: Mapping[str, Any], names: Sequence[str]) -> str:
    p = f"p {equals(local['pvalue'])} from {local['nulls']} null classifiers"
    if local["pvalue"] <= LEVEL:
        told = (
            f"by {called(names, local['parameter'])}, q puts too much mass between "
            f"{_ends(local['much'])} and too little between {_ends(local['little'])}. The learned "
            f"chance that a draw is the truth runs from {local['d_low']:.2f} to "
            f"{local['d_high']:.2f} over the middle 90% of q's draws; 0.5 is guessing."
            if local["draws"] >= _TOLD
            else f"{local['draws']} draw{'s' * (local['draws'] > 1)} of q there cannot say where."
        )
        first = f"L-C2ST objects to q around this observation ({p}): {told}"
    else:
        first = f"L-C2ST finds nothing against q at this observation ({p})."
    return f"{first} {_near(near, names)}"


def _unclaimed(
    local: Mapping[str, Any], near: Mapping[str, Any], names: Sequence[str], claims: Claims, *,
    own: bool,
) -> str:  # fmt: skip
    """What the numbers here are where the verdict claims nothing."""
    one = worst(near)[0]
    why = (
        f"at the rows nearest to this observation p {equals(claims.observation())}, adjusted in "
        "the verdict's family" if own
        else f"over everything that was looked at p {equals(claims.pvalue)}"
    )  # fmt: skip
    return (
        f"Nothing is claimed against q here: {why}. By themselves, L-C2ST gives "
        f"p {equals(local['pvalue'])} and the {near['rows']} rows nearest in x "
        f"p {equals(near['pvalue'])}; among their parameters {called(names, one['parameter'])} "
        f"differs most: shift {number(one, 'shift')} posterior sd, width {number(one, 'width')}."
    )


def _ends(ends: Sequence[float]) -> str:
    return " and ".join(f"{end:.3g}" for end in ends).replace("-", "−")


def _near(near: Mapping[str, Any], names: Sequence[str]) -> str:
    one = worst(near)[0]
    name = called(names, one["parameter"])
    rows = f"At the {near['rows']} rows nearest in x"
    p = f"p {equals(near['pvalue'])} against a q right at all of them, exact"
    told = (
        f"most off is {name}: shift {number(one, 'shift')} posterior sd, width "
        f"{number(one, 'width')}"
    )
    if near["pvalue"] > LEVEL:
        return f"{rows} the truth's ranks say nothing against q ({p}); {told}."
    shifted = _shifted(one) >= _stretched(one)
    kind, null = ("shift", 0.0) if shifted else ("width", 1.0)
    if one[f"{kind}_low"] <= null <= one[f"{kind}_high"]:
        return f"{rows} the truth's ranks are not those of a right q ({p}); {told}."
    if shifted:
        side = "low" if one["shift"] >= 0 else "high"
        sign = 1 if one["shift"] >= 0 else -1
        low, high = sorted(sign * one[f"shift_{end}"] for end in ("low", "high"))
        size = f"{abs(one['shift']):.2f} [{low:.2f}, {high:.2f}]".replace("-", "−")
        return f"{rows} ({p}), q's {name} sits {size} posterior sd too {side}."
    side = "narrow" if one["width"] >= 1 else "wide"
    return (
        f"{rows} ({p}), q's {name} is too {side}: the truth spreads {number(one, 'width')} times "
        "as wide as its draws."
    )


def _where(place: Mapping[str, Any], x_names: Sequence[str]) -> list[str]:
    values = ", ".join(
        f"{column(at, x_names)} = {value:.4g}" for at, value in enumerate(place["x"])
    )
    shown = f" ({values})" if values else f" ({place['columns']:,} columns)"
    if place["kind"] == "row":
        return [f"Looked at row {place['row']}, counted from 0{shown}."]
    far = (
        f"{place['nearest']:.2g} sd a column away; between neighbouring rows {place['usual']:.2g} "
        f"is usual, and {place['farther']:.0%} of the rows have no nearer one"
    )
    if place["kind"] == "typed":
        said = [
            f"q's draws are those of row {place['row']}, counted from 0, the nearest to what was "
            f"asked for: {far}. q is looked at in that row{shown}."
        ]
    else:
        said = [f"Looked at the observation that came with the table{shown}; its nearest row lies "
                f"{far}."]  # fmt: skip
    if place["outside_count"]:
        listed = ", ".join(column(one, x_names) for one in place["outside"][:_NAMED])
        more = place["outside_count"] - min(_NAMED, len(place["outside"]))
        said.append(
            f"This observation lies outside the range of all rows in {listed}"
            f"{f' and {more} more' if more > 0 else ''}: no simulation is like it, and "
            "nothing here speaks for q there. Simulate nearer to it, or check the model."
        )
    elif place["farther"] < 0.01:
        said.append(
            "This observation is farther from every row than 99 of 100 rows are from theirs: "
            "what is learnt from the rows may not hold there."
        )
    return said


def _basis(local: Mapping[str, Any], near: Mapping[str, Any]) -> str:
    few = (
        f" Of {near['all']:,} parameters, those {len(near['parameters'])} over which the learned "
        "chance varies most are told." if near["all"] > len(near["parameters"]) else ""
    )  # fmt: skip
    draws = f"{local['draws']:,} draw{'s' * (local['draws'] > 1)}"
    return (
        f"L-C2ST learnt from {local['rows']} rows other than this one and looks at "
        f"{draws} of q; a test at one x_o spills over from its neighbours, so that "
        f"an error elsewhere may show here. The rows nearby count by nearness, as much as "
        f"{near['worth']:.0f} equal ones. A p-value is for a place that was not picked by its "
        f"looks.{few} Brackets are 95% intervals, each by itself."
    )


def _ball(ball: Mapping[str, Any]) -> str:
    share = ball["u_star"] + ball["rate"]
    low, high = (100 * (ball["u_star"] + ball[end]) for end in ("low", "high"))
    reads = (
        "more than q gives it" if ball["low"] > 0
        else "less than q gives it" if ball["high"] < 0 else "as much as q gives it, within its "
        "interval"
    )  # fmt: skip
    return (
        f"CoLT's ball here holds {ball['u_star']:.0%} of q's mass; near this x the truth lies in "
        f"it in {100 * share:.1f}% [{low:.1f}, {high:.1f}] of the {ball['rows']} nearest held-out "
        f"rows, {reads}."
    )


def _shifted(one: Mapping[str, Any]) -> float:
    return abs(one["shift"]) / max(one["shift_high"] - one["shift_low"], 1e-12)


def _stretched(one: Mapping[str, Any]) -> float:
    return abs(one["width"] - 1) / max(one["width_high"] - one["width_low"], 1e-12)
