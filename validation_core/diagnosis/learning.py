"""What an upload's networks learn from, and how: rows that no test looks at, a recipe each.

A table is cut once by simulation: half of the rows train the classifier that several methods
share and the localizers of CoLT, the other half is tested on.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from validation_core import sampling
from validation_core.methods.colt import CoLT
from validation_core.models import Recipe
from validation_core.rng import stream
from validation_core.sampling import TrainingSet
from validation_core.scores.classifier import Classifier
from validation_core.scores.localizer import Localizer
from validation_core.scores.localizer.recipe import Anchors
from validation_core.types import Blocks, Draws, Joint, Method, Own, learnt
from validation_core.uploads import Upload

RECIPE = Classifier(epochs=200, lr=3e-3, batch=128, hidden=128, keep_best=True)
"""How an upload's classifier is trained: few rows, so a faster rate and the best held-out step."""

LOCALIZER: dict[str, Any] = {"batch": 64, "draws_step": 32, "blur_steps": 500}
"""What an upload's interactive localizer has otherwise: a third of the time of its own defaults,
and on half of 1000 rows nearly their power (measured; fewer blur steps miss wrong detail)."""

_RECIPE_ROWS = 1000  # rows of a table at which RECIPE was chosen
_FEWEST_EPOCHS = 20
_OFFERED = 4_000_000  # numbers of q's draws that a training is offered: bounds its memory
_PAIRS = 50_000  # draws of q, at all anchors, that a localizer is offered: bounds its time
_FEWEST_DRAWS = 16  # at an anchor: longer tables give more anchors with fewer draws


def recipe(upload: Upload, method: Method) -> Recipe | None:
    """How the network that a method reads on this upload is trained; None if it reads none."""
    if not learnt(method):
        return None
    if isinstance(method, CoLT):
        return _localizer(upload, method)
    if isinstance(method, Own):
        own: Recipe = method.recipe(max(1, round(upload.n / 2)), max(1, upload.k))
        return own
    return _classifier(upload)


def _classifier(upload: Upload) -> Classifier:
    """RECIPE with fewer epochs for longer tables: steps grow with the square root of the rows."""
    share = min(1.0, (_RECIPE_ROWS / max(1, upload.n)) ** 0.5)
    return replace(RECIPE, epochs=max(_FEWEST_EPOCHS, round(RECIPE.epochs * share)))


def _localizer(upload: Upload, method: CoLT) -> Localizer:
    """The method's localizer on as many training rows and draws as time and memory allow."""
    rows, d = max(1, round(upload.n / 2)), upload.dims[0]
    pairs = min(_PAIRS, _OFFERED // d)
    draws = min(max(1, upload.k), max(_FEWEST_DRAWS, pairs // rows))
    chosen = method.recipe(min(rows, max(1, pairs // draws)), draws)
    if method.preset != "interactive":
        return chosen
    changes = dict(LOCALIZER)
    if method.embedding != "fourier":  # a step of the others' third start is dearer
        changes["blur_steps"] = chosen.blur_steps
    return replace(chosen, **changes)


def training_set(upload: Upload, how: Recipe, seed: int) -> Any:
    """What a network of an upload learns from: rows that no test looks at.

    Raises:
        ValueError: for what learns from a table, where there are two samples without x.
    """
    train, _ = parts(upload, seed)
    if isinstance(how, Localizer):
        return _anchors(train, how, stream(seed, "diagnose", "anchors"))
    rng = stream(seed, "diagnose", "training rows")
    if not isinstance(how, Classifier):
        return _own(train, how, rng)
    if isinstance(train, Blocks):
        learn, watch = _cut(train, 0.8, rng)
        return TrainingSet(p=learn.p, q=learn.q, held_p=watch.p, held_q=watch.q)
    n, k, d = train.q.shape
    most = min(k, max(1, _OFFERED // (n * (d + train.x.shape[1]))))
    return sampling.training_rows(replace(train, q=train.q[:, :most]), rng)


def _own(train: Draws | Blocks, how: Recipe, rng: np.random.Generator) -> Any:
    """What a method's own recipe takes from a table, or from two samples if it can."""
    of = getattr(how, "of_table" if isinstance(train, Draws) else "of_blocks", None)
    if of is None:
        raise ValueError(
            "This method learns from draws of q at each x; got two samples p and q, which have "
            "none. Upload a table of theta, x and theta_q."
        )
    return of(train, rng)


def _anchors(train: Draws | Blocks, how: Localizer, rng: np.random.Generator) -> Anchors:
    if isinstance(train, Blocks):
        raise ValueError(
            "A localizer learns a centre at each x; got two samples p and q, which have none. "
            "Upload a table of theta, x and theta_q."
        )
    n, k = how.anchors, how.draws
    few = (train.theta[:n], train.x[:n], train.q[:n, :k])
    # Squares of large parameters in small units overflow float32.
    return how.of_table(Draws(*(part.astype(np.float64) for part in few)), rng)


def parts(upload: Upload, seed: int) -> tuple[Draws, Draws] | tuple[Blocks, Blocks]:
    """(training rows, test rows), each in no order, the same for every method of this seed."""
    rng = stream(seed, "diagnose", "rows")
    if isinstance(upload.data, Draws):
        return sampling.split_rows(upload.data, rng)
    return _cut(upload.data, 0.5, rng)


def kept(upload: Upload, seed: int) -> NDArray[np.int64]:
    """Which rows of a table are tested on: their places in the upload, in the order of `parts`."""
    places = np.arange(upload.n, dtype=np.float64)[:, None]
    table = Draws(places, places[:, :0], places[:, None, :0])
    _, test = sampling.split_rows(table, stream(seed, "diagnose", "rows"))
    return test.theta[:, 0].astype(np.int64)


def _cut(blocks: Blocks, share: float, rng: np.random.Generator) -> tuple[Blocks, Blocks]:
    """Two samples cut into equally many training rows of each, and the rest."""
    n = round(share * min(len(blocks.p), len(blocks.q)))

    def halves(joint: Joint) -> Sequence[Joint]:
        order = rng.permutation(len(joint))
        return sampling.rows(joint, order[:n]), sampling.rows(joint, order[n:])

    (p, other_p), (q, other_q) = halves(blocks.p), halves(blocks.q)
    return Blocks(p, q), Blocks(other_p, other_q)
