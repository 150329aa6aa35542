"""One observation in words: what L-C2ST says there, what the rows nearby say, and CoLT's ball."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from validation_core.diagnosis.claims import Claims, called, column
from validation_core.diagnosis.questions.base import Interval
from validation_core.diagnosis.questions.observation.study import (
    LEVEL,
    AtObservation,
    Ball,
    LocalAnswer,
    LocalTest,
    Nearby,
    Site,
)
from validation_core.diagnosis.records import equals
from validation_core.types import Array

_TOLD = 8  # draws of q from which quarters of them mean something
_NAMED = 5  # columns named in a warning


def describe(
    result: AtObservation,
    names: Sequence[str],
    x_names: Sequence[str] = (),
    claims: Claims | None = None,
) -> tuple[str, ...]:
    """The answer first, then where it was looked, and what the numbers rest on.

    Args:
        result: both parts, or one.
        names: of the parameters.
        x_names: of the columns of x.
        claims: what may be claimed; None leaves this panel a level of its own.
    """
    sentences: list[str] = []
    if result.local is not None:
        local = result.local
        own = local.site.kind == "observed"
        if claims is None or (claims.observation() if own else claims.pvalue) <= claims.alpha:
            sentences.append(_answer(local, names))
        else:
            sentences.append(_unclaimed(local, names, claims, own=own))
        sentences += _where(local.site, x_names)
        sentences.append(_basis(local.test, local.nearby))
    if result.ball is not None:
        sentences.append(_ball(result.ball))
    return tuple(sentences)


def interval_text(number: Interval, sign: str = "") -> str:
    """A number with its interval; `+` gives its sign."""
    value, low, high = (
        format(end, f"{sign}.2f") for end in (number.estimate, number.low, number.high)
    )
    return f"{value} [{low}, {high}]".replace("-", "−")


def middle_in_words(x: Array) -> str:
    """The median of observations (n, M), as somebody would type it."""
    middle = np.median(np.asarray(x, dtype=np.float64), axis=0)
    return ", ".join(f"{value:.3g}" for value in middle)


def _answer(local: LocalAnswer, names: Sequence[str]) -> str:
    test = local.test
    p = f"p {equals(test.pvalue)} from {test.nulls} null classifiers"
    if test.pvalue <= LEVEL:
        detail = (
            f"by {called(names, test.parameter)}, q puts too much mass between "
            f"{_ends(test.much)} and too little between {_ends(test.little)}. The learned "
            f"chance that a draw is the truth runs from {test.d_low:.2f} to "
            f"{test.d_high:.2f} over the middle 90% of q's draws; 0.5 is guessing."
            if test.draws >= _TOLD
            else f"{test.draws} draw{'s' * (test.draws > 1)} of q there cannot say where."
        )
        first = f"L-C2ST objects to q around this observation ({p}): {detail}"
    else:
        first = f"L-C2ST finds nothing against q at this observation ({p})."
    return f"{first} {_nearby(local.nearby, names)}"


def _unclaimed(local: LocalAnswer, names: Sequence[str], claims: Claims, *, own: bool) -> str:
    """What the numbers here are where the verdict claims nothing."""
    nearby, worst = local.nearby, local.nearby.worst[0]
    why = (
        f"at the rows nearest to this observation p {equals(claims.observation())}, adjusted in "
        "the verdict's family"
        if own
        else f"over everything that was looked at p {equals(claims.pvalue)}"
    )
    return (
        f"Nothing is claimed against q here: {why}. By themselves, L-C2ST gives "
        f"p {equals(local.test.pvalue)} and the {nearby.rows} rows nearest in x "
        f"p {equals(nearby.pvalue)}; among their parameters {called(names, worst.parameter)} "
        f"differs most: shift {interval_text(worst.shift, '+')} posterior sd, width "
        f"{interval_text(worst.width)}."
    )


def _ends(ends: Sequence[float]) -> str:
    return " and ".join(f"{end:.3g}" for end in ends).replace("-", "−")


def _nearby(nearby: Nearby, names: Sequence[str]) -> str:
    worst = nearby.worst[0]
    name = called(names, worst.parameter)
    rows = f"At the {nearby.rows} rows nearest in x"
    p = f"p {equals(nearby.pvalue)} against a q right at all of them, exact"
    detail = (
        f"most off is {name}: shift {interval_text(worst.shift, '+')} posterior sd, width "
        f"{interval_text(worst.width)}"
    )
    if nearby.pvalue > LEVEL:
        return f"{rows} the truth's ranks say nothing against q ({p}); {detail}."
    is_shift = worst.shifted >= worst.stretched
    number, null = (worst.shift, 0.0) if is_shift else (worst.width, 1.0)
    if number.low <= null <= number.high:
        return f"{rows} the truth's ranks are not those of a right q ({p}); {detail}."
    if is_shift:
        side = "low" if number.estimate >= 0 else "high"
        sign = 1 if number.estimate >= 0 else -1
        low, high = sorted((sign * number.low, sign * number.high))
        size = f"{abs(number.estimate):.2f} [{low:.2f}, {high:.2f}]".replace("-", "−")
        return f"{rows} ({p}), q's {name} sits {size} posterior sd too {side}."
    side = "narrow" if number.estimate >= 1 else "wide"
    return (
        f"{rows} ({p}), q's {name} is too {side}: the truth spreads {interval_text(number)} times "
        "as wide as its draws."
    )


def _where(site: Site, x_names: Sequence[str]) -> list[str]:
    values = ", ".join(f"{column(at, x_names)} = {value:.4g}" for at, value in enumerate(site.x))
    parenthesis = f" ({values})" if values else f" ({site.columns:,} columns)"
    standing = site.standing
    if standing is None:
        return [f"Looked at row {site.row}, counted from 0{parenthesis}."]
    far = (
        f"{standing.nearest:.2g} sd a column away; between neighbouring rows {standing.usual:.2g} "
        f"is usual, and {standing.farther:.0%} of the rows have no nearer one"
    )
    if site.kind == "typed":
        sentences = [
            f"q's draws are those of row {site.row}, counted from 0, the nearest to what was "
            f"asked for: {far}. q is looked at in that row{parenthesis}."
        ]
    else:
        sentences = [
            f"Looked at the observation that came with the table{parenthesis}; its nearest "
            f"row lies {far}."
        ]
    if standing.outside_count:
        listed = ", ".join(column(index, x_names) for index in standing.outside[:_NAMED])
        more = standing.outside_count - min(_NAMED, len(standing.outside))
        sentences.append(
            f"This observation lies outside the range of all rows in {listed}"
            f"{f' and {more} more' if more > 0 else ''}: no simulation is like it, and "
            "nothing here speaks for q there. Simulate nearer to it, or check the model."
        )
    elif standing.farther < 0.01:
        sentences.append(
            "This observation is farther from every row than 99 of 100 rows are from theirs: "
            "what is learnt from the rows may not hold there."
        )
    return sentences


def _basis(test: LocalTest, nearby: Nearby) -> str:
    few = (
        f" Of {nearby.all:,} parameters, those {len(nearby.parameters)} over which the learned "
        "chance varies most are told."
        if nearby.all > len(nearby.parameters)
        else ""
    )
    draws = f"{test.draws:,} draw{'s' * (test.draws > 1)}"
    return (
        f"L-C2ST learnt from {test.rows} rows other than this one and looks at "
        f"{draws} of q; a test at one x_o spills over from its neighbours, so that "
        f"an error elsewhere may show here. The rows nearby count by nearness, as much as "
        f"{nearby.worth:.0f} equal ones. A p-value is for a place that was not picked by its "
        f"looks.{few} Brackets are 95% intervals, each by itself."
    )


def _ball(ball: Ball) -> str:
    share = ball.u_star + ball.rate
    low, high = (100 * (ball.u_star + end) for end in (ball.low, ball.high))
    reads = (
        "more than q gives it"
        if ball.low > 0
        else "less than q gives it"
        if ball.high < 0
        else "as much as q gives it, within its interval"
    )
    return (
        f"CoLT's ball here holds {ball.u_star:.0%} of q's mass; near this x the truth lies in "
        f"it in {100 * share:.1f}% [{low:.1f}, {high:.1f}] of the {ball.rows} nearest held-out "
        f"rows, {reads}."
    )
