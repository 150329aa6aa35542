"""The playground's first sentence: q's and the truth's mass in CoLT's region, and who notices."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from validation_core.drawing.marks import Text, formatted, over, sentence, written
from validation_core.explorers.playground.sizes import LEVEL, PlaygroundRates, short_title
from validation_core.explorers.playground.study import METHODS, TRUE_DRAWS, BallOverX, Playground
from validation_core.statistics import higher_rate_pvalue
from validation_core.text import level_text, list_text, said_equals, share_text
from validation_core.types import Array

_FAR = 3.0  # standard errors between two shares that chance does not explain
_NAMED = 0.05  # chance that of equal tests any is named the most or the fewest
_UNIFORM = [method.name for method in METHODS].index("uniform")


def headline(seen: Playground, rates: PlaygroundRates) -> Text:
    """The sentence over gamma, beta, x and sample; at gamma 0 it claims no difference."""
    right = seen.gammas == 0
    begin, share, end = _places(seen.where, right)
    found = seen.ranks.pvalues <= LEVEL  # (S, G, B)
    at_right = np.broadcast_to(right[:, None], found.shape)
    by_sample = "sample", "gamma", "beta"
    return sentence(
        "{begin}{share}{end} Uniform {finds} (p {p}){joint}{repeats}",
        begin=over(begin, "gamma", "x"),
        share=over(share, "gamma", "x"),
        end=over(end, "gamma", "x"),
        finds=over(
            np.where(
                found,
                np.where(at_right, "rejects it by chance", "notices"),
                np.where(at_right, "finds nothing", "does not notice in this sample"),
            ),
            *by_sample,
        ),
        p=written(seen.ranks.pvalues, said_equals, *by_sample),
        joint=over(
            np.where(
                found,
                np.where(
                    at_right,
                    ": one correct q in twenty looks this bad; press New sample. ",
                    ", as it would in ",
                ),
                np.where(at_right, ". ", "; it would in "),
            ),
            *by_sample,
        ),
        repeats=over(repeats_text(rates, right), "gamma", "beta"),
    )


def one_point(where: BallOverX) -> NDArray[np.bool_]:
    """Whether the truth is a single point, at each gamma and x (G, V)."""
    single = (where.p == where.p[..., :1, :]).all(axis=(-1, -2))
    return np.broadcast_to(single, where.inside_at.shape)


def _places(
    where: BallOverX, right: NDArray[np.bool_]
) -> tuple[NDArray[np.str_], NDArray[np.str_], NDArray[np.str_]]:
    """The sentence on the region: before the truth's share in it, the share, after it (G, V)."""
    mass = f"{where.u_star:.0%}"
    error = np.sqrt(2 * where.u_star * (1 - where.u_star) / TRUE_DRAWS)
    apart = np.abs(where.inside_at - where.u_star) > _FAR * error
    point = one_point(where)
    correct = np.broadcast_to(right[:, None], apart.shape)
    q_is_p = f"At γ = 0 q is the truth: the purple region holds {mass} of the draws of either."
    point_is_point = "At γ = 0 q is the truth, and both are one point at each x."
    inside = np.where(where.inside_at > 0.5, "inside", "outside")
    begin = np.where(
        correct,
        np.where(point, point_is_point, q_is_p),
        np.where(
            point,
            "The truth at this x is one point, ",
            f"q puts {mass} of its draws into the purple region, the truth ",
        ),
    )
    share = np.where(point, inside, formatted(where.inside_at, share_text))
    end = np.where(
        point,
        f" the region that holds {mass} of q's draws.",
        np.where(apart, " at this x.", " at this x: no difference beyond chance."),
    )
    return begin, np.where(correct, "", share), np.where(correct, "", end)


def repeats_text(rates: PlaygroundRates, right: NDArray[np.bool_]) -> NDArray[np.str_]:
    """How often repeats reject: Uniform, the strongest and the weakest test (G, B)."""
    texts = [
        [
            _false_alarms(rate, rates.trials)
            if correct
            else _strongest_and_weakest(rate, rates.trials)
            for rate in rates.rate[:, :, g].T
        ]
        for g, correct in enumerate(right)
    ]
    return np.array(texts)


def _false_alarms(rate: Array, trials: int) -> str:
    ends = list(dict.fromkeys(share_text(end) for end in (rate.min(), rate.max())))
    return (
        f"The five tests reject this correct q in {' to '.join(ends)} of {trials} repeats, by "
        f"chance: each is set to at most {level_text(LEVEL)}."
    )


def _strongest_and_weakest(rate: Array, trials: int) -> str:
    """Uniform's share of repeats, then the tests with the most and the fewest rejections.

    With the first, and with the last, stand those whose rates are not told from its own at 5%,
    Bonferroni's share for each pair and side; apart from them those that are told from neither.
    """
    shown = [share_text(share) for share in rate]
    own = f"{shown[_UNIFORM]} of repeats"
    if len(set(shown)) == 1:
        return f"{own}, as would all five tests."
    rising = [int(i) for i in rate.argsort(kind="stable")]
    worst, best = rising[0], rising[-1]
    apart = higher_rate_pvalue(rate[:, None], rate, trials) <= _NAMED / (
        len(rate) * (len(rate) - 1)
    )
    if not apart[best, worst]:
        ends = f"{shown[worst]} to {shown[best]}"
        return f"{own}, and {trials} repeats tell no two of the five tests apart ({ends})."
    least = [i for i in rising if not apart[i, worst] and apart[best, i]]
    most = [i for i in rising[::-1] if not apart[best, i] and apart[i, worst]]
    neither = [i for i in rising if not apart[i, worst] and not apart[best, i]]
    weak, strong = _with_shares(least, shown), _with_shares(most, shown)
    if _UNIFORM in most:
        said = f"{_beside(most, shown)}the most of five tests; {weak} would notice least"
    elif _UNIFORM in least:
        said = f"{_beside(least, shown)}the fewest of five tests; {strong} would notice most"
    else:
        said = f"; {strong} would notice most, {weak} least"
    but = f", but neither is told from {_with_shares(neither, shown)}" if neither else ""
    return f"{own}{said}{but}."


def _beside(tests: Sequence[int], shown: Sequence[str]) -> str:
    """The tests that stand with Uniform, whose own share is already said."""
    others = [i for i in tests if i != _UNIFORM]
    return f", with {_with_shares(others, shown)} " if others else ", "


def _with_shares(tests: Sequence[int], shown: Sequence[str]) -> str:
    """Tests by name, each with its share of repeats: once where all have the same."""
    titles, shares = [short_title(METHODS[i]) for i in tests], [shown[i] for i in tests]
    if len(tests) > 1 and len(set(shares)) == 1:
        return f"{list_text(titles)} ({shares[0]} each)"
    return list_text([f"{title} ({share})" for title, share in zip(titles, shares, strict=True)])
