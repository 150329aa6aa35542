"""Conformal C2ST at every gamma and beta: what a study found in, one payload of pictures out."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.special import ndtri

from validation_core import statistics
from validation_core.benchmarks.gaussian import Gaussian
from validation_core.diagnosis import equals, pvalue_text
from validation_core.drawing import live, style
from validation_core.drawing.marks import (
    Axis,
    Band,
    Bars,
    HLine,
    Line,
    Mark,
    Note,
    Panel,
    Points,
    Slider,
    VLine,
    over,
    sentence,
    written,
)
from validation_core.explorers import conformal as workbench
from validation_core.explorers.conformal import (
    BETAS,
    BINS,
    PAPER_M,
    POINTS,
    REACH,
    Conformal,
    ConformalPower,
    ConformalStudy,
    ConformalTrials,
)
from validation_core.methods.base import Method
from validation_core.rng import common
from validation_core.statistics.curves import histogram_band
from validation_core.types import Array

_HEIGHT = 214
_TICKS = 5
_SHOWN = 150  # draws of p, and of q
_FRAME = 0.005  # of the draws, left outside at either end


class ConformalView(NamedTuple):
    """What is looked at: the setting, the view and the level."""

    study: ConformalStudy
    view: str
    alpha: float
    over_m: bool = False
    """Power over m instead of over gamma and beta."""
    oracle: bool = False
    """Whether the scores are the oracle's: no network has learnt yet."""


class MeasuredPower(NamedTuple):
    """Trials that were run, and whether they are of an earlier setting."""

    study: ConformalPower
    trials: ConformalTrials
    old: bool = False

    @property
    def said(self) -> str:
        """How many trials of how many points, of which setting."""
        uniform = self.study.ms[0]
        m = f", m = {uniform}" if len(self.study.ms) == 1 else ""
        return f"{self.study.trials} trials a point, n = {self.study.n}{m}"


def payload(look: ConformalView, seen: Conformal, counted: MeasuredPower | None) -> live.Payload:
    """One view at every gamma and beta, and power beside it, for the browser to switch between."""
    gammas = look.study.learned.gammas
    views: dict[str, Callable[[], list[Panel]]] = {
        "Ranks": lambda: [_histogram(look, seen), _difference(look, seen)],
        "Scores": lambda: [_spread(seen), *_against(look, seen)],
        "Other tests": lambda: _others(look, seen),
    }
    powers = _over_m(look, counted) if look.over_m else _over_both(look, counted)
    return live.payload(
        sliders=[
            Slider(
                "gamma",
                gammas,
                names=[f"{gamma:g}" for gamma in gammas],
                start=gammas[len(gammas) // 2],
                label="Strength, gamma",
                ends=("q = p" if gammas[0] == 0 else "", "q far off"),
                play=True,
            ),
            Slider(
                "beta",
                BETAS,
                label="Degradation, beta",
                ends=("trained", "random network"),
                play=True,
            ),
        ],
        panels=[
            _draws(look.study.learned.benchmark, gammas),
            *views[look.view](),
            *powers,
            _noise(look, seen),
        ],
        headline=_headline(look, seen),
        columns=3,
    )


def _headline(look: ConformalView, seen: Conformal) -> Any:
    parts = {
        "gamma": over([f"{gamma:g}" for gamma in seen.gammas], "gamma"),
        "auc": _words(seen, seen.auc, "{:.3f}".format),
        "says": _words(seen, seen.ks <= look.alpha, lambda low: _says(bool(low), look.alpha)),
        "p": _words(seen, seen.ks, equals),
    }
    tested = f"{look.study.n} draws of q {{says}} (p-value {{p}})."
    if look.oracle:
        return sentence(
            "Until the classifier has learnt, by the oracle score log p − log q: at gamma = "
            f"{{gamma}} its AUC is {{auc}}, and {tested}",
            **parts,
        )
    beta = over([f"{beta:g}" for beta in BETAS], "beta")
    return sentence(
        "At gamma = {gamma} and beta = {beta} the classifier's AUC is {auc}: " + tested,
        beta=beta,
        **parts,
    )


def _says(low: bool, alpha: float) -> str:
    conclusion = "do not rank like p's" if low else "give no evidence against q"
    return f"{conclusion} at level {alpha:.0%}"


# ---- Values over the sliders ----


def _fine(
    seen: Conformal, values: Array | NDArray[np.str_]
) -> tuple[NDArray[Any], tuple[str, ...]]:
    """Values (G, B, ...) at every beta of the slider, the nearest where few were looked at; those
    of the oracle (G, 1, ...) follow gamma alone."""
    if len(seen.betas) == 1:
        return np.asarray(values)[:, 0], ("gamma",)
    nearest = np.abs(np.array(BETAS)[:, None] - seen.betas).argmin(1)
    return np.asarray(values)[:, nearest], ("gamma", "beta")


def _over(seen: Conformal, values: Array | NDArray[np.str_], *, coarse: bool = False) -> Any:
    fine, sliders = _fine(seen, values)
    return over(fine, *sliders, coarse=coarse)


def _words(seen: Conformal, values: Any, write: Callable[[float], str]) -> Any:
    """Every number as text, each different one written once."""
    return _over(seen, written(values, write))


def how_to_read(look: ConformalView, pool: int) -> str:
    """What a view shows, and what it would look like if q were correct."""
    n, m = look.study.n, look.study.m
    if look.view == "Scores":
        return (
            "Scores are in standard deviations from their common median: ranks see their "
            "order only. If q were correct, both histograms would coincide and the oracle "
            "would be 0 everywhere."
        )
    if look.view == "Other tests":
        return (
            f"The same {n} draws of q, with {n} draws of p for all of them. If q were correct, "
            "each red line would be a draw of its grey curve; dashed, the level."
        )
    return (
        "If q were correct: level bars, and the line inside the grey band in 95 of 100 samples. "
        + _calibration(n, m, pool)
    )


def _calibration(n: int, m: int, pool: int) -> str:
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


# ---- p and q ----


def _draws(benchmark: Gaussian, gammas: Sequence[float]) -> Panel:
    """Draws of both at one x: on the same random numbers at each gamma, so that they move."""
    x = np.ones((_SHOWN, benchmark.dim_x))  # the mean of x
    p, q = (
        np.stack([law(x, gamma, common(0, "conformal", name))[:, :2] for gamma in gammas])
        for name, law in (("shown p", benchmark.theta), ("shown q", benchmark.q))
    )
    both = np.concatenate([p, q]).reshape(-1, 2)
    low, high = np.quantile(both, [_FRAME, 1 - _FRAME], axis=0)
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
        height=_HEIGHT,
        legend=[("true p", style.P, "circle"), ("estimate q", style.Q, "circle")],
        caption=f"Two of {benchmark.dim_theta} parameters, at the mean of x.",
    )


# ---- Ranks ----


def _histogram(look: ConformalView, seen: Conformal) -> Panel:
    n = look.study.n
    low, high = histogram_band(n, BINS)
    bound = statistics.total_variation_bounds(seen.auc)[0]
    return Panel(
        [
            Band([0, 1], [low, low], [high, high]),
            Bars(np.linspace(0, 1, BINS + 1), _over(seen, seen.counts), color=style.Q),
            HLine(n / BINS, label="if q = p"),
        ],
        title="Conformal ranks of q's draws",
        x=Axis((0, 1), "rank U: low where q's draw looks unlike p"),
        y=Axis((0, 1.1 * max(float(np.quantile(seen.counts.max(-1), 0.9)), high)), "draws of q"),
        height=_HEIGHT,
        caption=sentence(
            "Mean rank {mean}, beside 1 − AUC = {miss}. An AUC this far from one half means a "
            "total variation between p and q of at least {tv}.",
            mean=_words(seen, seen.mean, "{:.3f}".format),
            miss=_words(seen, 1 - seen.auc, "{:.3f}".format),
            tv=_words(seen, np.asarray(bound), "{:.3f}".format),
        ),
    )


def _difference(look: ConformalView, seen: Conformal) -> Panel:
    difference = np.asarray(seen.difference, np.float64)
    low, high = statistics.ecdf_band(look.study.n, 0.95, POINTS)
    reach = 1.1 * max(np.abs(difference).max(), high.max(), -low.min())
    return Panel(
        [
            Band(POINTS, low, high),
            HLine(0),
            Line(POINTS, _over(seen, difference, coarse=True), color=style.Q),
        ],
        title="Distance of their ECDF from the diagonal",
        x=Axis((0, 1), "u"),
        y=Axis((-reach, reach), "share of ranks up to u, less u"),
        height=_HEIGHT,
        caption=sentence(
            "Uniform? p-values: Kolmogorov-Smirnov {ks}, Anderson-Darling {ad}, Cramér-von "
            "Mises {cvm}.",
            ks=_words(seen, seen.ks, equals),
            ad=_words(seen, seen.anderson_darling, equals),
            cvm=_words(seen, seen.cramer_von_mises, equals),
        ),
    )


# ---- Scores ----


def _spread(seen: Conformal) -> Panel:
    edges = np.linspace(-REACH, REACH, seen.density_p.shape[-1] + 1)
    top = 1.12 * float(max(seen.density_p.max(), seen.density_q.max()))
    cut = np.clip(seen.threshold, -REACH, REACH)
    return Panel(
        [
            Bars(edges, _over(seen, seen.density_q, coarse=True), color=style.Q),
            Bars(edges, _over(seen, seen.density_p, coarse=True), color=style.P),
            VLine(_over(seen, cut), dash="4 3", label="threshold"),
        ],
        title="The score under p and under q",
        x=Axis((-REACH, REACH), "score, standardised: high looks like p"),
        y=Axis((0, top), "density"),
        height=_HEIGHT,
        legend=[("p", style.P, "circle"), ("q", style.Q, "circle")],
        caption=sentence(
            "AUC {auc}: how often a draw of p scores above one of q. Upright: where C2ST cuts.",
            auc=_words(seen, seen.auc, "{:.3f}".format),
        ),
    )


def _against(look: ConformalView, seen: Conformal) -> list[Panel]:
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
                Band(at, _over(seen, low, coarse=True), _over(seen, high, coarse=True)),
                Line(
                    at, _over(seen, middle, coarse=True), color=style.method_style("uniform").color
                ),
            ],
            title="Against the oracle",
            x=Axis((float(ends[0] - margin), float(ends[1] + margin)), "oracle log p − log q"),
            y=Axis((-reach, reach), "learned score, standardised"),
            height=_HEIGHT,
            caption=sentence(
                "Line: median; band: the middle 80% of draws. Any rising curve ranks as well as "
                "the oracle, whose AUC is {auc}; a flat one has learnt nothing.",
                auc=over([f"{auc:.3f}" for auc in seen.oracle_auc], "gamma"),
            ),
        )
    ]


# ---- Other tests ----


def _others(look: ConformalView, seen: Conformal) -> list[Panel]:
    critical, sd = float(ndtri(1 - look.alpha)), 1 / np.sqrt(8 * look.study.n)
    multiple = sentence(
        "T = {t}, p-value {p}.",
        t=_words(seen, seen.multiple, "{:.2f}".format),
        p=_words(seen, seen.multiple_p, equals),
    )
    c2st = sentence(
        "Accuracy {a}, p-value {p}; with each class's own variance {own}. Once the threshold "
        "is off, the nominal null is too wide.",
        a=_words(seen, seen.accuracy, "{:.3f}".format),
        p=_words(seen, seen.accuracy_p, equals),
        own=_words(seen, seen.accuracy_own_p, pvalue_text),
    )
    return [
        _on_null(
            seen,
            "Multiple: the mean rank, standardised",
            "T",
            seen.multiple,
            (0, 1),
            critical,
            multiple,
        ),
        _on_null(
            seen,
            "C2ST: held-out accuracy",
            "accuracy",
            seen.accuracy,
            (0.5, sd),
            0.5 + critical * sd,
            c2st,
        ),
    ]


def _on_null(
    seen: Conformal,
    title: str,
    label: str,
    values: Array,
    normal: tuple[float, float],
    critical: float,
    caption: Any,
) -> Panel:
    """Values at every gamma and beta, on the normal law (mean, sd) of a correct q."""
    mean, sd = normal
    x = np.linspace(mean - 4.2 * sd, mean + 4.2 * sd, 81)
    limits = (
        min(x[0], 1.05 * float(values.min()) - 0.05 * mean),
        max(x[-1], 1.05 * float(values.max()) - 0.05 * mean),
    )
    density = np.exp(-(((x - mean) / sd) ** 2) / 2)
    return Panel(
        [
            Band(x, 0 * x, density),
            Note(mean, 0.4, "if q = p", anchor="middle"),
            VLine(critical, dash="4 3", color=style.NULL, label="level"),
            VLine(_over(seen, values), color=style.OBSERVED, width=2.5),
        ],
        title=title,
        x=Axis(limits, label),
        y=Axis((0, 1.3), hidden=True),
        height=_HEIGHT,
        caption=caption,
    )


# ---- Power ----


class _RateIntervals(NamedTuple):
    """Share of trials that reject (methods, BETAS, G), with its 95% Wilson interval."""

    rate: Array
    low: Array
    high: Array


def interpolate_rates(
    counted: MeasuredPower, gammas: Sequence[float], alpha: float
) -> _RateIntervals:
    """Counted at a few gammas and betas; between them, the straight line."""
    hits, trials = counted.trials.power(alpha)
    low, high = statistics.wilson(hits, np.full(hits.shape, trials))
    known = _place(counted.trials.gammas, gammas)
    return _RateIntervals(
        *(
            _between(_between(part, 1, counted.trials.betas, BETAS), 2, known, range(len(gammas)))
            for part in (hits / trials, np.asarray(low), np.asarray(high))
        )
    )


def _between(values: Array, axis: int, known: Any, wanted: Any) -> Array:
    """Values along an axis where they are not known, by straight lines."""
    return np.apply_along_axis(lambda row: np.interp(wanted, known, row), axis, values)


def _place(values: Any, gammas: Sequence[float]) -> Array:
    """Where gammas lie among those of the slider, in its steps."""
    return np.interp(values, gammas, np.arange(len(gammas), dtype=float))


def _over_both(look: ConformalView, counted: MeasuredPower | None) -> list[Panel]:
    """Power over gamma at the slider's beta, and over beta at its gamma."""
    gammas = look.study.learned.gammas
    places = np.arange(len(gammas), dtype=float)
    rates = interpolate_rates(counted, gammas, look.alpha) if counted else None
    legend = _legend(look, counted)
    ticks = np.unique(np.round(np.linspace(0, len(gammas) - 1, _TICKS)).astype(int))
    words = "Press to move gamma."
    panels = []
    if len(gammas) > 1:
        panels.append(
            Panel(
                [
                    *_power_marks(look, counted, rates, places, "beta"),
                    VLine(over(places, "gamma")),
                ],
                title="Power over gamma",
                x=Axis(
                    (-0.5, len(gammas) - 0.5),
                    "gamma, finer where curves climb" if not look.study.learned.each else "gamma",
                    ticks=ticks,
                    names=[f"{gammas[i]:g}" for i in ticks],
                ),
                click="gamma",
                at=np.stack([places, np.full(len(gammas), 0.5)], axis=1),
                **_power_frame(look, counted, words, legend),
            )
        )
    panels.append(
        Panel(
            [
                *_power_marks(look, counted, rates, np.array(BETAS), "gamma"),
                VLine(over(BETAS, "beta")),
            ],
            title="Power over beta",
            x=Axis((-0.02, 1.02), "beta: the network is moved back to its random start"),
            click="beta",
            **_power_frame(look, counted, "Press to move beta.", legend),
        )
    )
    return panels


def _over_m(look: ConformalView, counted: MeasuredPower | None) -> list[Panel]:
    """Power over calibration draws at the slider's gamma and beta."""
    x = np.log10(PAPER_M)
    marks: list[Mark] = _level(look)
    if counted:
        rates = interpolate_rates(counted, look.study.learned.gammas, look.alpha)
        values = np.moveaxis(rates.rate, 0, -1).swapaxes(0, 1)  # (G, BETAS, methods)
        flat = [np.repeat(values[..., i : i + 1], len(x), -1) for i in range(2)]
        for method, line in zip(counted.study.methods, (*flat, values[..., 2:]), strict=False):
            marks.append(_curve(method, counted.old, x, over(line, "gamma", "beta", coarse=True)))
    else:
        marks.append(_awaited(float(x.mean())))
    marks.append(VLine(float(np.log10(look.study.m))))
    return [
        Panel(
            marks,
            title="Power over m",
            x=Axis(
                (x[0] - 0.08, x[-1] + 0.08),
                "calibration draws per test point, m",
                ticks=x,
                names=[f"{m}" for m in PAPER_M],
            ),
            **_power_frame(look, counted, "", _legend(look, counted)),
        )
    ]


def _power_frame(
    look: ConformalView,
    counted: MeasuredPower | None,
    words: str,
    legend: list[tuple[str, str, str]],
) -> dict[str, Any]:
    """What all power panels have in common."""
    caption = "The trials come when the classifier has learnt."
    if counted and counted.old:
        caption = f"Grey: as it was before, {counted.said}. The new trials are on their way."
    elif counted:
        caption = f"{counted.said}, straight lines between; shaded: 95% intervals. {words}"
    return {
        "y": Axis((0, 1.02), "trials that reject q", percent=True),
        "height": _HEIGHT,
        "legend": legend,
        "caption": caption,
    }


def _power_marks(
    look: ConformalView,
    counted: MeasuredPower | None,
    rates: _RateIntervals | None,
    x: Array,
    other: str,
) -> list[Mark]:
    """A curve with its band for each test, along one slider and following the other."""
    marks = _level(look)
    if counted is None or rates is None:
        return [*marks, _awaited(float(np.mean(x)))]
    turned = [part if other == "beta" else part.swapaxes(1, 2) for part in rates]
    for i, method in enumerate(counted.study.methods):
        rate, low, high = (over(part[i], other, coarse=True) for part in turned)
        look_of = style.method_style(method.name)
        color = style.NULL if counted.old else look_of.color
        marks += [
            Band(x, low, high, color=color, opacity=0.13),
            _curve(method, counted.old, x, rate),
        ]
    return marks


def _level(look: ConformalView) -> list[Mark]:
    return [HLine(look.alpha, color=style.NULL, label="level")]


def _awaited(x: float) -> Note:
    return Note(x, 0.5, "not counted yet", color=style.NULL, anchor="middle")


def _curve(method: Method, old: bool, x: Array, y: Any) -> Line:
    color, dash, _ = live.browser_style(style.method_style(method.name))
    return Line(x, y, color=style.NULL if old else color, dash=dash)


def _legend(look: ConformalView, counted: MeasuredPower | None) -> list[tuple[str, str, str]]:
    if counted is None:
        return []
    several = len(counted.study.ms) > 1
    entries = []
    for method in counted.study.methods[:3]:
        color, dash, _ = live.browser_style(style.method_style(method.name))
        label = method.label_of_several if several else method.label
        symbol = "line" if dash == "solid" else "dash"
        entries.append((label, style.NULL if counted.old else color, symbol))
    return entries


def _noise(look: ConformalView, seen: Conformal) -> Panel:
    """Var(U | its draw of q) against m, on doubly logarithmic axes."""
    x, y = np.log10(PAPER_M), np.log10(workbench.rank_variance(seen.unsettled))
    bottom, top = np.floor(y.min()), np.ceil(y.max())
    decades = np.arange(bottom, top + 1)
    return Panel(
        [
            Line(x, _over(seen, y), color=style.NULL, dash="2 3"),
            Points(
                x,
                _over(seen, y),
                color=style.method_style("uniform").color,
                symbol="diamond",
                size=7,
            ),
            VLine(float(np.log10(look.study.m))),
        ],
        title="Noise of a rank",
        x=Axis(
            (x[0] - 0.08, x[-1] + 0.08),
            "calibration draws m",
            ticks=x,
            names=[f"{m}" for m in PAPER_M],
        ),
        y=Axis(
            (float(bottom), float(top)),
            "variance of U at a given draw of q",
            ticks=decades,
            names=[f"{10.0**d:g}" for d in decades],
        ),
        height=_HEIGHT,
        caption=(
            "Over calibration sets. It falls as 1/m, and with it what more calibration draws "
            "can still gain."
        ),
    )


def power_table(counted: MeasuredPower, alpha: float) -> pd.DataFrame:
    """The counts behind the curves."""
    hits, trials = counted.trials.power(alpha)
    low, high = statistics.wilson(hits, np.full(hits.shape, trials))
    return pd.DataFrame(
        {
            "Test": method.label,
            "gamma": gamma,
            "beta": beta,
            "Rejected": int(hits[i, j, k]),
            "Trials": trials,
            "Power": hits[i, j, k] / trials,
            "95% from": low[i, j, k],
            "to": high[i, j, k],
        }
        for i, method in enumerate(counted.study.methods)
        for j, beta in enumerate(counted.trials.betas)
        for k, gamma in enumerate(counted.trials.gammas)
    )
