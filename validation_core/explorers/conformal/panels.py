"""Panels of the Conformal C2ST page: draws, ranks, scores, and other tests."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri

from validation_core import statistics
from validation_core.benchmarks.gaussian import Gaussian
from validation_core.drawing import style
from validation_core.drawing.ecdf_difference import counted_difference
from validation_core.drawing.marks import (
    Axis,
    Band,
    Bars,
    Line,
    Panel,
    Points,
    VLine,
    over,
    sentence,
)
from validation_core.drawing.null_histogram import statistic_on_null
from validation_core.drawing.rank_histogram import rank_counts
from validation_core.explorers.conformal.study import POINTS, Q_ROWS, REACH, Conformal, oracle_rows
from validation_core.explorers.conformal.view import (
    FRAME,
    PANEL_HEIGHT,
    SHOWN_DRAWS,
    ConformalView,
    over_sliders,
    slider_texts,
)
from validation_core.rng import common
from validation_core.text import interval_text, said_equals, said_pvalue, signed_text
from validation_core.types import Array


def draws_panel(benchmark: Gaussian, gammas: Sequence[float]) -> Panel:
    """Draws of p and q at one x, on the same random numbers at each gamma."""
    x = np.ones((SHOWN_DRAWS, benchmark.dim_x))  # the mean of x
    p, q = (
        np.stack([law(x, gamma, common(0, "conformal", name))[:, :2] for gamma in gammas])
        for name, law in (("shown p", benchmark.theta), ("shown q", benchmark.q))
    )
    both = np.concatenate([p, q]).reshape(-1, 2)
    low, high = np.quantile(both, [FRAME, 1 - FRAME], axis=0)
    room = 0.08 * (high - low)
    limits = [(float(a), float(b)) for a, b in zip(low - room, high + room, strict=True)]
    return Panel(
        [
            Points(
                over(side[..., 0], "gamma", coarse=True),
                over(side[..., 1], "gamma", coarse=True),
                color=color,
                size=4,
                opacity=0.7,
            )
            for side, color in ((q, style.Q), (p, style.P))
        ],
        title="Draws at one x",
        x=Axis(limits[0], "θ₁"),
        y=Axis(limits[1], "θ₂"),
        height=PANEL_HEIGHT,
        legend=[("true p", style.P, "circle"), ("estimate q", style.Q, "circle")],
        caption=f"Two of {benchmark.dim_theta} parameters, at the mean of x.",
    )


def rank_histogram_panel(look: ConformalView, seen: Conformal) -> Panel:
    """Histogram of the conformal ranks."""
    return rank_counts(
        over_sliders(seen, seen.counts),
        look.study.n,
        Axis((0, 1), "rank U: low where q's draw looks unlike p"),
        "draws of q",
        shown=0.9,
        title="Conformal ranks of q's draws",
        height=PANEL_HEIGHT,
        caption=sentence(
            "Mean rank {mean}, beside 1 − AUC = {miss}. {auc}",
            mean=slider_texts(seen, seen.mean, "{:.3f}".format),
            miss=slider_texts(seen, 1 - seen.auc, "{:.3f}".format),
            auc=over_sliders(seen, _auc_texts(look, seen)),
        ),
    )


def _auc_texts(look: ConformalView, seen: Conformal) -> NDArray[np.str_]:
    """AUC with its interval, and the distance of p and q that it implies, in words: (G, B).

    By the largest variance that a given AUC has, A (1 - A) over the smaller number of draws, and
    Wilson's interval with it: an AUC of 1 in a sample does not say that p and q never meet. A
    classifier that ranks backwards tells as much as one that ranks p above q.
    """
    n_q = oracle_rows(look.study)[1] if look.oracle else Q_ROWS
    auc = np.asarray(seen.auc, np.float64)
    draws = min(seen.pool, n_q)
    low, high = statistics.wilson(auc * draws, draws)
    bound = statistics.total_variation_bounds(np.maximum(low, 1 - high))[0]
    correct = np.array(look.correct(seen))[:, None]
    texts = np.vectorize(auc_text)(auc, low, high, bound, correct)
    return np.asarray(texts)


def auc_text(auc: float, low: float, high: float, bound: float, correct: bool) -> str:
    """An AUC with its interval, and the least total variation between p and q, in words."""
    interval = f"AUC {interval_text((auc, low, high), '.3f')}"
    if round(bound, 3) <= 0:
        return f"{interval}: by itself no evidence that p and q differ."
    if correct:
        return f"{interval}: away from one half by chance, since q is correct here."
    return f"{interval}: the total variation between p and q is at least {bound:.3f}."


def rank_difference_panel(look: ConformalView, seen: Conformal) -> Panel:
    """ECDF difference of the conformal ranks."""
    return counted_difference(
        POINTS,
        over_sliders(seen, np.asarray(seen.difference, np.float64), coarse=True),
        look.study.n,
        "share of ranks up to u, less u",
        title="Distance of their ECDF from the diagonal",
        height=PANEL_HEIGHT,
        caption=sentence(
            "Uniform? p-values: Kolmogorov-Smirnov {ks}, Anderson-Darling {ad}, Cramér-von "
            "Mises {cvm}.{chance}",
            chance=_chance(look, seen, seen.ks, seen.anderson_darling, seen.cramer_von_mises),
            ks=slider_texts(seen, seen.ks, said_equals),
            ad=slider_texts(seen, seen.anderson_darling, said_equals),
            cvm=slider_texts(seen, seen.cramer_von_mises, said_equals),
        ),
    )


def _chance(look: ConformalView, seen: Conformal, *pvalues: Array) -> Any:
    """A sentence over the sliders where q is correct and a p-value (G, B) is below the level."""
    low = np.stack(pvalues).min(0) <= look.alpha
    correct = np.array(look.correct(seen))[:, None]
    return over_sliders(seen, np.where(low & correct, " Low by chance: q is correct here.", ""))


def score_densities_panel(seen: Conformal) -> Panel:
    """Densities of the standardised score under p and q."""
    edges = np.linspace(-REACH, REACH, seen.density_p.shape[-1] + 1)
    top = 1.12 * float(max(seen.density_p.max(), seen.density_q.max()))
    cut = np.clip(seen.threshold, -REACH, REACH)
    return Panel(
        [
            Bars(edges, over_sliders(seen, seen.density_q, coarse=True), color=style.Q),
            Bars(edges, over_sliders(seen, seen.density_p, coarse=True), color=style.P),
            VLine(over_sliders(seen, cut), dash="4 3", label="threshold"),
        ],
        title="The score under p and under q",
        x=Axis((-REACH, REACH), "score, standardised: high looks like p"),
        y=Axis((0, top), "density"),
        height=PANEL_HEIGHT,
        legend=[("p", style.P, "circle"), ("q", style.Q, "circle")],
        caption=sentence(
            "AUC {auc}: how often a draw of p scores above one of q. Upright: where C2ST cuts.",
            auc=slider_texts(seen, seen.auc, "{:.3f}".format),
        ),
    )


def score_against_oracle_panel(look: ConformalView, seen: Conformal) -> list[Panel]:
    """Panel of the score's quantiles against the log ratio; none where that is unknown."""
    if look.oracle or not seen.oracle.size:
        return []
    low, middle, high = (np.asarray(seen.against[:, :, i], np.float64) for i in range(3))
    x = np.asarray(seen.oracle, np.float64)
    reach = 1.1 * float(np.quantile(np.abs(np.concatenate([low, high])), 0.99))
    ends = np.quantile(x, [0.01, 0.99])
    margin = 0.04 * (ends[1] - ends[0]) or 1.0
    at = over(x, "gamma")
    return [
        Panel(
            [
                Band(
                    at, over_sliders(seen, low, coarse=True), over_sliders(seen, high, coarse=True)
                ),
                Line(
                    at,
                    over_sliders(seen, middle, coarse=True),
                    color=style.method_style("uniform").color,
                ),
            ],
            title="Against the oracle",
            x=Axis((float(ends[0] - margin), float(ends[1] + margin)), "oracle log p − log q"),
            y=Axis((-reach, reach), "learned score, standardised"),
            height=PANEL_HEIGHT,
            caption=sentence(
                "{words}",
                words=over(
                    [
                        _oracle_words(float(auc), same)
                        for auc, same in zip(seen.oracle_auc, look.correct(seen), strict=True)
                    ],
                    "gamma",
                ),
            ),
        )
    ]


def _oracle_words(auc: float, correct: bool) -> str:
    """How to read a score against an oracle of this AUC."""
    if correct:
        return (
            "q is p: the oracle is 0 at every draw, and there is nothing to learn. The band holds "
            "the middle 80% of draws."
        )
    return (
        "Line: median; band: the middle 80% of draws. Any rising curve ranks as well as the "
        f"oracle, whose AUC is {auc:.3f}; a flat one has learnt nothing."
    )


def other_tests_panel(look: ConformalView, seen: Conformal) -> list[Panel]:
    """Panels of the statistics of other tests on their nulls."""
    critical, sd = float(ndtri(1 - look.alpha)), float(1 / np.sqrt(8 * look.study.n))
    multiple = sentence(
        "T = {t}, p-value {p}.{chance}",
        chance=_chance(look, seen, seen.multiple_p),
        t=slider_texts(seen, seen.multiple, partial(signed_text, form=".2f")),
        p=slider_texts(seen, seen.multiple_p, said_equals),
    )
    c2st = sentence(
        "Accuracy {a}, p-value {p}; with each class's own variance {own}.{chance} Once the "
        "threshold is off, the nominal null is too wide.",
        chance=_chance(look, seen, seen.accuracy_p, seen.accuracy_own_p),
        a=slider_texts(seen, seen.accuracy, "{:.3f}".format),
        p=slider_texts(seen, seen.accuracy_p, said_equals),
        own=slider_texts(seen, seen.accuracy_own_p, said_pvalue),
    )
    return [
        statistic_on_null(
            over_sliders(seen, seen.multiple),
            mean=0,
            sd=1,
            critical=critical,
            label="T",
            title="Multiple: the mean rank, standardised",
            caption=multiple,
            height=PANEL_HEIGHT,
        ),
        statistic_on_null(
            over_sliders(seen, seen.accuracy),
            mean=0.5,
            sd=sd,
            critical=0.5 + critical * sd,
            label="accuracy",
            title="C2ST: held-out accuracy",
            caption=c2st,
            height=PANEL_HEIGHT,
        ),
    ]
