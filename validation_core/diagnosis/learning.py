"""Training of a diagnosis's networks: their recipes, and rows to learn from that no test looks at.

A table is cut once by simulation: half of the rows train the classifier that several methods
share and the localizers of CoLT, the other half is tested on.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from validation_core import sampling
from validation_core.methods.base import Method
from validation_core.methods.colt import CoLT
from validation_core.rng import stream
from validation_core.sampling import TrainingSet
from validation_core.scores import Recipe, slots
from validation_core.scores.classifier import Classifier
from validation_core.scores.localizer import Anchors, Localizer
from validation_core.scores.slots import Slots
from validation_core.scores.upload_training import upload_training
from validation_core.tables import TableUpload, Upload
from validation_core.types import Integers, Joint, PosteriorTable, TwoSamples

_RECIPE_ROWS = 1000  # rows of a table at which the usual training was chosen
_FEWEST_EPOCHS = 20
MOST_TRAINING_NUMBERS = 4_000_000
"""Numbers of q's draws that a training is offered: bounds its memory."""
_SLOT_ROWS = 3000  # that a score within x learns from
_LEARNT = 12_000  # draws of q in all that it learns from
_ANSWERED = 50_000  # draws of q in all that it scores
_SLOTS, _FEWEST_SLOTS, _SCORED = 15, 4, 64  # draws at each x that it learns from, and scores
_SEEN = 20_000_000  # numbers of q's draws that its means and covariances are made of
_WHOLE, _CONTEXT = 400, 200  # slots for those, and for distances: more tell little (measured)
_DISTANCES = 400_000_000  # numbers subtracted for distances
_NEAR_DIMENSIONS = 32
_PAIRS = 50_000  # draws of q, at all anchors, that a localizer is offered: bounds its time
_FEWEST_DRAWS = 16  # at an anchor: longer tables give more anchors with fewer draws


def recipe(upload: Upload, method: Method) -> Recipe | None:
    """How the network that a method reads on this upload is trained; None if it reads none."""
    if not method.needs_training:
        return None
    if isinstance(method, CoLT):
        return _localizer(upload, method)
    if method.score_kind == "recipe":
        own: Recipe = method.recipe(max(1, round(upload.n / 2)), max(1, upload.k))
        return own
    return _classifier(upload)


def _classifier(upload: Upload) -> Classifier:
    """Fewer epochs for longer tables: steps grow with the square root of the rows."""
    share = min(1.0, (_RECIPE_ROWS / max(1, upload.n)) ** 0.5)
    usual = upload_training().classifier
    return replace(usual, epochs=max(_FEWEST_EPOCHS, round(usual.epochs * share)))


def _localizer(upload: Upload, method: CoLT) -> Localizer:
    """The method's localizer on as many training rows and draws as time and memory allow."""
    rows, d = max(1, round(upload.n / 2)), upload.dims[0]
    pairs = min(_PAIRS, MOST_TRAINING_NUMBERS // d)
    draws = min(max(1, upload.k), max(_FEWEST_DRAWS, pairs // rows))
    chosen = method.recipe(min(rows, max(1, pairs // draws)), draws)
    if method.preset != "interactive":
        return chosen
    changes = dict(upload_training().localizer)
    if method.embedding != "fourier":  # a step of the others' third start is dearer
        changes["blur_steps"] = chosen.blur_steps
    return replace(chosen, **changes)


def slot_recipe(upload: Upload) -> Slots:
    """How the score that sees each draw among the others at its x is learnt on this table.

    On long tables of fewer draws at each x, so that it takes seconds: rows tell more than draws.
    `plan.slots_obstacle` says where there is none.
    """
    learn, k, d = max(1, round(upload.n / 2)), max(1, upload.k), upload.dims[0]
    test = max(1, upload.n - learn)
    rows = max(slots.FEWEST, min(learn, _SLOT_ROWS))
    m = min(k, max(_FEWEST_SLOTS, min(_SLOTS, _LEARNT // rows)))
    scored = min(k, max(_FEWEST_DRAWS, min(_SCORED, _ANSWERED // test)))
    least = 1 + max(m, scored)
    near = _DISTANCES // (test * (scored + 1) * min(d, _NEAR_DIMENSIONS))
    return Slots(
        n=rows,
        k=k,
        m=m,
        scored=scored,
        whole=max(least, min(_WHOLE, k + 1, _SEEN // (upload.n * d))),
        context=max(least, min(_CONTEXT, k + 1, near)),
    )


def validation_rows(upload: Upload, seed: int) -> Integers:
    """Rows that the classifier of a table is watched on: places in the learning half's order."""
    rows, _ = training_and_held_out_rows(upload, seed)
    return sampling.split(len(rows), stream(seed, "diagnose", "training rows"), 0.8)[1]


def build_training_set(upload: Upload, how: Recipe, seed: int) -> Any:
    """Return the rows that a network of an upload learns from, which no test looks at.

    Raises:
        ValueError: for what learns from a table, where there are two samples without x.
    """
    if isinstance(how, Localizer):
        return _anchors(upload, how, seed)
    rng = stream(seed, "diagnose", "training rows")
    if not isinstance(how, Classifier):
        return _own(_train(upload, seed), how, rng)
    if isinstance(upload.data, TwoSamples):
        train, _ = _halves(upload.data, seed)
        learn, watch = _cut(train, 0.8, rng)
        return TrainingSet(p=learn.p, q=learn.q, held_p=watch.p, held_q=watch.q)
    rows, _ = training_and_held_out_rows(upload, seed)
    most = min(upload.k, max(1, MOST_TRAINING_NUMBERS // (len(rows) * sum(upload.dims))))
    return sampling.training_rows(sampling.take(_table(upload), rows, most), rng)


def _table(upload: Upload) -> PosteriorTable:
    """The table of an upload, its draws in no order: what learns reads some of them.

    Raises:
        ValueError: for one that has no draws of q at each x.
    """
    if not isinstance(upload, TableUpload):
        raise ValueError(
            f"A network that learns over x needs a table of theta, x and theta_q; got "
            f"{upload.held}. Upload a table."
        )
    return upload.in_no_order.data


def _train(upload: Upload, seed: int) -> PosteriorTable | TwoSamples:
    if isinstance(upload.data, TwoSamples):
        return _halves(upload.data, seed)[0]
    return sampling.rows_view(_table(upload), training_and_held_out_rows(upload, seed)[0])


def _own(train: PosteriorTable | TwoSamples, how: Recipe, rng: np.random.Generator) -> Any:
    """The training rows that a method's own recipe takes from a table, or from two samples."""
    return (
        how.of_table(train, rng)
        if isinstance(train, PosteriorTable)
        else how.of_blocks(train, rng)
    )


def _anchors(upload: Upload, how: Localizer, seed: int) -> Anchors:
    rows, _ = training_and_held_out_rows(upload, seed)
    few = sampling.take(_table(upload), rows[: how.anchors], how.draws)
    # Squares of large parameters in small units overflow float32.
    wide = PosteriorTable(*(part.astype(np.float64) for part in (few.theta, few.x, few.q)))
    return how.of_table(wide, stream(seed, "diagnose", "anchors"))


def split_upload(
    upload: Upload, seed: int
) -> tuple[PosteriorTable, PosteriorTable] | tuple[TwoSamples, TwoSamples]:
    """(training rows, test rows), each in no order, the same for every method of this seed."""
    if isinstance(upload.data, TwoSamples):
        return _halves(upload.data, seed)
    train, test = training_and_held_out_rows(upload, seed)
    return sampling.take(_table(upload), train), sampling.take(_table(upload), test)


def training_and_held_out_rows(upload: Upload, seed: int) -> tuple[Integers, Integers]:
    """Places of a table's training rows and of its test rows, in the order of `split_upload`."""
    return sampling.split(upload.n, stream(seed, "diagnose", "rows"))


def held_out_rows(upload: Upload, seed: int) -> Integers:
    """Places of a table's test rows, in the order of `split_upload`."""
    return training_and_held_out_rows(upload, seed)[1]


def held_out_table(upload: Upload, seed: int, most: int | None = None) -> PosteriorTable:
    """The rows of a table that no network of this seed learns from, in no order.

    Of at most so many draws of q at each x: a copy of those alone.

    Raises:
        ValueError: for two samples, which have no x.
    """
    return sampling.take(_table(upload), held_out_rows(upload, seed), most)


def _halves(data: TwoSamples, seed: int) -> tuple[TwoSamples, TwoSamples]:
    return _cut(data, 0.5, stream(seed, "diagnose", "rows"))


def _cut(
    blocks: TwoSamples, share: float, rng: np.random.Generator
) -> tuple[TwoSamples, TwoSamples]:
    """Two samples cut into equally many training rows of each, and the rest."""
    n = round(share * min(len(blocks.p), len(blocks.q)))

    def halves(joint: Joint) -> Sequence[Joint]:
        order = rng.permutation(len(joint))
        return sampling.joint_rows(joint, order[:n]), sampling.joint_rows(joint, order[n:])

    (p, other_p), (q, other_q) = halves(blocks.p), halves(blocks.q)
    return TwoSamples(p, q), TwoSamples(other_p, other_q)
