"""Recommend a test, from the cheap draws and the kind of error to detect.

After Bansal, Chen, Scott (2025), Appendix D: Uniform where draws from p are cheap, Multiple
where they are not; and after the kinds of error that the other tests can and cannot detect.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal, NamedTuple

from validation_core.methods import LC2ST, SBC, TARP, CoLT, Multiple, Uniform, WithinX
from validation_core.methods.base import Method
from validation_core.text import count_text

Want = Literal["verdict", "exact", "place", "observation"]
WANTS: dict[Want, str] = {
    "verdict": "one verdict, with the most power",
    "exact": "a p-value that is exact at any sample size",
    "place": "where in theta and x it is wrong",
    "observation": "whether it is right at one observation",
}
_FEW_DRAWS = 20  # of q at an x: fewer make ranks coarse and a ball's mass noisy
_QUICK = 5.0  # seconds in which no network is worth training
_FEW_POINTS = 200  # test points below which asymptotic laws are not to be trusted
_MOST_M = 50  # the variance that calibration adds falls as 1/m: more calibration draws buy little
_LEAST_ROWS = 40  # half of them train, a quarter of those are held out


@dataclass(frozen=True, kw_only=True)
class Situation:
    """Available simulations and draws, and the kind of error to detect."""

    pairs: int
    """True pairs (theta, x) kept for testing."""
    more: int = 0
    """Further true pairs that are cheap to simulate, for calibration."""
    draws: int = 100
    """Draws of q available at each x."""
    seconds: float = 60.0
    want: Want = "verdict"

    def __post_init__(self) -> None:
        if self.pairs < 2 or self.draws < 1 or self.more < 0 or self.seconds <= 0:
            raise ValueError(
                "Advice needs at least 2 true pairs, 1 draw of q at each x, no negative number of "
                f"further pairs and some time; got {self.pairs}, {self.draws}, {self.more} and "
                f"{self.seconds:g} s. Change what is too small."
            )


class _Advice(NamedTuple):
    """A recommended method, the reason, its blind spots, and the next best method."""

    method: Method
    why: tuple[str, ...]
    limits: str
    instead: Method | None
    """Method to run beside it, or instead where it is in doubt."""
    instead_why: str


def advise(at: Situation) -> _Advice:
    """Recommend a method for a situation."""
    return _WANTED[at.want](at)


def calibration(at: Situation) -> int:
    """Affordable m of Uniform: further true pairs for each test point, at most 50."""
    return min(_MOST_M, at.more // at.pairs)


def _verdict(at: Situation) -> _Advice:
    if at.seconds < _QUICK:
        return _untrained(at)
    m = calibration(at)
    if m >= 5:
        return _Advice(
            Uniform(m=m),
            (
                f"{at.more:,} further true pairs give each of the {at.pairs:,} test points m = "
                f"{m} calibration draws of its own.",
                "The variance that calibration adds to a rank falls as 1/m"
                + (f"; beyond {_MOST_M} little is gained." if m == _MOST_M else "."),
                "It uses the order of the scores only, so that a weak classifier costs power, "
                "never validity.",
            ),
            "It needs the most draws from p of all.",
            Multiple(),
            f"The same question with {at.pairs:,} draws from p, if its law may be asymptotic.",
        )
    if at.pairs < _LEAST_ROWS:
        return _untrained(at)
    if at.draws >= _FEW_DRAWS:
        return _Advice(
            WithinX(),
            (
                f"Each true value is ranked among q's {at.draws:,} draws at its own x: no further "
                "true pair is needed.",
                "Exact for any classifier that learnt from other rows.",
            ),
            "It needs the true value and the draws of q at the same x.",
            CoLT(),
            "It looks where the error is largest, and says where that is.",
        )
    return _Advice(
        Multiple(),
        (
            f"With {count_text(at.draws, 'draw')} of q at each x and {at.more:,} further true "
            f"pairs for {at.pairs:,} test points it takes one true value and one draw per row, as "
            "C2ST does.",
            "It reads the order of the scores, not their threshold: a classifier that scores "
            "all draws too high costs it nothing.",
            "A classifier near its random start may order the draws the wrong way round: then "
            "Multiple, which looks to one side, finds nothing, where Uniform still does.",
        ),
        "Its law is asymptotic"
        + (f"; {at.pairs} points are few for that." if at.pairs < _FEW_POINTS else "."),
        SBC(),
        "Exact and at no further cost, but blind to a q that ignores x.",
    )


def _exact(at: Situation) -> _Advice:
    m = calibration(at)
    if at.seconds < _QUICK:
        return _untrained(at)
    if m >= 1 and at.draws < _FEW_DRAWS:
        return _Advice(
            Uniform(m=m),
            (
                "Each test point has calibration draws of its own: its ranks are exactly uniform "
                "under q = p, at any size and for any classifier.",
            ),
            "Small m makes ranks coarse: power grows up to m of about 50.",
            SBC(),
            "Exact for each parameter, with no network.",
        )
    if at.draws >= 2 and at.pairs >= _LEAST_ROWS:
        return _Advice(
            WithinX(),
            (
                f"Given x, the true value and q's {at.draws:,} draws are exchangeable if q is "
                "correct: the rank is exactly uniform for any score learnt on other rows.",
                "It needs no further true pair.",
            ),
            "The score is learnt on half of the rows.",
            SBC(),
            "Exact too, uses every row, but looks at one parameter at a time.",
        )
    return _Advice(
        SBC(),
        ("Ranks of the true parameters among q's draws are exactly uniform under q = p.",),
        "Blind to correlations between parameters and to a q that ignores x.",
        TARP(reference="x"),
        "Exact too, and its points that follow x see a q that ignores it.",
    )


def _untrained(at: Situation) -> _Advice:
    """The test for a moment, or for few pairs: ranks of the draws themselves, exact for any q."""
    lacking = f"{at.seconds:g} s train no network"
    if at.seconds >= _QUICK:
        lacking = f"{at.pairs} pairs are too few to learn a score from"
    why = (
        f"{lacking}; ranks of the draws themselves need none, and are exactly uniform under q = "
        "p.",
    )
    if at.draws < _FEW_DRAWS:
        return _Advice(
            SBC(),
            (*why, "It names the parameters that are off."),
            "Blind to correlations between parameters and to a q that ignores x.",
            TARP(reference="x"),
            "Exact too, and its points that follow x see a q that ignores it.",
        )
    return _Advice(
        TARP(reference="x"),
        why,
        "It sees little of what is wrong in the shape of the joint posterior.",
        SBC(),
        "It names the parameters that are off.",
    )


def _longer(at: Situation) -> tuple[str, ...]:
    """That the time is too short for a test without a stand-in; nothing where it is not."""
    if at.seconds >= _QUICK:
        return ()
    return (f"It trains a network first, which takes longer than {at.seconds:g} s.",)


def _place(at: Situation) -> _Advice:
    few = at.draws < _FEW_DRAWS or at.pairs < _LEAST_ROWS
    have = f"{count_text(at.pairs, 'pair')} with {count_text(at.draws, 'draw')}"
    return _Advice(
        CoLT(),
        (
            "It learns a centre at each x and a distance: the region to which q gives the "
            "wrong mass.",
            "Its p-value is exact, its place was learnt on other rows.",
            *_longer(at),
        ),
        f"{have} each are few to learn a place from: bring at least {_LEAST_ROWS} pairs with "
        f"{_FEW_DRAWS} draws."
        if few
        else "It names one region at each x: further errors elsewhere may stay unnamed.",
        LC2ST(points=1),
        "It asks at one x and colours q's draws there by what is wrong.",
    )


def _observation(at: Situation) -> _Advice:
    return _Advice(
        LC2ST(points=1),
        (
            "It asks at your x alone, and needs no true parameter there.",
            "Its null is learnt by swapping true value and draw within each pair.",
            *_longer(at),
        ),
        "Exact only if q is correct at every x; at one x its law is asymptotic.",
        CoLT(),
        "Its map over x shows whether your x lies where q fails.",
    )


_WANTED: dict[Want, Callable[[Situation], _Advice]] = {
    "verdict": _verdict,
    "exact": _exact,
    "place": _place,
    "observation": _observation,
}
