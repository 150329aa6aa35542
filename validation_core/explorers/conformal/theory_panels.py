"""Theory view of the Conformal C2ST page: both sides of each inequality under gamma and beta."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy.special import ndtri

from validation_core.drawing import live, style
from validation_core.drawing.marks import (
    Axis,
    Band,
    HLine,
    Line,
    Mark,
    Panel,
    Points,
    VLine,
    over,
    sentence,
)
from validation_core.drawing.power_curves import (
    LEVEL_KEY,
    Rates,
    level_line,
    line_key,
    method_look,
    rate_band,
    rate_line,
)
from validation_core.explorers.conformal.panels import draws_panel
from validation_core.explorers.conformal.study import BETAS, Learned, M
from validation_core.explorers.conformal.theory_study import (
    CLIPS,
    LEVEL,
    LEVELS,
    N_TRIAL,
    ROWS,
    SIZES,
    TRIALS,
    ConformalTheory,
    oracle_slopes,
)
from validation_core.explorers.conformal.view import (
    PANEL_HEIGHT,
    at_each_beta,
    gamma_and_beta,
    gamma_axis,
    over_sliders,
    slider_texts,
)
from validation_core.statistics.areas import Estimate
from validation_core.text import interval_text, level_text, number_text, share_text, signed_text
from validation_core.types import Array

_Z = float(ndtri(0.975))
_LEARNED = style.method_style("uniform").color


def theory_payload(learned: Learned, theory: ConformalTheory | None) -> live.Payload:
    """The Theory view; the draws alone while its numbers are being computed."""
    gammas = learned.gammas
    panels = [draws_panel(learned.benchmark, gammas)]
    if theory is not None:
        panels += [
            _mean_rank_panel(learned, theory),
            _gap_panel(theory),
            _multiple_panel(theory, oracle_slopes(learned)),
            _coarse_panel(
                theory,
                slice(0, 1 + len(LEVELS)),
                ["as it is", *map(str, LEVELS)],
                "values that a predicted probability takes",
                "Rounded scores",
            ),
            _coarse_panel(
                theory,
                np.array([0, *range(1 + len(LEVELS), 1 + len(LEVELS) + len(CLIPS))]),
                ["as it is", *(f"{clip:g}" for clip in CLIPS)],
                "c: probabilities are kept between c and 1 − c",
                "Clipped scores",
            ),
        ]
    return live.payload(
        sliders=gamma_and_beta(gammas),
        panels=panels,
        headline=_headline(theory, learned.recipe.train) if theory else "",
        columns=3,
    )


def how_to_read_theory() -> str:
    """How to read the view, and how it would look if q were correct."""
    return (
        f"Measured on {ROWS:,} draws of p and {ROWS:,} of q. ε² is the mean of (exp(score) − "
        "p/q)² over draws of q, so that ε also counts what no ranking sees: a wrong scale costs "
        "ε and no power. If q were correct: every mean rank one half, no gap, T within ±2 at any "
        f"n, and both tests at the dashed level, {level_text(LEVEL)} here, however coarse the "
        "score."
    )


def _ends(values: Array) -> tuple[Array, Array]:
    """95% intervals of estimates and standard errors (..., 2)."""
    value, error = np.asarray(values[..., 0], float), np.asarray(values[..., 1], float)
    return value - _Z * error, value + _Z * error


def _is_p(theory: ConformalTheory) -> Array:
    """Whether q is p, at each gamma (G,)."""
    return np.asarray(theory.total_variation[:, 0] == 0)


def _headline(theory: ConformalTheory, train: int) -> Any:
    bound = 0.5 - theory.total_variation[:, 0] / 2
    low, high = _ends(theory.spread)
    oracle = [
        f"The oracle's mean rank is {interval_text(ends, '.3f')}, "
        f"its bound 1/2 − TV/2 = {top:.3f}."
        for *ends, top in zip(theory.spread[:, 0], low, high, bound, strict=True)
    ]
    verdicts = [
        [
            _verdict(float(auc), float(best), Estimate(*map(float, loss)), bool(same))
            for auc, loss in zip(aucs, losses, strict=True)
        ]
        for aucs, losses, best, same in zip(
            theory.auc[..., 0], theory.loss, theory.oracle_auc[:, 0], _is_p(theory), strict=True
        )
    ]
    several = len(theory.gammas) > 1
    gamma = {"gamma": over([f"{gamma:g}" for gamma in theory.gammas], "gamma")} if several else {}
    return sentence(
        f"At {'gamma = {gamma} and ' * several}beta = {{beta}} the classifier, trained on "
        f"{train:,} draws a side, has on {ROWS:,} draws of q an AUC of "
        "{verdict} {oracle}",
        **gamma,
        beta=over([f"{beta:g}" for beta in BETAS], "beta"),
        verdict=over_sliders(theory, np.array(verdicts)),
        oracle=over(
            ["" if same else words for same, words in zip(_is_p(theory), oracle, strict=True)],
            "gamma",
        ),
    )


def _verdict(auc: float, best: float, loss: Estimate, same: bool) -> str:
    """AUC beside the oracle's, which Lemma 3.2 says it never exceeds, in words."""
    if same:
        return f"{auc:.3f}. Here q is p: no score has another AUC than one half, but for chance."
    low, high = loss.interval()
    if low > 0:
        short = interval_text((loss.value, low, high), ".3f")
        return f"{auc:.3f}, below the oracle's {best:.3f} by {short}, as Lemma 3.2 has it."
    return f"{auc:.3f}, beside the oracle's {best:.3f}: the difference may be chance."


def _mean_rank_panel(learned: Learned, theory: ConformalTheory) -> Panel:
    """Mean ranks of the oracle and of the learned score, and Lemma 3.3's bound, over gamma."""
    x = np.arange(len(theory.gammas), dtype=float)
    several = len(x) > 1
    across = x if several else np.array([-0.5, 0.5])  # a line needs two ends
    low, high = _ends(theory.spread)
    learned_ranks, worst, best = (
        over(np.broadcast_to((1 - at_each_beta(theory, auc)).T, (len(BETAS), len(across))), "beta")
        for auc in (theory.auc[..., 0], *_ends(theory.auc))
    )
    bound, oracle = (
        np.broadcast_to(values, across.shape)
        for values in (0.5 - theory.total_variation[:, 0] / 2, 1 - theory.oracle_auc[:, 0])
    )
    return Panel(
        [
            HLine(0.5, color=style.NULL, dash="", width=1),
            Line(across, bound, color=style.NULL, dash="6 4"),
            Band(across, best, worst, color=_LEARNED),
            Line(across, learned_ranks, color=_LEARNED),
            Line(across, oracle, color=style.P),
            Points(x, theory.spread[:, 0], low=low, high=high, color=style.P, symbol="ring"),
            *[VLine(over(x, "gamma"))] * several,
        ],
        title="Mean rank" + " over gamma" * several,
        x=gamma_axis(learned) if several else Axis((-0.5, 0.5), hidden=True),
        y=Axis((0, 0.54), "mean rank, 1 − AUC"),
        height=PANEL_HEIGHT,
        legend=[
            ("oracle", style.P, "line"),
            ("Lemma A.4", style.P, "ring"),
            ("learned", _LEARNED, "line"),
            ("1/2 − TV/2", style.NULL, "dash"),
        ],
        click="gamma" if several else None,
        at=np.stack([x, np.full(len(x), 0.3)], axis=1) if several else None,
        caption=(
            "Lemma 3.3: the oracle's lies below the dashed bound. Rings: 1/2 − E|r − r′|/4. "
            "Lemma 3.2: no score's lies below the oracle's."
        ),
    )


def _gap_panel(theory: ConformalTheory) -> Panel:
    """Mean rank lost to a wrong ratio beside eps^(2/3), over beta."""
    gap, scale = theory.loss[..., 0], np.asarray(theory.error, float) ** (2 / 3)
    ratio = np.where(scale > 0, gap / np.where(scale > 0, scale, 1), 0)
    # Where q is p there is no ranking to lose, and chance gives no constant.
    constant = np.where(_is_p(theory), np.nan, np.maximum(ratio.max(1), 0))
    bound = at_each_beta(theory, constant[:, None] * scale)
    low, high = (over(at_each_beta(theory, end), "gamma") for end in _ends(theory.loss))
    top = 1.1 * float(np.nanmax([gap.max(), np.nanmax(bound), 0.05]))
    return Panel(
        [
            HLine(0, color=style.NULL, dash="", width=1),
            Line(BETAS, over(bound, "gamma"), color=style.NULL, dash="6 4"),
            Band(BETAS, low, high, color=_LEARNED),
            Line(BETAS, over(at_each_beta(theory, gap), "gamma"), color=_LEARNED),
            VLine(over(BETAS, "beta")),
        ],
        title="Mean rank lost to a wrong ratio",
        x=Axis((-0.02, 1.02), "beta"),
        y=Axis((-0.1 * top, top), "E[Û] − E[U]"),
        height=PANEL_HEIGHT,
        legend=[("gap", _LEARNED, "line"), ("C ε^(2/3)", style.NULL, "dash")],
        click="beta",
        caption=sentence(
            "{words} {tail} of ε² comes from 1 in 100 draws. {near}",
            words=over_sliders(theory, _gap_words(theory, gap, constant)),
            tail=slider_texts(theory, np.asarray(theory.tail, float), share_text),
            near=over([_low_noise(float(near)) for near in theory.near], "gamma"),
        ),
    )


def _gap_words(theory: ConformalTheory, gap: Array, constant: Array) -> Array:
    """Sentences (G, B) on the gap and eps."""
    return np.array(
        [
            [
                f"ε = {number_text(error, 2)}, where q is p and no ranking can be lost."
                if np.isnan(most)
                else f"Mean rank lost: {signed_text(lost, '.3f')}, at ε = "
                f"{number_text(error, 2)}. {_constant_text(most)}"
                for lost, error in zip(gaps, errors, strict=True)
            ]
            for gaps, errors, most in zip(gap, theory.error, constant, strict=True)
        ]
    )


def _constant_text(most: float) -> str:
    """The least C with which the bound holds, rounded up; none where no mean rank was lost."""
    if most <= 0:
        return "Here chance hides it: no beta lost any, and C is not seen."
    upwards = float(np.ceil(most * 1000) / 1000)
    return f"The theorem's bound holds at every beta with C = {upwards:.3f} or more, as measured."


def _low_noise(near: float) -> str:
    """Assumption 3.4 at one gamma, in words."""
    if not np.isfinite(near):
        return "Assumption 3.4 fails where r is constant."
    return f"Density of r − r′ near 0 (Assumption 3.4): {number_text(near, 2)}."


_NAMED = [f"{n:,}" if n != 200 else "" for n in SIZES]  # it stands too near to 100


def _multiple_panel(theory: ConformalTheory, oracle: Array) -> Panel:
    """Multiple's statistic against sqrt(n), and the lines that Theorem 4.2 gives.

    Args:
        theory: the measured numbers.
        oracle: slope of the density ratio itself, at each gamma (G,).
    """
    x, critical = np.sqrt(SIZES), float(ndtri(1 - LEVEL))
    mean, sd = (np.asarray(theory.multiple[..., i], float) for i in range(2))
    ends = np.array([0, 1.05 * x[-1]])
    line = np.asarray(theory.slope, float)[..., None] * ends
    bars = mean - _Z * sd, mean + _Z * sd
    return Panel(
        [
            HLine(critical, color=style.NULL, dash="6 4", label="critical"),
            Line(ends, over(oracle[:, None] * ends, "gamma"), color=style.P),
            Line(ends, over_sliders(theory, line, coarse=True), color=_LEARNED),
            Points(
                x,
                over_sliders(theory, mean, coarse=True),
                low=over_sliders(theory, bars[0], coarse=True),
                high=over_sliders(theory, bars[1], coarse=True),
                color=method_look("multiple").color,
                size=6,
            ),
        ],
        title="Multiple's T against √n",
        x=Axis((0, float(ends[1])), "n from each side", ticks=x, names=_NAMED),
        y=Axis((min(-3.0, float(bars[0].min())), 1.05 * float(bars[1].max())), "T"),
        height=PANEL_HEIGHT,
        legend=[
            *([("oracle", style.P, "line")] if np.isfinite(oracle).any() else []),
            ("learned", _LEARNED, "line"),
        ],
        caption=sentence(
            "Points: mean T of samples of each n, with bars where 95 of 100 lie by their sd. "
            "Lines: √n (AUC − 1/2)/σ. {words}{lost}",
            words=over_sliders(
                theory,
                np.array(
                    [
                        [_growth(float(slope), critical, same) for slope in slopes]
                        for slopes, same in zip(theory.slope, _is_p(theory), strict=True)
                    ]
                ),
            ),
            lost=over_sliders(theory, _lost_words(theory, oracle)),
        ),
    )


def _lost_words(theory: ConformalTheory, oracle: Array) -> Array:
    """Sentences (G, B) on the share of the oracle's T that is lost, Theorem 4.2 (ii)."""
    chance = 5 / np.sqrt(ROWS)  # a share of less would be noise
    return np.array(
        [
            [
                ""
                if same or not best > chance
                else f" {share_lost(slope / best)} of the oracle's T is lost."
                for slope in slopes
            ]
            for slopes, best, same in zip(theory.slope, oracle, _is_p(theory), strict=True)
        ]
    )


def share_lost(kept: float) -> str:
    """What is not kept; chance may bring a slope above the oracle's, and beta one below 0."""
    if kept <= 0:
        return "All"
    return "Less than 1%" if kept > 0.99 else share_text(1 - kept)


def _growth(slope: float, critical: float, same: bool) -> str:
    """Where the line of Multiple's statistic crosses the critical value, in words."""
    if same:
        return "q is p: T does not grow."
    chance = 2 / np.sqrt(ROWS)  # of the slope: T on all rows would not be 2
    said = signed_text(slope, ".3f")
    if slope < -chance:
        return f"Its slope is {said}: it ranks the wrong way round, and T falls with n."
    if slope < chance:
        return f"Its slope {said} may be chance."
    n = (critical / slope) ** 2
    return f"Its slope is {slope:.3f}: on average T is critical at n = {n:,.0f}."


def _coarse_panel(
    theory: ConformalTheory, part: slice | Array, names: Sequence[str], label: str, title: str
) -> Panel:
    """AUC and power of coarser and coarser scores."""
    of = theory._replace(betas=theory.power_betas)
    x = np.arange(len(names), dtype=float)
    auc = at_each_beta(of, np.asarray(theory.coarse_auc, float)[..., part])
    marks: list[Mark] = [level_line(LEVEL)]
    looks = {name: method_look(name) for name in ("multiple", "uniform")}
    for test, look in enumerate(looks.values()):
        hits = at_each_beta(of, theory.rejections[..., test].astype(float)[..., part])
        rates = Rates.of(hits, TRIALS)
        marks += [
            rate_band(x, rates, look, "gamma", "beta", coarse=True),
            rate_line(x, rates.rate, look, "gamma", "beta", coarse=True),
        ]
    nearest = at_each_beta(of, np.broadcast_to(of.betas, (1, len(of.betas))))[0]
    return Panel(
        [
            *marks,
            Line(x, over(auc, "gamma", "beta", coarse=True), color=style.P, width=2.5),
            Points(x, over(auc, "gamma", "beta", coarse=True), color=style.P, size=5),
        ],
        title=title,
        x=Axis((-0.4, len(names) - 0.6), label, ticks=x, names=names),
        y=Axis((-0.03, 1.04), "AUC; share of trials that reject q"),
        height=PANEL_HEIGHT,
        legend=[
            ("AUC", style.P, "line"),
            line_key("Multiple", looks["multiple"]),
            line_key(f"Uniform({M})", looks["uniform"]),
            LEVEL_KEY,
        ],
        caption=sentence(
            "AUC {all} as it is, {last} at the right. {trials} trials of {n} draws from each "
            "side, at beta = {beta}; shaded: 95% intervals.",
            all=over([[f"{value:.3f}" for value in row] for row in auc[..., 0]], "gamma", "beta"),
            last=over(
                [[f"{value:.3f}" for value in row] for row in auc[..., -1]], "gamma", "beta"
            ),
            trials=f"{TRIALS}",
            n=f"{N_TRIAL:,}",
            beta=over([f"{beta:g}" for beta in nearest], "beta"),
        ),
    )
