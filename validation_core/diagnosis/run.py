"""One method on one upload: whether it can run, on which rows, and what it finds.

SBC learns nothing and reads every row; what reads a network is tested on the half of the rows
that trained none.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from validation_core import sampling, scores
from validation_core.diagnosis import learning
from validation_core.diagnosis.records import Record
from validation_core.methods import METHODS
from validation_core.methods.colt import CoLT
from validation_core.methods.uniform import Uniform
from validation_core.rng import stream
from validation_core.scores.classifier import TrainedClassifier
from validation_core.scores.coordinate import Coordinates
from validation_core.types import Array, Blocks, Draws, Method, Scores
from validation_core.uploads import Upload

if TYPE_CHECKING:
    from validation_core.scores.localizer.trained import TrainedLocalizer

    Network = TrainedClassifier | TrainedLocalizer

LEARN_ROWS = 50  # below this, half of the rows teach a classifier nothing
LOCALIZER_ROWS = 40  # half of them learn, a quarter of those are held out
_RANK_ROWS = 5
_UNIFORM_POINTS = 50  # test points below which Uniform's KS test sees nothing
_ORDER = ("sbc", "within_x", "multiple", "c2st", "uniform", "colt")


def default_methods() -> tuple[Method, ...]:
    """Every registered method in the order of cost: what learns nothing comes first."""
    place = {name: i for i, name in enumerate(_ORDER)}
    kinds = sorted(
        METHODS.values(), key=lambda kind: (place.get(kind.name, len(_ORDER)), kind.name)
    )
    return tuple(kind() for kind in kinds)


def obstacle(method: Method, upload: Upload) -> str | None:
    """Why a method cannot run on this upload, known before anything is computed; or None."""
    if method.layout == "table" and isinstance(upload.data, Blocks):
        return (
            "It ranks the truth among q's draws at the same x; two samples p and q have no x. "
            "Upload theta, x and theta_q to run it."
        )
    if upload.n < _RANK_ROWS:
        return f"It needs at least {_RANK_ROWS} rows; got {upload.n}."
    if method.reads == "classifier" and upload.n < LEARN_ROWS:
        return (
            f"It reads a classifier trained on half of the rows and needs at least {LEARN_ROWS} "
            f"of them; got {upload.n}."
        )
    if isinstance(method, CoLT):
        return _no_localizer(method, upload)
    return _no_calibration(method, upload) if isinstance(method, Uniform) else None


def _no_localizer(method: CoLT, upload: Upload) -> str | None:
    if method.fresh:
        return (
            "Fresh anchors at every step are drawn by a simulator, which an upload has not; got "
            "fresh=true. Leave it out."
        )
    if upload.n >= LOCALIZER_ROWS:
        return None
    return (
        f"It learns its centre on half of the rows, a quarter of them held out, and needs at "
        f"least {LOCALIZER_ROWS} rows; got {upload.n}."
    )


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


def test_table(upload: Upload, seed: int) -> Draws:
    """The rows of a table that no network of this seed learns from, in no order.

    Raises:
        ValueError: for two samples, which have no x.
    """
    _, test = learning.parts(upload, seed)
    if isinstance(test, Blocks):
        raise ValueError(
            "A map over x needs a table of theta, x and theta_q; got two samples p and q. Upload "
            "a table."
        )
    return test


def run_method(
    upload: Upload, method: Method, seed: int, *, network: Callable[[], Network]
) -> Record:
    """A method's record on an upload.

    Args:
        upload: what was read.
        method: the test with its options.
        seed: fixes the split, the draws, and the tie-breakers; streams are named, so that a
            method's result does not depend on which others run.
        network: gives the network that the method reads; called only where it reads one.
    """
    reason = obstacle(method, upload)
    if reason is not None:
        return Record.not_run(method, reason)
    trained = network() if method.reads != "coordinates" else None
    start = time.perf_counter()
    scored = _scores(upload, method, seed, trained)
    # A map of the same rows and seed draws these tie-breakers: it shows the ball told of here.
    names = ("map", "ranks") if method.reads == "localizer" else ("diagnose", method.label)
    outcome = method.test(scored, stream(seed, *names))
    effect, arrays = _learnt(trained, upload, seed)
    return Record.ran(method, outcome, time.perf_counter() - start, effect, arrays)


def _learnt(
    trained: Network | None, upload: Upload, seed: int
) -> tuple[dict[str, float], dict[str, Array]]:
    """What the network itself adds to a record: numbers of its training, arrays."""
    if trained is None:
        return {}, {}
    took = {"training_seconds": trained.seconds}
    if isinstance(trained, TrainedClassifier):
        return {"classifier_auc": trained.auc, **took}, {}
    held = {"localizer_distance": trained.summary["held"]}
    return {**held, **took}, _centre(trained, test_table(upload, seed))


def _centre(localizer: TrainedLocalizer, test: Draws) -> dict[str, Array]:
    """The learnt centre (D,) at the observation (M,) that is nearest to the median of all."""
    x = np.asarray(test.x, dtype=np.float64)
    scale = x.std(0)
    off = (x - np.median(x, axis=0)) / np.where(scale > 0, scale, 1.0)
    middle = test.x[np.square(off).sum(1).argmin()]
    return {"x_median": middle, "centre": localizer.at().centre(middle[None])[0]}


def _scores(upload: Upload, method: Method, seed: int, trained: Network | None) -> Scores:
    if trained is None:
        assert isinstance(upload.data, Draws)
        # Coordinates do not look at x, which may be large and would be repeated K times.
        return scores.apply(Coordinates(), replace(upload.data, x=upload.data.x[:, :0]))
    _, test = learning.parts(upload, seed)
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
