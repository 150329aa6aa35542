"""What the Conformal C2ST workbench draws: cached scores in, charts out."""

import math

import numpy as np
import streamlit as st
from scipy.special import ndtri

from pages.components import charts, live
from pages.components.services import services
from validation_core import models, statistics, workbench
from validation_core.diagnosis.words import pvalue_text
from validation_core.figures import style
from validation_core.figures.nulls import on_null
from validation_core.figures.power import power_curves
from validation_core.figures.ranks import histogram_band
from validation_core.figures.scores import score_against_oracle, score_histograms
from validation_core.figures.training import loss_curve
from validation_core.figures.variance import variance_against_m
from validation_core.tasks import Axis, GridTask, PowerTask, ScoreGrid
from validation_core.types import PowerCell

BINS = 20
_POINTS = np.linspace(0, 1, 101)
_CLOUD = 400  # points of each side in a scatter


@st.cache_resource(show_spinner=False, max_entries=32)
def grid(key: str, _task: GridTask) -> ScoreGrid:
    """The stored scores of a task, read once; keyed by the task's key."""
    found = _task.load(services().store)
    assert found is not None, "pages draw a grid only when the store holds it"
    return found


@st.cache_resource(show_spinner=False, max_entries=128)
def rank_chart(
    key: str, _scores: ScoreGrid, m: int, n: int, alpha: float, seed: int
) -> live.Payload:
    """Rank histogram and ECDF difference at every beta, for the browser to switch between."""
    found = workbench.ranks(_scores, m, n, seed)
    betas = live.slider(
        "beta", found.betas, label="Degradation beta", ends=("trained", "random network")
    )
    return live.payload(
        sliders=[betas],
        panels=[_histogram(found), _difference(found)],
        headline=live.text(
            f"At beta = {{beta}} the classifier's AUC is {{auc}}: {found.n} draws of q {{says}} "
            f"(p {{p}}).",
            beta=live.over([f"{beta:g}" for beta in found.betas], "beta"),
            auc=live.over([f"{auc:.3f}" for auc in found.auc], "beta"),
            says=live.over([_says(p, alpha) for p in found.ks.pvalue], "beta"),
            p=live.over([_equals(p) for p in found.ks.pvalue], "beta"),
        ),
    )


def _says(pvalue: float, alpha: float) -> str:
    seen = "do not rank like p's" if pvalue <= alpha else "give no evidence against q"
    return f"{seen} at level {alpha:.0%}"


def _equals(pvalue: float) -> str:
    shown = pvalue_text(float(pvalue))
    return shown if shown.startswith("<") else f"= {shown}"


def _histogram(found: workbench.Ranks) -> dict:
    edges = np.linspace(0, 1, BINS + 1)
    counts = np.stack([np.histogram(u, edges)[0] for u in found.u])
    low, high = histogram_band(found.n, BINS)
    ends = zip(found.mean, 1 - found.auc, found.total_variation, strict=True)
    said = [
        f"Mean rank E[U] = {mean:.3f}, beside 1 - AUC = {miss:.3f}. An AUC this far from one "
        f"half means a total variation between p and q of at least {tv:.3f}."
        for mean, miss, tv in ends
    ]
    return live.panel(
        [
            live.band([0, 1], [low, low], [high, high]),
            live.bars(edges, live.over(counts, "beta"), color=style.Q),
            live.hline(found.n / BINS, label="if q = p"),
        ],
        title="Conformal ranks of q's draws",
        x=live.axis((0, 1), "rank U: low where q's draw looks unlike p"),
        y=live.axis((0, 1.1 * max(counts.max(), high)), "draws of q"),
        caption=live.over(said, "beta"),
    )


def _difference(found: workbench.Ranks) -> dict:
    difference = statistics.ecdf_difference(found.u, _POINTS)
    low, high = statistics.ecdf_band(found.n, 0.95, _POINTS)
    reach = 1.1 * max(np.abs(difference).max(), high.max(), -low.min())
    tests = zip(
        found.ks.pvalue, found.anderson_darling.pvalue, found.cramer_von_mises.pvalue, strict=True
    )
    said = [
        f"Uniform? Kolmogorov-Smirnov p {_equals(ks)}, Anderson-Darling p {_equals(ad)}, "
        f"Cramér-von Mises p {_equals(cvm)}."
        for ks, ad, cvm in tests
    ]
    return live.panel(
        [
            live.band(_POINTS, low, high),
            live.hline(0),
            live.line(_POINTS, live.over(difference, "beta"), color=style.Q),
        ],
        title="Distance of their ECDF from the diagonal",
        x=live.axis((0, 1), "u"),
        y=live.axis((-reach, reach), "share of ranks up to u, less u"),
        caption=live.over(said, "beta"),
    )


def how_to_read(m: int, n: int, scores: ScoreGrid) -> str:
    """What the ranks mean, and how their calibration draws were had."""
    pool = scores.p.shape[1]
    own = (
        f"Each of the {n} draws of q is ranked among {m} draws of p of its own: the test is "
        "exact, however weak the classifier."
        if n * m <= pool
        else f"{n} × {m} calibration draws are more than were scored: counts are drawn from the "
        f"pooled law of {pool} scores of p, which is off by {statistics.dkw(pool, 0.95):.4f} "
        "at most in 95 of 100 pools."
    )
    return (
        "Were q right, ranks would be flat and the line would stay inside the grey band, which it "
        f"leaves anywhere in 5% of samples. {own}"
    )


def scores_tab(scores: ScoreGrid, at: int) -> None:
    """Score distributions under p and q, and the learned score against the oracle."""
    left, right = st.columns(2)
    charts.captioned(
        left, "The score under p and under q",
        score_histograms(scores.p[at], scores.q[at], height=230), "scores",
        f"AUC {scores.auc[at]:.3f}: how often a draw of p scores above one of q. Were q right, "
        "the two would lie on each other. Dashed: where C2ST cuts.",
    )  # fmt: skip
    if not scores.oracle_auc.size:
        right.caption("The oracle log ratio of this benchmark is not known.")
        return
    learned = np.concatenate([scores.p[at, :_CLOUD], scores.q[at, :_CLOUD]])
    oracle = np.concatenate([scores.oracle_p[:_CLOUD], scores.oracle_q[:_CLOUD]])
    charts.captioned(
        right, "Against the oracle log p − log q",
        score_against_oracle(learned, oracle, np.arange(2 * _CLOUD) < _CLOUD, height=230),
        "oracle",
        f"No score does better than the oracle's AUC {scores.oracle_auc[0]:.3f}. Ranks see the "
        "order only: any rising curve is as good as a straight line. Were q right, the oracle "
        "would be 0 everywhere.",
    )  # fmt: skip


def tests_tab(scores: ScoreGrid, at: int, n: int, alpha: float, seed: int) -> None:
    """Multiple and C2ST on their nulls, and what more calibration draws buy."""
    found = workbench.others(scores, at, n, seed)
    critical, sd = float(ndtri(1 - alpha)), 1 / math.sqrt(8 * n)
    per_class = float(found.c2st.arrays["pvalue_per_class"])
    left, middle, right = st.columns(3)
    charts.captioned(
        left, "Multiple",
        on_null(float(found.multiple.statistic), mean=0, sd=1, critical=critical, label="T"),
        "multiple",
        f"p {_equals(float(found.multiple.pvalue))}. One set of {n} calibration draws serves all "
        f"{n} draws of q. Were q right, T would be a draw of the grey curve.",
    )  # fmt: skip
    charts.captioned(
        middle, "C2ST",
        on_null(float(found.c2st.statistic), mean=0.5, sd=sd, critical=0.5 + critical * sd,
                label="accuracy"),
        "c2st",
        f"p {_equals(float(found.c2st.pvalue))}, or {pvalue_text(per_class)} with each class's "
        "own variance: once the threshold is off, the nominal null (grey) is too wide.",
    )  # fmt: skip
    charts.captioned(
        right, "Noise of a rank",
        variance_against_m(np.array(workbench.PAPER_M), found.variance, height=190), "variance",
        "Variance of U at a given draw of q, over calibration sets: it falls as 1/m.",
    )  # fmt: skip


def training_tab(task: GridTask) -> None:
    """How the network at hand was trained."""
    network = models.load(services().store, task.training)
    if network is None:
        st.caption("The network was deleted; its scores are still here.")
        return
    charts.show(loss_curve(network.history, height=240), "loss")
    recipe = task.training.recipe
    st.caption(
        f"{recipe.train} + {recipe.train} rows, {recipe.epochs} epochs, learning rate "
        f"{recipe.lr:g} falling to 0 along a cosine; {network.seconds:.1f} s on {network.device}; "
        f"held-out AUC {network.auc:.3f}. A loss of 0.693 and an AUC of one half are guessing."
    )


@st.cache_resource(show_spinner=False, max_entries=512)
def _counts(key: str, _task: PowerTask) -> list[PowerCell]:
    return _task.load(services().store) or []


def cells(stages: list[list[PowerTask]]) -> list[PowerCell]:
    """The counts at hand: for each point of a sweep those of the longest run that is done."""
    best: list[PowerCell] = []
    for point in zip(*stages, strict=True):
        done = [task for task in point if task.done(services().store)]
        if done:
            best += _counts(done[-1].key, done[-1])
    return best


def power_figure(drawn: list[PowerCell], axis: Axis, m: int, alpha: float, mark: float) -> None:
    """Power along an axis, and what it cost."""
    along_m = axis == "m"
    shown = [c for c in drawn if along_m or c.method != "uniform" or c.options["m"] == m]
    charts.show(power_curves(shown, axis, alpha, mark), "power")
    if not shown:
        return
    trials = sorted({cell.trials for cell in shown})
    count = f"{trials[0]}" if len(trials) == 1 else f"{trials[0]} to {trials[-1]}"
    draws = max(cell.draws_p for cell in shown), max(cell.draws_q for cell in shown)
    seconds = sum({cell.gamma + 10 * cell.beta: cell.seconds for cell in shown}.values())
    st.caption(
        f"{count} trials a point, {shown[0].protocol} protocol; at most {draws[0]:,} draws of p "
        f"and {draws[1]:,} of q a point; {seconds:.1f} s of computing. Bands are 95% Wilson "
        "intervals of these trials with this one trained classifier. The dashed line is the "
        "level, where every curve would lie were q right."
    )
