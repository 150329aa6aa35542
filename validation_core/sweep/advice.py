"""Recommend a test, from the cheap draws and the kind of error to detect.

After Bansal, Chen, Scott (2025), Appendix D: Uniform where draws from p are cheap, Multiple
where they are not; and after the kinds of error that the other tests can and cannot detect.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal, NamedTuple

from validation_core.methods import LC2ST, SBC, TARP, CoLT, Multiple, Uniform, WithinX
from validation_core.methods.base import LEARN_ROWS, RANK_ROWS, Method
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
        if self.pairs < RANK_ROWS or self.draws < 1 or self.more < 0 or self.seconds <= 0:
            raise ValueError(
                f"Advice needs at least {RANK_ROWS} true pairs, 1 draw of q at each x, no "
                f"negative number of further pairs and some time; got {self.pairs}, {self.draws}, "
                f"{self.more} and {self.seconds:g} s. Change what is too small."
            )


class _Advice(NamedTuple):
    """A recommended method, the reason, its blind spots, and the next best method."""

    method: Method
    why: tuple[str, ...]
    limits: str
    instead: Method | None
    """Method to run beside it, or instead where it is in doubt."""
    instead_why: str

    def rows(self, at: Situation) -> int:
        """True pairs that it takes, those to learn from included: further ones for Uniform."""
        return at.pairs + (at.more if isinstance(self.method, Uniform) else 0)


def advise(at: Situation) -> _Advice:
    """Recommend a method for a situation, and another beside it where there are rows for it."""
    advice = _WANTED[at.want](at)
    if advice.instead is None or _least_rows(advice.instead) <= advice.rows(at):
        return advice
    return advice._replace(instead=None, instead_why="")


def calibration(at: Situation) -> int:
    """Affordable m of Uniform: further true pairs for each of those to test on, at most 50, and no
    more than a table of all of them has rows for."""
    return min(_MOST_M, at.more // at.pairs, Uniform.most_m(at.pairs + at.more, table=True))


def _least_rows(method: Method) -> int:
    """Fewest rows of a table that a method runs on."""
    least, _ = method.least_rows(table=True)
    return max(least, RANK_ROWS)


def _verdict(at: Situation) -> _Advice:
    if at.seconds < _QUICK:
        return _untrained(at)
    m = calibration(at)
    if m >= 5:
        return _Advice(
            Uniform(m=m),
            (
                f"With {at.more:,} further true pairs a table has {at.pairs + at.more:,} rows: "
                "half of them train the score, and a quarter give each tested draw of q m = "
                f"{m} calibration draws of its own.",
                "The variance that calibration adds to a rank falls as 1/m"
                + (f"; beyond {_MOST_M} little is gained." if m == _MOST_M else "."),
                "It uses the order of the scores only, so that a weak classifier costs power, "
                "never validity.",
            ),
            "It needs the most draws from p of all.",
            Multiple(),
            "It takes no calibration draws, if its law may be asymptotic. It looks to one side: "
            "whether p's scores rank above q's.",
        )
    if at.pairs < _least_rows(Multiple()):
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
            "A weak classifier that orders draws rightly costs it little. One near its random "
            "start may order them the wrong way round: then Multiple, which looks to one side, "
            "finds nothing, where Uniform still does. Of three networks that learnt a mean shift "
            "of 0.15, moved 90% of the way back to their start, Multiple rejects with 100%, 0% "
            "and 0% power, Uniform(50) with 100%, 77% and 18%.",
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
    if at.draws >= 2 and at.pairs >= _least_rows(WithinX()):
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
    if at.pairs < LEARN_ROWS:
        lacking = f"{at.pairs} pairs are too few to learn a score from"
    why = (
        f"{lacking}; ranks of the draws themselves need none, and are exactly uniform under q = "
        "p.",
    )
    if at.draws < _FEW_DRAWS or at.pairs < _least_rows(TARP(reference="x")):
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
    if at.pairs < (least := _least_rows(CoLT())):
        return _untrained(at)._replace(
            limits=f"It does not say where: that takes at least {least} true pairs."
        )
    return _Advice(
        CoLT(),
        (
            "It learns a centre at each x and a distance: the region to which q gives the "
            "wrong mass.",
            "Its p-value is exact, its place was learnt on other rows.",
            *_longer(at),
        ),
        f"It learns a place from few draws, {at.draws} at each x: bring at least {_FEW_DRAWS}."
        if at.draws < _FEW_DRAWS
        else "It names one region at each x: further errors elsewhere may stay unnamed.",
        LC2ST(points=1),
        "It asks at one x and colours q's draws there by what is wrong.",
    )


def _observation(at: Situation) -> _Advice:
    if at.pairs < (least := _least_rows(LC2ST(points=1))):
        return _untrained(at)._replace(
            limits=f"It asks at all x together: one x takes at least {least} true pairs."
        )
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
