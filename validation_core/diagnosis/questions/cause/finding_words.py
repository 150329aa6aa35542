"""A finding as a sentence, as the title of a row, and as one of a list."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from validation_core.diagnosis.questions.cause.findings import Departure, Finding
from validation_core.relabelling.claims import parameter_name
from validation_core.text import (
    equals,
    interval_text,
    share_interval_text,
    share_text,
    signed_text,
)

KINDS: Mapping[str, str] = {
    "bias": "error of q's centre, posterior sd",
    "follows_x": "held-out correlation of ranks with their prediction from x",
    "spread_x": "held-out correlation of ranks of distances with their prediction from x",
    "width": "q's width / width needed",
    "covered": "coverage of the central 80% interval",
    "inner_half": "true values within the inner half of q",
    "pair": "correlation of errors (if q were correct: q's own)",
    "along": "q's width / width needed, worst direction",
    "tail": "true values in q's outermost draws",
    "skew": "skewness of the true values' normal scores",
    "reach": "reach of true values beside half of them, by that of q's draws",
    "below": "true values below q's median",
    "spread": "spread of true values by that of all draws",
    "beyond_all": "true values beyond all draws",
    "how_far": "how many times as far out as 95% of the draws",
    "minor": "true values in q's smaller mode (if q were correct: q's draws there)",
    "apart": "true values beyond a gap (if q were correct: q's draws there)",
    "outer_tenth": "true values in the outermost 10% of q, worst side",
    "contraction": "share of q's variance that x explains",
    "agrees": "correlation of true values with q's centre",
    "leak": "q's draws outside the range of true values",
    "edge": "true values within 2% of the ends of their range",
}


def finding_text(finding: Finding, names: Sequence[str]) -> str:
    """One finding as a sentence."""
    return _FINDINGS[finding.what](finding, [parameter_name(names, i) for i in finding.at])


def departure_text(departure: Departure, names: Sequence[str]) -> str:
    """A departure, to stand in a list."""
    text = finding_text(departure.finding, names).removesuffix(".").replace("; ", ", ")
    text = text.replace("How far", "how far", 1)  # it stands within a sentence
    return f"{text} (adjusted p {equals(departure.pvalue)})"


def value_text(finding: Finding) -> str:
    """A finding's number with its interval."""
    return interval_text((finding.value, finding.low, finding.high))


def _right(finding: Finding) -> str:
    """The value that a correct q would have."""
    assert finding.right is not None, "findings of such a kind have it"
    return signed_text(finding.right, ".2f")


def _percent(finding: Finding) -> str:
    return share_interval_text((finding.value, finding.low, finding.high))


def _known_share(share: float | None) -> str:
    assert share is not None, "findings of such a kind have it"
    return share_text(share)


_FINDINGS: Mapping[str, Callable[[Finding, list[str]], str]] = {
    # Their sizes stand under How wrong: measured twice, they would read as two numbers.
    "bias": lambda e, n: f"q's centre for {n[0]} is off: too {'high' if e.value > 0 else 'low'}.",
    "follows_x": lambda e, n: (
        f"{n[0]}'s rank can be predicted from x and q's mean (held-out correlation "
        f"{value_text(e)}; about 0 if q were correct)."
    ),
    "spread_x": lambda e, n: (
        "How far out true values lie can be predicted from x and q's mean (held-out "
        f"correlation {value_text(e)}; about 0 if q were correct)."
    ),
    "width": lambda e, n: f"q's width for {n[0]} is too {'large' if e.value > 1 else 'small'}.",
    "covered": lambda e, n: (
        f"q's central {e.level:.0%} interval of {n[0]} holds the true value too "
        f"{'often' if e.value > (e.level or 0) else 'rarely'}."
    ),
    "inner_half": lambda e, n: (
        f"{_percent(e)} of true values lie within the inner half of q's draws "
        "around its centre; 50% if q were correct."
    ),
    "pair": lambda e, n: (
        f"The errors of {n[0]} and {n[1]} have correlation {value_text(e)}; q "
        f"itself says {_right(e)}."
    ),
    "along": lambda e, n: (
        f"Along its worst direction, chosen on other rows, q is {value_text(e)} "
        "times as wide as it needs to be; 1 if q were correct."
    ),
    "tail": lambda e, n: (
        f"{_percent(e)} of true values lie among q's outermost {e.share:.0%}; "
        f"{e.share:.0%} if q were correct."
    ),
    "skew": lambda e, n: (
        f"True values of {n[0]} reach farther {'above' if e.value > 0 else 'below'} q's centre "
        f"than q's draws do: their normal scores have skewness {value_text(e)}; 0 if q were "
        "correct."
    ),
    "reach": lambda e, n: (
        f"Beside half of each, {n[0]}'s true values reach {value_text(e)} times as far as q's "
        "draws; 1 if only a width were wrong."
    ),
    "below": lambda e, n: (
        f"{'More' if e.value > 0.5 else 'Fewer'} than half of the true values of {n[0]} lie below "
        "q's median."
    ),
    "spread": lambda e, n: (
        f"True values of {n[0]} spread {value_text(e)} times as far as all of q's draws; 1 if q "
        "were correct and they came from its prior."
    ),
    "beyond_all": lambda e, n: (
        f"{_percent(e)} of true values lie farther out than all draws; "
        f"{_known_share(e.right)} if q were correct."
    ),
    "how_far": lambda e, n: f"They lie {value_text(e)} times as far out as 95% of q's draws do.",
    "minor": lambda e, n: (
        f"In the {_known_share(e.rows)} of simulations where q has two modes, the "
        f"smaller holds {_known_share(e.right)} of its draws and {_percent(e)} of true values."
    ),
    "apart": lambda e, n: (
        f"{_percent(e)} of true values of {n[0]} lie apart from q's draws, with a gap between, "
        f"about {abs(e.level or 0):.2g} posterior sd {'above' if (e.level or 0) > 0 else 'below'} "
        f"q's centre; q puts {_known_share(e.right)} of its draws there."
    ),
    "outer_tenth": lambda e, n: (
        f"{_percent(e)} of true values lie in the outermost 10% of q on the "
        "side that they avoid most, chosen on other rows; 10% if q were correct."
    ),
    "contraction": lambda e, n: (
        f"x explains {_percent(e)} of q's variance of {n[0]}; 0% if q ignored x."
    ),
    "agrees": lambda e, n: (
        f"Over simulations, {n[0]} and q's centre for it have correlation "
        f"{value_text(e)}; {_right(e)} if q were correct."
    ),
    "leak": lambda e, n: (
        f"{_percent(e)} of q's draws of {n[0]} lie where no true value does; about "
        f"{_known_share(e.right)} if q were correct."
    ),
    "edge": lambda e, n: (
        f"{_percent(e)} of true values of {n[0]} lie within the outermost {e.room:.0%} of "
        "their range at either end: it ends sharply."
    ),
}
