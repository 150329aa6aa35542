"""What the sensitivity of the tests is in words, and as a table."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from validation_core.answers.base import Found

_PHRASES: Mapping[str, str] = {
    "bias": "a bias of {} posterior sd",
    "too_wide": "a q that is {} times too wide",
    "too_narrow": "a q that is {} times too narrow",
    "wrong_correlation": "a q that is {} times too wide along a direction that no parameter shows",
    "heavy_tails": "a q with tails of a Student's t of 1 / {} degrees of freedom",
    "light_tails": "a truth with tails of a Student's t of 1 / {} degrees of freedom",
    "missing_mode": "a missing mode with a share of {} of the truth's mass",
    "spurious_mode": "a share of {} of q's mass where the truth never is",
    "ignores_x": "a q blind to x, with a correlation of {} between the truth's residuals and x",
    "support_leak": "a share of {} of q's mass outside the truth's support",
}


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


def phrase(one: Mapping[str, Any], size: str) -> str:
    """A defect of a size in words."""
    return _PHRASES.get(one["injection"], f"{one['title']} ({{}} {one['unit']})").format(size)


def say(found: Found, names: Sequence[str]) -> tuple[str, ...]:
    """What would have been caught, the best known first, and what half of it would take."""
    del names
    told = found.plain
    said = [_caught(one, told) for one in told["injections"]]
    return (*said, _how(told), *_left(told))


def _caught(one: Mapping[str, Any], told: Mapping[str, Any]) -> str:
    power = f"{told['power']:.0%} power"
    if not one["strengths"]:
        return f"What would have been caught of a q that is {one['title']} is still to be asked."
    last = one["verdict"][-1]
    if one["smallest"] is None:
        most = phrase(one, _number(one["strengths"][-1], one))
        who = "These tests" if one["networks"] else "Tests that train no network"
        return (
            f"{who} would not have caught {most}, the strongest tried, with {power}: they "
            f"found it in {100 * last['rate']:.0f}% [{100 * last['low']:.0f}, "
            f"{100 * last['high']:.0f}] of the tables."
        )
    low = "below" if one["smallest_low"] is None else _number(one["smallest_low"], one)
    high = "above" if one["smallest_high"] is None else _number(one["smallest_high"], one)
    size = f"{_number(one['smallest'], one)} [{low}, {high}]"
    law = "" if one["rows_by"] == "resampling" else ", if what is found shrinks as 1 / sqrt(rows)"
    return (
        f"These tests would have caught {phrase(one, size)} with {power}; half of that would need "
        f"about {_rounded(one['rows_for_half']):,} simulations{law}."
    )


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
    said = (
        f"Power of the verdict at level {told['alpha']:.3g}, Holm over {told['tests']} tests, on "
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
        verdict = {"title": "Verdict (Holm)", "power": one["verdict"]}
        for i in reversed(range(len(one["strengths"]))):
            for test in (verdict, *one["tests"]):
                power = test["power"][i]
                if power is not None:
                    rows.append({
                        "q is": one["title"], "strength": one["strengths"][i],
                        "unit": one["unit"], "test": test["title"], "found": power["rate"],
                        "95% low": power["low"], "95% high": power["high"],
                        "tables": power["trials"],
                    })  # fmt: skip
    return rows
