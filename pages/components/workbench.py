"""What the Conformal C2ST workbench draws at every beta: cached scores in, live charts out."""

import numpy as np
import streamlit as st
from scipy.special import ndtri

from pages.components import live
from pages.components.services import services
from validation_core import statistics, workbench
from validation_core.diagnosis import equals, pvalue_text
from validation_core.figures import style
from validation_core.figures.ranks import histogram_band
from validation_core.tasks import GridTask, ScoreGrid
from validation_core.workbench import Ranks

BINS = 20
_POINTS = np.linspace(0, 1, 101)
Panel = dict


@st.cache_resource(show_spinner=False, max_entries=32)
def grid(key: str, _task: GridTask) -> ScoreGrid:
    """The stored scores of a task, read once; keyed by the task's key."""
    found = _task.load(services().store)
    assert found is not None, "pages draw a grid only when the store holds it"
    return found


@st.cache_resource(show_spinner=False, max_entries=256)
def chart(
    key: str, view: str, _scores: ScoreGrid, m: int, n: int, alpha: float, seed: int
) -> live.Payload:
    """One view of the scores at every beta, for the browser to switch between."""
    found = _ranks(key, _scores, m, n, seed)
    panels = {
        "Ranks": lambda: [_histogram(found), _difference(found)],
        "Scores": lambda: [_spread(_scores), *_oracle(_scores)],
        "Other tests": lambda: _others(_scores, n, alpha, seed),
    }
    ends = ("trained", "random network")
    return live.payload(
        sliders=[live.slider("beta", found.betas, label="Degradation beta", ends=ends)],
        panels=panels[view](),
        headline=live.text(
            f"At beta = {{beta}} the classifier's AUC is {{auc}}: {found.n} draws of q {{says}} "
            f"(p {{p}}).",
            beta=live.over([f"{beta:g}" for beta in found.betas], "beta"),
            auc=live.over([f"{auc:.3f}" for auc in found.auc], "beta"),
            says=live.over([_says(p, alpha) for p in found.ks.pvalue], "beta"),
            p=live.over([equals(float(p)) for p in found.ks.pvalue], "beta"),
        ),
    )


@st.cache_resource(show_spinner=False, max_entries=64)
def _ranks(key: str, _scores: ScoreGrid, m: int, n: int, seed: int) -> Ranks:
    return workbench.ranks(_scores, m, n, seed)


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
    seen = "do not rank like p's" if pvalue <= alpha else "give no evidence against q"
    return f"{seen} at level {alpha:.0%}"


def _histogram(found: Ranks) -> Panel:
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


def _difference(found: Ranks) -> Panel:
    difference = statistics.ecdf_difference(found.u, _POINTS)
    low, high = statistics.ecdf_band(found.n, 0.95, _POINTS)
    reach = 1.1 * max(np.abs(difference).max(), high.max(), -low.min())
    tests = zip(
        found.ks.pvalue, found.anderson_darling.pvalue, found.cramer_von_mises.pvalue, strict=True
    )
    said = [
        f"Uniform? Kolmogorov-Smirnov p {equals(float(ks))}, Anderson-Darling p "
        f"{equals(float(ad))}, Cramér-von Mises p {equals(float(cvm))}."
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


def _spread(scores: ScoreGrid) -> Panel:
    found = workbench.spread(scores)
    top = 1.12 * max(found.p.max(), found.q.max())
    reach = float(found.edges[-1])
    cut = np.clip(found.threshold, -reach, reach)
    said = [
        f"AUC {auc:.3f}: how often a draw of p scores above one of q. Upright: where C2ST cuts."
        for auc in scores.auc
    ]
    return live.panel(
        [
            live.bars(found.edges, live.over(found.q, "beta"), color=style.Q, label="q",
                      label_at=(-0.8 * reach, 0.9 * top)),
            live.bars(found.edges, live.over(found.p, "beta"), color=style.P, label="p",
                      label_at=(0.8 * reach, 0.9 * top)),
            live.vline(live.over(cut, "beta"), dash="4 3", label="threshold"),
        ],
        title="The score under p and under q",
        x=live.axis((-reach, reach), "score, standardised: high looks like p"),
        y=live.axis((0, top), "density"),
        caption=live.over(said, "beta"),
    )  # fmt: skip


def _oracle(scores: ScoreGrid) -> list[Panel]:
    found = workbench.against_oracle(scores)
    if found is None:
        return []
    said = (
        f"Line: median; band: the middle 80% of draws. Any rising curve ranks as well as the "
        f"oracle, whose AUC is {scores.oracle_auc[0]:.3f}; a flat one has learnt nothing."
    )
    x = found.oracle
    reach = 1.1 * max(np.abs(found.low).max(), np.abs(found.high).max())
    margin = 0.04 * (x[-1] - x[0]) or 1.0
    band = live.band(x, live.over(found.low, "beta"), live.over(found.high, "beta"))
    return [
        live.panel(
            [
                band,
                live.line(
                    x, live.over(found.middle, "beta"), color=style.method_style("uniform").color
                ),
            ],
            title="Against the oracle",
            x=live.axis((x[0] - margin, x[-1] + margin), "oracle log p − log q"),
            y=live.axis((-reach, reach), "learned score, standardised"),
            caption=said,
        )
    ]


def _others(scores: ScoreGrid, n: int, alpha: float, seed: int) -> list[Panel]:
    found = workbench.others(scores, n, seed)
    critical, sd = float(ndtri(1 - alpha)), 1 / np.sqrt(8 * n)
    per_class = found.c2st.arrays["pvalue_per_class"]
    multiple = [
        f"T = {t:.2f}, p {equals(float(p))}."
        for t, p in zip(found.multiple.statistic, found.multiple.pvalue, strict=True)
    ]
    c2st = [
        f"Accuracy {a:.3f}, p {equals(float(p))}; with each class's own variance "
        f"{pvalue_text(float(own))}: once the threshold is off, the nominal null is too wide."
        for a, p, own in zip(found.c2st.statistic, found.c2st.pvalue, per_class, strict=True)
    ]
    return [
        _on_null("Multiple: the mean rank, standardised", "T", found.multiple.statistic, 0, 1,
                 critical, multiple),
        _on_null("C2ST: held-out accuracy", "accuracy", found.c2st.statistic, 0.5, sd,
                 0.5 + critical * sd, c2st),
    ]  # fmt: skip


def _on_null(
    title: str, label: str, seen: np.ndarray, mean: float, sd: float, critical: float,
    said: list[str],
) -> Panel:  # fmt: skip
    x = np.linspace(mean - 4.2 * sd, mean + 4.2 * sd, 81)
    limits = (
        min(x[0], 1.05 * seen.min() - 0.05 * mean),
        max(x[-1], 1.05 * seen.max() - 0.05 * mean),
    )
    density = np.exp(-(((x - mean) / sd) ** 2) / 2)
    return live.panel(
        [
            live.band(x, 0 * x, density),
            live.note(mean, 0.4, "if q = p", anchor="middle"),
            live.vline(critical, dash="4 3", color=style.NULL, label="level"),
            live.vline(live.over(seen, "beta"), color=style.OBSERVED, width=2.5),
        ],
        title=title,
        x=live.axis(limits, label),
        y=live.axis((0, 1.3), hidden=True),
        caption=live.over(said, "beta"),
    )
