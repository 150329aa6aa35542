"""A cause in words: what it is, how large, what speaks for it, and what to do next."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from validation_core.diagnosis.claims import Claims, called
from validation_core.diagnosis.questions.base import Rows
from validation_core.diagnosis.questions.cause.causes import NEXT_STEPS, TITLES, steps, title
from validation_core.diagnosis.questions.cause.classify import COUNTED
from validation_core.diagnosis.questions.cause.findings import LEVEL, Departure, Finding
from validation_core.diagnosis.questions.cause.study import Candidate, LikelyCause, Strength
from validation_core.diagnosis.records import equals
from validation_core.tables.repeats import Fault

_MOST = 4  # departures that are told

STRENGTHS: Mapping[str, Callable[[str], str]] = {
    "sd": lambda s: f"off by about {s} posterior sd",
    "times": lambda s: f"about {s} times",
    "along": lambda s: f"about {s} times too wide along one direction",
    "across": lambda s: f"about {s} times too narrow along one direction",
    "correlation": lambda s: f"correlations changed by a share of about {s}",
    "degrees": lambda s: f"as Student's t with about {s} degrees of freedom beside a normal",
    "share of the mode": lambda s: f"a share of about {s} of the smaller mode's mass",
    "share of the truth": lambda s: f"a share of about {s} of the truth's mass",
    "share of q": lambda s: f"a share of about {s} of q's mass",
    "share of the spread": lambda s: f"blurred by a share of about {s} of its local spread",
    "share of rows": lambda s: f"in a share of about {s} of the rows",
    "follows": lambda s: f"residuals follow x with correlation about {s}",
}
"""How large, by what the strength counts."""


def _strength(strength: Strength) -> str:
    """`about 1.4 [1.2, 1.6] times`."""
    value, low, high = strength.value, strength.low, strength.high
    if strength.unit == "degrees":  # the strength is their inverse
        value, low, high = 1 / value, 1 / high, 1 / low
    return STRENGTHS[strength.unit](f"{value:.2g} [{low:.2g}, {high:.2g}]")


def finding_text(finding: Finding, names: Sequence[str]) -> str:
    """One finding as a sentence."""
    return _FINDINGS[finding.what](finding, [called(names, i) for i in finding.at])


FAULTS: Mapping[Fault, str] = {
    "chain": "consecutive draws of q at one x are correlated, as in a chain that was not thinned",
    "repeated draws": "draws of q repeat within rows",
    "repeated simulations": "simulations share theta and are not independent",
    "truth among draws": "q's draws contain the true values",
}
"""What is wrong with the draws themselves."""


def departure_text(departure: Departure, names: Sequence[str]) -> str:
    """A departure, to stand in a list."""
    text = finding_text(departure.finding, names).removesuffix(".").replace("; ", ", ")
    text = text.replace("How far", "how far", 1)  # it stands within a sentence
    return f"{text} (adjusted p {equals(departure.pvalue)})"


def _numbers(finding: Finding) -> str:
    return f"{finding.value:.2f} [{finding.low:.2f}, {finding.high:.2f}]"


def _percent(finding: Finding) -> str:
    return f"{_rate(finding.value)} [{_rate(finding.low)}, {_rate(finding.high)}]"


def _rate(share: float | None) -> str:
    assert share is not None, "findings of such a kind have it"
    return f"{100 * share:.2g}%" if share < 0.1 else f"{100 * share:.0f}%"


_FINDINGS: Mapping[str, Callable[[Finding, list[str]], str]] = {
    "bias": lambda e, n: (
        f"q's centre for {n[0]} is off by {_numbers(e)} posterior sd; 0 if q were right."
    ),
    "follows_x": lambda e, n: (
        f"{n[0]}'s rank can be predicted from x and q's mean (correlation {_numbers(e)} on rows "
        "not learnt from; about 0 if q were right)."
    ),
    "spread_x": lambda e, n: (
        f"How far out true values lie can be predicted from x and q's mean (correlation "
        f"{_numbers(e)} on rows not learnt from; about 0 if q were right)."
    ),
    "width": lambda e, n: (
        f"q's width for {n[0]} is {_numbers(e)} times the one it needs; 1 if q were right."
    ),
    "covered": lambda e, n: (
        f"q's central {e.level:.0%} interval of {n[0]} holds the truth in "
        f"{_percent(e)} of simulations."
    ),
    "inner_half": lambda e, n: (
        f"{_percent(e)} of true values lie within the inner half of q's draws "
        "around its centre; 50% if q were right."
    ),
    "pair": lambda e, n: (
        f"The errors of {n[0]} and {n[1]} have correlation {_numbers(e)}; q "
        f"itself says {e.right:.2f}."
    ),
    "along": lambda e, n: (
        f"Along its worst direction, chosen on other rows, q is {_numbers(e)} "
        "times as wide as it needs to be; 1 if q were right."
    ),
    "tail": lambda e, n: (
        f"{_percent(e)} of true values lie among q's outermost {e.share:.0%}; "
        f"{e.share:.0%} if q were right."
    ),
    "beyond_all": lambda e, n: (
        f"{_percent(e)} of true values lie farther out than all draws; "
        f"{_rate(e.right)} if q were right."
    ),
    "how_far": lambda e, n: f"They lie {_numbers(e)} times as far out as 95% of q's draws do.",
    "minor": lambda e, n: (
        f"In the {_rate(e.rows)} of simulations where q has two modes, the "
        f"smaller holds {_rate(e.right)} of its draws and {_percent(e)} of true values."
    ),
    "outer_tenth": lambda e, n: (
        f"{_percent(e)} of true values lie in the outermost 10% of q on the "
        "side that they avoid most, chosen on other rows; 10% if q were right."
    ),
    "contraction": lambda e, n: (
        f"x explains {_percent(e)} of q's variance of {n[0]}; 0% if q ignored x."
    ),
    "agrees": lambda e, n: (
        f"Over simulations, {n[0]} and q's centre for it have correlation "
        f"{_numbers(e)}; {e.right:.2f} if q were right."
    ),
    "leak": lambda e, n: (
        f"{_percent(e)} of q's draws of {n[0]} lie outside the truth's range; "
        f"about {_rate(e.right)} if q were right."
    ),
    "edge": lambda e, n: (
        f"{_percent(e)} of true values of {n[0]} stand within the outermost "
        f"{e.room:.0%} of their range at either end: it ends sharply."
    ),
}


KINDS: Mapping[str, str] = {
    "bias": "error of q's centre, posterior sd",
    "follows_x": "correlation of ranks with what x foretells",
    "spread_x": "correlation of the ranks of distances with what x foretells",
    "width": "q's width by the width needed",
    "covered": "coverage of the central 80% interval",
    "inner_half": "truths within the inner half of q",
    "pair": "correlation of errors (if q were right: q's own)",
    "along": "q's width by the width needed, worst direction",
    "tail": "truths in q's outermost draws",
    "beyond_all": "truths beyond all draws",
    "how_far": "how many times as far out as 95% of the draws",
    "minor": "truths in q's smaller mode (if q were right: q's draws there)",
    "outer_tenth": "truths in the outermost 10% of q, worst side",
    "contraction": "share of q's variance that x explains",
    "agrees": "correlation of the truth with q's centre",
    "leak": "q's draws outside the truth's range",
    "edge": "truths within 2% of the ends of their range",
}


def describe(
    result: LikelyCause, names: Sequence[str], claims: Claims | None = None
) -> tuple[str, ...]:
    """The cause with its size, what it was told apart from, what speaks for it, what to do.

    Where none is named the first sentence says what was seen instead: it may stand alone.

    Args:
        result: the table beside injected ones.
        names: of the parameters.
        claims: what may be claimed; None leaves this panel a level of its own.
    """
    if claims is not None and not claims.found:
        return (
            f"No cause is named: nothing speaks against q (p {equals(claims.pvalue)} over "
            "everything that was looked at).",
        )
    if result.faults:
        return (_open(result), _seen(result, names, claims), *_part(result))
    if result.cause == "none":
        return (
            f"No cause is named: {_stands(result)}. {_seen(result, names, claims)}",
            *_part(result),
        )
    if result.cause == "unclear":
        return (
            f"No single cause stands out: {_stands(result)}, {_why(result)}. "
            f"{_seen(result, names, claims)}",
            *_part(result),
            *NEXT_STEPS["unclear"],
        )
    first = result.causes[0]
    sentences = [
        f"Most likely, {_title(first)}: {_strength(first.strength)}; {_stands(result)}.",
        f"Similarity to simulated defects: {_weights(result)}. Of the {COUNTED} simulated "
        f"tables most like it, {first.share:.0%} have this defect.",
    ]
    sentences += [finding_text(finding, names) for finding in first.evidence]
    return (*sentences, f"Next: {result.next_steps[0]}", *_part(result))


def _title(candidate: Candidate) -> str:
    return title(candidate.cause, candidate.strength.shape)


def _stands(result: LikelyCause) -> str:
    """How many tables with a correct q look as bad."""
    nulls = result.nulls
    worse = max(0, round(result.pvalue * (nulls + 1)) - 1)
    many = "none" if worse == 0 else f"{worse}"
    verb = "looks" if worse < 2 else "look"
    p = equals(result.pvalue)
    return f"{many} of {nulls} simulated tables with a correct q {verb} this bad (p {p})"


def _open(result: LikelyCause) -> str:
    faults = " and ".join(FAULTS[fault] for fault in result.faults)
    return (
        f"The draws come first: {faults}. The cause is left open for that, since it can look like "
        "a defect of q by itself: mend the draws and ask again."
    )


def _seen(result: LikelyCause, names: Sequence[str], claims: Claims | None) -> str:
    """The departures that are not chance, or that there is none."""
    clear = [departure for departure in result.seen if departure.pvalue <= LEVEL]
    if claims is not None:
        judged = [replace(departure, pvalue=_adjusted(departure, claims)) for departure in clear]
        clear = [departure for departure in judged if departure.pvalue <= claims.alpha]
    if clear:
        texts = [departure_text(departure, names) for departure in clear[:_MOST]]
        return f"What was seen: {'; '.join(texts)}."
    if claims is not None:
        return f"What was seen most clearly: {claims.clearest(names)}."
    least = min(departure.pvalue for departure in result.seen)
    return (
        "Looked at alone, no shift, width, tail, dependence or change over x departs by more than "
        f"chance (smallest adjusted p {equals(least)})."
    )


def _adjusted(departure: Departure, claims: Claims) -> float:
    """Its p in the verdict's family."""
    what, at = departure.finding.what, departure.finding.at
    if what in ("follows_x", "spread_x"):
        return claims.over_x()
    if what in ("bias", "width"):
        return claims.parameter(at[0])
    return claims.together()


def rows(result: LikelyCause, names: Sequence[str]) -> Rows:
    """Causes, the likeliest first, each with its evidence: one row for each piece."""
    return [
        {
            **_candidate_cells(candidate),
            **_finding_cells(finding, names),
            "next": steps(candidate.cause, candidate.strength.shape)[0],
        }
        for candidate in result.causes
        for finding in candidate.evidence or (None,)
    ]


def _candidate_cells(candidate: Candidate) -> dict[str, str | float | int]:
    return {
        "cause": TITLES[candidate.cause],
        "shape": _title(candidate),
        "weight": round(candidate.weight, 3),
        "share of nearest injected tables": round(candidate.share, 3),
        "distance, in typical ones": round(candidate.apart, 2),
        "size, if so": _strength(candidate.strength),
    }


def _finding_cells(finding: Finding | None, names: Sequence[str]) -> dict[str, str | float | int]:
    if finding is None:
        return {}
    return {
        "evidence": KINDS[finding.what],
        "of": ", ".join(called(names, i) for i in finding.at),
        "value": round(finding.value, 4),
        "95% interval": f"{finding.low:.4g} to {finding.high:.4g}",
        "if q were right": "" if finding.right is None else round(finding.right, 4),
    }


def _weights(result: LikelyCause) -> str:
    leading = [candidate for candidate in result.causes[:3] if candidate.weight >= 0.005]
    likeliest = leading or result.causes[:1]
    return ", ".join(f"{_title(candidate)} ({candidate.weight:.0%})" for candidate in likeliest)


def _why(result: LikelyCause) -> str:
    if result.why == "weak":
        return "which is too weak to name what is off"
    if result.why == "far":
        return (
            "and yours is far from all simulated defects; several may act together. Nearest: "
            f"{_weights(result)}"
        )
    return f"and yours looks like more than one defect: {_weights(result)}"


def _part(result: LikelyCause) -> tuple[str, ...]:
    """What of a large table was looked at; nothing where it was all."""
    used, full = result.used, result.full
    if used == full:
        return ()
    return (
        f"Looked at {used[0]} of {full[0]} simulations, {used[1]} of {full[1]} draws at each and "
        f"{used[2]} of {full[2]} parameters.",
    )
