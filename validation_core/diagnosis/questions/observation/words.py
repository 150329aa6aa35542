"""Sentences about q at one observation."""

from __future__ import annotations

import math
from collections.abc import Sequence

from validation_core.diagnosis.questions.calibration.words import at_least
from validation_core.diagnosis.questions.observation.ball import LocalBall
from validation_core.diagnosis.questions.observation.local_test import LocalTest
from validation_core.diagnosis.questions.observation.nearby import NearbyRanks, NearbyRankTest
from validation_core.diagnosis.questions.observation.place import Site
from validation_core.diagnosis.questions.observation.study import LocalAnswer
from validation_core.relabelling.claims import Claims, parameter_name, x_column_name
from validation_core.text import (
    count_text,
    equals,
    interval_text,
    list_text,
    more_text,
    number_text,
    scaled_text,
    share_interval_text,
)
from validation_core.types import Interval

_CLAUSES = 3  # that a sentence says of parameters
_TOLD = 8  # draws of q from which quarters of them mean something
_LEAST_BOUND = 0.1  # sd; that a bias is more than less says nothing of it
_NAMED = 5  # columns named in a warning


def interval_or_blank(interval: Interval, form: str) -> str:
    """An interval, its ends open where true values lie beyond all draws; empty where unknown."""
    if not interval.known:
        return ""
    low = -math.inf if math.isnan(interval.low) else interval.low
    high = math.inf if math.isnan(interval.high) else interval.high
    return interval_text((interval.estimate, low, high), form).replace("inf", "∞")


def answer_text(local: LocalAnswer, names: Sequence[str], alpha: float) -> list[str]:
    """Whether L-C2ST finds q wrong at the observation and where, then the rows nearby.

    L-C2ST alone claims, at level alpha; the rows nearby describe what it claims.
    """
    test, own = local.test, local.site.kind != "observed"
    claimed = test.pvalue <= alpha
    nearby = nearby_text(local.nearby, names, alpha, claimed=claimed, own=own)
    p = f"p {equals(test.pvalue)}"
    if not claimed:
        return [f"L-C2ST finds nothing against q at this observation ({p}).", nearby]
    if test.draws < _TOLD:
        few = f"too few draws ({test.draws}) of q there to say where."
        return [f"Near this observation q looks wrong (L-C2ST, {p}): {few}", nearby]
    where = ""
    clearest = min((ranks.pvalue for ranks in local.nearby.parameters), default=1.0)
    # A parameter that is exact may vary most where another one is off.
    first = {
        ranks.parameter
        for ranks in local.nearby.parameters
        if ranks.pvalue <= clearest and _sizes_nearby(ranks, names)
    }
    if clearest <= alpha and test.parameter in first:
        assert test.parameter is not None, "it is a parameter"
        much, little = ends_text(test.much, test.little)
        where = (
            f": too much mass for {parameter_name(names, test.parameter)} between {much}, too "
            f"little between {little}"
        )
    return [
        f"Near this observation q looks wrong (L-C2ST, {p}){where}.",
        f"The learned chance that a draw is the true value runs from {test.d_low:.2f} to "
        f"{test.d_high:.2f} over the middle 90% of q's draws; 0.5 is guessing.",
        nearby,
    ]


def unclaimed_text(local: LocalAnswer, claims: Claims, *, own: bool) -> list[str]:
    """Sentences with the numbers here where the verdict claims nothing."""
    nearby = local.nearby
    why = (
        f"at the rows nearest to this observation p {equals(claims.observation())}, adjusted in "
        "the verdict's family"
        if own
        else f"over everything that was looked at p {equals(claims.pvalue)}"
    )
    return [
        f"Nothing is claimed against q here: {why}.",
        f"By themselves, L-C2ST gives p {equals(local.test.pvalue)} and the {nearby.rows} rows "
        f"nearest in x p {equals(nearby.pvalue)}.",
    ]


def ends_text(*ranges: Sequence[float]) -> tuple[str, ...]:
    """The two ends of each range, `0.2 and 1.4`, told apart in the narrowest."""
    scale = min((high - low for low, high in ranges if high > low), default=0.0)
    return tuple(list_text([scaled_text(end, scale) for end in ends]) for ends in ranges)


def nearby_text(
    nearby: NearbyRankTest, names: Sequence[str], alpha: float, *, claimed: bool, own: bool = False
) -> str:
    """A sentence about the ranks nearby: parameters that are off, as far as intervals show.

    Args:
        nearby: the test of the ranks.
        names: of the parameters.
        alpha: level.
        claimed: whether another test, which has the level, calls q wrong there: two that may each
            claim would err twice as often.
        own: whether the row that is looked at is among the nearest.
    """
    among = f"{nearby.of:,} rows" + " (its own with them)" * own
    rows, p = f"At the {nearby.rows} nearest in x of {among}", f"p {equals(nearby.pvalue)}"
    exact = "exact test that q is correct at all of them"
    if nearby.pvalue > alpha:
        return f"{rows} the true values' ranks show no error ({p}, {exact})."
    if not claimed:
        return (
            f"{rows} the true values' ranks by themselves have {p} ({exact}), of which nothing "
            "is claimed."
        )
    off = [ranks for ranks in nearby.worst if ranks.pvalue <= alpha]
    sized = [clause for ranks in off for clause in _sizes_nearby(ranks, names)]
    if sized:
        return f"{rows}, {'; '.join(sized[:_CLAUSES])} ({p})."
    listed = ", ".join(parameter_name(names, ranks.parameter) for ranks in off[:_CLAUSES])
    return f"{rows} the true values' ranks in {listed} are not those of a correct q ({p})."


def _sizes_nearby(ranks: NearbyRanks, names: Sequence[str]) -> list[str]:
    """Bias and width of a parameter, each where its own interval excludes that of a right q."""
    name, clauses = parameter_name(names, ranks.parameter), []
    shift, width = ranks.shift, ranks.width
    side = "high" if shift.estimate >= 0 else "low"
    if ranks.open:
        bound = shift._replace(estimate=0.0)  # by ranks alone, which tell no more
        if (shift.low if side == "high" else -shift.high) >= _LEAST_BOUND:
            clauses.append(f"q's {name} sits {at_least(bound)} too {side}")
    elif shift.low > 0 or shift.high < 0:
        ends = shift if shift.estimate >= 0 else Interval(*(-shift[i] for i in (0, 2, 1)))
        clauses.append(f"q's {name} sits {interval_text(ends)} posterior sd too {side}")
    if width.low > 1 or width.high < 1:
        fit = "wide" if width.low > 1 else "narrow"
        clauses.append(
            f"q's {name} is {interval_text(width)} times as wide as it should be (too {fit})"
        )
    return clauses


def place_text(site: Site, x_names: Sequence[str]) -> list[str]:
    """Which observation was looked at, and how far it lies from the rows."""
    values = ", ".join(
        f"{x_column_name(at, x_names)} = {number_text(value, 4)}"
        for at, value in enumerate(site.x)
    )
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
        listed = ", ".join(x_column_name(index, x_names) for index in standing.outside[:_NAMED])
        more = standing.outside_count - min(_NAMED, len(standing.outside))
        sentences.append(
            f"This observation lies outside the range of all rows in {listed}"
            f"{more_text(more)}: no simulation is like it, and "
            "nothing here speaks for q there. Simulate nearer to it, or check the model."
        )
    elif standing.farther < 0.01:
        sentences.append(
            "This observation is farther from every row than 99 of 100 rows are from theirs: "
            "what is learnt from the rows may not hold there."
        )
    return sentences


def basis_text(test: LocalTest, nearby: NearbyRankTest) -> str:
    """Rows, draws and null classifiers that the local test rests on."""
    few = (
        f" Of {nearby.all:,} parameters, those {len(nearby.parameters)} over which the learned "
        "chance varies most are shown."
        if nearby.all > len(nearby.parameters)
        else ""
    )
    draws = count_text(test.draws, "draw")
    return (
        f"L-C2ST learnt from {test.rows} rows other than this one, with {test.nulls} null "
        f"classifiers, and looks at {draws} of q. A test at one x_o borrows from its "
        "neighbours, so an error near it may show here. Nearby rows are weighted by distance "
        f"(effective number: {nearby.worth:.0f}). p-values are valid only if you did not "
        f"choose this observation because it looked bad.{few} Brackets are 95% intervals, each "
        "by itself."
    )


def ball_text(ball: LocalBall, *, claimed: bool) -> str:
    """Share of true values nearby in CoLT's ball, beside q's mass in it.

    Args:
        ball: CoLT's.
        claimed: whether q is called wrong there; otherwise the numbers stand by themselves.
    """
    inside = share_interval_text(ball.u_star + part for part in (ball.rate, ball.low, ball.high))
    reads = ", as much as q gives it, within its interval"
    if ball.low > 0 or ball.high < 0:
        reads = f", {'more' if ball.low > 0 else 'less'} than q gives it" if claimed else ""
    return (
        f"CoLT's region here holds {ball.u_star:.0%} of q's mass; near this x true values lie in "
        f"it in {inside} of the {ball.rows} nearest held-out "
        f"rows{reads}."
    )
