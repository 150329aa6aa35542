"""A cause in words: what it is, how large, what speaks for it, and what to do next."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from validation_core.diagnosis.words import equals
from validation_core.uploads.repeats import Fault

TITLES: Mapping[str, str] = {
    "bias": "q is biased",
    "too_wide": "q is too wide (under-confident)",
    "too_narrow": "q is too narrow (over-confident)",
    "wrong_correlation": "q has the wrong correlation between parameters",
    "heavy_tails": "q's tails are too heavy",
    "light_tails": "q's tails are too light",
    "missing_mode": "q misses a mode",
    "spurious_mode": "q has a spurious mode: mass where the truth never is",
    "ignores_x": "q ignores x, or part of what it says",
    "support_leak": "q leaks out of the support of the truth",
    "unclear": "unclear",
    "none": "none",
}
"""Each cause as a sentence without its full stop."""

NEXT: Mapping[str, tuple[str, ...]] = {
    "bias": (
        "Train longer or at a smaller learning rate, and look whether the bias shrinks.",
        "Give x to the network standardised, or by better summary statistics.",
        "Simulate more where the error follows x.",
    ),
    "too_wide": (
        "Train longer: an estimator that has not converged is too wide.",
        "Take a wider network or a more flexible density (more flow layers).",
        "Check that x reaches the network with its full precision and no added noise.",
    ),
    "too_narrow": (
        "Train on more simulations: the network has overfitted those it has.",
        "Stop earlier, or use weight decay, dropout or an ensemble.",
        "Check that the validation loss, not the training loss, chose the network.",
    ),
    "wrong_correlation": (
        "Take a density that holds correlations: a full covariance or coupling layers that mix "
        "all parameters.",
        "Turn the parameters to less correlated ones before training.",
        "Check that columns of theta stand in the same order in truth and draws.",
    ),
    "heavy_tails": (
        "Train longer, or take a base density with lighter tails.",
        "Transform the parameters so that their posterior is closer to normal.",
        "Check the draws for outliers of a sampler that has not converged.",
    ),
    "light_tails": (
        "Take a base density with heavier tails (Student's t) or more flow layers.",
        "Bring more simulations: tails are learnt from few of them.",
        "Transform the parameters (a logarithm for positive ones).",
    ),
    "missing_mode": (
        "Take a density that can be multimodal: a mixture, a spline flow or a diffusion model.",
        "If draws come from a chain, start it in several places.",
        "Look at the truths that lie beyond all draws: which x do they share?",
    ),
    "spurious_mode": (
        "Train longer, or bring more simulations near the mode that should not be there.",
        "Take a more flexible density: a simple flow joins modes by bridges of mass.",
        "Check that labels or symmetric parameters are not swapped in the simulations.",
    ),
    "ignores_x": (
        "Check that rows of theta and x belong together, and that x reaches the network.",
        "Standardise x: values of very different sizes look constant to a network.",
        "Train longer, and use summary statistics or an embedding network that keeps what x says.",
    ),
    "support_leak": (
        "Check the prior's bounds, and transform bounded parameters (logit, logarithm).",
        "Refuse draws outside the prior, and correct for the mass that this removes.",
    ),
    "unclear": (
        "Look at where q is wrong first: a defect at some x only looks like none of these.",
        "Bring more simulations: weak defects resemble one another.",
    ),
    "none": (),
}  # fmt: skip
"""What to do, the first thing first."""

SHAPES: Mapping[str, str] = {
    "unread": "q uses x only in part",
    "shuffled": "q ignores x: its draws do not belong to the truth's rows",
    "bridge": "q fills a gap where the truth never is, as between two modes",
    "halfspace": "q has mass where the truth never is, on one side",
    "blurred": "q is too wide (under-confident): it blurs what is fine",
    "misread": "q is biased, as if it misread x",
    "heavy_even": "q's tails are too heavy at the right width",
    "light_even": "q's tails are too light at the right width",
}
"""Shapes whose title says more than their cause's."""

_FIRST: Mapping[str, int] = {"unread": 2, "bridge": 1, "blurred": 1}


def title(cause: Mapping[str, Any]) -> str:
    """A cause found, as the sentence that its likeliest shape deserves."""
    return SHAPES.get(cause["strength"]["shape"], TITLES[cause["cause"]])


def steps(name: str, shape: str) -> tuple[str, ...]:
    """What to do, with what suits this shape first."""
    every, first = NEXT[name], _FIRST.get(shape, 0)
    # Of what is unclear the shape is a guess, and a shape speaks of its own cause only.
    if name in ("unclear", "none") or first >= len(every):
        return every
    return (every[first], *every[:first], *every[first + 1 :])


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


def strength(plain: Mapping[str, Any]) -> str:
    """`about 1.4 [1.2, 1.6] times`."""
    value, low, high = (plain[end] for end in ("value", "low", "high"))
    if plain["unit"] == "degrees":  # the strength is their inverse
        value, low, high = 1 / value, 1 / high, 1 / low
    numbers = f"{value:.2g} [{low:.2g}, {high:.2g}]"
    return STRENGTHS[plain["unit"]](numbers)


def evidence(one: Mapping[str, Any], names: Sequence[str]) -> str:
    """One piece of evidence as a sentence."""
    called = [names[i] if i < len(names) else f"theta_{i + 1}" for i in one["at"]]
    return _EVIDENCE[one["what"]](one, called)


FAULTS: Mapping[Fault, str] = {
    "chain": "consecutive draws of q at one x are correlated, as in a chain that was not thinned",
    "repeated draws": "draws of q repeat within rows",
    "repeated simulations": "simulations share theta and are not independent",
    "truth among draws": "q's draws contain the true values",
}
"""What is wrong with the draws themselves."""


def departure(one: Mapping[str, Any], names: Sequence[str]) -> str:
    """What was seen of one kind, to stand in a list."""
    text = evidence(one, names).removesuffix(".").replace("; ", ", ")
    text = text.replace("How far", "how far", 1)  # it stands within a sentence
    return f"{text} (adjusted p {equals(one['pvalue'])})"


def _numbers(one: Mapping[str, Any]) -> str:
    return f"{one['value']:.2f} [{one['low']:.2f}, {one['high']:.2f}]"


def _percent(one: Mapping[str, Any]) -> str:
    return f"{_rate(one['value'])} [{_rate(one['low'])}, {_rate(one['high'])}]"


def _rate(share: float) -> str:
    return f"{100 * share:.2g}%" if share < 0.1 else f"{100 * share:.0f}%"


Piece = Mapping[str, Any]

_EVIDENCE: Mapping[str, Callable[[Piece, list[str]], str]] = {
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
        f"q's central {e['level']:.0%} interval of {n[0]} holds the truth in "
        f"{_percent(e)} of simulations."
    ),
    "inner_half": lambda e, n: (
        f"{_percent(e)} of true values lie within the inner half of q's draws "
        "around its centre; 50% if q were right."
    ),
    "pair": lambda e, n: (
        f"The errors of {n[0]} and {n[1]} have correlation {_numbers(e)}; q "
        f"itself says {e['right']:.2f}."
    ),
    "along": lambda e, n: (
        f"Along its worst direction, chosen on other rows, q is {_numbers(e)} "
        "times as wide as it needs to be; 1 if q were right."
    ),
    "tail": lambda e, n: (
        f"{_percent(e)} of true values lie among q's outermost {e['share']:.0%}; "
        f"{e['share']:.0%} if q were right."
    ),
    "beyond_all": lambda e, n: (
        f"{_percent(e)} of true values lie farther out than all draws; "
        f"{_rate(e['right'])} if q were right."
    ),
    "how_far": lambda e, n: f"They lie {_numbers(e)} times as far out as 95% of q's draws do.",
    "minor": lambda e, n: (
        f"In the {_rate(e['rows'])} of simulations where q has two modes, the "
        f"smaller holds {_rate(e['right'])} of its draws and {_percent(e)} of true values."
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
        f"{_numbers(e)}; {e['right']:.2f} if q were right."
    ),
    "leak": lambda e, n: (
        f"{_percent(e)} of q's draws of {n[0]} lie outside the truth's range; "
        f"about {_rate(e['right'])} if q were right."
    ),
    "edge": lambda e, n: (
        f"{_percent(e)} of true values of {n[0]} stand within the outermost "
        f"{e['room']:.0%} of their range at either end: it ends sharply."
    ),
}


def right(one: Mapping[str, Any]) -> float | str:
    """What a piece would be if q were right, for a table."""
    return "" if one["right"] is None else round(float(one["right"]), 4)


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
