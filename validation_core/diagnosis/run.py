"""One method on one upload: whether it can run, on which rows, and what it finds.

A table is cut once by simulation: half of the rows train the classifier that all learned methods
share, the other half is tested on. SBC learns nothing and reads every row.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np

from validation_core import sampling, scores
from validation_core.diagnosis.records import Record
from validation_core.methods import METHODS
from validation_core.methods.uniform import Uniform
from validation_core.rng import stream
from validation_core.sampling import TrainingSet
from validation_core.scores.classifier import Classifier, TrainedClassifier
from validation_core.scores.coordinate import Coordinates
from validation_core.types import Blocks, Draws, Joint, Method, Scores
from validation_core.uploads import Upload

RECIPE = Classifier(epochs=200, lr=3e-3, batch=128, hidden=128, keep_best=True)
"""How an upload's classifier is trained: few rows, so a faster rate and the best held-out step."""

_RECIPE_ROWS = 1000  # rows of a table at which RECIPE was chosen
_FEWEST_EPOCHS = 20

LEARN_ROWS = 50  # below this, half of the rows teach a classifier nothing
_RANK_ROWS = 5
_UNIFORM_POINTS = 50  # test points below which Uniform's KS test sees nothing
_OFFERED = 4_000_000  # numbers of q's draws that a training is offered: bounds its memory


def default_methods() -> tuple[Method, ...]:
    """Every registered method in the order of cost: what learns nothing comes first."""
    order = {"sbc": 0, "within_x": 1, "multiple": 2, "c2st": 3, "uniform": 4}
    kinds = sorted(METHODS.values(), key=lambda kind: (order.get(kind.name, 5), kind.name))
    return tuple(kind() for kind in kinds)


def recipe(upload: Upload) -> Classifier:
    """RECIPE with fewer epochs for longer tables: steps grow with the square root of the rows."""
    share = min(1.0, (_RECIPE_ROWS / max(1, upload.n)) ** 0.5)
    return replace(RECIPE, epochs=max(_FEWEST_EPOCHS, round(RECIPE.epochs * share)))


def obstacle(method: Method, upload: Upload) -> str | None:
    """Why a method cannot run on this upload, known before anything is computed; or None."""
    if method.layout == "table" and isinstance(upload.data, Blocks):
        return (
            "It ranks the truth among q's draws at the same x; two samples p and q have no x. "
            "Upload theta, x and theta_q to run it."
        )
    if upload.n < _RANK_ROWS:
        return f"It needs at least {_RANK_ROWS} rows; got {upload.n}."
    if method.learned and upload.n < LEARN_ROWS:
        return (
            f"It reads a classifier trained on half of the rows and needs at least {LEARN_ROWS} "
            f"of them; got {upload.n}."
        )
    return _no_calibration(method, upload) if isinstance(method, Uniform) else None


def _no_calibration(method: Uniform, upload: Upload) -> str | None:
    # A table's held-out half is split by x: a quarter of its rows is left to calibrate with.
    held_out = upload.n - round(upload.n / 2)
    rows = held_out // 2 if isinstance(upload.data, Draws) else held_out
    points = rows // method.m
    if points >= _UNIFORM_POINTS:
        return None
    most = rows // _UNIFORM_POINTS
    remedy = f"m up to {most} would fit" if most else "there are too few rows for any m"
    return (
        f"It needs {method.m} true pairs for each draw of q it tests: the {rows} that are left "
        f"held out serve {points}, and fewer than {_UNIFORM_POINTS} tell little; {remedy}. "
        f"Within x asks the same question of every held-out row."
    )


def training_set(upload: Upload, seed: int) -> TrainingSet:
    """What the classifier of an upload learns from: rows that no test looks at."""
    rng = stream(seed, "diagnose", "training rows")
    train, _ = _parts(upload, seed)
    if isinstance(train, Blocks):
        learn, watch = _cut(train, 0.8, rng)
        return TrainingSet(p=learn.p, q=learn.q, held_p=watch.p, held_q=watch.q)
    n, k, d = train.q.shape
    most = min(k, max(1, _OFFERED // (n * (d + train.x.shape[1]))))
    return sampling.training_rows(replace(train, q=train.q[:, :most]), rng)


def test_table(upload: Upload, seed: int) -> Draws:
    """The rows of a table that no network of this seed learns from, in no order.

    Raises:
        ValueError: for two samples, which have no x.
    """
    _, test = _parts(upload, seed)
    if isinstance(test, Blocks):
        raise ValueError(
            "A map over x needs a table of theta, x and theta_q; got two samples p and q. Upload "
            "a table."
        )
    return test


def run_method(
    upload: Upload, method: Method, seed: int, *, network: Callable[[], TrainedClassifier]
) -> Record:
    """A method's record on an upload.

    Args:
        upload: what was read.
        method: the test with its options.
        seed: fixes the split, the draws, and the tie-breakers; streams are named, so that a
            method's result does not depend on which others run.
        network: gives the upload's classifier; called only where the method reads one.
    """
    reason = obstacle(method, upload)
    if reason is not None:
        return Record.not_run(method, reason)
    trained = network() if method.learned else None
    start = time.perf_counter()
    scored = _scores(upload, method, seed, trained)
    outcome = method.test(scored, stream(seed, "diagnose", method.label))
    effect: dict[str, float] = {}
    if trained is not None:
        effect = {"classifier_auc": trained.auc, "training_seconds": trained.seconds}
    return Record.ran(method, outcome, time.perf_counter() - start, effect)


def _scores(
    upload: Upload, method: Method, seed: int, trained: TrainedClassifier | None
) -> Scores:
    if trained is None:
        assert isinstance(upload.data, Draws)
        # Coordinates do not look at x, which may be large and would be repeated K times.
        return scores.apply(Coordinates(), replace(upload.data, x=upload.data.x[:, :0]))
    _, test = _parts(upload, seed)
    score = trained.at()
    if method.layout == "table":
        assert isinstance(test, Draws)
        return scores.apply(score, test)
    rng = stream(seed, "diagnose", "blocks")
    blocks = sampling.blocks_of_rows(test, rng) if isinstance(test, Draws) else test
    if isinstance(method, Uniform):
        points = slice(len(blocks.p) // method.m)
        blocks = replace(blocks, q=sampling.rows(blocks.q, points))
    return scores.apply(score, blocks)


def _parts(upload: Upload, seed: int) -> tuple[Draws, Draws] | tuple[Blocks, Blocks]:
    """(training rows, test rows), the same for every method of this seed."""
    rng = stream(seed, "diagnose", "rows")
    if isinstance(upload.data, Draws):
        return sampling.split_rows(upload.data, rng)
    return _cut(upload.data, 0.5, rng)


def _cut(blocks: Blocks, share: float, rng: np.random.Generator) -> tuple[Blocks, Blocks]:
    """Two samples cut into equally many training rows of each, and the rest."""
    n = round(share * min(len(blocks.p), len(blocks.q)))

    def halves(joint: Joint) -> Sequence[Joint]:
        order = rng.permutation(len(joint))
        return sampling.rows(joint, order[:n]), sampling.rows(joint, order[n:])

    (p, other_p), (q, other_q) = halves(blocks.p), halves(blocks.q)
    return Blocks(p, q), Blocks(other_p, other_q)
