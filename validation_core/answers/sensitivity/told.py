"""What the sensitivity of the tests is in words, and as a table."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from validation_core.answers.base import Found, called

_PHRASES: Mapping[str, str] = {
    "bias": "a bias of {} posterior sd in {}",
    "bias_all": "a bias of {} posterior sd in {}",
    "too_wide_one": "a q that is {} times too wide in {}",
    "too_wide": "a q that is {} times too wide in {}",
    "too_narrow_one": "a q that is {} times too narrow in {}",
    "too_narrow": "a q that is {} times too narrow in {}",
    "wrong_correlation": "a q that is {} times too wide along a direction that no parameter shows",
    "heavy_tails": "a q with tails of a Student's t of 1 / {} degrees of freedom in {}",
    "light_tails": "a truth with tails of a Student's t of 1 / {} degrees of freedom in {}",
    "missing_mode": "a missing mode with a share of {} of the truth's mass",
    "spurious_mode": "a share of {} of q's mass where the truth never is",
    "ignores_x": "a q blind to x, with a correlation of {} between the truth's residuals and x",
    "support_leak": "a share of {} of q's mass outside the truth's support, over {}",
    "tilt_bias": "a defect of {} nats along {}",
    "tilt_narrow": "a defect of {} nats that draws q together in {}",
    "tilt_wide": "a defect of {} nats that spreads q out in {}",
    "tilt_correlation": "a defect of {} nats along the product of {}",
}
"""With its size and, after it, the parameters that it sits in."""

_NOUNS: Mapping[str, str] = {
    "bias": "a bias in one parameter", "bias_all": "a bias in all parameters",
    "too_wide_one": "too wide a q in one parameter", "too_wide": "too wide a q in all parameters",
    "too_narrow_one": "too narrow a q in one parameter",
    "too_narrow": "too narrow a q in all parameters", "missing_mode": "a missing mode",
    "spurious_mode": "mass where the truth never is", "ignores_x": "blindness to x",
    "tilt_bias": "a tilt along one parameter", "tilt_correlation": "a wrong correlation",
    "tilt_narrow": "a q drawn together in one parameter",
    "tilt_wide": "a q spread out in one parameter",
}  # fmt: skip


_SIZES = ("smallest", "smallest_low", "smallest_high")


def gather(founds: Sequence[Found]) -> Found:
    """Each injection at the latest stage that is done."""
    latest: dict[str, tuple[int, Found, dict[str, Any]]] = {}
    for found in founds:
        for one in found.plain["injections"]:
            name = one["injection"]
            if name not in latest or latest[name][0] < one["stage"]:
                latest[name] = (one["stage"], found, one)
    plain = {**founds[0].plain, "injections": [one for _, _, one in latest.values()]}
    arrays = {
        f"{name}.{part}": array
        for name, (_, found, _) in latest.items()
        for part, array in found.arrays.items()
        if part == "strengths"
    }
    return Found(plain, arrays)


def phrase(one: Mapping[str, Any], size: str, where: str) -> str:
    """A defect of a size in words, and in which parameters it sits."""
    unknown = f"{one['title']} ({{}} {one['unit']})"
    return _PHRASES.get(one["injection"], unknown).format(size, where)


def say(found: Found, names: Sequence[str]) -> tuple[str, ...]:
    """What would be found, and what half of it would take; then what could have been missed."""
    told = found.plain
    said = [_sentence(one, told, names) for one in told["injections"]]
    return (*said, *_missed(told["injections"]), _how(told), *_left(told))


def _where(one: Mapping[str, Any], told: Mapping[str, Any], names: Sequence[str]) -> str:
    """In how many parameters a defect sits, and by which rule they were chosen."""
    d = told["parameters"]
    if d == 1:
        return "the one parameter that there is"
    if one["spread"] == "all":
        return f"all {d} parameters at once"
    if one["spread"] == "two":
        return "two parameters, drawn at random"
    if one["parameter"] is None:
        return "one parameter, drawn at random in each table"
    return f"one parameter ({called(names, one['parameter'])}, drawn at random)"


def _sentence(one: Mapping[str, Any], told: Mapping[str, Any], names: Sequence[str]) -> str:
    power, where = f"{told['power']:.0%} power", _where(one, told, names)
    if not one["strengths"]:
        return f"What would be found of a q that is {one['title']} is still to be asked."
    last = one["verdict"][-1]
    if one["smallest"] is None:
        most = phrase(one, _shown(one, one["strengths"][-1]), where)
        who = "these tests" if one["networks"] else "the tests that train no network"
        return (
            f"{_capital(most)}, the strongest tried, would not be found with {power} by {who}: "
            f"they found it in {100 * last['rate']:.0f}% [{100 * last['low']:.0f}, "
            f"{100 * last['high']:.0f}] of the tables."
        )
    ends = (one["smallest_low"], one["smallest_high"])
    low, high = (
        edge if end is None else _shown(one, end)
        for end, edge in zip(ends, ("below", "above"), strict=True)
    )
    size = f"{_shown(one, one['smallest'])} [{low}, {high}]"
    law = "" if one["rows_by"] == "resampling" else ", if what is found shrinks as 1 / sqrt(rows)"
    share = "A quarter" if one["unit"] == "nats" else "Half"
    return (
        f"{_capital(phrase(one, size, where))} would be found with {power}{_beside(one)}. {share} "
        f"of it would need about {_rounded(one['rows_for_half']):,} simulations{law}."
    )


def _beside(one: Mapping[str, Any]) -> str:
    """The smallest size in nats, or where it is nats already, what bias is as far off."""
    nats = None if one["nats"] is None else one["nats"]["smallest"]
    if nats is None:
        return ""
    if one["unit"] == "nats":
        bias = f", like a bias of {_two_digits(math.sqrt(2 * nats))} posterior sd"
        return bias if one["injection"] == "tilt_bias" else ""
    return f": {_two_digits(nats)} nats" + ("" if one["exact"] else " if q is near normal")


def _missed(every: Sequence[Mapping[str, Any]]) -> tuple[str, ...]:
    """What these sizes leave open, in nats; nothing before anything is found."""
    open_ = [
        f"{_NOUNS[one['injection']]} of up to {_two_digits(one['nats']['smallest'])}"
        for one in every
        if one["nats"] is not None and one["nats"]["smallest"] is not None
        and one["injection"] in _NOUNS
    ]  # fmt: skip
    if not open_:
        return ()
    return (
        f"What could have been missed, in nats: {'; '.join(open_)}; and defects of other kinds.",
    )


def _shown(one: Mapping[str, Any], strength: float) -> str:
    """A strength in its unit; one that is shown in nats, in those."""
    if one["unit"] != "nats":
        return _number(strength, one)
    told = one["nats"]
    if told is None:  # the parameter never varies, and nothing leans anywhere
        return "0"
    every = dict(zip(one["strengths"], told["strengths"], strict=True))
    every |= {one[name]: told[name] for name in _SIZES if one[name] is not None}
    return _two_digits(every[strength])


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]


def _two_digits(value: float) -> str:
    """Two digits that tell, never as a power of ten."""
    if value <= 0:
        return "0"
    return f"{float(f'{value:.2g}'):.{max(0, 1 - math.floor(math.log10(value)))}f}"


def _number(value: float, one: Mapping[str, Any]) -> str:
    """With as many digits as tell two of how far the smallest found departs from no defect."""
    off = abs((one["smallest"] or value) - one["neutral"])
    digits = 2 if off <= 0 else min(5, max(1, 1 - math.floor(math.log10(off))))
    return f"{value:.{digits}f}"


def _rounded(rows: int) -> int:
    """Two digits are known of a number of rows."""
    return int(float(f"{rows:.2g}"))


def _how(told: Mapping[str, Any]) -> str:
    stages = [one for one in told["injections"] if not one["networks"]]
    trials = min(one["trials"] for one in told["injections"])
    open_ = [one["title"] for one in told["injections"] if not one["localizer"]]
    rests = (
        "relabelling within x" if told.get("relabelled") else f"Holm over {told['tests']} tests"
    )
    said = (
        f"Power of the verdict at level {told['alpha']:.3g}, {rests}, on "
        f"{trials} tables for each strength; brackets are 95% intervals."
    )
    if told["thinned"]:
        said = f"{said} To save time, these tables have {told['draws']} draws of q at each x."
    if stages:
        return f"{said} So far without the tests that train a network, which can only add."
    if open_:
        return f"{said} CoLT's localizer was not trained for: {', '.join(open_)}."
    return f"{said} CoLT's localizer was trained at one strength of each."


def _left(told: Mapping[str, Any]) -> list[str]:
    return [f"{one['label']} was left out: {one['reason']}." for one in told["left_out"]]


def table(found: Found, names: Sequence[str]) -> list[dict[str, str | float | int]]:
    """One row for each defect, strength and test, the verdict first, the strongest first."""
    del names
    rows: list[dict[str, str | float | int]] = []
    for one in found.plain["injections"]:
        verdict = {"title": "Verdict", "power": one["verdict"]}
        for i in reversed(range(len(one["strengths"]))):
            for test in (verdict, *one["tests"]):
                power = test["power"][i]
                if power is not None:
                    nats = "" if one["nats"] is None else round(one["nats"]["strengths"][i], 6)
                    rows.append({
                        "q is": one["title"],
                        "strength": nats if one["unit"] == "nats" else one["strengths"][i],
                        "unit": one["unit"], "nats": nats,
                        "test": test["title"], "found": power["rate"],
                        "95% low": power["low"], "95% high": power["high"],
                        "tables": power["trials"],
                    })  # fmt: skip
    return rows
