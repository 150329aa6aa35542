"""Pictures of Conformal C2ST at every gamma and beta, from a study's result to one payload."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from validation_core import statistics
from validation_core.drawing import live
from validation_core.drawing.marks import Panel, Text, sentence, written
from validation_core.explorers.conformal.panels import (
    draws_panel,
    other_tests_panel,
    rank_difference_panel,
    rank_histogram_panel,
    score_against_oracle_panel,
    score_densities_panel,
)
from validation_core.explorers.conformal.power_panels import (
    power_over_gamma_and_beta,
    power_over_m,
    rank_noise_panel,
)
from validation_core.explorers.conformal.study import BETAS, Q_ROWS, Conformal
from validation_core.explorers.conformal.view import (
    ConformalView,
    MeasuredPower,
    gamma_and_beta,
    over_sliders,
    slider_texts,
)
from validation_core.text import by_chance_text, count_text, level_text, said_equals


def payload(look: ConformalView, seen: Conformal, counted: MeasuredPower | None) -> live.Payload:
    """One view at every gamma and beta, with power beside it."""
    gammas = look.study.learned.gammas
    views: dict[str, Callable[[], list[Panel]]] = {
        "Ranks": lambda: [rank_histogram_panel(look, seen), rank_difference_panel(look, seen)],
        "Scores": lambda: [score_densities_panel(seen), *score_against_oracle_panel(look, seen)],
        "Other tests": lambda: other_tests_panel(look, seen),
    }
    powers = (
        power_over_m(look, counted) if look.over_m else power_over_gamma_and_beta(look, counted)
    )
    first, *others = views[look.view]()
    return live.payload(
        sliders=gamma_and_beta(gammas),
        panels=[
            draws_panel(look.study.learned.benchmark, gammas),
            first,
            powers[0],
            *others,
            *powers[1:],
            rank_noise_panel(look, seen),
        ],
        headline=_headline(look, seen),
        columns=3,
    )


def _headline(look: ConformalView, seen: Conformal) -> Text:
    tested = [
        [_tested(float(p), look, same) for p in row]
        for row, same in zip(seen.ks, look.correct(seen), strict=True)
    ]
    several = len(seen.gammas) > 1
    parts = {
        "auc": slider_texts(seen, seen.auc, "{:.3f}".format),
        "tested": over_sliders(seen, np.array(tested)),
    }
    if several:
        parts["gamma"] = written(seen.gammas, "{:g}", "gamma")
    if look.oracle:
        return sentence(
            "Until the classifier has learnt, by the oracle score log p − log q: "
            f"{'at gamma = {gamma} ' * several}its AUC is {{auc}}, and {{tested}}",
            **parts,
        )
    return sentence(
        f"At {'gamma = {gamma} and ' * several}beta = {{beta}} the classifier, trained on "
        f"{look.study.learned.recipe.train:,} draws a side, has an AUC of {{auc}} on {Q_ROWS:,} "
        "draws of q: {tested}",
        beta=written(BETAS, "{:g}", "beta"),
        **parts,
    )


def _tested(p: float, look: ConformalView, correct: bool) -> str:
    """Conclusion of Uniform, in words."""
    draws, level = f"{look.study.n:,} draws of q", f"at level {level_text(look.alpha)}"
    if p > look.alpha:
        return f"{draws} give no evidence against q {level} (p-value {said_equals(p)})."
    if correct:
        chance = by_chance_text(look.alpha, "try another seed")
        return f"{draws} have p-value {said_equals(p)}. {chance}"
    return f"{draws} do not rank like p's {level} (p-value {said_equals(p)})."


def how_to_read(look: ConformalView, pool: int) -> str:
    """How to read a view, and how it would look if q were correct."""
    n, m = look.study.n, look.study.m
    if look.view == "Scores":
        return (
            "Scores are in standard deviations from their common median: ranks see their "
            "order only. If q were correct, both histograms would coincide and the oracle "
            "would be 0 everywhere."
        )
    if look.view == "Other tests":
        return (
            f"The same {n:,} draws of q, with {n:,} draws of p for all of them. If q were "
            "correct, T would be a draw of its grey curve, and the accuracy one of its grey curve "
            "or, where the threshold is off, of a narrower one; dashed, the level."
        )
    return (
        "If q were correct: level bars, and the line inside the grey band in 95 of 100 samples. "
        + _calibration(n, m, pool)
    )


def _calibration(n: int, m: int, pool: int) -> str:
    if n * m <= pool:
        return (
            f"Each of the {n:,} draws of q is ranked among {count_text(m, 'draw')} of p of its "
            "own: the test is exact, however weak the classifier."
        )
    return (
        f"{n:,} × {m} calibration draws are more than were scored: counts are drawn from the "
        f"pooled law of {pool:,} scores of p, which is off by {statistics.dkw(pool, 0.95):.4f} at "
        "most in 95 of 100 pools."
    )
