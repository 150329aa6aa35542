"""Lesson 3: why ranks are uniform, and how importance weights restore uniformity."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.integrate import quad_vec
from scipy.stats import binom, norm

from validation_core import statistics
from validation_core.drawing import style
from validation_core.drawing.marks import (
    Axis,
    Bars,
    HLine,
    Number,
    Panel,
    Points,
    Slider,
    over,
    sentence,
    written,
)
from validation_core.drawing.rank_histogram import growing_band
from validation_core.lessons.lesson import (
    Beat,
    FollowUp,
    Formula,
    PictureGuess,
    Prediction,
    Stage,
    run_through,
)
from validation_core.lessons.so_far import counts_so_far
from validation_core.lessons.study import LessonStudy
from validation_core.methods import SBC
from validation_core.rng import stream
from validation_core.store import Store
from validation_core.study import Report
from validation_core.text import said_equals
from validation_core.types import Array

DRAWS = 9
"""Draws of q in a bag, beside the true value."""
BALLS = DRAWS + 1
BIASES = (-1.0, -0.5, 0.0, 0.5, 1.0)
"""Biases of q's mean, in posterior standard deviations."""
WIDTHS = (0.5, 0.7, 1.0, 1.4, 2.0)
"""Standard deviations of q, in units of the posterior's."""
TRIALS = 200
_ALPHA = 0.05
PICTURES = ((0.0, 2.0), (0.0, 1.0), (0.0, 0.5), (1.0, 1.0))
"""Bias and width of q behind the four pictures that the student picks from."""
_BIAS, _WIDTH = np.array(BIASES)[:, None, None], np.array(WIDTHS)[:, None]


class _BagLotteryResult(NamedTuple):
    """T bags at B biases and W widths of q; each holds the true value and DRAWS draws of q."""

    truth: Array
    """(T,) true values, standard normal: the posterior's mean is 0 and its sd 1 at every x."""
    noise: Array
    """(T, DRAWS) standard normal numbers shared by all settings of q."""
    ranks: NDArray[np.int8]
    """(T, B, W) the truth's: draws of q below it, 0 to DRAWS."""
    weighted: Array
    """(T, B, W) its weighted rank in (0, 1)."""
    pvalues: Array
    """(2, B, W) of the exact KS test on all T: of ranks spread over their cells, of weighted."""

    @property
    def draws(self) -> Array:
        """Draws of q (T, B, W, DRAWS)."""
        return np.asarray(_BIAS + _WIDTH * self.noise[:, None, None, :])

    @property
    def chances(self) -> Array:
        """Probability that each ball is the truth, given its bag: (T, B, W, BALLS)."""
        return _chances(self.truth, self.draws)


_TRIALS = Slider(
    "trials", range(TRIALS + 1), label="Bags", form="{:g}", start=1, play=True, rate=30
)
_BIASES = Slider("bias", BIASES, label="Bias of q", form="{:g} sd", start=0, ends=("low", "high"))
_WIDTHS = Slider(
    "width", WIDTHS, label="Width of q", form="{:g}", start=1, ends=("too narrow", "too wide")
)
_OPEN = np.r_[0, np.arange(TRIALS)]  # the bag that is open after each number of bags


@dataclass(frozen=True, kw_only=True)
class BagLottery(LessonStudy[_BagLotteryResult], spec="lesson_bag_lottery"):
    """True values and draws of a normal q; all settings of q share their random numbers."""

    name = "bag-lottery"
    number = 3
    title = "A bag lottery"
    short = "Ranks"
    question = "The true value hides among nine draws of q. Where does it rank?"
    minutes = 7
    sliders = (_TRIALS, _BIASES, _WIDTHS)
    papers = (SBC.paper,)
    onwards = FollowUp(label="Ranks of my own table")

    def compute(self, store: Store, report: Report) -> _BagLotteryResult:
        """Draw the bags; each ball is the truth with probability proportional to p / q there."""
        rng = stream(self.seed, "bags")
        truth, noise = rng.standard_normal(TRIALS), rng.standard_normal((TRIALS, DRAWS))
        xi = rng.random(TRIALS)[:, None, None]
        draws = _BIAS + _WIDTH * noise[:, None, None, :]
        chances = _chances(truth, draws)
        below = draws < truth[:, None, None, None]
        ranks = below.sum(-1)
        weighted = (chances[..., 1:] * below).sum(-1) + xi * chances[..., 0]
        spread = (ranks + xi) / BALLS
        pvalues = [statistics.ks(np.moveaxis(u, 0, -1)).pvalue for u in (spread, weighted)]
        return _BagLotteryResult(truth, noise, ranks.astype(np.int8), weighted, np.stack(pvalues))

    def prediction(self, result: _BagLotteryResult) -> Prediction:
        right = 1 + int(np.argmin([np.ptp(chances) for chances in _picture_laws()]))
        return Prediction(
            asked=PictureGuess(panels=range(len(PICTURES)), right=right),
            answer=sentence(
                "{comment}",
                comment=over(
                    [
                        "",
                        *(
                            "Right: if q is correct, every ball is equally likely to be the true "
                            "one, the outermost too."
                            if i == right
                            else f"That is q with bias {b:g} and {w:g} times the right width. If "
                            "q is correct, every ball is equally likely to be the true one: flat."
                            for i, (b, w) in enumerate(PICTURES, 1)
                        ),
                    ],
                    "guess",
                ),
            ),
        )

    def stages(self, result: _BagLotteryResult) -> list[Stage]:
        plain, weighted = (written(p, said_equals, "bias", "width") for p in result.pvalues)
        unlucky = result.pvalues[1] <= _ALPHA
        return [
            Stage(
                title="Predict",
                words=f"Put the true value and {DRAWS} draws of a correct q into a bag. Line them "
                "up and note the rank of the true one: 0 is the smallest. Do it for many "
                "simulations. Which picture of the ranks do you expect?",
                panels=[4],
                at={"trials": 1, "bias": 0, "width": 1},
                beats=[Beat(at={"trials": 12}, seconds=5.0), Beat(at={"trials": 1}, seconds=3.0)],
            ),
            Stage(
                title="Reveal",
                words=sentence(
                    "Bags so far: {trials}. Every rank is equally likely, so the bars differ by "
                    "chance alone, mostly within the grey band. From inside the bag nobody could "
                    "tell which ball is true: that is what a correct q means, and it is why SBC "
                    f"looks at ranks. All {TRIALS}: p-value {{p}}.",
                    trials=_TRIALS.words,
                    p=plain,
                ),
                panels=[5, 4],
                sliders=["trials"],
                at={"trials": TRIALS, "bias": 0, "width": 1},
                beats=run_through(_TRIALS, 9.0),
            ),
            Stage(
                title="Break it",
                words=sentence(
                    "q has bias {bias} and {width} times the right width. Too narrow, and the "
                    "true ball is often the outermost: a valley. Too wide: a hill. A bias: a "
                    f"slope. All {TRIALS} bags: p-value {{p}}.",
                    bias=written(BIASES, "{:g}", "bias"),
                    width=_WIDTHS.words,
                    p=plain,
                ),
                panels=[5, 4],
                sliders=["width", "bias", "trials"],
                at={"trials": TRIALS, "width": 0.5},
                beats=[
                    Beat(at={"width": 0.5}, seconds=3.0),
                    Beat(at={"width": 2.0}, seconds=4.0),
                    Beat(at={"width": 1.0, "bias": 1.0}, seconds=4.0),
                ],
            ),
            Stage(
                title="Break the weights",
                words=sentence(
                    "Now the lottery is fair again: each ball has a ticket of weight p / q, its "
                    "chance of being the true one. Add up the weights below the true value: this "
                    "weighted rank is level for every q (p-value {weighted}{luck}). The plain "
                    "rank {looks} (p-value {plain}).",
                    weighted=weighted,
                    luck=over(
                        np.where(unlucky, ": one fair lottery in twenty looks this bad", ""),
                        "bias",
                        "width",
                    ),
                    looks=over(
                        np.where(
                            result.pvalues[0] > _ALPHA, "shows no difference here", "is not level"
                        ),
                        "bias",
                        "width",
                    ),
                    plain=plain,
                ),
                panels=[6, 7, 5],
                sliders=["width", "bias", "trials"],
                at={"trials": TRIALS, "width": 0.5, "bias": 0.5},
                beats=[
                    Beat(at={"trials": TRIALS - 8}, seconds=4.0),
                    Beat(at={"width": 2.0, "bias": -0.5}, seconds=4.0),
                ],
            ),
            Stage(
                title="Why",
                words="Given the balls in the bag, the i-th is the true one with a chance in "
                "proportion to r, which is p / q at its place. Where q = p all chances are equal, "
                "so every rank is as likely as any other.",
                panels=[6],
                sliders=["width", "bias", "trials"],
                at={"trials": TRIALS},
                formula=Formula(
                    latex=r"P_i = \frac{r_i}{\sum_{j=0}^{\text{@last}} r_j}, \quad "
                    r"r_i = \frac{p(\theta_i | x)}{q(\theta_i | x)}, \quad "
                    r"P_0 = \text{@chance}",
                    values={
                        "last": str(DRAWS),
                        "chance": written(
                            result.chances[_OPEN, :, :, 0], "{:.3f}", "trials", "bias", "width"
                        ),
                    },
                    source="Talts et al. (2018), Theorem 1, for q = p; the weights by Bayes' rule",
                ),
                beats=[
                    Beat(at={"bias": 0, "width": 1}, seconds=4.0),
                    Beat(at={"width": 0.5}, seconds=4.0),
                ],
            ),
            Stage(
                title="What it does not tell",
                words="Level ranks do not prove q right. A q that ignores x and always draws from "
                "the prior has level ranks too: lesson 7. And ranks of one parameter say nothing "
                "about how parameters hang together.",
                panels=[5],
                sliders=["width", "bias"],
                at={"trials": TRIALS, "width": 1, "bias": 0},
            ),
        ]

    def panels(self, result: _BagLotteryResult) -> list[Panel]:
        draws = over(result.draws[_OPEN], "trials", "bias", "width", coarse=True)
        return [
            *(_picture(chances, i) for i, chances in enumerate(_picture_laws(), 1)),
            _bag(result, draws),
            _ranks(result),
            _tickets(result, draws),
            _weighted(result),
        ]


def _chances(truth: Array, draws: Array) -> Array:
    true = np.broadcast_to(truth[:, None, None, None], (*draws.shape[:-1], 1))
    return importance_weights(np.concatenate([true, draws], axis=-1), _BIAS, _WIDTH)


def importance_weights(balls: Array, bias: Array, width: Array) -> Array:
    """Importance weights p / q of the balls, normalised over the last axis."""
    log = norm.logpdf(balls) - norm.logpdf(balls, bias, width)
    ratio = np.exp(log - log.max(-1, keepdims=True))
    return np.asarray(ratio / ratio.sum(-1, keepdims=True))


def _picture_laws() -> list[Array]:
    """Probabilities of the truth's rank in each of the pictures."""
    return [rank_probabilities(*picture) for picture in PICTURES]


def rank_probabilities(bias: float, width: float) -> Array:
    """Probabilities (BALLS,) of the truth's rank, where q is normal and p standard normal."""
    k = np.arange(BALLS)

    def at(theta: float) -> Array:
        below = norm.cdf((theta - bias) / width)
        return np.asarray(norm.pdf(theta) * binom.pmf(k, DRAWS, below))

    return np.asarray(quad_vec(at, -8, 8)[0])


_EDGES = np.arange(BALLS + 1) - 0.5


def _picture(chances: Array, number: int) -> Panel:
    return Panel(
        [Bars(_EDGES, chances, color=style.Q)],
        title=f"Picture {number}",
        x=Axis((-0.5, BALLS - 0.5), "rank", ticks=[0, DRAWS]),
        y=Axis((0, 0.42), hidden=True),
        height=110,
    )


def _limits(result: _BagLotteryResult) -> tuple[float, float]:
    reach = float(np.ceil(np.quantile(np.abs(result.draws), 0.999)))
    return -reach, reach


def _bag(result: _BagLotteryResult, draws: Number) -> Panel:
    return Panel(
        [
            Points(draws, np.zeros(DRAWS), color=style.Q, size=13, opacity=0.8),
            Points(
                over(result.truth[_OPEN][:, None], "trials"),
                [0],
                color=style.P,
                size=15,
                symbol="diamond",
            ),
        ],
        title=sentence(
            "The bag: the true one ranks {rank}",
            rank=written(result.ranks[_OPEN], "{:g}", "trials", "bias", "width"),
        ),
        x=Axis(_limits(result), "θ"),
        y=Axis((-1, 1), hidden=True),
        height=150,
        legend=[("true value", style.P, "diamond"), ("draws of q", style.Q, "circle")],
    )


_RANKS = (-0.5, BALLS - 0.5)


def _ranks(result: _BagLotteryResult) -> Panel:
    counts = counts_so_far(result.ranks, BALLS)
    band, level = growing_band(TRIALS, BALLS, "trials", _RANKS)
    return Panel(
        [band, Bars(_EDGES, over(counts, "trials", "bias", "width"), color=style.Q), level],
        title="Ranks of the true values",
        x=Axis((-0.5, BALLS - 0.5), f"rank among {DRAWS} draws of q", ticks=range(BALLS)),
        y=Axis((0, 0.4 * TRIALS), "bags"),
        caption="Grey: if q were correct, all bars would end in it in 95 of 100 samples. Taller "
        "ones are cut.",
        height=300,
    )


def _tickets(result: _BagLotteryResult, draws: Number) -> Panel:
    chances = result.chances[_OPEN]
    floor = np.zeros(DRAWS)
    drawn = over(chances[..., 1:], "trials", "bias", "width", coarse=True)
    truth = over(chances[..., :1], "trials", "bias", "width", coarse=True)
    return Panel(
        [
            HLine(1 / BALLS, label="equal chances"),
            Points(draws, drawn, low=floor, high=drawn, color=style.Q, size=11, opacity=0.85),
            Points(
                over(result.truth[_OPEN][:, None], "trials"),
                truth,
                low=[0],
                high=truth,
                color=style.P,
                size=13,
                symbol="diamond",
            ),
        ],
        title="Each ball's chance of being the true one",
        x=Axis(_limits(result), "θ"),
        y=Axis((0, 1), "weight p / q, normalised", percent=True),
        height=260,
        legend=[("true value", style.P, "diamond"), ("draws of q", style.Q, "circle")],
    )


def _weighted(result: _BagLotteryResult) -> Panel:
    cells = np.minimum((BALLS * result.weighted).astype(int), BALLS - 1)
    band, level = growing_band(TRIALS, BALLS, "trials", _RANKS)
    return Panel(
        [
            band,
            Bars(
                _EDGES, over(counts_so_far(cells, BALLS), "trials", "bias", "width"), color=style.P
            ),
            level,
        ],
        title="Weighted ranks",
        x=Axis(
            (-0.5, BALLS - 0.5),
            "weight below the true value",
            ticks=[-0.5, DRAWS / 2, DRAWS + 0.5],
            names=["0", "0.5", "1"],
        ),
        y=Axis((0, 0.4 * TRIALS), "bags"),
        height=260,
    )
