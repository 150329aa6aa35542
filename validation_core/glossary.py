"""Glossary: the terms used by every page, report and error message."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cache
from typing import NamedTuple

from validation_core.methods import METHODS


class Term(NamedTuple):
    """A word with its meaning."""

    name: str
    meaning: str
    forms: tuple[str, ...] = ()
    """Other spellings and inflected forms."""
    links: bool = True
    """Whether mentions link here: not where a user's parameter may have the same name."""

    @property
    def anchor(self) -> str:
        """Its anchor on the glossary page."""
        return re.sub(r"[^a-z0-9]+", "-", self.name.lower()).strip("-")


_WORDS: tuple[Term, ...] = (
    Term(
        "adjusted p-value",
        "A p-value that allows for everything else that was looked at: if q is correct, the "
        "chance that any of them falls below the level is at most the level.",
        ("adjusted p",),
    ),
    Term(
        "AUC",
        "The chance that a classifier scores a true value above a draw of q. 0.5 is guessing; on "
        "held-out rows it is 0.5 but for chance if q is correct.",
    ),
    Term(
        "beta",
        "How far a classifier is moved back: 0 is the trained network, 1 its random start, whose "
        "scores may still differ between p and q. As a rule conformal tests keep power at a "
        "larger beta than C2ST.",
        links=False,
    ),
    Term(
        "bias",
        "How far q's centre sits from the true values, in posterior sd. Above 0, and to the right "
        "or up in every figure, q is too high.",
    ),
    Term(
        "calibration",
        "Whether intervals and ranks mean what they say: 80% intervals hold 80% of true values.",
        ("calibrated",),
    ),
    Term(
        "contraction",
        "1 − posterior variance / prior variance: 0 where x tells nothing of a parameter, near 1 "
        "where it tells all.",
    ),
    Term(
        "coverage",
        "The share of true values inside q's intervals. Below the nominal share q is too narrow, "
        "or off centre.",
        ("covers",),
    ),
    Term(
        "draw",
        "A sample of theta from q at one x. A table has K draws for each simulation.",
        ("draws",),
    ),
    Term(
        "gamma",
        "How strongly q is perturbed in a benchmark: 0 is a correct q, but where p draws "
        "handwritten digits, which q only imitates. Of an estimator that was trained, or of an "
        "inference, it counts simulations, epochs or iterations: more bring q nearer to p.",
        links=False,
    ),
    Term(
        "exact floor",
        "The mean of −log p(theta | x) over the held-out pairs, where the posterior p is known: "
        "no estimator's held-out loss is lower but for chance, and what lies above is KL(p‖q).",
    ),
    Term(
        "held-out", "Rows that a network did not learn from; only they are tested.", ("held out",)
    ),
    Term(
        "leakage",
        "The share of q's draws where the posterior has no mass, as beyond the prior's bounds. "
        "KL(q‖p) is then infinite; what q gets wrong inside is said beside it.",
    ),
    Term(
        "level",
        "The share of correct posteriors in which a test may cry wolf: 5% unless you change it.",
    ),
    Term(
        "nats",
        "The unit of a divergence: the natural logarithm of a density ratio, averaged. The "
        "symmetric divergence KL(p‖q) + KL(q‖p) of two normals of one width, b posterior sd "
        "apart, is b² nats. KL(p‖q) alone, of which My posterior speaks, is half of it.",
    ),
    Term(
        "p-value",
        "If q were correct, the chance of a table that looks at least this wrong. Small speaks "
        "against q; large does not show that q is correct.",
        ("p-values",),
    ),
    Term(
        "posterior sd",
        "The standard deviation of q's draws at one x: the unit in which errors are given.",
    ),
    Term("power", "The chance that a test finds an error of a given kind and size."),
    Term(
        "rank",
        "How many of q's draws lie below the true value at the same x. If q is correct, all ranks "
        "are equally likely.",
        ("ranks",),
    ),
    Term(
        "relabelling",
        "The exact test behind the verdict: if q is correct, the true value and q's draws at "
        "an x could change places. Labels are drawn anew within each x, and every statistic "
        "is compared with what that gives.",
        ("relabelling within x", "relabelings"),
    ),
    Term(
        "right marginals, wrong joint",
        "A q whose every parameter is right by itself, but not how they go together: drawn apart, "
        "as by an estimator of one parameter at a time. Ranks of parameters do not see it.",
    ),
    Term(
        "true value",
        "The theta that a simulation was run with. It is a draw of the true posterior at its x.",
        ("true values",),
    ),
    Term(
        "width",
        "q's width divided by the width it should have: below 1 q is too narrow (over-confident), "
        "above 1 too wide (under-confident).",
        ("widths",),
    ),
)


_SHORT = {
    "multiple": ("Multiple",),
    "uniform": ("Uniform",),
    "within_x": ("Within x",),
    "dc": ("DC",),
    "automl": ("AutoML test", "AutoML"),
}
"""Short names of methods beside their titles."""


@cache
def terms() -> tuple[Term, ...]:
    """Every term in alphabetical order, the methods with their own summaries."""
    methods = (
        Term(kind.title, f"{kind.summary} {kind.paper.short}.", _SHORT.get(name, ()))
        for name, kind in METHODS.items()
        if name != "omnibus"  # relabelling is a word by itself
    )
    return tuple(sorted((*_WORDS, *methods), key=lambda term: term.name.lower()))


@cache
def _forms() -> tuple[re.Pattern[str], dict[str, Term]]:
    """A pattern of every form, the longest first, and the term of each form."""
    by_form = {
        form.lower(): term for term in terms() if term.links for form in (term.name, *term.forms)
    }
    longest = sorted(by_form, key=len, reverse=True)
    words = "|".join(re.escape(form).replace("\\ ", r"\s") for form in longest)
    return re.compile(rf"(?<![\w/#-])({words})(?![\w-])", re.IGNORECASE), by_form


def linked(text: str, link: Callable[[str, Term], str], known: set[str] | None = None) -> str:
    """Link the first mention of each term in a text.

    Args:
        text: already escaped for its output format.
        link: makes the link from a mention and its term.
        known: names of terms linked before; newly linked ones are added.
    """
    pattern, by_form = _forms()
    seen: set[str] = set() if known is None else known

    def replaced(match: re.Match[str]) -> str:
        term = by_form[" ".join(match[0].lower().split())]
        # A name keeps its capitals: `uniform` ranks are not the test of that name.
        names = [form for form in (term.name, *term.forms) if form[0].isupper()]
        named = match[0] in names or not any(form.lower() == match[0].lower() for form in names)
        if term.name in seen or not named:
            return match[0]
        seen.add(term.name)
        return link(match[0], term)

    return pattern.sub(replaced, text)


def in_markdown(text: str) -> str:
    """Escaped Markdown with links to the glossary page."""
    return linked(text, lambda words, term: f"[{words}](glossary#{term.anchor})")
