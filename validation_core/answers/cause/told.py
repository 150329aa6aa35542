"""The likely cause, in sentences and as a table. Names come in here, as the user gave them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from validation_core.answers.base import Found
from validation_core.answers.cause import seen, words
from validation_core.diagnosis.claims import Claims
from validation_core.diagnosis.words import equals

HOW = (
    "Known defects of growing size were injected into this table's own draws, and the table is "
    "compared with what came out: a weight is how like it each defect is, and all weights sum to "
    "1. If q were right, the table would lie among those in which a draw of q plays the truth, "
    "and no cause would be named in 99 of 100 such tables. Causes resemble one another where "
    "they are weak; where several act at once none is named, and what was seen is listed."
)

CODE = """\
import tempfile

from validation_core import uploads
from validation_core.answers import cause
from validation_core.diagnosis import tasks
from validation_core.store import Store

upload = uploads.read("{path}")
tasks.hold(upload)
store = Store(tempfile.mkdtemp())
(task,) = cause.tasks(upload, (), {seed})
task.run(store, lambda fraction, live: None)
found = task.load(store)
print(*cause.say(found, upload.names), sep="\\n")
for row in cause.table(found, upload.names):
    print(row)
"""


def say(found: Found, names: Sequence[str], claims: Claims | None = None) -> tuple[str, ...]:
    """The cause with its size, what it was told apart from, what speaks for it, what to do.

    Where none is named the first sentence says what was seen instead: it may stand alone.

    Args:
        found: the table beside injected ones.
        names: of the parameters.
        claims: what may be claimed; None leaves this panel a level of its own.
    """
    plain = found.plain
    if claims is not None and not claims.found:
        return (
            f"No cause is named: nothing speaks against q (p {equals(claims.pvalue)} over "
            "everything that was looked at).",
        )
    if plain["faults"]:
        return (_open(plain), _seen(plain, names, claims), *_part(plain))
    if plain["cause"] == "none":
        return (
            f"No cause is named: {_stands(plain)}. {_seen(plain, names, claims)}", *_part(plain),
        )  # fmt: skip
    first = plain["causes"][0]
    if plain["cause"] == "unclear":
        return (
            f"No single cause stands out: {_stands(plain)}, {_why(plain)}. "
            f"{_seen(plain, names, claims)}", *_part(plain), *words.NEXT["unclear"],
        )  # fmt: skip
    said = [
        f"Most likely, {words.title(first)}: {words.strength(first['strength'])}; "
        f"{_stands(plain)}.",
        f"Similarity to simulated defects: {_weights(plain)}. Of the {plain['nearest']} simulated "
        f"tables most like it, {first['share']:.0%} have this defect.",
    ]
    said += [words.evidence(one, names) for one in first["evidence"]]
    return (*said, f"Next: {plain['next'][0]}", *_part(plain))


def _stands(plain: Mapping[str, Any]) -> str:
    """How many tables with a correct q look as bad."""
    nulls = plain["nulls"]
    worse = max(0, round(plain["pvalue"] * (nulls + 1)) - 1)
    many = "none" if worse == 0 else f"{worse}"
    verb = "looks" if worse < 2 else "look"
    p = equals(plain["pvalue"])
    return f"{many} of {nulls} simulated tables with a correct q {verb} this bad (p {p})"


def _open(plain: Mapping[str, Any]) -> str:
    faults = " and ".join(words.FAULTS[one] for one in plain["faults"])
    return (
        f"The draws come first: {faults}. The cause is left open for that, since it can look like "
        "a defect of q by itself: mend the draws and ask again."
    )


def _seen(plain: Mapping[str, Any], names: Sequence[str], claims: Claims | None) -> str:
    """The departures that are not chance, or that there is none."""
    if claims is not None:
        both = [{**one, "pvalue": _adjusted(one, claims)} for one in plain["seen"]
                if one["pvalue"] <= seen.LEVEL]  # fmt: skip
        allowed = [one for one in both if one["pvalue"] <= claims.alpha][: seen.MOST]
        if allowed:
            return f"What was seen: {'; '.join(words.departure(one, names) for one in allowed)}."
        return f"What was seen most clearly: {claims.clearest(names)}."
    told = [one for one in plain["seen"] if one["pvalue"] <= seen.LEVEL][: seen.MOST]
    if told:
        return f"What was seen: {'; '.join(words.departure(one, names) for one in told)}."
    least = min(one["pvalue"] for one in plain["seen"])
    return (
        "Looked at alone, no shift, width, tail, dependence or change over x departs by more than "
        f"chance (smallest adjusted p {equals(least)})."
    )


def _adjusted(one: Mapping[str, Any], claims: Claims) -> float:
    """The p of a departure in the verdict's family."""
    what, at = one["what"], one["at"]
    if what in ("follows_x", "spread_x"):
        return claims.over_x()
    if what in ("bias", "width"):
        return claims.parameter(int(at[0]))
    return claims.together()


def table(found: Found, names: Sequence[str]) -> list[dict[str, str | float | int]]:
    """Causes, the likeliest first, each with its evidence: one row for each piece."""
    rows: list[dict[str, str | float | int]] = []
    for cause in found.plain["causes"]:
        size = cause["strength"]
        for one in cause["evidence"] or [None]:
            row: dict[str, str | float | int] = {
                "cause": words.TITLES[cause["cause"]], "shape": words.title(cause),
                "weight": round(cause["weight"], 3),
                "share of nearest injected tables": round(cause["share"], 3),
                "distance, in typical ones": round(cause["apart"], 2),
                "size, if so": words.strength(size),
            }  # fmt: skip
            if one is not None:
                row |= {
                    "evidence": words.KINDS[one["what"]],
                    "of": ", ".join(
                        names[i] if i < len(names) else f"theta_{i + 1}" for i in one["at"]
                    ),
                    "value": round(one["value"], 4),
                    "95% interval": f"{one['low']:.4g} to {one['high']:.4g}",
                    "if q were right": words.right(one),
                }
            row["next"] = words.steps(cause["cause"], size["shape"])[0]
            rows.append(row)
    return rows


def _weights(plain: Mapping[str, Any]) -> str:
    leading = [one for one in plain["causes"][:3] if one["weight"] >= 0.005] or plain["causes"][:1]
    return ", ".join(f"{words.title(one)} ({one['weight']:.0%})" for one in leading)


def _why(plain: Mapping[str, Any]) -> str:
    if plain["why"] == "weak":
        return "which is too weak to name what is off"
    if plain["why"] == "far":
        return (
            "and yours is far from all simulated defects; several may act together. Nearest: "
            f"{_weights(plain)}"
        )
    return f"and yours looks like more than one defect: {_weights(plain)}"


def _part(plain: Mapping[str, Any]) -> tuple[str, ...]:
    """What of a large table was looked at; nothing where it was all."""
    used, full = plain["used"], plain["full"]
    if used == full:
        return ()
    return (
        f"Looked at {used[0]} of {full[0]} simulations, {used[1]} of {full[1]} draws at each and "
        f"{used[2]} of {full[2]} parameters.",
    )
