"""Lesson 4: p-values as rain, trial by trial, and a line-up of nulls with one alternative."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from validation_core import sampling, statistics
from validation_core.benchmarks import Boundary
from validation_core.drawing import style
from validation_core.drawing.marks import (
    Axis,
    Bars,
    HLine,
    Over,
    Panel,
    Rain,
    Slider,
    VLine,
    over,
    sentence,
    written,
)
from validation_core.drawing.rank_histogram import growing_band, rank_counts
from validation_core.lessons.lesson import Beat, FollowUp, Formula, PictureGuess, Prediction, Stage
from validation_core.lessons.so_far import sums_so_far
from validation_core.lessons.study import LessonStudy
from validation_core.methods import Uniform
from validation_core.rng import common, stream
from validation_core.scores import LinearBoundary
from validation_core.store import Store
from validation_core.study import Report
from validation_core.text import count_text, said_equals
from validation_core.types import Array, Integers

GAMMAS = tuple(round(0.05 * step, 2) for step in range(13))
"""Bias of q, in standard deviations."""
N, M, TRIALS = 60, 20, 400
"""Test points of a trial, calibration points of each, trials."""
LINEUPS, SUSPECTS, RAINED, GUILTY = 6, 20, 100, 0.15
"""Line-ups, rains in each, trials in a rain, and the gamma of the one that is no null."""
_BINS = 20
_ALPHA = 0.05
_RANKS = 10  # bins of an opened trial's ranks


class _RainResult(NamedTuple):
    """P-values of Uniform(M) at G gammas on T trials, and line-ups of them."""

    pvalues: Array
    """(G, T) of the exact KS test on N conformal ranks."""
    ranks: NDArray[np.int8]
    """(G, T, 10) counts of the ranks behind each p-value."""
    suspects: Array
    """(LINEUPS, SUSPECTS, RAINED) p-values; all at gamma 0 but for one rain."""
    guilty: Integers
    """(LINEUPS,) number of that rain, from 1."""


_LINEUP = Slider("lineup", range(LINEUPS), label="Line-up", button="New line-up")
_TRIALS = Slider("trials", range(TRIALS + 1), label="Trials", form="{:g}", play=True, rate=30)
_GAMMA = Slider(
    "gamma", GAMMAS, label="Strength, gamma", form="{:g}", ends=("q = p", "0.6 sd off")
)
_OPEN = Slider("open", range(TRIALS), label="Opened trial", hidden=True)
_AT = Slider("at", range(len(GAMMAS)), label="Its gamma", hidden=True)
_RAIN, _OPENED = SUSPECTS, SUSPECTS + 1  # places of the panels


@dataclass(frozen=True, kw_only=True)
class RainOfPvalues(LessonStudy[_RainResult], spec="lesson_rain"):
    """Trials of Uniform on two normals; neighbouring gammas share their noise."""

    name = "rain"
    number = 4
    title = "A rain of p-values"
    short = "P-values"
    question = "Twenty rains of p-values. In one of them q is wrong: which?"
    minutes = 7
    sliders = (_LINEUP, _TRIALS, _GAMMA, _OPEN, _AT)
    papers = (Uniform.paper,)
    onwards = FollowUp(label="The p-values of my own table")

    def compute(self, store: Store, report: Report) -> _RainResult:
        """Draw each trial anew, with the same noise at every gamma."""
        u = np.stack(
            [
                draw_conformal_ranks(
                    gamma, TRIALS, common(self.seed, "rain"), stream(self.seed, "ties")
                )
                for gamma in GAMMAS
            ]
        )
        report(0.5, {})
        rng = stream(self.seed, "line-up")
        guilty = rng.integers(SUSPECTS, size=LINEUPS)
        suspects = np.empty((LINEUPS, SUSPECTS, RAINED))
        for i in range(LINEUPS):
            for j in range(SUSPECTS):
                gamma = GUILTY if j == guilty[i] else 0.0
                rng = stream(self.seed, "suspect", i, j)
                drawn = draw_conformal_ranks(gamma, RAINED, rng, rng)
                suspects[i, j] = statistics.ks(drawn).pvalue
        bins = np.minimum((_RANKS * u).astype(int), _RANKS - 1)
        counts = (bins[..., None] == np.arange(_RANKS)).sum(-2)
        return _RainResult(statistics.ks(u).pvalue, counts.astype(np.int8), suspects, guilty + 1)

    def prediction(self, result: _RainResult) -> Prediction:
        return Prediction(
            asked=PictureGuess(
                label="Your rain",
                panels=range(SUSPECTS),
                right=over(result.guilty, "lineup"),
                found="q wrong",
                scale="Each: across, p-values from 0 to 1; up, how many lie in each tenth. "
                f"Dashed: {RAINED // _RANKS}, a level rain.",
            ),
            answer=sentence(
                "{verdict}",
                verdict=over(
                    [
                        [_verdict(guess, guilty) for guess in range(SUSPECTS + 1)]
                        for guilty in result.guilty
                    ],
                    "lineup",
                    "guess",
                ),
            ),
        )

    def stages(self, result: _RainResult) -> list[Stage]:
        rejected = result.pvalues <= _ALPHA
        hits = sums_so_far(rejected, axis=-1)  # (G, T + 1)
        return [
            Stage(
                title="Predict",
                words=f"Each picture is a rain of {RAINED} p-values of Uniform. In nineteen of "
                "them q is correct. In one, q is a little off. Pick it.",
                sliders=["lineup"],
                panels=[],
                beats=[Beat(seconds=5.0), Beat(at={"lineup": 1}, seconds=3.0)],
            ),
            Stage(
                title="Reveal",
                words=sentence(
                    "A KS test on its {rained} p-values gives p {p}. Even a correct q gives peaks "
                    "and gaps: in the other nineteen the first tenth holds {least} to {most} "
                    "p-values, in this one {first}.",
                    rained=str(RAINED),
                    **_revealed(result),
                ),
                panels=range(SUSPECTS),
                at={"gamma": 0, "trials": TRIALS},
                beats=[Beat(seconds=10.0)],
            ),
            Stage(
                title="Break it",
                words=sentence(
                    "Let it rain, and move gamma in mid-rain: bricks that lie stay, new ones fall "
                    "with the new gamma. {counted}Press a brick to open its trial.",
                    counted=over(_counted(hits.T), "trials", "gamma"),
                ),
                panels=[_RAIN, _OPENED],
                sliders=["trials", "gamma"],
                at={"trials": 0, "gamma": 0},
                beats=[
                    Beat(at={"trials": 150}, seconds=8.0),
                    Beat(at={"gamma": 0.4}, seconds=2.0),
                    Beat(at={"trials": TRIALS}, seconds=9.0),
                    Beat(at={"open": 3}, seconds=3.0),
                ],
            ),
            Stage(
                title="Why",
                words="If q is correct, a p-value is as likely to lie in one stretch of 0 to 1 as "
                "in any other of that length. If q is wrong, small ones fall more often: their "
                "share is the power.",
                panels=[_RAIN],
                sliders=["gamma", "trials"],
                at={"trials": 0, "gamma": 0.3},
                formula=Formula(
                    latex=r"P(p \le 0.05) = 0.05 \;\text{ if } q = p, \qquad "
                    r"\text{@power} \;\text{ at } \gamma = \text{@gamma}",
                    values={
                        "power": written(rejected.mean(-1), "{:.3f}", "gamma"),
                        "gamma": _GAMMA.words,
                    },
                    source=f"Bansal, Chen, Scott (2025), the uniform test; power: {TRIALS} trials",
                ),
                beats=[Beat(at={"trials": TRIALS}, seconds=8.0)],
            ),
            Stage(
                title="What it does not tell",
                words="One p-value is one brick: a small one falls now and then for a correct q, "
                "and a wrong q drops large ones too. A rain needs many data sets; your own table "
                "gives one p-value a test.",
                panels=[_RAIN, _OPENED],
                sliders=["trials", "gamma"],
                at={"trials": 60},
            ),
        ]

    def panels(self, result: _RainResult) -> list[Panel]:
        return [*(_suspect(result, j) for j in range(SUSPECTS)), _rain(result), _opened(result)]


def _verdict(guess: int, guilty: int) -> str:
    """The wrong rain, and whether it was picked (guess 0: none was)."""
    if guess == guilty:
        return f"Right: rain {guilty} is the one with a wrong q (gamma {GUILTY:g})."
    picked = f"you picked rain {guess}, where q is correct" if guess else "you picked none"
    return f"Rain {guilty} is the one with a wrong q (gamma {GUILTY:g}); {picked}."


def _revealed(result: _RainResult) -> dict[str, Over]:
    """In words of each line-up: the wrong rain's p-value, and p-values in the first tenth."""
    rows = np.arange(LINEUPS), result.guilty - 1
    first = (result.suspects < 1 / _RANKS).sum(-1)  # (LINEUPS, SUSPECTS)
    others = np.ma.masked_array(first, np.zeros(first.shape, bool))
    others[rows] = np.ma.masked
    return {
        "p": written(statistics.ks(result.suspects[rows]).pvalue, said_equals, "lineup"),
        "first": written(first[rows], "{:g}", "lineup"),
        "least": written(others.min(-1).data, "{:g}", "lineup"),
        "most": written(others.max(-1).data, "{:g}", "lineup"),
    }


def _counted(hits: Array) -> list[list[str]]:
    """Rejections (T + 1, G) so far in words; nothing before the first trial."""
    return [
        [
            f"With gamma = {gamma:g} throughout, {hit:g} of {count_text(count, 'trial')} would "
            f"have p at most 5%{'' if gamma else ': one in twenty is what a correct q gives'}. "
            if count
            else ""
            for gamma, hit in zip(GAMMAS, row, strict=True)
        ]
        for count, row in enumerate(hits)
    ]


def draw_conformal_ranks(
    gamma: float, trials: int, rng: np.random.Generator, ties: np.random.Generator
) -> Array:
    """Conformal ranks (trials, N) of draws of q among M of p each, by the optimal boundary."""
    drawn = sampling.blocks(Boundary(), gamma, trials * N * M, trials * N, rng)
    score = LinearBoundary()
    p, q = (score(side.theta, side.x) for side in (drawn.p, drawn.q))
    u = statistics.conformal_ranks(q.reshape(trials, N), p.reshape(trials, N, M), ties)
    return np.asarray(u)


def _suspect(result: _RainResult, which: int) -> Panel:
    edges = np.linspace(0, 1, _RANKS + 1)
    counts = np.stack([np.histogram(one, edges)[0] for one in result.suspects[:, which]])
    return Panel(
        [
            Bars(edges, over(counts.astype(np.int8), "lineup"), color=style.Q),
            HLine(RAINED / _RANKS),
        ],
        title=f"Rain {which + 1}",
        x=Axis((0, 1), ticks=[0, 1]),
        y=Axis((0, 28), hidden=True),
        height=72,
    )


def _rain(result: _RainResult) -> Panel:
    band, even = growing_band(TRIALS, _BINS, "trials")
    bricks = Rain(
        result.pvalues,
        bins=_BINS,
        follows="gamma",
        clock="trials",
        opens=("open", "at"),
        color=style.Q,
    )
    return Panel(
        [
            band,
            bricks,
            replace(bricks, color=style.OBSERVED, only=True, opacity=1),
            even,
            VLine(_ALPHA, label="5%"),
        ],
        title="P-values, a brick for each trial",
        x=Axis((0, 1), "p-value"),
        y=Axis((0, 70), "trials"),
        caption="Grey: if q were correct, all columns would end in it in 95 of 100 rains.",
        height=330,
        click="open",
    )


def _opened(result: _RainResult) -> Panel:
    return rank_counts(
        over(result.ranks.swapaxes(0, 1), "open", "at"),
        N,
        Axis((0, 1), f"conformal rank among {M} draws of p"),
        "draws of q",
        title=sentence(
            "Trial {trial}, gamma {gamma}: p {p}",
            trial=written(np.arange(TRIALS) + 1, "{:g}", "open"),
            gamma=written(GAMMAS, "{:g}", "at"),
            p=written(result.pvalues.T, said_equals, "open", "at"),
        ),
        caption=f"The {N} ranks that this p-value comes from.",
        height=240,
    )
