"""Lesson 9: power, built up from rows of dots, and a budget of simulations."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from validation_core import sampling, statistics
from validation_core.benchmarks import Boundary
from validation_core.drawing import style
from validation_core.drawing.marks import (
    Axis,
    HLine,
    Line,
    Over,
    Panel,
    Points,
    Slider,
    VLine,
    formatted,
    over,
    sentence,
    written,
)
from validation_core.drawing.power_curves import (
    Rates,
    line_key,
    rate_line,
    rate_points,
    rejection_axis,
)
from validation_core.lessons.lesson import (
    Beat,
    FollowUp,
    Formula,
    NumberGuess,
    Prediction,
    Stage,
    run_through,
)
from validation_core.lessons.study import LessonStudy
from validation_core.methods import C2ST, SBC, Uniform
from validation_core.rng import common, stream
from validation_core.scores import LinearBoundary
from validation_core.store import Store
from validation_core.study import Report
from validation_core.types import Array, MethodStyle

GAMMAS = (0.0, 0.1, 0.2, 0.3, 0.5)
BUDGETS = (
    50, 70, 100, 140, 200, 250, 300, 350, 400, 500, 600, 700, 850, 1000, 1200, 1400, 1700, 2000,
    2500, 3000, 4000, 6000,
)  # fmt: skip
"""Budgets of simulations, which each test spends differently."""
TRIALS = 400
ALPHA = 0.05
POWER = 0.8
_ACROSS = 50  # dots of a line
_STEP = 20  # trials that the slider adds
_SBC, _UNIFORM = (20, 4), (5, 20)  # draws of q at each x; calibration draws of each test point
TESTS = (*(f"SBC, K = {k}" for k in _SBC), "C2ST", *(f"Uniform, m = {m}" for m in _UNIFORM))
_TICKS = (50, 200, 1000, 5000)
_COLORS = (*(SBC.style.color,) * 2, C2ST.style.color, *(Uniform.style.color,) * 2)


class _RejectionCounts(NamedTuple):
    """Whether a test at the 5% level rejects: bool (tests, G, N, TRIALS)."""

    rejected: NDArray[np.bool_]


_SPENT = Slider("n", BUDGETS, label="Simulations, n", form="{:,.0f}", start=100, play=True, rate=4)
_GAMMA = Slider("gamma", GAMMAS, label="Bias, gamma", form="{:g} sd", start=0.2)
_TEST = Slider("test", range(len(TESTS)), label="Test", names=TESTS)
_TRIALS = Slider(
    "trials",
    range(0, TRIALS + 1, _STEP),
    label="Trials",
    form="{:g}",
    start=TRIALS,
    play=True,
    rate=10,
)
_BIAS = written(GAMMAS, "{:g}", "gamma")


@dataclass(frozen=True, kw_only=True)
class CouldYouHaveSeenIt(LessonStudy[_RejectionCounts], spec="lesson_could_you_have_seen_it"):
    """Rejections of tests at growing budgets; a smaller one is the first part of the largest."""

    name = "could-you-have-seen-it"
    number = 9
    title = "Could you have seen it?"
    short = "Power"
    question = "The test found nothing. Could it have found anything?"
    minutes = 7
    sliders = (_SPENT, _GAMMA, _TEST, _TRIALS)
    papers = (SBC.paper, C2ST.paper, Uniform.paper)
    onwards = FollowUp(label="What would be found with 80% power in my table?")

    def compute(self, store: Store, report: Report) -> _RejectionCounts:
        """Run all trials; those at different gammas share their random numbers."""
        rejected = np.empty((len(TESTS), len(GAMMAS), len(BUDGETS), TRIALS), dtype=bool)
        for g, gamma in enumerate(GAMMAS):
            for t in range(TRIALS):
                ranks = [sbc_ranks(gamma, k, self.seed, t) for k in _SBC]
                p, q = _sides(gamma, BUDGETS[-1], self.seed, t)
                conformal = [_conformal(p, q, m, self.seed, t) for m in _UNIFORM]
                for i, budget in enumerate(BUDGETS):
                    n = rows_tested(budget)
                    pvalues = [
                        *(_ks(u[: n[test]]) for test, u in enumerate(ranks)),
                        statistics.c2st(p[: n[2]], q[: n[2]]).pvalue,
                        *(_ks(u[: n[3 + i]]) for i, u in enumerate(conformal)),
                    ]
                    rejected[:, g, i, t] = np.array(pvalues) <= ALPHA
        return _RejectionCounts(rejected)

    def prediction(self, result: _RejectionCounts) -> Prediction:
        truth = float(simulations_needed(_rates(result))[0, GAMMAS.index(0.2)])
        guess = NumberGuess(
            label=f"Simulations to find a bias of 0.2 sd with {POWER:.0%} power",
            truth=truth,
            values=range(10, 1001, 10),
            form="{:g}",
            found="{:.0f}",
            start=500,
        )
        said = np.asarray(guess.values)
        return Prediction(
            asked=[guess],
            answer=sentence(
                f"You said {{said}}; {TESTS[0]}, takes about {truth:.0f}. {{comment}}",
                said=guess.words,
                comment=over(
                    np.select(
                        [said < 0.75 * truth, said > 1.33 * truth],
                        [
                            "With fewer it misses the bias too often.",
                            "You would have spent more than you need.",
                        ],
                        "Well budgeted.",
                    ),
                    "guess",
                ),
            ),
        )

    def stages(self, result: _RejectionCounts) -> list[Stage]:
        hits, rate = result.rejected.sum(-1), _rates(result)
        enough = simulations_needed(rate)
        by = ("test", "gamma", "n")
        power = written(rate, "{:.1%}", *by)
        low, high = (written(end, "{:.0%}", *by) for end in statistics.wilson(hits, TRIALS))
        rows = [[f"{n:,}" for n in rows_tested(budget)] for budget in BUDGETS]
        return [
            Stage(
                title="Predict",
                words="q's mean is 0.2 posterior standard deviations off. A dot is one whole "
                "check of q with new simulations: filled where SBC rejects at the 5% level. "
                f"How many simulations does it take until {POWER:.0%} of the dots are filled?",
                panels=[0],
                at={"trials": TRIALS, "test": 0, "n": 100, "gamma": 0.2},
                beats=run_through(_TRIALS, 7.0),
            ),
            Stage(
                title="Reveal",
                words=sentence(
                    f"{TESTS[0]}, {{n}} simulations: of {{trials}} checks of a {{kind}}, {{hits}} "
                    "reject. That share estimates the {name}: {share}, 95% interval {low} to "
                    "{high}. {advice}",
                    n=_SPENT.words,
                    kind=_by_gamma("correct q", "q that is {:g} sd off"),
                    name=_by_gamma("rate of false alarms", "power"),
                    advice=_by_gamma(
                        "The rate itself is 5% at any number of simulations.",
                        "More trials tell it better; more simulations raise it.",
                    ),
                    trials=_TRIALS.words,
                    **{
                        name: over(text, "gamma", "n", "trials")
                        for name, text in _so_far(result.rejected[0]).items()
                    },
                ),
                panels=[0, 1],
                sliders=["n", "gamma", "trials"],
                at={"trials": TRIALS, "n": 100, "gamma": 0.2, "test": 0},
                beats=[*run_through(_TRIALS, 7.0), Beat(at={"n": 1000}, seconds=8.0)],
            ),
            Stage(
                title="Break it",
                words=sentence(
                    "{test} turns {n} simulations into {rows} rows to test. {kind} {power} of "
                    "checks ({low} to {high}){beside}. Take fewer simulations, fewer draws or "
                    "another test.",
                    test=_TEST.words,
                    n=_SPENT.words,
                    rows=over(np.array(rows).T, "test", "n"),
                    kind=_by_gamma("A correct q is rejected in", "A bias of {:g} is found in"),
                    power=power,
                    low=low,
                    high=high,
                    beside=over(_beside(rate), *by),
                ),
                panels=[1, 0],
                sliders=["test", "n", "gamma"],
                at={"trials": TRIALS, "n": 600, "gamma": 0.2, "test": 0},
                beats=[
                    *(Beat(at={"test": i}, seconds=3.0) for i in range(1, len(TESTS))),
                    Beat(at={"test": 2, "n": 50}, seconds=4.0),
                ],
            ),
            Stage(
                title="Spend",
                words=sentence(
                    "{task} You spend {n} on {test}: {name} {power} ({low} to {high}). {grade}",
                    task=_by_gamma(
                        "q is correct.",
                        f"Find a bias of {{:g}} with {POWER:.0%} power, and spend no more than "
                        "you must.",
                    ),
                    name=_by_gamma("rejected", "power"),
                    n=_SPENT.words,
                    test=_TEST.words,
                    power=power,
                    low=low,
                    high=high,
                    grade=over(_grades(rate, enough), *by),
                ),
                panels=[2, 1],
                sliders=["gamma", "test", "n"],
                at={"trials": TRIALS, "n": 100, "gamma": 0.3, "test": 0},
                beats=[Beat(at={"n": 2000}, seconds=6.0), Beat(at={"n": 100}, seconds=3.0)],
            ),
            Stage(
                title="Why",
                words="Power is a chance, and a share of independent trials estimates it with an "
                "error that shrinks as one over their root. The noise of a test shrinks as one "
                "over the root of its simulations too, so half the bias takes about four times "
                "as many.",
                panels=[1],
                sliders=["n", "gamma", "test"],
                at={"trials": TRIALS, "test": 0, "gamma": 0.2, "n": 250},
                formula=Formula(
                    latex=r"\frac{\text{@hits}}{\text{@trials}} = \text{@power}, \quad "
                    r"n_{80} \; \text{@need}",
                    values={
                        "hits": written(hits, "{:.0f}", *by),
                        "trials": str(TRIALS),
                        "power": power,
                        "need": written(enough, _about, "test", "gamma"),
                    },
                    source="Wilson (1927) for the interval; n80 is read off these trials",
                ),
                beats=[Beat(at={"gamma": 0.1}), Beat(at={"gamma": 0.3})],
            ),
            Stage(
                title="What it does not tell",
                words="“Not rejected” says little until you know the power. And this power is "
                "for a shift of one parameter, with the score that suits it: another error of "
                "the same size may need many more simulations, or another test.",
                panels=[0],
                sliders=["n", "test"],
                at={"trials": TRIALS, "n": 100},
            ),
        ]

    def panels(self, result: _RejectionCounts) -> list[Panel]:
        return [_dots(result.rejected), _curves(result), _spent(_rates(result))]


def _by_gamma(correct: str, wrong: str) -> Over:
    """Words for a correct q, and for each bias, which is written in them."""
    return over([wrong.format(gamma) if gamma else correct for gamma in GAMMAS], "gamma")


def _beside(rate: Array) -> NDArray[np.str_]:
    """False alarms beside a power, in words: (tests, G, N); nothing where gamma is 0."""
    words = np.full(rate.shape, "", dtype="<U60")
    alarms = formatted(rate[:, 0], "{:.1%}")
    words[:, 1:] = np.char.add("; a correct q is rejected in ", alarms)[:, None]
    return words


def rows_tested(budget: int) -> tuple[int, ...]:
    """Sample size of each test's statistic, from a budget of simulations.

    SBC ranks every true value; C2ST compares one half with q's draws at the x of the other;
    Uniform needs m simulations to calibrate each test point, and one whose x q is drawn at.
    """
    return (*(budget for _ in _SBC), budget // 2, *(budget // (m + 1) for m in _UNIFORM))


def sbc_ranks(gamma: float, k: int, seed: int, trial: int) -> Array:
    """Randomised ranks (n,) of true values among k draws of q at each x."""
    rng = common(seed, "sbc", k, trial)
    drawn = sampling.table(Boundary(), gamma, BUDGETS[-1], k, rng)
    ties = stream(seed, "ties", k, trial)
    return statistics.conformal_ranks(drawn.theta[:, 0], drawn.q[..., 0], ties)


def _sides(gamma: float, n: int, seed: int, trial: int) -> tuple[Array, Array]:
    """Scores (n,) of independent draws of p and of q, by the optimal boundary at gamma = 1/2."""
    score = LinearBoundary()
    drawn = sampling.blocks(Boundary(), gamma, n, n, common(seed, "blocks", trial))
    return score(drawn.p.theta, drawn.p.x), score(drawn.q.theta, drawn.q.x)


def _conformal(p: Array, q: Array, m: int, seed: int, trial: int) -> Array:
    """Ranks (n,) of scores of q, each among m scores of p of its own."""
    n = len(p) // (m + 1)
    own = p[: n * m].reshape(n, m)
    return statistics.conformal_ranks(q[:n], own, stream(seed, "conformal", m, trial))


def _ks(u: Array) -> float:
    """P-value of the KS test; 1 for too few ranks."""
    return float(statistics.ks(u).pvalue) if len(u) > 1 else 1.0


def simulations_needed(rate: Array) -> Array:
    """Simulations (...) from which on the power (..., N) is at least POWER; NaN if it never is.

    Between two budgets the power is interpolated linearly in their logarithm.
    """
    enough = np.flip(np.logical_and.accumulate(np.flip(rate >= POWER, -1), -1), -1)
    first = np.argmax(enough, -1)
    at, before = np.log(np.array(BUDGETS)), np.maximum(first - 1, 0)
    high = np.take_along_axis(rate, first[..., None], -1)[..., 0]
    low = np.take_along_axis(rate, before[..., None], -1)[..., 0]
    part = np.where(high > low, (POWER - low) / np.where(high > low, high - low, 1), 1.0)
    n = np.exp(at[before] + np.clip(part, 0, 1) * (at[first] - at[before]))
    return np.where(enough.any(-1), n, np.nan)


def _rates(result: _RejectionCounts) -> Array:
    """Rejection rates (tests, G, N)."""
    return np.asarray(result.rejected.mean(-1))


def _about(n: float) -> str:
    if not np.isfinite(n):
        return f"> {BUDGETS[-1]:,}"
    return f"= {n:,.0f}" if n > BUDGETS[0] else f"≤ {n:,.0f}"


def _needed(n: float) -> str:
    return f"about {n:,.0f}" if n > BUDGETS[0] else f"{n:,.0f} or fewer"


def _so_far(rejected: NDArray[np.bool_]) -> dict[str, NDArray[np.str_]]:
    """Text (G, N, trials) of rejections (G, N, TRIALS) so far: count, rate and its interval."""
    hits = rejected.cumsum(-1)[..., _STEP - 1 :: _STEP]
    trials = np.broadcast_to(np.array(_TRIALS.grid[1:]), hits.shape)
    low, high = statistics.wilson(hits, trials)
    percents = {"share": (hits / trials, "–"), "low": (low, "0%"), "high": (high, "100%")}
    texts = {
        name: _after(none, formatted(values, "{:.0%}"))
        for name, (values, none) in percents.items()
    }
    return {"hits": _after("0", formatted(hits, "{:.0f}")), **texts}


def _after(none: str, text: NDArray[np.str_]) -> NDArray[np.str_]:
    """Text (..., T) after that of no trial at all."""
    return np.concatenate([np.full((*text.shape[:-1], 1), none), text], -1)


def _budget(enough: Array) -> Array:
    """Simulations missing, well spent and wasted, of every budget: (3, ..., N)."""
    spent = np.array(BUDGETS, float)
    want = np.where(np.isfinite(enough), enough, BUDGETS[-1])[..., None]
    parts = np.maximum(want - spent, 0), np.minimum(spent, want), np.maximum(spent - want, 0)
    return np.stack(parts)


def _grades(rate: Array, enough: Array) -> NDArray[np.str_]:
    """Assessment of every budget, in words."""
    waste = _budget(enough)[-1]
    words = np.full(rate.shape, "", dtype="<U160")
    for at in np.ndindex(*rate.shape):
        need = float(enough[at[:-1]])
        if at[1] == 0:
            words[at] = "There is no bias to find: what is rejected is a false alarm."
        elif not np.isfinite(need):
            words[at] = f"Too few: even {BUDGETS[-1]:,} are not enough for this test."
        elif rate[at] < POWER:
            words[at] = f"Too few: {_needed(need)} reach {POWER:.0%}."
        elif waste[at] > 0.25 * need:
            least = "" if need > BUDGETS[0] else "at least "
            wasted = f"{least}{waste[at]:,.0f} are wasted"
            words[at] = f"Enough, but {wasted}: {_needed(need)} would do."
        else:
            words[at] = f"Well spent: {_needed(need)} are needed."
    return words


def _dots(rejected: NDArray[np.bool_]) -> Panel:
    """A row of TRIALS dots for each gamma, in lines of _ACROSS."""
    lines = TRIALS // _ACROSS
    t = np.arange(TRIALS)
    x = np.tile(t % _ACROSS, len(GAMMAS)).astype(float)
    y = np.concatenate([row * (lines + 1.5) + t // _ACROSS for row in range(len(GAMMAS))])
    run = np.tile(t, len(GAMMAS)) < np.array(_TRIALS.grid)[:, None]
    there = over(np.where(run, y, np.nan), "trials", coarse=True)
    filled = rejected.transpose(0, 2, 1, 3).reshape(len(TESTS), len(BUDGETS), -1)
    bottom = len(GAMMAS) * (lines + 1.5) - 1
    return Panel(
        [
            Points(x, there, color=style.NULL, size=2.5, opacity=0.35),
            Points(
                over(np.where(filled, x, np.nan), "test", "n", coarse=True),
                there,
                color=style.OBSERVED,
                size=4,
            ),
        ],
        title=f"{TRIALS} checks for each bias of q",
        caption="The top row is a correct q: about 5% of its dots are filled, by chance. A dot "
        "shares its random numbers with those of the other rows.",
        x=Axis((-1, _ACROSS), hidden=True),
        y=Axis(
            (bottom, -1.5),
            "bias, gamma",
            ticks=[row * (lines + 1.5) + (lines - 1) / 2 for row in range(len(GAMMAS))],
            names=[f"{g:g} sd" for g in GAMMAS],
        ),
        height=380,
        legend=[("rejects q", style.OBSERVED, "circle"), ("does not", style.NULL, "circle")],
    )


def _curves(result: _RejectionCounts) -> Panel:
    at = np.log10(BUDGETS)
    looks = [MethodStyle(color, "3 3" if i in (1, 4) else "") for i, color in enumerate(_COLORS)]
    here = Rates.of(result.rejected.sum(-1)[..., None], TRIALS)
    marked = MethodStyle(style.OBSERVED, "", "circle")
    return Panel(
        [
            HLine(POWER, color=style.NULL),
            *(
                rate_line(at, line, look, "gamma", coarse=True, width=1.5)
                for line, look in zip(_rates(result), looks, strict=True)
            ),
            VLine(over(at, "n"), width=1),
            rate_points(over(at[:, None], "n"), here, marked, "test", "gamma", "n", size=9),
        ],
        title=sentence("Share that rejects a bias of {gamma} sd", gamma=_BIAS),
        caption=f"Broken lines: {TESTS[1]}; {TESTS[4]}. Dashed: {POWER:.0%}.",
        x=Axis.of_logarithms((at[0] - 0.03, at[-1] + 0.03), "simulations", _TICKS),
        y=rejection_axis(),
        height=320,
        legend=[
            line_key("SBC", looks[0]),
            line_key("C2ST", looks[2]),
            line_key("Uniform", looks[3]),
        ],
    )


def _spent(rate: Array) -> Panel:
    """Panel of simulations well spent, then wasted or missing, as one horizontal bar."""
    missing, well, waste = _budget(simulations_needed(rate))
    ends = np.log10(np.stack([well, well + waste, well + waste + missing]))  # (3, ..., N)
    left = np.log10(BUDGETS[0]) - 0.1
    by = ("test", "gamma", "n")
    edges = [np.full_like(ends[0], left), *ends]
    colors = (style.P, style.Q, style.NULL)
    marks = [
        Line(
            over(np.stack([a, b, b, a, a], -1), *by, coarse=True),
            [0.3, 0.3, 0.7, 0.7, 0.3],
            color=color,
            fill=0.7,
            width=1,
        )
        for a, b, color in zip(edges[:-1], edges[1:], colors, strict=True)
    ]
    return Panel(
        marks,
        title="Your budget",
        x=Axis.of_logarithms(
            (left, np.log10(BUDGETS[-1]) + 0.03), "simulations, logarithmic", _TICKS
        ),
        y=Axis((0, 1), hidden=True),
        height=170,
        legend=[
            ("well spent", style.P, "square"),
            ("wasted", style.Q, "square"),
            ("missing", style.NULL, "square"),
        ],
    )
