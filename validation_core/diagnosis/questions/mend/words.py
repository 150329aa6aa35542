"""Sentences about mending."""

from __future__ import annotations

from collections.abc import Iterator
from decimal import ROUND_FLOOR, Decimal

from validation_core.diagnosis.questions.base import Names, Rows
from validation_core.mending import Mended
from validation_core.mending.ranks import LEVEL
from validation_core.relabelling.claims import Claims, parameter_name, x_columns_text
from validation_core.text import (
    capitalise,
    equals,
    interval_text,
    number_text,
    share_interval_text,
    share_text,
)
from validation_core.types import Interval

_SURER = (
    "; the test is surer of that than before, since it looks for any error, nats for the mean one"
)
_LEFT = 0.05  # p up to which what is left wrong is worth a sentence


def mend_sentences(result: Mended, names: Names, claims: Claims) -> tuple[str, ...]:
    """What weights regain, or that none are offered; then what is left and other mends.

    Args:
        result: of the mend.
        names: of the parameters and of the columns of x.
        claims: of the verdict: where it does not find q wrong, nothing is claimed of q here.
    """
    return (*_weights(result, claims), _ranks(result), *_intervals(result, names, claims),
            *_unused(result, names, claims))  # fmt: skip


def nats_text(nats: Interval) -> str:
    """Nats with their interval: `0.66 nats [0.59, 0.74]`."""
    estimate, _, ends = interval_text(nats, ".3f").partition(" ")
    return f"{estimate} nats {ends}"


def _weights(result: Mended, claims: Claims) -> Iterator[str]:
    if not result.offered:
        yield (
            f"No mend is offered: weights learned for q's draws regain {nats_text(result.gain)} "
            "on rows that they were not learned from, not told from none."
        )
        return
    yield (
        f"Weights for q's draws regain {nats_text(result.gain)} on rows that they were not "
        f"learned from. There the verdict's p is {_p(result.before)} for q as it is and "
        f"{_p(result.after)} with the weights."
    )
    if result.after <= _LEFT:
        surer = result.after < result.before
        yield (
            "The weighted draws are nearer to the true posterior, and not yet right"
            f"{_SURER * surer}."
        )
    if claims.found:
        yield (
            f"So q is at least {_rounded_down(result.gain.low)} nats from the true posterior "
            "(KL(p‖q), lower end of a 95% interval)."
        )
    left = f"{share_text(result.effective)} of q's draws are effective once weighed (median)."
    if claims.found and result.outside_pvalue <= claims.level:
        left += (
            f" {capitalise(share_text(result.outside))} of the true values lie beyond all of "
            f"q's draws in some parameter (at most {share_text(result.outside_expected)} if q "
            "were correct): no weight mends those."
        )
    yield left


def _rounded_down(nats: float) -> str:
    """A lower bound above 0, to two digits and no larger than it is: 0.1268 as 0.12."""
    unit = Decimal(1).scaleb(Decimal(nats).adjusted() - 1)
    return number_text(float(Decimal(nats).quantize(unit, ROUND_FLOOR)), 2)


def _p(pvalue: float) -> str:
    return equals(pvalue).removeprefix("= ")


def _ranks(result: Mended) -> str:
    helps = result.by_ranks.low > 0
    text = f"recalibrating each parameter's ranks regains {nats_text(result.by_ranks)}"
    if not helps:
        return f"{capitalise(text)}, not told from none."
    return f"{capitalise(text)}, with the dependence between parameters left as it is."


def _intervals(result: Mended, names: Names, claims: Claims) -> Iterator[str]:
    """The interval that is off most, of parameters that the verdict finds wrong."""
    off = [
        (j, each)
        for j, each in enumerate(result.intervals)
        if not each.right and claims.parameter(j) <= claims.level
    ]
    if not off:
        if result.intervals:
            yield (
                f"No {LEVEL:.0%} interval of q is found to hold too few or too many true values "
                f"on {result.rows:,} rows."
            )
        return
    worst, each = max(off, key=lambda one: abs(one[1].coverage.estimate - LEVEL))
    name = parameter_name(names.theta, worst)
    mend = (
        f"q's {share_text(each.needed)} interval holds {LEVEL:.0%} (split conformal, on average "
        "over x)"
        if each.needed < 1
        else f"not even that from the least to the largest of q's draws holds {LEVEL:.0%}"
    )
    yield (
        f"q's {LEVEL:.0%} interval of {name} holds {share_interval_text(each.coverage)} of the "
        f"true values: {mend}."
    )


def _unused(result: Mended, names: Names, claims: Claims) -> Iterator[str]:
    unused = [each for each in result.unused or () if each.pvalue <= claims.level]
    if not unused or not claims.found:
        return
    worst = max(each.pvalue for each in unused)
    columns = x_columns_text([each.column for each in unused], names.x)
    one = len(unused) == 1
    yield (
        f"q does not use {columns}: true values follow {'it' if one else 'them'} and q's draws "
        f"do not (p {equals(worst)}, by slopes beside the other columns). Check that "
        f"{'it reaches' if one else 'they reach'} the network."
    )


def mend_rows(result: Mended, names: Names) -> Rows:
    """The mends with their nats, then each parameter's interval."""
    found: Rows = [
        {
            "mend": title,
            "nats, or share": nats.estimate,
            "95% low": nats.low,
            "95% high": nats.high,
            "level to take": "",
        }
        for title, nats in (("weights", result.gain), ("ranks", result.by_ranks))
    ]
    for j, each in enumerate(result.intervals):
        found.append(
            {
                "mend": f"{LEVEL:.0%} interval of {parameter_name(names.theta, j)}: coverage",
                "nats, or share": each.coverage.estimate,
                "95% low": each.coverage.low,
                "95% high": each.coverage.high,
                "level to take": each.needed,
            }
        )
    return found


def basis_text(result: Mended) -> str:
    """How it was got."""
    return (
        f"{result.rows:,} rows, {result.draws:,} draws at each: trees and a network see "
        "each draw among the others at its x, learned on three fifths of the rows, tempered on "
        "one, judged on one, five times over. The p-values are of relabelling within x on each "
        "judged fifth, by Bonferroni over the five; with weights, slots are picked by weight "
        "first, which keeps the test exact. "
        + (
            "Which inputs q ignores rests on slopes."
            if result.unused is not None
            else "Which inputs q ignores was not asked: x has too many columns for so few rows, "
            "some are sums of others, or a single row has a column to itself."
        )
    )
