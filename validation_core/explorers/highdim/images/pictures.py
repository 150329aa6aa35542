"""Pictures of the Images page: clean and corrupted examples, extreme scores, sensitivity maps,
power.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from validation_core.benchmarks.image_sources import SIDE
from validation_core.drawing import live
from validation_core.drawing.marks import (
    Axis,
    Heat,
    Image,
    Mark,
    Note,
    Panel,
    Shades,
    Slider,
    Text,
    formatted,
    over,
    sentence,
    written,
)
from validation_core.drawing.power_curves import Rates, places_axis, rate_curve
from validation_core.drawing.style import P, Q
from validation_core.explorers.highdim import BETAS
from validation_core.explorers.highdim import METHODS as USUAL
from validation_core.explorers.highdim.images.study import (
    METHODS,
    PATCH,
    STRIDE,
    SUREST,
    ImageExamples,
    ImagesStudy,
    ScoredImages,
    pool_rejections,
)
from validation_core.explorers.highdim.ranked_images import Pixels
from validation_core.explorers.highdim.rejections import power_panel, rejections_in_words
from validation_core.text import capitalise, share_text
from validation_core.types import Array, MethodStyle

_PITCH = SIDE + STRIDE  # from one image to the next, a whole number of a map's cells
_NAME, _SAID = 13, 13  # pixels of an image, left above a row for its name, below for its scores
_CELLS = _PITCH // STRIDE
_NOTHING = "At gamma = 0 nothing was done to q's images: there is nothing to show."
_EDGE = (PATCH - STRIDE) // 2  # the first cell's middle is the first patch's


def payload(study: ImagesStudy, scored: ScoredImages, *, conditional: bool) -> live.Payload:
    """Every view at each gamma.

    Args:
        study: the study.
        scored: its result.
        conditional: show the power of the networks that see the label, else of those that do not.
    """
    c = 0 if conditional else 1
    return live.payload(
        sliders=[_gammas(study, scored.pictures)],
        panels=[
            _examples_panel(scored.pictures, scored),
            _power(study, scored, c, 1),
            _surest_panel(scored),
            _power(study, scored, c, 0),
            _hidden_panel(study, scored),
            _repaired(scored),
        ],
        headline=_headline(study, scored, c),
        columns=2,
    )


def examples_payload(study: ImagesStudy, pictures: ImageExamples) -> live.Payload:
    """The examples alone, which need no network."""
    return live.payload(
        sliders=[_gammas(study, pictures)], panels=[_examples_panel(pictures, None)], columns=1
    )


def _gammas(study: ImagesStudy, pictures: ImageExamples) -> Slider:
    gammas = pictures.gammas
    return Slider(
        "gamma",
        gammas,
        form="{:g}",
        start=float(gammas[len(gammas) // 2]),
        label=capitalise(study.benchmark.axis),
        ends=("q = p", "q far off"),
        play=True,
    )


def _headline(study: ImagesStudy, scored: ScoredImages, c: int) -> Text:
    hits, trials = pool_rejections(scored)
    weak = hits[c, : len(USUAL), 1] / trials  # (methods, G)
    counted = f"{scored.trials} trials with {_networks_in_words(scored.rejections.shape[-1])}"
    rejected, parts = rejections_in_words(study.benchmark, USUAL, weak, counted, "gamma")
    auc = scored.auc[c].mean(-1)
    return sentence(
        f"At gamma = {{gamma}} the trained classifier's AUC is {{auc}}. Weakened to beta = "
        f"{BETAS[1]:g} it is {{weak}}: {rejected}.",
        gamma=written(scored.pictures.gammas, "{:g}", "gamma"),
        auc=written(auc[0], "{:.3f}", "gamma"),
        weak=written(auc[1], "{:.3f}", "gamma"),
        **parts,
    )


class _ContactSheet:
    """Rows of images, from above; every image is 32 units wide and high."""

    def __init__(self, columns: int) -> None:
        self.columns, self.down = columns, 0.0
        self.marks: list[Mark] = []

    @property
    def width(self) -> float:
        return _PITCH * self.columns - STRIDE

    def name(self, words: Any) -> None:
        """Label the next row."""
        self.down -= _NAME
        self.marks.append(Note(0, self.down + 3, words))

    def images(self, pixels: Pixels, *, moving: bool) -> None:
        """Add a row of images (K, 32, 32, 3), or (G, K, 32, 32, 3) over gamma."""
        ends = (self.down - SIDE, self.down)
        for k in range(self.columns):
            left = float(_PITCH * k)
            own = over(pixels[:, k], "gamma") if moving else pixels[k]
            self.marks.append(Image((left, left + SIDE), ends, own))
        self.down -= SIDE

    def said(self, words: NDArray[np.str_], *, color: str = "") -> None:
        """Add text (G, K) under the row above."""
        for k in range(self.columns):
            middle = _PITCH * k + SIDE / 2
            note = Note(
                middle, self.down - 7, over(words[:, k], "gamma"), color=color, anchor="middle"
            )
            self.marks.append(note)

    def heat(self, values: Array) -> None:
        """Add a row of maps (G, K, C, C), rows from above, as shares of the largest at each gamma.

        NaN is left blank.
        Each gamma has its own network, whose scale is arbitrary.
        """
        _, k, c, _ = values.shape
        shares = np.clip(values / _largest(np.nan_to_num(values))[:, None, None, None], -1, 1)
        cells = np.full((len(values), c, _CELLS * k), np.nan)
        for i in range(k):
            cells[:, :, _CELLS * i : _CELLS * i + c] = shares[:, i, ::-1]
        cells = cells[:, :, : _CELLS * k - (_CELLS - c)]
        self.marks.append(
            Heat(
                np.linspace(_EDGE, _EDGE + STRIDE * cells.shape[2], cells.shape[2] + 1),
                np.linspace(self.down - SIDE + _EDGE, self.down - _EDGE, c + 1),
                Shades(
                    over(cells.astype(np.float32), "gamma"),
                    limit=1,
                    low=Q,
                    high=P,
                    label="of the largest change",
                ),
            )
        )
        self.down -= SIDE

    def panel(self, **more: Any) -> Panel:
        """The finished panel, without visible axes."""
        return Panel(
            self.marks,
            x=Axis((0, self.width), hidden=True),
            y=Axis((self.down, 0), hidden=True),
            equal=True,
            **more,
        )


def _largest(values: Array) -> Array:
    """Largest change at each gamma, without outliers: (G,)."""
    flat = np.abs(np.asarray(values, float)).reshape(len(values), -1)
    return np.maximum(np.quantile(flat, 0.99, axis=1), 1e-6)


def _examples_panel(pictures: ImageExamples, scored: ScoredImages | None) -> Panel:
    """The same crops at every gamma: clean, corrupted, their difference, and occlusion maps."""
    sheet = _ContactSheet(len(pictures.clean))
    right = pictures.gammas == 0
    for name, unchanged, pixels, rank in (
        ("clean: a draw of p", "clean: a draw of p", pictures.clean, scored and scored.clean_rank),
        (
            "corrupted: a draw of q",
            "not corrupted: a draw of q",
            pictures.corrupted,
            scored and scored.corrupted_rank,
        ),
        (
            f"what was done, × {pictures.factor}",
            "what was done: nothing",
            pictures.difference,
            None,
        ),
    ):
        sheet.name(over(np.where(right, unchanged, name), "gamma"))
        sheet.images(pixels, moving=pixels is not pictures.clean)
        if rank is not None:
            sheet.said(formatted(rank, share_text))
            sheet.down -= _SAID
    caption = "Grey: nothing was changed. The classifier's scores appear once it has learnt."
    if scored:
        sheet.name("score of q's draw where a patch hides it")
        sheet.heat(scored.hidden_examples)
        caption = (
            "Under an image: the share of p's images whose score by the trained classifier (high "
            f"looks like p) is lower. Maps: a grey patch of {PATCH} × {PATCH} pixels is slid over "
            "q's image."
        )
    return sheet.panel(
        title="The same images before and after",
        caption=caption,
        square=scored is not None,
        height=340,
    )


def _surest_panel(scored: ScoredImages) -> Panel:
    """Images at both ends of the score, with the law that each was drawn from."""
    sheet = _ContactSheet(SUREST)
    for end, name in ((1, "looks most like p"), (0, "looks most like q")):
        sheet.name(name)
        sheet.images(scored.surest[:, end], moving=True)
        of_q = scored.surest_q[:, end]
        sheet.said(np.where(of_q, "", "p"), color=P)
        sheet.said(np.where(of_q, "q", ""), color=Q)
        sheet.down -= _SAID
    right = scored.surest_q.sum(-1)  # (G, 2)
    words = [
        f"{SUREST - right[g, 1]} of {SUREST} at the top are p's, {right[g, 0]} of {SUREST} at the "
        "bottom q's"
        for g in range(len(right))
    ]
    return sheet.panel(
        title="What the classifier is surest about",
        height=250,
        caption=sentence(
            f"Of {scored.looked:,} images, half from each: {{words}}. Below each: where it came "
            "from.",
            words=over(words, "gamma"),
        ),
    )


def _hidden_panel(study: ImagesStudy, scored: ScoredImages) -> Panel:
    about = (
        f"Mean change of the score of q's images where a grey patch of {PATCH} × {PATCH} pixels "
        "hides a place, at most {largest}. "
    )
    blocks = ""
    if study.features == "filters":
        blocks = " Every other place is a whole block of the filter bank: hence the pattern."
    words = [
        about
        + (
            "Blue: q looks more like p without what is there."
            if gamma
            else "At gamma = 0 q's images are p's: what shows is what the patch does to any image."
        )
        + blocks
        for gamma in scored.pictures.gammas
    ]
    return _map(scored.hidden, "Where the classifier looks", words)


def _repaired(scored: ScoredImages) -> Panel:
    nothing = scored.pictures.gammas == 0
    words = (
        "The same, with the patch as it was before the corruption instead of grey, at most "
        "{largest}: the bluer, the more the corruption shows there."
    )
    return _map(
        scored.repaired,
        "Where the corruption gives q away",
        [words] * len(nothing),
        nothing=nothing,
    )


def _map(
    values: Array, title: str, words: Sequence[str], *, nothing: NDArray[np.bool_] | None = None
) -> Panel:
    """A map over gamma (G, C, C).

    Args:
        values: what is drawn.
        title: of the panel.
        words: its caption at each gamma (G,), with room for the largest value.
        nothing: where q's images are p's and there is no map (G,).
    """
    none = np.zeros(len(values), bool) if nothing is None else nothing
    sheet = _ContactSheet(1)
    sheet.heat(np.where(none[:, None, None], np.nan, values)[:, None])
    said = over(np.where(none, "nothing was done", ""), "gamma")
    sheet.marks.append(Note(SIDE / 2, -SIDE / 2, said, anchor="middle"))
    largest = np.abs(np.asarray(values, float)).reshape(len(values), -1).max(1)
    captions = [
        each.format(largest=f"{size:.2g}") for each, size in zip(words, largest, strict=True)
    ]
    caption = over(np.where(none, _NOTHING, captions), "gamma")
    return sheet.panel(title=title, caption=caption, height=230)


def _power(study: ImagesStudy, scored: ScoredImages, c: int, b: int) -> Panel:
    """Power over gamma at one beta, evenly spaced: the grid is finer where curves rise."""
    hits, trials = pool_rejections(scored)
    gammas = scored.pictures.gammas
    x = np.arange(len(gammas), dtype=float)

    def curve(i: int, look: MethodStyle) -> list[Mark]:
        # The networks share their images: an interval is that of one network's trials.
        pooled = hits[c, i, b] / trials * scored.trials
        return rate_curve(x, Rates.of(pooled, scored.trials), look)

    weak = f"beta = {BETAS[b]:g}: " + ("as trained" if b == 0 else "nearly the random start")
    seeds = scored.rejections.shape[-1]
    return power_panel(
        METHODS,
        curve,
        over(x, "gamma"),
        x=places_axis(gammas, study.benchmark.axis, at=x),
        title=f"Power, {weak}",
        height=300,
        click="gamma",
        at=np.stack([x, np.full(len(x), 0.5)], axis=1),
        caption=f"{scored.trials} trials of {scored.n:,} images of each side, the same for "
        f"{_networks_in_words(seeds)}; bands: 95% intervals for {scored.trials} trials.",
    )


def _networks_in_words(seeds: int) -> str:
    return "one network" if seeds == 1 else f"each of {seeds} networks"


def numbers(scored: ScoredImages) -> Sequence[dict[str, str | float | int]]:
    """Table rows of the counts behind the curves."""
    hits, trials = pool_rejections(scored)
    return [
        {
            "Test": method.label,
            "Label": "seen" if c == 0 else "not seen",
            "beta": beta,
            "gamma": float(gamma),
            "Rejected": int(hits[c, i, b, g]),
            "Trials": trials,
            "Power": round(float(hits[c, i, b, g]) / trials, 4),
            "AUC": round(float(scored.auc[c, b, g].mean()), 4),
        }
        for c in (0, 1)
        for i, method in enumerate(METHODS)
        for b, beta in enumerate(BETAS)
        for g, gamma in enumerate(scored.pictures.gammas)
    ]
