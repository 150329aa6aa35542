"""Lesson 7: a q that ignores x, and the tests that detect it.

Chen, Bansal, Scott, CoLT, Appendix C.2 (blind prior), in one parameter and one number x.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from validation_core import sampling, statistics
from validation_core.benchmarks import Gaussian
from validation_core.drawing import style
from validation_core.drawing.marks import (
    Axis,
    Band,
    Bars,
    HLine,
    Line,
    Note,
    Panel,
    Points,
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
    rate_line,
    rejection_axis,
)
from validation_core.lessons.lesson import Beat, FollowUp, Formula, NumberGuess, Prediction, Stage
from validation_core.lessons.study import LessonStudy
from validation_core.methods import SBC, TARP
from validation_core.rng import common, stream
from validation_core.store import Store
from validation_core.study import Report
from validation_core.text import said_pvalue, share_text
from validation_core.types import Array, Joint, MethodStyle, PosteriorTable

ALPHAS = tuple(round(0.1 * step, 1) for step in range(11))
"""How blind q is: 0 is the posterior, 1 the prior."""
MIXES = ("at a share of all x", "in a share of the draws")
"""Units of which alpha is a share: all x, or all draws."""
FOLLOWS = (0.0, 0.2, 0.4, 0.6, 0.8, 1.0)
"""How far CoLT's centre goes from the mean of the prior to E[theta | x]."""
SIZES = (20, 50, 100, 200, 500)
"""Simulations of a batch."""
K, TRIALS, SAMPLES = 50, 400, 8
"""Draws of q at each x; batches that a rate is counted on; batches that are drawn."""
ALPHA = 0.05
TESTS = ("SBC", "TARP, random", "TARP, follows x", "CoLT", "C2ST")
"""The first four rank true values among q's draws."""
_ASKED = [0, 1, 3, 4]  # of them, those that the prediction asks about
_RANKED = 4
_SHORT = ("SBC", "TARP", "TARP by x", "CoLT")
_TARPS = (TARP(), TARP(reference="x"))
_LEARNT = 1000  # true pairs, of no batch, that references learn from
_SHOWN = 150  # points of each cloud
_BINS = np.linspace(0, 1, 11)
_N = 50  # where the prediction is asked
_TOP = 0.42  # of the histograms


class _RankTestResult(NamedTuple):
    """Outcomes of a ranking test on all batches: M mixes, A alphas, N sizes.

    Leading axes are further tests.
    """

    hits: Array
    """(M, A, N) batches rejected."""
    counts: Array
    """(M, A, N, SAMPLES, bins) ranks of the batches that are drawn."""
    pvalues: Array
    """(M, A, N, SAMPLES) of these."""
    distance: Array
    """(M, A) Kolmogorov distance of the ranks of all batches from uniform ones."""


class _BlindPriorResult(NamedTuple):
    """Outcomes of the tests on a q that ignores x to a varying degree."""

    p: Array
    """(_SHOWN, 2) x and theta of true values."""
    q: Array
    """(A, _SHOWN, 2) of q's draws, one at each x."""
    ranked: _RankTestResult
    """(3, ...): SBC, TARP, TARP with references that follow x."""
    colt: _RankTestResult
    """(FOLLOWS, ...)."""
    c2st_hits: Array
    """(A, N)."""


_BLIND = Slider(
    "alpha",
    ALPHAS,
    label="How blind, alpha",
    form="{:g}",
    start=1.0,
    ends=("q = p", "q = prior"),
    play=True,
    rate=3,
)
_MIX = Slider("mix", range(len(MIXES)), label="q ignores x", names=MIXES)
_FOLLOW = Slider(
    "follow",
    FOLLOWS,
    label="CoLT's centre",
    form="{:g}",
    start=1.0,
    ends=("stands still", "follows x"),
)
_SIZE = Slider("n", SIZES, label="Simulations, n", form="{:g}", start=_N)
_SAMPLE = Slider(
    "sample",
    range(SAMPLES),
    label="Batch",
    button="Draw another batch",
    names=[str(sample + 1) for sample in range(SAMPLES)],
)


@dataclass(frozen=True, kw_only=True)
class BlindPrior(LessonStudy[_BlindPriorResult], spec="lesson_blind_prior"):
    """Batches of simulations; the draws at all alphas share their random numbers."""

    seed: int = 7

    name = "blind-prior"
    number = 7
    title = "What SBC and TARP cannot see"
    short = "Blind q"
    question = "An estimate that never looks at x: which tests object?"
    minutes = 7
    sliders = (_BLIND, _MIX, _FOLLOW, _SIZE, _SAMPLE)
    papers = (Gaussian.paper, SBC.paper, TARP.paper)
    onwards = FollowUp(label="Ask it of my own table")

    def compute(self, store: Store, report: Report) -> _BlindPriorResult:
        """Run the tests. A smaller batch is the first rows of a larger one; batches share no x."""
        draws = BlindDraws.of(self.seed)
        pairs = sampling.pairs(
            blind_prior_benchmark(), 1.0, _LEARNT, stream(self.seed, "references")
        )
        references = [
            tarp.recipe(_LEARNT, K).learn_all([pairs], [self.seed])[0].at() for tarp in _TARPS
        ]
        ranked: list[list[_RankTestResult]] = []
        for mix in range(len(MIXES)):
            for alpha in ALPHAS:
                table = draws.table(alpha, mix)
                sides = [(table.theta[:, 0], table.q[..., 0])]
                for scores in (distance.table(table) for distance in references):
                    sides.append((scores.truth[0], scores.draws[0]))
                sides += [_distances(table, follow) for follow in FOLLOWS]
                # The same numbers break ties in every test.
                ranked.append([_rank_test(*side, stream(self.seed, "ties")) for side in sides])
                report(len(ranked) / (len(MIXES) * len(ALPHAS) + 1), {})
        fields = [
            np.stack([[one[field] for one in row] for row in ranked], axis=1)
            for field in range(len(_RankTestResult._fields))
        ]
        looks = [f.reshape(f.shape[0], len(MIXES), len(ALPHAS), *f.shape[2:]) for f in fields]
        shown = [draws.table(alpha, 0) for alpha in ALPHAS]
        return _BlindPriorResult(
            np.c_[draws.p.x, draws.p.theta][:_SHOWN],
            np.stack([np.c_[t.x[:_SHOWN], t.q[:_SHOWN, 0]] for t in shown]),
            _RankTestResult(*(look[:3] for look in looks)),
            _RankTestResult(*(look[3:] for look in looks)),
            _c2st(self.seed),
        )

    def prediction(self, result: _BlindPriorResult) -> Prediction:
        truth = 100 * rejection_rates(result)[_ASKED, -1, 0, -1, SIZES.index(_N)]
        labels = ("SBC", "TARP, random references", "CoLT, centre E[θ | x]", "C2ST")
        sbc, tarp, colt, c2st = guesses = [
            NumberGuess(name=f"guess_{name}", label=f"{label} rejects", truth=float(share))
            for name, label, share in zip(
                ("sbc", "tarp", "colt", "c2st"), labels, truth, strict=True
            )
        ]
        return Prediction(
            asked=guesses,
            answer=sentence(
                f"SBC rejects {truth[0]:.0f}% of {TRIALS} batches (you said {{sbc}}), TARP "
                f"{truth[1]:.0f}% ({{tarp}}), CoLT {truth[2]:.0f}% ({{colt}}), C2ST "
                f"{truth[3]:.0f}% ({{c2st}}). {{comment}}",
                sbc=sbc.words,
                tarp=tarp.words,
                colt=colt.words,
                c2st=c2st.words,
                comment=over(
                    np.where(
                        np.abs(np.asarray(sbc.values) - truth[0]) > 10,
                        "To SBC the prior is a correct posterior: 5% is its false-alarm rate.",
                        "Right: to SBC the prior is a correct posterior.",
                    ),
                    sbc.name,
                ),
            ),
        )

    def stages(self, result: _BlindPriorResult) -> list[Stage]:
        share = rejection_rates(result)
        ways = ("follow", "mix", "alpha", "n")
        now = {
            name: written(rates, share_text, *ways)
            for name, rates in zip(("sbc", "tarp", "followed", "colt", "c2st"), share, strict=True)
        }
        at = {"how": over(_blindness(), "mix", "alpha"), "n": _SIZE.words}
        return [
            Stage(
                title="Predict",
                words="Blue: true values fall as x rises. Orange: q's draws, a level cloud. "
                f"This q ignores x and answers with the prior. Take {_N} simulations with {K} "
                f"draws of q at each. C2ST takes {_N} + {_N} points. How often does each "
                "test reject at the 5% level?",
                panels=[1],
                at={"alpha": 1.0, "mix": 0, "n": _N, "follow": 1.0},
                beats=[
                    Beat(
                        at={"alpha": 0.0},
                        seconds=2.0,
                        words="A q that is correct follows x, as the true values do.",
                    ),
                    Beat(at={"alpha": 1.0}, seconds=5.0),
                ],
            ),
            Stage(
                title="Reveal",
                words=sentence(
                    "{how} At n = {n} SBC rejects {sbc} of batches, TARP with random references "
                    "{tarp}, with references that follow x {followed}, CoLT {colt}, C2ST {c2st}. "
                    "A correct q is rejected in 5%, by C2ST in less.",
                    **now,
                    **at,
                ),
                panels=[0, 2, 1],
                sliders=["alpha", "n", "sample"],
                at={"mix": 0, "follow": 1.0, "n": _N, "alpha": 1.0},  # as was predicted
                beats=[Beat(at={"alpha": 0.0}, seconds=3.0), Beat(at={"alpha": 1.0}, seconds=9.0)],
            ),
            Stage(
                title="Break it: half blind",
                words=sentence(
                    "{how} SBC rejects {sbc} at n = {n}. Blind in "
                    "half of the draws, q is too wide at every x: with many simulations "
                    "SBC begins to see it. Blind in all of them, it passes again. "
                    "Blind at half of all x, it passes too.",
                    **now,
                    **at,
                ),
                panels=[0, 2],
                sliders=["alpha", "mix", "n"],
                at={"mix": 1, "alpha": 0.5, "n": 500, "follow": 1.0},
                beats=[
                    Beat(at={"alpha": 0.0}, seconds=2.0),
                    Beat(at={"alpha": 0.5}, seconds=4.0),
                    Beat(at={"alpha": 1.0}, seconds=4.0),
                    Beat(at={"alpha": 0.5, "mix": 0}, seconds=4.0),
                ],
            ),
            Stage(
                title="Break it: CoLT",
                words=sentence(
                    "The centre {follow}: CoLT rejects {colt} at n = {n}. A centre that does not "
                    "move with x asks the question of SBC and TARP. CoLT must learn to move it; "
                    "here E[θ | x] is a closed form.",
                    follow=over([_followed(share) for share in FOLLOWS], "follow"),
                    n=_SIZE.words,
                    **now,
                ),
                panels=[1, 0],
                sliders=["follow", "n"],
                at={"mix": 0, "alpha": 1.0, "n": _N, "follow": 1.0},
                beats=[
                    Beat(at={"follow": 0.0}, seconds=5.0),
                    Beat(at={"follow": 1.0}, seconds=5.0),
                ],
            ),
            Stage(
                title="Why",
                words="SBC and TARP with random references add ranks up over all x, and the "
                "prior is the average of all posteriors: over all x together, true values and "
                "q's draws are alike. A centre that follows x asks at each x, where they differ.",
                panels=[0, 1],
                sliders=["alpha", "follow"],
                formula=Formula(
                    latex=r"\begin{matrix} \int p(\theta|x)\,p(x)\,dx = p(\theta) \\ "
                    r"d = \max_u |F(u) - u| \\ "
                    r"d_\text{SBC} = \text{@sbc}, \;\; d_\text{CoLT} = \text{@colt} "
                    r"\end{matrix}",
                    values={
                        "sbc": written(result.ranked.distance[0], "{:.3f}", "mix", "alpha"),
                        "colt": written(result.colt.distance, "{:.3f}", "follow", "mix", "alpha"),
                    },
                    source="Chen, Bansal, Scott (2025), Theorem 2; distances over "
                    f"{TRIALS * SIZES[-1]:,} simulations",
                ),
                at={"mix": 0, "n": 500, "follow": 1.0, "alpha": 1.0},
                beats=[Beat(at={"alpha": 0.0}, seconds=3.0), Beat(at={"alpha": 1.0}, seconds=5.0)],
            ),
            Stage(
                title="What it does not tell",
                words=sentence(
                    "Flat ranks do not say that q has learned from x: at alpha = {alpha}{correct} "
                    "SBC passes {passed} of batches. And a rejection by CoLT depends on its "
                    "centre: it sees only errors that change the mass of balls about it.",
                    alpha=_BLIND.words,
                    correct=over(
                        ["" if alpha else ", where it has," for alpha in _BLIND.grid], "alpha"
                    ),
                    passed=written(1 - share[0], share_text, *ways),
                ),
                panels=[2, 1],
                sliders=["alpha", "n"],
                at={"mix": 0, "follow": 1.0},
            ),
        ]

    def panels(self, result: _BlindPriorResult) -> list[Panel]:
        return [_histograms(result), _cloud(result), _power(rejection_rates(result))]


def blind_prior_benchmark() -> Gaussian:
    """The benchmark: blind prior, theta against x."""
    return Gaussian(perturbation="blind_prior", dim_x=1, dim_theta=1)


@dataclass(frozen=True, eq=False)
class BlindDraws:
    """True pairs and, at each x, draws of posterior and prior; u selects between them."""

    p: Joint
    seeing: Array
    """(n, K, 1)."""
    blind: Array
    """(n, K, 1)."""
    u: Array
    """(n, K)."""

    @classmethod
    def of(cls, seed: int) -> BlindDraws:
        """Draw all batches, one after another."""
        own, n = blind_prior_benchmark(), TRIALS * SIZES[-1]
        p = sampling.pairs(own, 1.0, n, common(seed, "p"))
        x = np.repeat(p.x, K, axis=0)
        seeing = own.theta(x, 1.0, common(seed, "seeing")).reshape(n, K, 1)
        blind = own.q(x, 1.0, common(seed, "blind")).reshape(n, K, 1)
        return cls(p, seeing, blind, stream(seed, "u").random((n, K)))

    def table(self, alpha: float, mix: int) -> PosteriorTable:
        """Table of a q blind at a share alpha of all x (mix 0), or of its draws (mix 1)."""
        u = self.u[:, :1] if mix == 0 else self.u
        q = np.where((u < alpha)[..., None], self.blind, self.seeing)
        return PosteriorTable(self.p.theta, self.p.x, q)


def interpolated_mean(x: Array, follow: float) -> Array:
    """Interpolation from E[theta] to E[theta | x] by `follow`: (n, 1) of x (n, 1)."""
    own = blind_prior_benchmark()
    prior = own.mean(np.ones((1, 1)))  # x has mean 1, and E[theta | x] is linear in x
    return np.asarray(prior + follow * (own.mean(x) - prior))


def _distances(table: PosteriorTable, follow: float) -> tuple[Array, Array]:
    middle = interpolated_mean(table.x, follow)
    return np.abs(table.theta - middle)[:, 0], np.abs(table.q[..., 0] - middle)


def _rank_test(truth: Array, draws: Array, rng: np.random.Generator) -> _RankTestResult:
    u = statistics.conformal_ranks(truth, draws, rng).reshape(TRIALS, SIZES[-1])
    first = [u[:, :n] for n in SIZES]
    pvalues = np.stack([SBC().of_ranks(part[:, None]).pvalue for part in first])
    return _RankTestResult(
        (pvalues <= ALPHA).sum(-1),
        np.array([[np.histogram(row, _BINS)[0] for row in part[:SAMPLES]] for part in first]),
        pvalues[:, :SAMPLES],
        statistics.ks(u.ravel()).statistic,
    )


def _c2st(seed: int) -> Array:
    """Batches rejected (A, N); here a batch is n + n points."""
    own, n = blind_prior_benchmark(), TRIALS * SIZES[-1]
    drawn = sampling.blocks(own, 1.0, n, n, common(seed, "c2st"))
    seeing = own.theta(drawn.q.x, 1.0, common(seed, "c2st seeing"))
    u = stream(seed, "c2st u").random(n)
    p, blind, sees = (
        np.asarray(own.log_ratio(theta, x, 1.0)).reshape(TRIALS, -1)
        for theta, x in (
            (drawn.p.theta, drawn.p.x),
            (drawn.q.theta, drawn.q.x),
            (seeing, drawn.q.x),
        )
    )
    pvalues = np.empty((len(ALPHAS), len(SIZES), TRIALS))
    for a, alpha in enumerate(ALPHAS):
        q = np.where(u.reshape(TRIALS, -1) < alpha, blind, sees)
        for i, size in enumerate(SIZES):
            pvalues[a, i] = statistics.c2st(p[:, :size], q[:, :size]).pvalue
    return (pvalues <= ALPHA).sum(-1)


def _blindness() -> list[list[str]]:
    """How q ignores x, in words: (M, A)."""
    return [
        [f"q is blind {mix}, alpha = {alpha:g}." if alpha else "q is correct." for alpha in ALPHAS]
        for mix in MIXES
    ]


def _followed(share: float) -> str:
    """How a centre follows x, in words."""
    if share in (0, 1):
        return "follows x fully" if share else "does not move with x"
    return f"goes {share:.0%} of the way from the prior's mean to E[θ | x]"


def rejection_rates(result: _BlindPriorResult) -> NDArray[np.float64]:
    """Rejection rates (tests, FOLLOWS, M, A, N), with TESTS in their order."""
    follows, mixes = len(FOLLOWS), len(MIXES)
    shape = (follows, mixes, len(ALPHAS), len(SIZES))
    parts = [
        *(np.broadcast_to(hits, shape) for hits in result.ranked.hits),
        result.colt.hits,
        np.broadcast_to(result.c2st_hits, shape),
    ]
    return np.stack(parts) / TRIALS


_LOOKS = tuple(
    MethodStyle(style.method_style(name).color, dash)
    for name, dash in (("sbc", ""), ("tarp", ""), ("tarp", "4 3"), ("colt", ""), ("c2st", ""))
)


def _histograms(result: _BlindPriorResult) -> Panel:
    """Panel of the ranks of one batch by the four ranking tests, with their p-values."""
    sizes = np.array(SIZES)
    width = len(_BINS) - 1
    ways = ("mix", "alpha", "n", "sample")
    both: list[tuple[Array, Array, tuple[str, ...]]] = [
        (*each, ways) for each in zip(result.ranked.counts, result.ranked.pvalues, strict=True)
    ]
    both.append((result.colt.counts, result.colt.pvalues, ("follow", *ways)))
    limits = np.array([statistics.binomial_bounds(n, 1 / width, 0.95) for n in SIZES])
    low, high = (np.repeat((side / sizes)[:, None], 2, axis=1) for side in limits.T)
    marks: list[Band | Bars | HLine | Note | VLine] = []
    for i, (counts, pvalues, sliders) in enumerate(both):
        parts = np.minimum(counts / sizes[:, None, None], _TOP)
        texts = written(pvalues, said_pvalue, *sliders)
        marks += [
            Band([1.15 * i, 1.15 * i + 1], over(low, "n"), over(high, "n")),
            Bars(1.15 * i + _BINS, over(parts, *sliders, coarse=True), color=_LOOKS[i].color),
            Note(1.15 * i + 0.5, 0.93 * 0.5, texts, anchor="middle"),
        ]
    return Panel(
        [*marks, HLine(1 / width, color=style.NULL)],
        title="Ranks of one batch of simulations",
        caption="Each histogram from 0 to 1, its p-value above it; TARP by x: its references "
        "follow x. Grey: each bar by itself, 95% of batches with a correct q. Bars higher than "
        "the panel are cut.",
        x=Axis((-0.1, 4.55), ticks=1.15 * np.arange(_RANKED) + 0.5, names=_SHORT),
        y=Axis((0, 0.5), "share of ranks", percent=True, ticks=[0, 0.1, 0.2, 0.3, 0.4]),
        height=300,
    )


def _cloud(result: _BlindPriorResult) -> Panel:
    at = np.array([-2.2, 4.2])
    lines = np.stack([interpolated_mean(at[:, None], f)[:, 0] for f in FOLLOWS])
    return Panel(
        [
            Points(
                over(result.q[..., 0], "alpha", coarse=True),
                over(result.q[..., 1], "alpha", coarse=True),
                color=style.Q,
                symbol="diamond",
                opacity=0.7,
                size=4,
            ),
            Points(result.p[:, 0], result.p[:, 1], color=style.P, opacity=0.8, size=4),
            Line(at, over(lines, "follow"), color=style.method_style("colt").color),
        ],
        title="Parameter θ against x",
        caption=f"{_SHOWN} true values and, at the same x, one draw of q each.",
        x=Axis((-2.2, 4.2), "x"),
        y=Axis((float(result.p[:, 1].min()) - 0.8, float(result.p[:, 1].max()) + 0.8), "θ"),
        height=300,
        legend=[
            ("true values", style.P, "circle"),
            ("q's draws", style.Q, "diamond"),
            ("CoLT's centre", style.method_style("colt").color, "line"),
        ],
    )


def _power(share: NDArray[np.float64]) -> Panel:
    """Panel of rejection rates over alpha; only CoLT's depends on its centre."""
    moved = np.moveaxis(share, -1, 3)  # tests, follow, mix, n, alpha
    lines = [
        rate_line(ALPHAS, rates, look, "follow", "mix", "n")
        if name == "CoLT"
        else rate_line(ALPHAS, rates[0], look, "mix", "n")
        for name, rates, look in zip(TESTS, moved, _LOOKS, strict=True)
    ]
    return Panel(
        [level_line(ALPHA), *lines, VLine(over(ALPHAS, "alpha"), color=style.OBSERVED)],
        title=f"Share of {TRIALS} batches that are rejected",
        caption="Nothing is trained but TARP's references: C2ST takes the density ratio of p and "
        "the prior as its classifier, CoLT a closed-form centre.",
        x=Axis((0, 1), "how blind q is, alpha"),
        y=rejection_axis(),
        height=300,
        legend=[*map(line_key, TESTS, _LOOKS), LEVEL_KEY],
    )
