"""Conformal C2ST at every beta: cached scores in, pictures out."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd
from scipy.special import ndtri

from validation_core import statistics
from validation_core.diagnosis import equals, pvalue_text
from validation_core.figures import live, style
from validation_core.figures.marks import (
    Axis,
    Band,
    Bars,
    HLine,
    Line,
    Note,
    Panel,
    Points,
    VLine,
    _Slider,
    _text,
    over,
)
from validation_core.figures.power import Along, _power_panel, curves
from validation_core.rng import stream
from validation_core.statistics.curves import histogram_band
from validation_core.sweep import conformal_explorer as workbench
from validation_core.sweep.conformal_explorer import PAPER_M, RankGrid, ScoreGrid
from validation_core.types import Array, PowerCell

BINS = 20

_POINTS = np.linspace(0, 1, 101)


def payload(
    view: str, scores: ScoreGrid, ranks: RankGrid, *, n: int, alpha: float, seed: int
) -> live.Payload:
    """One view of the scores at every beta, for the browser to switch between."""
    panels = {
        "Ranks": lambda: [_histogram(ranks), _difference(ranks)],
        "Scores": lambda: [_spread(scores), *_oracle(scores)],
        "Other tests": lambda: _others(scores, n, alpha, seed),
    }
    ends = ("trained", "random network")
    return live._payload(
        sliders=[_Slider("beta", ranks.betas, label="Degradation beta", ends=ends)],
        panels=panels[view](),
        headline=_text(
            f"At beta = {{beta}} the classifier's AUC is {{auc}}: {ranks.n} draws of q {{says}} "
            f"(p {{p}}).",
            beta=over([f"{beta:g}" for beta in ranks.betas], "beta"),
            auc=over([f"{auc:.3f}" for auc in ranks.auc], "beta"),
            says=over([_says(p, alpha) for p in ranks.ks.pvalue], "beta"),
            p=over([equals(float(p)) for p in ranks.ks.pvalue], "beta"),
        ),
    )


def how_to_read(view: str, m: int, n: int, scores: ScoreGrid) -> str:
    """What a view shows, and what it would look like were q right."""
    if view == "Scores":
        return (
            "Scores are in standard deviations from their common median: ranks see their order "
            "only. Were q right, both histograms would lie on each other and the oracle would "
            "be 0 everywhere."
        )
    if view == "Other tests":
        return (
            f"The same {n} draws of q, with {n} draws of p for all of them. Were q right, each "
            "red line would be a draw of its grey curve; dashed, the level."
        )
    return (
        "Were q right, ranks would be flat and the line would stay inside the grey band, which it "
        f"leaves anywhere in 5% of samples. {_calibration(m, n, scores.p.shape[1])}"
    )


def _calibration(m: int, n: int, pool: int) -> str:
    if n * m <= pool:
        return (
            f"Each of the {n} draws of q is ranked among {m} draws of p of its own: the test is "
            "exact, however weak the classifier."
        )
    return (
        f"{n} × {m} calibration draws are more than were scored: counts are drawn from the pooled "
        f"law of {pool} scores of p, which is off by {statistics.dkw(pool, 0.95):.4f} at most in "
        "95 of 100 pools."
    )


def _says(pvalue: float, alpha: float) -> str:
    conclusion = "do not rank like p's" if pvalue <= alpha else "give no evidence against q"
    return f"{conclusion} at level {alpha:.0%}"


def _histogram(ranks: RankGrid) -> Panel:
    edges = np.linspace(0, 1, BINS + 1)
    counts = np.stack([np.histogram(u, edges)[0] for u in ranks.u])
    low, high = histogram_band(ranks.n, BINS)
    ends = zip(ranks.mean, 1 - ranks.auc, ranks.total_variation, strict=True)
    captions = [
        f"Mean rank E[U] = {mean:.3f}, beside 1 - AUC = {miss:.3f}. An AUC this far from one "
        f"half means a total variation between p and q of at least {tv:.3f}."
        for mean, miss, tv in ends
    ]
    return Panel(
        [
            Band([0, 1], [low, low], [high, high]),
            Bars(edges, over(counts, "beta"), color=style.Q),
            HLine(ranks.n / BINS, label="if q = p"),
        ],
        title="Conformal ranks of q's draws",
        x=Axis((0, 1), "rank U: low where q's draw looks unlike p"),
        y=Axis((0, 1.1 * max(counts.max(), high)), "draws of q"),
        caption=over(captions, "beta"),
    )


def _difference(ranks: RankGrid) -> Panel:
    difference = statistics.ecdf_difference(ranks.u, _POINTS)
    low, high = statistics.ecdf_band(ranks.n, 0.95, _POINTS)
    reach = 1.1 * max(np.abs(difference).max(), high.max(), -low.min())
    tests = zip(
        ranks.ks.pvalue, ranks.anderson_darling.pvalue, ranks.cramer_von_mises.pvalue, strict=True
    )
    captions = [
        f"Uniform? Kolmogorov-Smirnov p {equals(float(ks))}, Anderson-Darling p "
        f"{equals(float(ad))}, Cramér-von Mises p {equals(float(cvm))}."
        for ks, ad, cvm in tests
    ]
    return Panel(
        [
            Band(_POINTS, low, high),
            HLine(0),
            Line(_POINTS, over(difference, "beta"), color=style.Q),
        ],
        title="Distance of their ECDF from the diagonal",
        x=Axis((0, 1), "u"),
        y=Axis((-reach, reach), "share of ranks up to u, less u"),
        caption=over(captions, "beta"),
    )


def _spread(scores: ScoreGrid) -> Panel:
    spread = workbench.spread(scores)
    top = 1.12 * max(spread.p.max(), spread.q.max())
    reach = float(spread.edges[-1])
    cut = np.clip(spread.threshold, -reach, reach)
    captions = [
        f"AUC {auc:.3f}: how often a draw of p scores above one of q. Upright: where C2ST cuts."
        for auc in scores.auc
    ]
    return Panel(
        [
            Bars(
                spread.edges,
                over(spread.q, "beta"),
                color=style.Q,
                label="q",
                label_at=(-0.8 * reach, 0.9 * top),
            ),
            Bars(
                spread.edges,
                over(spread.p, "beta"),
                color=style.P,
                label="p",
                label_at=(0.8 * reach, 0.9 * top),
            ),
            VLine(over(cut, "beta"), dash="4 3", label="threshold"),
        ],
        title="The score under p and under q",
        x=Axis((-reach, reach), "score, standardised: high looks like p"),
        y=Axis((0, top), "density"),
        caption=over(captions, "beta"),
    )


def _oracle(scores: ScoreGrid) -> list[Panel]:
    comparison = workbench.against_oracle(scores)
    if comparison is None:
        return []
    caption = (
        f"Line: median; band: the middle 80% of draws. Any rising curve ranks as well as the "
        f"oracle, whose AUC is {scores.oracle_auc[0]:.3f}; a flat one has learnt nothing."
    )
    x = comparison.oracle
    reach = 1.1 * max(np.abs(comparison.low).max(), np.abs(comparison.high).max())
    margin = 0.04 * (x[-1] - x[0]) or 1.0
    band = Band(x, over(comparison.low, "beta"), over(comparison.high, "beta"))
    return [
        Panel(
            [
                band,
                Line(
                    x, over(comparison.middle, "beta"), color=style.method_style("uniform").color
                ),
            ],
            title="Against the oracle",
            x=Axis((x[0] - margin, x[-1] + margin), "oracle log p − log q"),
            y=Axis((-reach, reach), "learned score, standardised"),
            caption=caption,
        )
    ]


def _others(scores: ScoreGrid, n: int, alpha: float, seed: int) -> list[Panel]:
    outcomes = workbench.others(scores, n, seed)
    critical, sd = float(ndtri(1 - alpha)), 1 / np.sqrt(8 * n)
    per_class = outcomes.c2st.arrays["pvalue_per_class"]
    multiple = [
        f"T = {t:.2f}, p {equals(float(p))}."
        for t, p in zip(outcomes.multiple.statistic, outcomes.multiple.pvalue, strict=True)
    ]
    c2st = [
        f"Accuracy {a:.3f}, p {equals(float(p))}; with each class's own variance "
        f"{pvalue_text(float(own))}: once the threshold is off, the nominal null is too wide."
        for a, p, own in zip(outcomes.c2st.statistic, outcomes.c2st.pvalue, per_class, strict=True)
    ]
    return [
        _on_null(
            "Multiple: the mean rank, standardised",
            "T",
            outcomes.multiple.statistic,
            0,
            1,
            critical,
            multiple,
        ),
        _on_null(
            "C2ST: held-out accuracy",
            "accuracy",
            outcomes.c2st.statistic,
            0.5,
            sd,
            0.5 + critical * sd,
            c2st,
        ),
    ]


def _on_null(
    title: str,
    label: str,
    values: Array,
    mean: float,
    sd: float,
    critical: float,
    captions: list[str],
) -> Panel:
    x = np.linspace(mean - 4.2 * sd, mean + 4.2 * sd, 81)
    limits = (
        min(x[0], 1.05 * values.min() - 0.05 * mean),
        max(x[-1], 1.05 * values.max() - 0.05 * mean),
    )
    density = np.exp(-(((x - mean) / sd) ** 2) / 2)
    return Panel(
        [
            Band(x, 0 * x, density),
            Note(mean, 0.4, "if q = p", anchor="middle"),
            VLine(critical, dash="4 3", color=style.NULL, label="level"),
            VLine(over(values, "beta"), color=style.OBSERVED, width=2.5),
        ],
        title=title,
        x=Axis(limits, label),
        y=Axis((0, 1.3), hidden=True),
        caption=over(captions, "beta"),
    )


def power(
    cells: Sequence[PowerCell],
    axis: Along,
    places: Sequence[float],
    *,
    at: float,
    m: int,
    alpha: float,
) -> live.Payload:
    """Power along one axis of the scores of a classifier.

    Args:
        places: the axis, also where nothing has run yet.
        at: the present place.
        m: calibration draws of Uniform, elsewhere than along m.
        alpha: the level.
    """
    cells = of_m(cells, axis, m)
    curves_of = curves(cells, axis)
    picture = _power_panel(curves_of, axis, places, alpha, at=at, caption=_spent(cells))
    return live._payload(panels=[picture], columns=1)


def of_m(cells: Sequence[PowerCell], axis: Along, m: int) -> list[PowerCell]:
    """The cells of a picture: of Uniform those with m calibration draws, unless m is the axis."""
    return [
        cell for cell in cells if axis == "m" or cell.method != "uniform" or cell.options["m"] == m
    ]


def _spent(cells: Sequence[PowerCell]) -> str:
    trials = sorted({cell.trials for cell in cells})
    count = f"{trials[0]}" if len(trials) == 1 else f"{trials[0]} to {trials[-1]}"
    p, q = max(cell.draws_p for cell in cells), max(cell.draws_q for cell in cells)
    seconds = sum({(cell.gamma, cell.beta): cell.seconds for cell in cells}.values())
    return (
        f"{count} trials a point, {cells[0].protocol} protocol; at most {p:,} draws of p and "
        f"{q:,} of q a point; {seconds:.1f} s of computing. Bands are 95% Wilson intervals of "
        "these trials with this one trained classifier. The dashed line is the level, where every "
        "curve would lie were q right."
    )


def power_table(cells: Sequence[PowerCell]) -> pd.DataFrame:
    """The counts behind the curves."""
    low, high = statistics.wilson([c.rejections for c in cells], [c.trials for c in cells])
    return pd.DataFrame(
        {
            "Test": c.label,
            "gamma": c.gamma,
            "beta": c.beta,
            "Rejected": c.rejections,
            "Trials": c.trials,
            "Power": c.rate,
            "95% from": a,
            "to": b,
        }
        for c, a, b in zip(cells, low, high, strict=True)
    )


def noise(scores: ScoreGrid, beta: float) -> live.Payload:
    """Var(U | its draw of q) against m, on doubly logarithmic axes."""
    at = int(np.abs(scores.betas - beta).argmin())
    variance = workbench.rank_variance(scores.p[at], scores.q[at], stream(0, "workbench", "noise"))
    x, y = np.log10(PAPER_M), np.log10(variance)
    guide = y[-1] + x[-1] - x
    decades = np.arange(np.floor(y.min()), np.ceil(max(y.max(), guide.max())) + 1)
    panel = Panel(
        [
            Line(x, guide, color=style.NULL, dash="2 3", label="1/m"),
            Points(x, y, color=style.method_style("uniform").color, symbol="diamond", size=7),
        ],
        title="Noise of a rank",
        x=Axis(
            (x[0] - 0.05, x[-1] + 0.05),
            "calibration draws m",
            ticks=x,
            names=[f"{m}" for m in PAPER_M],
        ),
        y=Axis(
            (decades[0], decades[-1]),
            "variance of U at a given draw of q",
            ticks=decades,
            names=[f"{10.0**d:g}" for d in decades],
        ),
        caption="Over calibration sets. It falls as 1/m, and with it what more calibration draws "
        "can still win.",
        margin=40,
    )
    return live._payload(panels=[panel])
