"""Pictures of the digits: draws of a generator that stops early, and power of tests."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from validation_core.diagnosis.pixel_pictures import sheet
from validation_core.drawing import live, style
from validation_core.drawing.marks import (
    Axis,
    Heat,
    Image,
    Over,
    Panel,
    Shades,
    Slider,
    Text,
    Words,
    over,
    sentence,
    written,
)
from validation_core.drawing.power_curves import Rates, places_axis, rate_bars
from validation_core.explorers.highdim import BETAS, METHODS
from validation_core.explorers.highdim.digits.study import (
    PATCH,
    STRIDE,
    SUREST,
    DigitsStudy,
    GeneratedDigits,
)
from validation_core.explorers.highdim.rejections import power_panel, rejections_in_words
from validation_core.types import PowerCell

_SIDE = 14
_NOTES = {"handwritten": "What p draws: handwritten", "generated": "What p draws: all 20 steps"}


def payload(study: DigitsStudy, seen: GeneratedDigits) -> live.Payload:
    """Every view at each gamma and beta."""
    gammas = seen.gammas
    return live.payload(
        sliders=[
            Slider(
                "gamma",
                gammas,
                form="{:g}",
                start=2.0,
                label="Steps of the generator left out, gamma",
                ends=("all 20 taken", "stops at 15"),
                play=True,
            ),
            Slider(
                "beta",
                BETAS,
                form="{:g}",
                start=BETAS[-1],
                label="Degradation of the classifier, beta",
                ends=("as trained", "nearly random"),
            ),
        ],
        panels=[
            _sheet(_NOTES[study.benchmark.truth_is], _contact(seen.real)),
            _sheet("What q draws: the generator", over(_contact(seen.drawn), "gamma")),
            _power(study, seen),
            _surest_panel(seen),
            _where(seen),
        ],
        headline=_headline(study, seen),
        columns=3,
    )


def _headline(study: DigitsStudy, seen: GeneratedDigits) -> Text:
    rates = seen.rejections / seen.trials  # (methods, B, G)
    rejected, parts = rejections_in_words(
        study.benchmark, METHODS, rates.swapaxes(1, 2), f"{seen.trials} trials", "gamma", "beta"
    )
    return sentence(
        "With {gamma} of 20 steps left out and beta = {beta} the classifier's AUC is {auc}: "
        f"{rejected}.",
        gamma=written(seen.gammas, "{:g}", "gamma"),
        beta=written(BETAS, "{:g}", "beta"),
        auc=written(seen.auc.T, "{:.3f}", "gamma", "beta"),
        **parts,
    )


def _contact(digits: NDArray[np.uint8]) -> NDArray[np.uint8]:
    """Arrange digits (..., rows, columns, 14, 14) side by side: (..., H, W, 3)."""
    *over_axes, rows, columns, high, wide = digits.shape
    grey = digits.swapaxes(-3, -2).reshape(*over_axes, rows * high, columns * wide)
    return np.repeat(grey[..., None], 3, axis=-1)


def _sheet(title: Words, pixels: NDArray[np.uint8] | Over, caption: Words = "") -> Panel:
    values = pixels.values if isinstance(pixels, Over) else pixels
    high, wide = values.shape[-3:-1]
    return sheet([Image((0, wide), (0, high), pixels)], (high, wide, 3), title, caption)


def _surest_panel(seen: GeneratedDigits) -> Panel:
    """Panel of the digits with extreme scores: a row most like q, and a row most like p."""
    columns = SUREST // 2
    rows = seen.surest.reshape(len(seen.gammas), 4, columns, _SIDE, _SIDE)
    right = np.stack([seen.surest_q[:, 0].sum(1), (~seen.surest_q[:, 1]).sum(1)], axis=1)
    return _sheet(
        "Surest of q (above) and of p (below)",
        over(_contact(rows), "gamma"),
        sentence(
            f"Of {SUREST} each, {{q}} above are q's and {{p}} below p's.",
            q=written(right[:, 0], "{:g}", "gamma"),
            p=written(right[:, 1], "{:g}", "gamma"),
        ),
    )


def _where(seen: GeneratedDigits) -> Panel:
    """Map of the change of the logit where a patch is hidden."""
    cells = seen.hidden.shape[-1]
    edges = (PATCH - STRIDE) / 2 + STRIDE * np.arange(cells + 1.0)
    grid = np.asarray(seen.hidden, float)[:, ::-1]
    limit = float(np.abs(grid).max()) or 1.0
    label = "change of the logit"
    return Panel(
        [
            Heat(
                edges,
                edges,
                Shades(over(grid, "gamma"), limit=limit, low=style.Q, high=style.P, label=label),
            )
        ],
        x=Axis((0, _SIDE), hidden=True),
        y=Axis((0, _SIDE), hidden=True),
        title="Where it looks",
        caption=f"Change of the mean logit of q's digits where {PATCH} × {PATCH} pixels are made "
        "black. Blue: without them a digit looks more like p.",
        equal=True,
        height=210,
    )


def _power(study: DigitsStudy, seen: GeneratedDigits) -> Panel:
    level = (
        "At gamma = 0 q is p: there q is rejected by chance alone."
        if study.benchmark.truth_is == "generated"
        else "At gamma = 0 the generator's own flaws are all there is to find."
    )
    return power_panel(
        METHODS,
        lambda i, look: rate_bars(
            seen.gammas, Rates.of(seen.rejections[i], seen.trials), look, "beta"
        ),
        over(seen.gammas, "gamma"),
        x=places_axis(seen.gammas, "steps left out, gamma"),
        title="Power",
        height=260,
        caption=f"{seen.trials} trials of n = {seen.n:,} digits of each side, one network a "
        f"gamma, 95% Wilson intervals. {level}",
    )


def rejection_rows(cells: Sequence[PowerCell]) -> list[dict[str, str]]:
    """Table rows of a sweep's methods: rejections at each gamma."""
    labels = dict.fromkeys(cell.label for cell in cells)
    return [
        {"Test": label}
        | {
            f"gamma = {cell.gamma:g}": f"{cell.rejections} of {cell.trials}"
            for cell in sorted(cells, key=lambda one: one.gamma)
            if cell.label == label
        }
        for label in labels
    ]
