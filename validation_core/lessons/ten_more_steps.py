"""Lesson 2: the classifier trains, power grows, and the null of Uniform stays flat."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import pairwise, repeat
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri
from scipy.stats import norm

from validation_core import sampling, statistics
from validation_core.benchmarks import Boundary
from validation_core.benchmarks.boundary import GAMMA
from validation_core.drawing import style
from validation_core.drawing.marks import (
    Axis,
    Bars,
    Heat,
    HLine,
    Line,
    Panel,
    Points,
    Shades,
    Slider,
    VLine,
    over,
    sentence,
    written,
)
from validation_core.drawing.power_curves import (
    LEVEL_KEY,
    level_line,
    line_key,
    method_look,
    rate_line,
    rejection_axis,
)
from validation_core.lessons.lesson import Beat, FollowUp, Formula, NumberGuess, Prediction, Stage
from validation_core.lessons.study import LessonStudy
from validation_core.methods import Uniform
from validation_core.rng import common, stream
from validation_core.store import Store
from validation_core.study import Report
from validation_core.text import said_pvalue
from validation_core.types import Array, Joint

if TYPE_CHECKING:
    from torch import Tensor

STEPS = tuple(range(0, 301, 10))
"""Steps of training after which the network is evaluated."""
SHIFTS = (1.0, 2.0)
"""Constants added to the trained score, in its standard deviations under p."""
SCORES = ("trained", "shifted by 1 sd", "shifted by 2 sd", "constant", "random network")
SOURCES = ("q", "p")
"""Laws that the test points are drawn from."""
N, M, TRIALS = 100, 50, 1000
"""Test points of a trial, calibration points of each, trials."""
ALPHA = 0.05
BEADS, ROUNDED = 12, 0.1
"""Calibration points on the score line, and the rounding of their scores, so that some tie."""
_ROWS, _RATE, _WIDTHS = 500, 5e-4, (2, 16, 16, 1)  # of training: each side, Adam's, layers
_CHUNK = 1 << 17
_TIES = 20  # uniform numbers to draw from where scores tie
_BINS = np.linspace(0, 1, 11)
_SIDE = np.linspace(-3.2, 3.2, 31)  # edges of the picture of the score


class _ScoreResult(NamedTuple):
    """Results of a score on T trials, for test points from q, then p; leading axes are scores."""

    heat: NDArray[np.float16]
    """(H, W) the score over the plane, rows along x, in its standard deviations under p: drawn."""
    ranks: Array
    """(2, N) of the first trial's test points."""
    counts: Array
    """(2, bins) ranks of all trials."""
    uniform: Array
    """(2,) trials that Uniform rejects."""
    c2st: Array
    """(2,) trials that C2ST rejects."""
    flat: Array
    """() p-value of KS on all ranks of all trials, where test points are from p."""
    null: Array
    """(2 N + 1,) trials of each number of points called right, both sides from p."""
    above: Array
    """() share of p's points that C2ST calls p."""
    auc: Array
    """() of p's points against q's."""


class _TrainedSteps(NamedTuple):
    """C scores at S steps of training."""

    points: Array
    """(2, N, 2) theta and x of the first trial's test points."""
    looks: _ScoreResult
    """(C, S, ...)."""
    beads: Array
    """(BEADS,) calibration scores of the last network, rounded."""
    xi: Array
    """(_TIES,) uniform numbers that break ties."""


_STEPS = Slider(
    "steps",
    STEPS,
    label="Training steps",
    form="{:g}",
    play=True,
    rate=5,
    ends=("random", "trained"),
)
_SCORE = Slider("score", range(len(SCORES)), label="Score", names=SCORES)
_SOURCE = Slider(
    "source",
    range(2),
    label="Test points from",
    names=SOURCES,
    start=1,
    ends=("q, which is wrong", "p: q correct"),
)
_PLACE = Slider(
    "place",
    np.round(np.arange(-26, 27) * ROUNDED, 1),
    label="Score of the test point",
    form="{:.1f}",
    start=-0.3,
    hidden=True,
)
_CHANCE = Slider("xi", range(_TIES), label="Chance", button="Draw ξ again")


@dataclass(frozen=True, kw_only=True)
class TenMoreSteps(LessonStudy[_TrainedSteps], spec="lesson_ten_more_steps"):
    """A small network that learns to separate p from q, half a standard deviation away."""

    seed: int = 12  # its start ranks points no better than chance, so that all is to be learnt

    name = "ten-more-steps"
    number = 2
    title = "Ten more steps"
    short = "Training"
    question = "A classifier that has not learned yet: can its p-values be trusted?"
    minutes = 7
    sliders = (_STEPS, _SCORE, _SOURCE, _PLACE, _CHANCE)
    papers = (Uniform.paper,)
    onwards = FollowUp(page="conformal/page.py", label="Train a classifier, and weaken it")

    def compute(self, store: Store, report: Report) -> _TrainedSteps:
        """Evaluate all scores on the same draws, so that only the score differs."""
        draws = _StepDraws.of(self.seed)
        rows = []
        for s, network in enumerate(training_snapshots(self.seed)):
            scored = draws.scored(network)
            rows.append([self._evaluate(scored.shifted(by)) for by in (0.0, *SHIFTS)])
            report((s + 1) / (len(STEPS) + 1), {})
        constant = self._evaluate(scored.constant())
        random = self._evaluate(draws.scored(_start(self.seed, "random network")))
        looks = [[*row, constant, random] for row in rows]
        fields = (
            np.array([[row[c][f] for row in looks] for c in range(len(SCORES))])
            for f in range(len(_ScoreResult._fields))
        )
        beads = np.round(scored.p[0, 0, :BEADS] / ROUNDED) * ROUNDED
        return _TrainedSteps(
            np.stack([each[:N] for each in draws.test]),
            _ScoreResult(*fields),
            np.sort(beads).astype(float),
            stream(self.seed, "xi").random(_TIES),
        )

    def _evaluate(self, scored: _ScoredSteps) -> _ScoreResult:
        # The same numbers break ties in every look: ranks glide from step to step.
        rng = stream(self.seed, "ties")
        ranks = np.stack([statistics.conformal_ranks(test, scored.p, rng) for test in scored.test])
        one = scored.p[..., 0]  # (T, N): of each row one point, for tests that ask for no more
        plain = [statistics.c2st(one, test) for test in scored.test]
        right = (plain[1].p_hits + plain[1].q_hits).astype(int)
        return _ScoreResult(
            heat=scored.plane.astype(np.float16),
            ranks=ranks[:, 0],
            counts=np.stack([np.histogram(each, _BINS)[0] for each in ranks]),
            uniform=(statistics.ks(ranks).pvalue <= ALPHA).sum(-1),
            c2st=np.stack([(each.pvalue <= ALPHA).sum() for each in plain]),
            flat=statistics.ks(ranks[1].ravel()).pvalue,
            null=np.bincount(right, minlength=2 * N + 1).astype(float),
            above=np.asarray((scored.p > 0).mean()),
            auc=statistics.auc(one.ravel(), scored.test[0].ravel()),
        )

    def prediction(self, result: _TrainedSteps) -> Prediction:
        untrained, trained = result.looks.uniform[0, 0, 1], result.looks.uniform[0, -1, 0]
        false, true = (100 * float(hits) / TRIALS for hits in (untrained, trained))
        low, high = map(float, statistics.wilson(untrained, TRIALS))
        of_correct = NumberGuess(
            name="guess_false",
            label="q correct, untrained network: rejected at the 5% level",
            truth=false,
            found="{:.1f}%",
        )
        of_wrong = NumberGuess(
            name="guess_true",
            label=f"q wrong, {STEPS[-1]} steps of training: rejected",
            truth=true,
            found="{:.1f}%",
        )
        return Prediction(
            asked=[of_correct, of_wrong],
            answer=sentence(
                f"You said {{false}} and {{true}}. The untrained network rejects a correct q in "
                f"{false:.1f}% of {TRIALS} batches (95% interval {low:.1%} to {high:.1%}); the "
                f"trained one rejects the wrong q in {true:.1f}%. {{comment}}",
                false=of_correct.words,
                true=of_wrong.words,
                comment=over(
                    np.where(
                        abs(np.asarray(of_correct.values) - false) > 3,
                        "A classifier that knows nothing loses power. It raises no extra false "
                        "alarms.",
                        "Close: 5% stays 5%, whatever the classifier knows.",
                    ),
                    of_correct.name,
                ),
            ),
        )

    def stages(self, result: _TrainedSteps) -> list[Stage]:
        looks = result.looks
        rates = {
            name: written(hits / TRIALS, "{:.1%}", "score", "steps", "source")
            for name, hits in (("uniform", looks.uniform), ("c2st", looks.c2st))
        }
        return [
            Stage(
                title="Predict",
                words="Colour is the score of a small network: blue where it says p. Its random "
                "weights were chosen to rank no better than chance. It ranks "
                f"{N} test points, each among {M} points from p, and Uniform tests these ranks "
                "at the 5% level. First let q be correct. Then let q be half a standard deviation "
                "off, and train. How often does the test reject?",
                panels=[1],
                at={"steps": 0, "score": 0, "source": 1},
                beats=[Beat(seconds=6.0)],
            ),
            Stage(
                title="Reveal",
                words=sentence(
                    "After {steps} steps, test points from {source}: Uniform rejects {rate} of "
                    f"{TRIALS} batches. Train: after the first steps more p-values of q's draws "
                    "are small, and power grows. Take test points from p: the p-values stay flat "
                    "at every step.",
                    steps=_STEPS.words,
                    source=_SOURCE.words,
                    rate=rates["uniform"],
                ),
                panels=[0, 1, 2],
                sliders=["steps", "source"],
                at={"score": 0, "source": 0, "steps": STEPS[-1]},
                beats=[
                    Beat(at={"steps": 0}, seconds=1.5),
                    Beat(at={"steps": STEPS[-1]}, seconds=10.0),
                    Beat(at={"source": 1, "steps": 0}, seconds=3.0),
                    Beat(at={"steps": STEPS[-1]}, seconds=7.0),
                ],
            ),
            Stage(
                title="Break it",
                words=sentence(
                    "Score: {score}. Test points from {source}: Uniform rejects {uniform}, C2ST "
                    "{c2st}. Where q is correct, all p-values together are flat but for chance "
                    "(KS p-value {flat}). C2ST's accuracy then varies {sd} times as much as its "
                    "test assumes.",
                    score=_SCORE.words,
                    source=_SOURCE.words,
                    uniform=rates["uniform"],
                    c2st=rates["c2st"],
                    flat=written(looks.flat, said_pvalue, "score", "steps"),
                    sd=written(relative_null_sd(looks.null), "{:.2f}", "score", "steps"),
                ),
                panels=[0, 3, 1],
                sliders=["score", "steps", "source"],
                at={"score": 0, "source": 1, "steps": STEPS[-1]},
                beats=[
                    *(Beat(at={"score": c}, seconds=4.0) for c in range(1, len(SCORES))),
                    Beat(at={"score": 2}, seconds=2.0),
                    Beat(at={"source": 0}, seconds=4.0),
                ],
            ),
            Stage(
                title="Why",
                words="If q is correct, a test point and its calibration points are drawn alike, "
                "so every place among them is equally likely, whatever the score. A bad score "
                "orders them badly, which costs power and never the level.",
                panels=[4, 5],
                sliders=["xi"],
                formula=_formula(result),
                beats=[
                    Beat(at={"place": -2.5}, seconds=2.0),
                    Beat(
                        at={"place": 2.5},
                        words="Drag the test point past the calibration points: its p-value "
                        "counts up. Where scores tie, chance decides.",
                        seconds=9.0,
                    ),
                    Beat(at={"place": 0.7, "xi": 9}, seconds=4.0),
                ],
            ),
            Stage(
                title="What it does not tell",
                words=f"Flat p-values say that the test keeps its level, not that q is correct: "
                f"before training the wrong q passes too, in "
                f"{1 - looks.uniform[0, 0, 0] / TRIALS:.0%} of batches. Train the classifier on "
                "other simulations than those you test.",
                panels=[2, 0],
                sliders=["steps", "source"],
                at={"score": 0, "source": 0, "steps": 0},
            ),
        ]

    def panels(self, result: _TrainedSteps) -> list[Panel]:
        looks = result.looks
        return [
            _ordered(looks),
            _plane(result),
            _rates(looks),
            _null(looks),
            _line(result),
            _places_of(result),
        ]


class _ScoredSteps(NamedTuple):
    """Scores of p (T, N, M), of test points (2, T, N) and of the plane (H, W), their sd at p 1."""

    p: Array
    test: Array
    plane: Array

    def shifted(self, by: float) -> _ScoredSteps:
        return _ScoredSteps(*(scores + np.float32(by) for scores in self))

    def constant(self) -> _ScoredSteps:
        return _ScoredSteps(*map(np.zeros_like, self))


class _StepDraws(NamedTuple):
    """Rows (theta, x) of p (T N M, 2), of test points (2, T N, 2), and of the plane."""

    p: Array
    test: Array
    plane: Array

    @classmethod
    def of(cls, seed: int) -> _StepDraws:
        """Draw the rows; test points from p are those from q before their shift."""
        size = TRIALS * N
        from_q, from_p = (
            sampling.blocks(Boundary(), gamma, size * M, size, common(seed, "test"))
            for gamma in (GAMMA, 0.0)
        )
        middle = (_SIDE[1:] + _SIDE[:-1]) / 2
        plane = np.stack(np.meshgrid(middle, middle), -1).reshape(-1, 2)
        test = np.stack([_rows(from_q.q), _rows(from_p.q)])
        return cls(_rows(from_q.p), test, plane.astype(np.float32))

    def scored(self, network: Mapping[str, Array]) -> _ScoredSteps:
        p, test, plane = (_scores(network, rows) for rows in self)
        shape = len(_SIDE) - 1, len(_SIDE) - 1
        scored = p.reshape(TRIALS, N, M), test.reshape(2, TRIALS, N), plane.reshape(shape)
        return _ScoredSteps(*(scores / p.std() for scores in scored))


def training_snapshots(seed: int) -> Iterator[Mapping[str, Array]]:
    """Parameters of the network before its first step and after every ten."""
    from torch.nn.functional import softplus

    from validation_core.learn import adam, perceptron, training

    learn = sampling.blocks(Boundary(), GAMMA, _ROWS, _ROWS, stream(seed, "training rows"))
    rows = perceptron.tensors({"p": _rows(learn.p), "q": _rows(learn.q)}, "cpu")
    network = perceptron.learnable(_start(seed, "initial network"), "cpu")
    optimiser = adam.Adam([(network.values(), _RATE)])

    def loss(rows: Mapping[str, Tensor]) -> Tensor:
        p, q = (perceptron.forward(network, rows[side]) for side in ("p", "q"))
        return softplus(-p).mean() + softplus(q).mean()

    yield perceptron.arrays(network)
    rounds = (repeat(rows, after - before) for before, after in pairwise(STEPS))
    for _ in training.descend(optimiser, rounds, loss):
        yield perceptron.arrays(network)


def _start(seed: int, name: str) -> Mapping[str, Array]:
    """Parameters of an untrained network."""
    from validation_core.learn import perceptron

    return perceptron.perceptron(stream(seed, name), _WIDTHS)


def _rows(joint: Joint) -> Array:
    return np.concatenate([joint.theta, joint.x], axis=1).astype(np.float32)


def _scores(network: Mapping[str, Array], rows: Array) -> Array:
    """Scores (...,) of rows (..., 2), in pieces that stay in the cache."""
    import torch

    from validation_core.learn import perceptron

    tensors, flat = perceptron.tensors(network, "cpu"), torch.from_numpy(rows.reshape(-1, 2))
    with torch.no_grad():
        pieces = [perceptron.forward(tensors, piece) for piece in torch.split(flat, _CHUNK)]
    return np.asarray(torch.cat(pieces).numpy().reshape(rows.shape[:-1]))


def relative_null_sd(null: Array) -> Array:
    """Sd of an accuracy with counts of hits (..., 2 N + 1), over that of 2 N fair coins."""
    hits, trials = np.arange(2 * N + 1), null.sum(-1)
    mean = (null @ hits) / trials
    return np.sqrt(((null @ hits**2) / trials - mean**2) / (2 * N / 4))


def rank_among_beads(result: _TrainedSteps) -> tuple[Array, Array, Array]:
    """Beads below and equal at each place (V,), and p-values (xi, V)."""
    at = np.array(_PLACE.grid)
    below, equal = statistics.count(
        at, np.broadcast_to(np.round(result.beads, 1), (len(at), BEADS))
    )
    u = (below + result.xi[:, None] * (1 + equal)) / (BEADS + 1)
    return below, equal, u


def _formula(result: _TrainedSteps) -> Formula:
    below, equal, u = rank_among_beads(result)
    return Formula(
        latex=r"U = \frac{\text{@below} + \text{@xi}\,(1 + \text{@equal})}{\text{@m} + 1}"
        r" = \text{@u}",
        values={
            "below": written(below, "{:.0f}", "place"),
            "equal": written(equal, "{:.0f}", "place"),
            "xi": written(result.xi, "{:.2f}", "xi"),
            "m": str(BEADS),
            "u": written(u, "{:.3f}", "xi", "place"),
        },
        source="Bansal, Chen, Scott (2025), Equation 1, with the test point's tie with itself",
    )


_STRIP = 0.5  # height of the ordered points above the bars, as a share of the bars


def _ordered(looks: _ScoreResult) -> Panel:
    """Panel of the hundred test points by p-value, and of the number in each tenth."""
    counts = np.apply_along_axis(lambda u: np.histogram(u, _BINS)[0], -1, looks.ranks)
    top = 1.1 * counts.max()
    middle = (_BINS[1:] + _BINS[:-1]) / 2
    return Panel(
        [
            Bars(
                _BINS, over(counts.astype(np.int16), "score", "steps", "source"), color=style.NULL
            ),
            HLine(N / len(middle), color=style.NULL),
            Points(
                middle,
                over(looks.counts / TRIALS, "score", "steps", "source"),
                color=style.OBSERVED,
                symbol="ring",
                size=6,
            ),
            Line([0, 1], [top, (1 + _STRIP) * top], color=style.NULL, dash="4 3", width=1),
            Points(
                over(np.sort(looks.ranks, -1), "score", "steps", "source", coarse=True),
                top * (1 + _STRIP * (np.arange(N) + 0.5) / N),
                size=2.5,
                color="",
            ),
        ],
        title=f"p-values of {N} test points",
        x=Axis((0, 1), "conformal p-value of a test point"),
        y=Axis((0, 1.04 * (1 + _STRIP) * top), "test points", ticks=np.arange(0, top, 10)),
        height=240,
        legend=[
            ("this batch", style.NULL, "square"),
            (f"mean of {TRIALS}", style.OBSERVED, "ring"),
        ],
    )


def _plane(result: _TrainedSteps) -> Panel:
    looks = result.looks
    lowest = np.where(looks.ranks <= _BINS[1], result.points[..., 1], np.nan)
    return Panel(
        [
            Heat(_SIDE, _SIDE, Shades(over(looks.heat, "score", "steps"), limit=4.0)),
            Points(
                over(result.points[..., 0], "source"),
                over(result.points[..., 1], "source"),
                color="",
                size=3.5,
            ),
            Points(
                over(result.points[..., 0], "source"),
                over(lowest, "score", "steps", "source", coarse=True),
                color=style.OBSERVED,
                symbol="ring",
                size=8,
            ),
        ],
        title="The score, and the test points",
        x=Axis((-3.2, 3.2), "θ"),
        y=Axis((-3.2, 3.2), "x"),
        height=240,
        legend=[
            ("looks like p", style.P, "square"),
            ("like q", style.Q, "square"),
            ("p-value in the first tenth", style.OBSERVED, "ring"),
        ],
    )


def _rates(looks: _ScoreResult) -> Panel:
    hits = {"uniform": looks.uniform, "c2st": looks.c2st}
    both = {name: [method_look(name)._replace(dash=dash) for dash in ("", "2 3")] for name in hits}
    return Panel(
        [
            level_line(ALPHA),
            *(
                rate_line(STEPS, hits[name][..., i] / TRIALS, look, "score")
                for name, pair in both.items()
                for i, look in enumerate(pair)
            ),
            VLine(over(np.array(STEPS, float), "steps"), color=style.OBSERVED, width=2),
        ],
        title=f"Share of {TRIALS} batches that are rejected",
        x=Axis((0, STEPS[-1]), "training steps"),
        y=rejection_axis(),
        height=250,
        legend=[
            line_key("Uniform, q wrong", both["uniform"][0]),
            line_key("C2ST, q wrong", both["c2st"][0]),
            ("q correct", style.NULL, "2 3"),
            LEVEL_KEY,
        ],
    )


def _null(looks: _ScoreResult) -> Panel:
    pairs = looks.null[..., :-1].reshape(*looks.null.shape[:-1], N, 2).sum(-1)
    middle = (2 * np.arange(N) + 0.5) / (2 * N)
    edges = (2 * np.arange(N + 1) - 0.5) / (2 * N)
    kept = (edges[:-1] > 0.3) & (edges[1:] < 0.7)
    sd = 1 / np.sqrt(8 * N)
    top = 2.2 * TRIALS * norm.pdf(0) / sd / N
    shown = np.minimum(pairs[..., kept], top).astype(np.int16)
    return Panel(
        [
            Bars(
                np.append(edges[:-1][kept], edges[1:][kept][-1]),
                over(shown, "score", "steps"),
                color=style.NULL,
            ),
            Line(
                middle[kept],
                TRIALS * norm.pdf(middle[kept], 0.5, sd) / N,
                color=style.method_style("c2st").color,
            ),
            VLine(0.5 + ndtri(1 - ALPHA) * sd, dash="4 3", label="rejects from here"),
        ],
        title="C2ST: accuracy if q were correct",
        caption=f"{TRIALS} pairs of samples of {N}. Bars higher than the panel are cut.",
        x=Axis((0.3, 0.7), "share of points called right", percent=True),
        y=Axis((0, top), "pairs of samples"),
        height=240,
        legend=[
            ("measured", style.NULL, "square"),
            ("assumed", style.method_style("c2st").color, "line"),
        ],
    )


def _line(result: _TrainedSteps) -> Panel:
    beads = np.round(result.beads, 1)
    height = np.array([np.count_nonzero(beads[:i] == bead) for i, bead in enumerate(beads)])
    _, equal, _ = rank_among_beads(result)
    return Panel(
        [
            Points(beads, height, color=style.P, size=11),
            Points(
                over(np.array(_PLACE.grid)[:, None], "place"),
                over(equal[:, None], "place"),
                color=style.OBSERVED,
                symbol="diamond",
                size=12,
            ),
            VLine(over(_PLACE.grid, "place"), color=style.OBSERVED),
        ],
        title="The line of scores: drag the test point",
        caption=f"Calibration points of one test point, {BEADS} of the {M}. Scores are rounded "
        f"to {ROUNDED:g} here, so that some tie.",
        x=Axis((-2.7, 2.7), "score: high looks like p"),
        y=Axis((-0.7, 3.2), hidden=True),
        height=220,
        click="place",
        legend=[
            ("calibration point, from p", style.P, "circle"),
            ("test point", style.OBSERVED, "diamond"),
        ],
    )


def _places_of(result: _TrainedSteps) -> Panel:
    below, equal, u = rank_among_beads(result)
    return Panel(
        [
            *(VLine(k / (BEADS + 1), color=style.NULL, width=1) for k in range(BEADS + 2)),
            Bars(
                over(np.stack([below, below + 1 + equal], -1) / (BEADS + 1), "place"),
                [1],
                color=style.OBSERVED,
            ),
            VLine(over(u, "xi", "place"), color=style.OBSERVED, width=2.5, label="U"),
        ],
        title=f"{BEADS + 1} places, all equally likely if q is correct",
        caption="Lit: the places the test point can have; ξ draws one point of them.",
        x=Axis((0, 1), "p-value U"),
        y=Axis((0, 1), hidden=True),
        height=150,
    )
