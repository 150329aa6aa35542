"""Lensing, looked at: four systems at every gamma, which pixels are wrong, and Table 2 run here.

One classifier and one localizer learn from draws at all gammas (`OverGamma`) and are held at
each. Neighbouring gammas share their random numbers, so that pictures move and noise does not.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from validation_core import methods, sampling, scores, statistics
from validation_core.benchmarks.lensing import NOISE, SIDE, Lensing
from validation_core.benchmarks.over_gamma import AtGamma, OverGamma, refine_grid
from validation_core.diagnosis import equals
from validation_core.drawing import live, style
from validation_core.drawing.marks import (
    Axis,
    Heat,
    HLine,
    Image,
    Line,
    Mark,
    Note,
    Panel,
    Shades,
    Slider,
    VLine,
    Words,
    over,
    sentence,
    written,
)
from validation_core.methods.base import Method
from validation_core.panels import power
from validation_core.rng import common, stream
from validation_core.scores import trained_scores
from validation_core.scores.classifier import Classifier, TrainedClassifier
from validation_core.scores.localizer import Localizer, for_all_gammas
from validation_core.scores.trained_scores import Simulated, Training
from validation_core.statistics import interval_text
from validation_core.study import Report, Study
from validation_core.sweep.plan import Progress, Sweep
from validation_core.sweep.presets import SMALL_MMD, bounds
from validation_core.sweep.trials import TrialDesign
from validation_core.types import Array, PosteriorTable, Score

if TYPE_CHECKING:
    from validation_core.scores.localizer_training import LocalizerDistance, TrainedLocalizer
    from validation_core.store import Store


BETAS = (0.0, 0.6, 0.7, 0.8, 0.9, 0.95)
"""Degradations of the paper's Table 2."""
DEGRADED_AT = 0.5
"""The gamma at which the classifier is degraded."""
POWER_GAMMAS = (0.0, 0.2, 0.3, 0.4, 0.5, 0.7, 1.0)
"""Strengths at which power is counted."""
TRIALS, N, K = 50, 1000, 20
"""Test sets behind a rate, as in the paper; simulations in one, and draws of q at each."""
PUBLISHED = {"dc": 0.10, "sbc": 0.10, "uniform": 0.05}
"""Rejection rates of Table 2 at gamma = 0. Its others depend on a lens, a noise and a biased
score that the paper does not give."""

_GAMMAS = 17
_SHOWN = 2  # draws of q in a picture
_BRIGHTNESS = (0.9, 0.75, 0.55, 0.3)  # quantiles of total light at which systems are taken
_MAP_DRAWS = 2000  # of q at a system: correlations are off by .02
_HELD = 2000  # simulations behind an AUC and a map of the localizer's
_RANKED, _DRAWS = 600, 20  # simulations of the localizer's test, draws of q at each
_SMALLEST = 1e-300

_CLASSIFIER = replace(Lensing().classifier, train=18_000, epochs=20, batch=256)
_LOCALIZER = Localizer(embedding="identity", anchors=100, draws=32)

Pixels = NDArray[np.float16]


class _LensingView(NamedTuple):
    """What there is to see of V systems at G gammas; images are 16 x 16, first row on top."""

    gammas: Array
    """(G,)."""
    source: Pixels
    """(V, 16, 16) real galaxies, in units of the prior's mean peak."""
    image: Pixels
    """(V, 16, 16) what is seen of them."""
    posterior: Pixels
    """(V, 16, 16) the exact posterior's mean."""
    draws: Pixels
    """(G, V, 2, 16, 16) of q."""
    residual: Pixels
    """(G, V, 16, 16) x - A theta of the first draw, in standard deviations of the noise."""
    off: Pixels
    """(G, V, 16, 16) q's mean less p's, in posterior standard deviations."""
    spread: Pixels
    """(G, 16, 16) q's standard deviation over p's, the same at each x."""
    classifier: Pixels
    """(G, V, 16, 16) correlation of minus its logit with each pixel over q's draws: positive
    where what is brighter looks more like q."""
    colt: Pixels
    """(G, 16, 16) how much further from the ball's centre true sources are than q's draws: the
    pixel's part of the mean squared distance, as a share of a pixel's in q."""
    auc: Array
    """(G,) of the classifier."""
    oracle: Array
    """(G,) of log p - log q."""
    inside: Array
    """(G, 3) true sources in the localizer's ball that holds half of q's draws, with the 95%
    Wilson interval."""
    pvalue: Array
    """(G,) of the localizer's ranks."""

    @property
    def agreement(self) -> Array:
        """(G, V) correlation over pixels of the classifier's map with the true error."""
        seen, true = (_standard(maps) for maps in (self.classifier, self.off))
        return np.asarray((seen * true).mean(-1))


def _standard(maps: Pixels) -> Array:
    """Each map (..., 16, 16) standardised over its pixels (..., 256); a flat one is 0."""
    flat = maps.astype(np.float64).reshape(*maps.shape[:-2], -1)
    flat -= flat.mean(-1, keepdims=True)
    sd = flat.std(-1, keepdims=True)
    return np.asarray(flat / np.where(sd > 0, sd, 1))


@dataclass(frozen=True, kw_only=True)
class LensingStudy(Study[_LensingView], spec="lensing_view"):
    """Train a classifier and a localizer for all gammas, and look at each system through them."""

    benchmark: Lensing = field(default_factory=Lensing)
    classifier: Classifier = _CLASSIFIER
    """Of all gammas together."""
    localizer: Localizer = _LOCALIZER
    """Of a single gamma: phi is the identity, whose distance is a sum over pixels."""
    count: int = _GAMMAS
    """Strengths of the slider, at least."""
    held: int = _HELD
    draws: int = _MAP_DRAWS
    seed: int = 0

    @property
    def label(self) -> str:
        return f"Which pixels are wrong, {self.benchmark.label}"

    @property
    def gammas(self) -> tuple[float, ...]:
        """The benchmark's own, and some in between."""
        return tuple(map(float, refine_grid(self.benchmark.gammas, self.count)))

    @property
    def over(self) -> OverGamma:
        """What both networks learn from."""
        return OverGamma(of=self.benchmark, grid=self.gammas)

    @property
    def trainings(self) -> tuple[Training, ...]:
        """The classifier and the localizer."""
        source = Simulated(benchmark=self.over, gamma=0.0)
        recipes = self.classifier, for_all_gammas(self.localizer, len(self.gammas))
        return tuple(Training(source=source, recipe=one, seed=self.seed) for one in recipes)

    def compute(self, store: Store, report: Report) -> _LensingView:
        """Train what the store lacks, and look."""
        networks = [trained_scores.trained(store, training) for training in self.trainings]
        report(0.6, {})
        return _seen(self, networks[0], networks[1], report)


def _seen(
    study: LensingStudy, classifier: TrainedClassifier, localizer: TrainedLocalizer, report: Report
) -> _LensingView:
    logit, distance, over = classifier.at(), localizer.at(), study.over
    source, image = simulate_systems(study)
    looked: list[dict[str, Array]] = []
    for index, gamma in enumerate(study.gammas):
        score = AtGamma(logit, over, index)
        drawn = draw_q(study, gamma, image)
        looked.append(
            {
                **closed_form_view(study, gamma, image, drawn),
                "classifier": -_correlations(score, image, drawn),
                **_areas(study, gamma, score),
                **_located(study, gamma, index, distance),
            }
        )
        report(0.6 + 0.4 * (index + 1) / len(study.gammas), {"gamma": gamma})
    at = {name: np.stack([each[name] for each in looked]) for name in looked[0]}
    posterior = study.benchmark.moments(image, 0.0).mean
    numbers = ("auc", "oracle", "inside", "pvalue")
    return _LensingView(
        gammas=np.array(study.gammas),
        source=_pixels(source),
        image=_pixels(image),
        posterior=_pixels(posterior),
        **{name: values if name in numbers else _pixels(values) for name, values in at.items()},
    )


def _pixels(flat: Array) -> Pixels:
    """(..., 256) as images (..., 16, 16)."""
    return flat.reshape(*flat.shape[:-1], SIDE, SIDE).astype(np.float16)


def simulate_systems(study: LensingStudy) -> tuple[Array, Array]:
    """Real galaxies (V, D), from bright to faint, and their images (V, M)."""
    galaxies = study.benchmark.sources()
    order = np.argsort(galaxies.sum(1), kind="stable")
    source = galaxies[order[[round(part * (len(order) - 1)) for part in _BRIGHTNESS]]]
    noise = stream(study.seed, "lensing", "noise").standard_normal(source.shape)
    return source, source @ study.benchmark.forward.T + NOISE * noise


def draw_q(study: LensingStudy, gamma: float, image: Array) -> Array:
    """Draws of q at each system (V, n, D), on the same random numbers at every gamma."""
    rng = common(study.seed, "lensing", "draws")
    drawn = study.benchmark.q(np.repeat(image, study.draws, axis=0), gamma, rng)
    return drawn.reshape(len(image), study.draws, -1)


def closed_form_view(
    study: LensingStudy, gamma: float, image: Array, drawn: Array
) -> dict[str, Array]:
    """Pictures of the draws, and what is wrong with q in closed form."""
    p, q = (study.benchmark.moments(image, strength) for strength in (0.0, gamma))
    residual = (image - drawn[:, 0] @ study.benchmark.forward.T) / NOISE
    return {
        "draws": drawn[:, :_SHOWN],
        "residual": residual,
        "off": (q.mean - p.mean) / p.sd,
        "spread": q.sd / p.sd,
    }


def _correlations(score: Score, image: Array, drawn: Array) -> Array:
    """Of a score with each pixel over draws (V, n, D) at each system: (V, D).

    By Stein's lemma it is the score's mean gradient, smoothed by q's own covariance and in q's
    standard deviations: a gradient by itself is mostly noise in directions that q never takes.
    """
    out = np.empty((len(image), drawn.shape[-1]))
    for i, (x, theta) in enumerate(zip(image, drawn, strict=True)):
        scored = np.asarray(score(theta, np.repeat(x[None], len(theta), axis=0)), np.float64)
        scored, theta = scored - scored.mean(), theta - theta.mean(0)
        spread = max(float(scored.std()), 1e-12) * theta.std(0)
        out[i] = scored @ theta / (len(theta) * spread)
    return out


def _areas(study: LensingStudy, gamma: float, score: Score) -> dict[str, Array]:
    """AUC of the classifier and of the oracle, on rows that neither network learns from."""
    benchmark = study.benchmark
    rng = common(study.seed, "lensing", "held")
    rows = sampling.blocks(benchmark, gamma, study.held, study.held, rng)

    def oracle(theta: Array, x: Array) -> Array:
        return benchmark.log_ratio(theta, x, gamma)

    areas = [scores.apply(one, rows) for one in (score, oracle)]
    auc, best = (statistics.auc(area.p, area.q) for area in areas)
    return {"auc": np.asarray(auc), "oracle": np.asarray(best)}


def _located(
    study: LensingStudy, gamma: float, index: int, distance: LocalizerDistance
) -> dict[str, Array]:
    """The localizer's ball, and each pixel's part in what is wrong with it."""
    benchmark, over = study.benchmark, study.over
    rng = common(study.seed, "lensing", "ranked")
    table = sampling.table(benchmark, gamma, min(_RANKED, study.held), _DRAWS, rng)
    at = PosteriorTable(table.theta, over.at(table.x, index), table.q)
    ranks = stream(study.seed, "lensing", "ranks")
    outcome = methods.CoLT(embedding="identity").test(scores.apply(distance, at), ranks)
    u = outcome.arrays["u"]
    within = int((u <= 0.5).sum())
    low, high = statistics.wilson(within, len(u))
    return {
        "colt": _further(study, gamma, index, distance),
        "inside": np.array([within / len(u), float(low), float(high)]),
        "pvalue": np.maximum(outcome.pvalue, _SMALLEST),
    }


def _further(study: LensingStudy, gamma: float, index: int, distance: LocalizerDistance) -> Array:
    """Each pixel's part (D,) of the mean squared distance, of true sources less of q's draws.

    The localizer whitens symmetrically, so that its coordinates are still those of pixels.
    Both sides share x and random numbers.
    """
    benchmark = study.benchmark
    x = benchmark.x(study.held, common(study.seed, "lensing", "map"))
    centre = distance.frame.theta(distance.centre(study.over.at(x, index)))
    squared = [
        (distance.frame.theta(law(x, gamma, common(study.seed, "lensing", "sides"))) - centre) ** 2
        for law in (benchmark.theta, benchmark.q)
    ]
    p, q = (side.mean(0, dtype=np.float64) for side in squared)
    return np.asarray((p - q) / q.mean())


# ---- Table 2, as run here ----


def _table_methods() -> tuple[Method, ...]:
    """The tests of the paper's Table 2."""
    return (
        methods.C2ST(),
        methods.Multiple(),
        methods.Uniform(m=50),
        methods.SBC(),
        methods.TARP(),
        methods.DC(),
        methods.AutoML(),
        SMALL_MMD,
    )


def sweeps(benchmark: Lensing | None = None) -> tuple[Sweep, ...]:
    """Its two halves: rejection rates over gamma, and over beta at one gamma."""
    lensing = benchmark or Lensing()
    design = TrialDesign(trials=TRIALS, n=N, k=K)
    grids: Sequence[tuple[tuple[float, ...], tuple[float, ...]]] = (
        (POWER_GAMMAS, (0.0,)),
        ((DEGRADED_AT,), BETAS),
    )
    return tuple(
        Sweep(
            benchmark=lensing,
            methods=_table_methods(),
            gammas=gammas,
            betas=betas,
            design=design,
            recipe=lensing.classifier,
        )
        for gammas, betas in grids
    )


def shipped() -> tuple[LensingStudy, ...]:
    """What the page opens with, stored with NPT Lab."""
    return (LensingStudy(),)


# ---- Lensing in pictures: what the systems look like, which pixels are wrong, who sees it ----


_START = 0.5
"""The gamma that the page opens at."""

_APART = 1.12  # from one picture of a panel to the next, in widths of one
_ROOM = 0.17  # above it, for its name
_THREE, _TWO = 168, 212  # pixels: panels of so many pictures
# From a dark sky to a bright core, in equal steps of light.
_LIGHT = np.array(
    [(8, 8, 20), (60, 20, 90), (150, 45, 95), (230, 100, 60), (252, 190, 90), (255, 250, 220)],
    dtype=float,
)
_DARK, _BRIGHT = -0.1, 1.6  # ends of that scale, in units of the mean peak
_SDS = 4.0  # of the noise, at which a residual has its full colour
_CLOSE = 0.06  # of an axis: ticks nearer than that share one name
_FULL = 0.995  # quantile of a map that has its full colour


def payload(seen: _LensingView) -> live.Payload:
    """Galaxies and maps, under gamma and the galaxy."""
    gammas = [float(gamma) for gamma in seen.gammas]
    count = len(seen.source)
    return live.payload(
        sliders=[
            Slider(
                "gamma",
                gammas,
                names=[f"{gamma:g}" for gamma in gammas],
                start=min(gammas, key=lambda gamma: abs(gamma - _START)),
                label="Share of the biased score, gamma",
                ends=("q = p", "biased score alone"),
                play=True,
            ),
            Slider(
                "galaxy",
                np.arange(1, count + 1),
                names=[f"{i + 1} of {count}" for i in range(count)],
                label="Galaxy",
                ends=("bright", "faint"),
            ),
        ],
        panels=[_galaxy(seen), _draws(seen), _at_x(seen), _over_x(seen)],
        headline=_headline(seen),
        columns=2,
    )


def _headline(seen: _LensingView) -> Words:
    return sentence(
        "At gamma = {gamma} the classifier tells draws of q from true sources with an AUC of "
        "{auc}; the best possible is {best} (0.5 = guessing).",
        gamma=over([f"{gamma:g}" for gamma in seen.gammas], "gamma"),
        auc=over(written(seen.auc, "{:.2f}".format), "gamma"),
        best=over(written(seen.oracle, "{:.2f}".format), "gamma"),
    )


# ---- Pictures side by side in a panel ----


def brightness_to_rgb(brightness: NDArray[np.floating]) -> NDArray[np.uint8]:
    """Colours (..., 16, 16, 3) of brightness (..., 16, 16), as a square root of light."""
    share = np.clip((brightness.astype(float) - _DARK) / (_BRIGHT - _DARK), 0, 1) ** 0.7
    steps = np.linspace(0, 1, len(_LIGHT))
    channels = [np.interp(share, steps, _LIGHT[:, channel]) for channel in range(3)]
    return np.asarray(np.round(np.stack(channels, axis=-1)), dtype=np.uint8)


def _photograph(
    brightness: NDArray[np.floating], place: int, name: str, *sliders: str
) -> list[Mark]:
    left = place * _APART
    image = Image((left, left + 1), (0, 1), over(brightness_to_rgb(brightness), *sliders))
    return [image, *_framed(place, name)]


def _map(
    values: NDArray[np.floating], place: int, name: str, limit: float, *sliders: str
) -> list[Mark]:
    """A signed map: orange above 0, blue below."""
    left = place * _APART
    upright = values[..., ::-1, :].astype(float)  # a heat map's first row lies lowest
    shades = Shades(over(upright, *sliders), limit=limit, low=style.P, high=style.Q)
    heat = Heat(np.linspace(left, left + 1, SIDE + 1), np.linspace(0, 1, SIDE + 1), shades)
    return [heat, *_framed(place, name)]


def _framed(place: int, name: str) -> list[Mark]:
    left = place * _APART
    x, y = np.array([0, 1, 1, 0, 0]) + left, np.array([0, 0, 1, 1, 0])
    return [
        Line(x, y, color=style.NULL, width=1, opacity=0.6),
        Note(left + 0.5, 1.06, name, anchor="middle"),
    ]


def _panel(marks: Sequence[Sequence[Mark]], title: str, caption: Words) -> Panel:
    width = 1 + _APART * (len(marks) - 1)
    return Panel(
        [mark for group in marks for mark in group],
        x=Axis((-0.01, width + 0.01), hidden=True),
        y=Axis((-0.02, 1 + _ROOM), hidden=True),
        title=title,
        caption=caption,
        height=_THREE if len(marks) > 2 else _TWO,
        equal=True,
    )


def _limit(values: NDArray[np.floating]) -> float:
    """Where a map has its full colour."""
    return max(float(np.quantile(np.abs(values.astype(float)), _FULL)), 1e-3)


# ---- The panels ----


def _galaxy(seen: _LensingView) -> Panel:
    return _panel(
        [
            _photograph(seen.source, 0, "source θ", "galaxy"),
            _photograph(seen.image, 1, "image x", "galaxy"),
            _photograph(seen.posterior, 2, "p's mean", "galaxy"),
        ],
        "A galaxy behind a lens",
        "A galaxy of the Hubble Deep Field, what a lens, a blur and noise make of it, and the "
        "mean of the exact posterior.",
    )


def _draws(seen: _LensingView) -> Panel:
    residual = seen.residual.astype(float)
    size = np.sqrt((residual**2).mean((-1, -2)))
    return _panel(
        [
            _photograph(seen.draws[:, :, 0], 0, "a draw of q", "gamma", "galaxy"),
            _photograph(seen.draws[:, :, 1], 1, "another", "gamma", "galaxy"),
            _map(residual, 2, "residual", _SDS, "gamma", "galaxy"),
        ],
        "Draws of q",
        sentence(
            "Residual: the image less the first draw's, full colour at 4 sds of the noise. Its "
            "root mean square is {size} sds; about 1 fits the data.",
            size=over(written(size, "{:.2f}".format), "gamma", "galaxy"),
        ),
    )


def _at_x(seen: _LensingView) -> Panel:
    sds, correlation = _limit(seen.off), _limit(seen.classifier)
    return _panel(
        [
            _map(seen.off, 0, "true error of q's mean", sds, "gamma", "galaxy"),
            _map(seen.classifier, 1, "classifier's map", correlation, "gamma", "galaxy"),
        ],
        "Which pixels are wrong at this x?",
        sentence(
            f"Orange: q too bright. Left, in posterior sds: full colour at {sds:.2f}. Right: how "
            "each pixel of q's draws correlates with minus the logit, full colour at "
            f"{correlation:.2f}. {{agree}}",
            agree=over(_agreement(seen), "gamma", "galaxy"),
        ),
    )


def _agreement(seen: _LensingView) -> NDArray[np.str_]:
    """How far the classifier's map is the true one, in words (G, V)."""
    words = written(seen.agreement, lambda r: f"Over pixels, the maps correlate by {r:.2f}.")
    right = np.abs(seen.off.astype(float)).max((-1, -2)) < 1e-6
    return np.where(right, "At gamma = 0 nothing is wrong: the right map is noise.", words)


def _over_x(seen: _LensingView) -> Panel:
    log = np.log2(np.maximum(seen.spread.astype(float), 1e-3))
    wide, part = _limit(log), _limit(seen.colt)
    inside = np.asarray(seen.inside, float)
    return _panel(
        [
            _map(log, 0, "true spread, q over p", wide, "gamma"),
            _map(seen.colt, 1, "CoLT's map", part, "gamma"),
        ],
        "Which pixels are wrong over all x?",
        sentence(
            f"Left: orange where q is too wide, full colour at a factor of {2**wide:.2f}. "
            "Right: orange where true sources lie further from the ball's centre than q's "
            f"draws. The ball that holds half of q's draws holds {{inside}} of true sources "
            f"(CoLT's p-value {{p}}).",
            inside=over(_shares(inside), "gamma"),
            p=over(written(np.asarray(seen.pvalue), equals), "gamma"),
        ),
    )


def _shares(inside: NDArray[np.floating]) -> list[str]:
    """Shares (G, 3) with their intervals."""
    return [interval_text(ends, ".0%") for ends in inside]


# ---- Table 2 ----


def rates(
    sweeps: Sequence[Sweep], progress: Sequence[Progress], at: float | None = None
) -> live.Payload:
    """Rejection rates over gamma, and over beta at one gamma, with 95% Wilson bands.

    Args:
        at: a gamma to mark.
    """
    cells = [cell for one in progress for cell in one.cells]
    looks = power.curve_styles(cells)
    panels = [
        _rates(sweep, one, looks, at if power.along(sweep) == "gamma" else None)
        for sweep, one in zip(sweeps, progress, strict=True)
    ]
    return live.payload(panels=panels, columns=2)


def _rates(
    sweep: Sweep, progress: Progress, looks: dict[str, power.CurveStyle], at: float | None
) -> Panel:
    axis = power.along(sweep)
    places = np.array(sweep.gammas if axis == "gamma" else sweep.betas)
    room = 0.02 * float(np.ptp(places))
    marks: list[Mark] = [HLine(sweep.design.alpha, dash="6 4", color=style.NULL)]
    if at is not None:
        marks.append(VLine(at, color=style.NULL, dash="2 3"))
    for curve in power.curves(progress.cells, axis):
        marks += power.method_marks(curve, *looks[curve.label])
    trials = sweep.design.trials
    fixed = "beta = 0" if axis == "gamma" else f"gamma = {DEGRADED_AT:g}"
    what = (
        "how wrong q is" if axis == "gamma" else "how far the networks are moved to a random start"
    )
    return Panel(
        marks,
        title=f"Share of {trials} test sets rejected, {fixed}",
        height=320,
        x=Axis(
            (places[0] - room, places[-1] + room),
            f"{axis}: {what}",
            ticks=places,
            names=tick_names(places),
        ),
        y=Axis((-0.03, 1.04), "rejected", percent=True),
        legend=[(label, color, symbol) for label, (color, _, symbol) in looks.items()],
        caption="Bands: 95% Wilson intervals. Dashed: the level of 5%."
        if axis == "gamma"
        else "SBC, TARP, AutoML and MMD-FUSE have no network that is degraded: level lines.",
    )


def tick_names(places: NDArray[np.floating]) -> list[str]:
    """Names of places on an axis; one that would run into the next has none."""
    near = np.append(np.diff(places) < _CLOSE * np.ptp(places), False)
    return [f"{place:g}" * (not close) for place, close in zip(places, near, strict=True)]


def answer(progress: Progress) -> str:
    """Where each test begins to reject half of its test sets, over gamma; "" before all ran."""
    if not progress.complete:
        return ""
    reached, blind = [], []
    for curve in power.curves(progress.cells, "gamma"):
        at = half_power_crossing(curve.x, curve.rate)
        if at is None:
            blind.append(curve.label)
        else:
            reached.append((at, curve.label))
    thresholds = ", ".join(f"{at:.2f} ({label})" for at, label in sorted(reached))
    first = f"Half of the test sets are rejected from gamma = {thresholds}" if thresholds else ""
    never = (
        f"{' and '.join(blind)} never reach{'es' * (len(blind) == 1)} one half" if blind else ""
    )
    return "; ".join(part for part in (first, never) if part) + "."


def half_power_crossing(x: NDArray[np.floating], rate: NDArray[np.floating]) -> float | None:
    """The first place at which a broken line reaches one half; None where it never does."""
    above = np.flatnonzero(rate >= 0.5)
    if not len(above):
        return None
    i = int(above[0])
    if i == 0:
        return float(x[0])
    share = (0.5 - rate[i - 1]) / (rate[i] - rate[i - 1])
    return float(x[i - 1] + share * (x[i] - x[i - 1]))


def table(sweeps: Sequence[Sweep], progress: Sequence[Progress]) -> pd.DataFrame:
    """Both halves beside the published numbers, a row for each test."""
    rows = []
    for method in sweeps[0].methods:
        row: dict[str, object] = {"Test": method.label}
        published = PUBLISHED.get(method.name)
        row["paper, gamma 0"] = "" if published is None else f"{published:.0%}"
        for sweep, one in zip(sweeps, progress, strict=True):
            axis = power.along(sweep)
            for cell in (cell for cell in one.cells if cell.label == method.label):
                low, high = bounds(cell)
                place = f"gamma {cell.gamma:g}" if axis == "gamma" else f"beta {cell.beta:g}"
                row[place] = f"{cell.rate:.0%} ({low:.0%} to {high:.0%})"
        rows.append(row)
    return pd.DataFrame(rows)


def how_to_read(study: LensingStudy) -> str:
    """What looks, and what it learned from."""
    rows, anchors = study.classifier.train, study.localizer.anchors
    own = study.benchmark.classifier.train
    return (
        f"For these pictures one classifier ({rows:,} + {rows:,} rows) and one localizer of "
        f"CoLT's ({anchors} anchors at each gamma) learn at all gammas. C2ST, Multiple and "
        f"Uniform below read networks of single gammas, trained on {own:,} + {own:,} rows."
    )


ABOUT_TABLE = (
    "The paper does not give its lens, noise and biased score, and we know three of its numbers, "
    "all at gamma = 0: DC 10%, SBC 10%, Uniform(50) 5% of 50 sets. Both 10% are 5 of 50, which a "
    "valid test reaches with probability .10; 5% cannot be reached with 50 sets. Here C2ST, "
    "Multiple and Uniform learn from 2000 + 2000 rows; DC and AutoML learn from 1000, as many as "
    "a test set has. MMD-FUSE reads 250 + 250 rows."
)
"""What stands under the table."""
