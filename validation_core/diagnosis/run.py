"""One method on one upload: on which rows it looks, and what it finds.

SBC, MMD-FUSE and the symmetric divergence learn nothing and read every row; what learns is tested
on the half of the rows that it did not learn from.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from validation_core import sampling, scores
from validation_core.diagnosis import effects, learning, ratios
from validation_core.diagnosis.obstacles import obstacle
from validation_core.diagnosis.records import Effect, Record
from validation_core.methods.colt import CoLT
from validation_core.methods.sbc import SBC
from validation_core.methods.uniform import Uniform
from validation_core.rng import stream
from validation_core.scores.classifier import TrainedClassifier
from validation_core.scores.quantities import LOG_Q, Quantities, chosen, labels
from validation_core.scores.rows import Rows
from validation_core.statistics import mmd
from validation_core.types import (
    Anew,
    Array,
    Blocks,
    Draws,
    Fixed,
    Method,
    Scores,
    TableScores,
    learnt,
)
from validation_core.uploads import Upload

_LOOKED = 1000  # draws of q that a local test looks at: bounds what a record holds of its nulls

Network = Any
"""A `models.Trained` that scores: it has `at(beta) -> Score`."""


class _Read(NamedTuple):
    """The scores that a method is given; of a local test also where it looks."""

    scores: Scores
    rows: np.ndarray = np.zeros(0, int)
    """Places (P,) in the upload."""
    looked: Draws | None = None
    """The table there."""


def test_table(upload: Upload, seed: int) -> Draws:
    """The rows of a table that no network of this seed learns from, in no order.

    Raises:
        ValueError: for two samples, which have no x.
    """
    return held_back(upload, seed)


def held_back(upload: Upload, seed: int, most: int | None = None) -> Draws:
    """What `test_table` gives with at most so many draws of q at each x: a copy of those alone.

    Raises:
        ValueError: for two samples, which have no x.
    """
    if isinstance(upload.data, Blocks):
        raise ValueError(
            "A map over x needs a table of theta, x and theta_q; got two samples p and q. Upload "
            "a table."
        )
    return sampling.take(upload.data, learning.kept(upload, seed), most)


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
    trained = network() if learnt(method) else None
    start = time.perf_counter()
    read = _read(upload, method, seed, trained)
    # A map of the same rows and seed draws these tie-breakers: it shows the ball told of here.
    names = ("map", "ranks") if method.reads == "localizer" else ("diagnose", method.label)
    outcome = method.test(read.scores, stream(seed, *names))
    if isinstance(method, Anew):  # a test that learns uses up what it learns from
        train, _ = learning.places(upload, seed)
        outcome = replace(outcome, budget=method.budget(len(train), upload.k))
    effect, arrays = _learnt(method, trained, upload, seed)
    effect |= effects.told(method, outcome)
    if read.looked is not None:
        effect |= effects.place(read.rows, read.looked.x, int(outcome.arrays["worst"]))
        arrays["theta_q"] = read.looked.q
    return Record.ran(method, outcome, time.perf_counter() - start, effect, arrays)


def _learnt(
    method: Method, trained: Network | None, upload: Upload, seed: int
) -> tuple[dict[str, Effect], dict[str, Array]]:
    """What the network itself adds to a record: numbers of its training, arrays."""
    if trained is None:
        return {}, {}
    took: dict[str, Effect] = {"training_seconds": trained.seconds}
    if isinstance(trained, TrainedClassifier):
        return {"classifier_auc": trained.auc, **took}, {}
    if isinstance(method, CoLT):
        held = {"localizer_distance": trained.summary["held"]}
        assert isinstance(upload.data, Draws)
        return {**held, **took}, _centre(trained, upload.data.x[learning.kept(upload, seed)])
    return took, {}


def _centre(localizer: Network, x: Array) -> dict[str, Array]:
    """The learnt centre (D,) at the observation (M,) of x (n, M) nearest to the median of all."""
    middle = x[_nearest(x, 1)]
    return {"x_median": middle[0], "centre": localizer.at().centre(middle)[0]}


def _nearest(x: Array, count: int) -> np.ndarray:
    """The rows whose observations are nearest to the median of all."""
    x = np.asarray(x, dtype=np.float64)
    scale = x.std(0)
    off = (x - np.median(x, axis=0)) / np.where(scale > 0, scale, 1.0)
    return np.square(off).sum(1).argsort(kind="stable")[:count]


def _read(upload: Upload, method: Method, seed: int, trained: Network | None) -> _Read:
    if isinstance(method, Anew):
        return _at_median(method, upload, seed)
    if isinstance(method, SBC) and LOG_Q in chosen(method.quantities):
        return _Read(_with_log_q(upload, method))
    if method.reads == "ratio":
        known = ratios.ratios(upload.densities)
        assert known is not None
        return _Read(known)
    if isinstance(method, Fixed):
        assert isinstance(upload.data, Draws)
        # Quantities do not look at x, which may be large and would be repeated K times.
        return _Read(scores.apply(method.score(), replace(upload.data, x=upload.data.x[:, :0])))
    rng = stream(seed, "diagnose", "blocks")
    if method.reads == "rows":
        most = min(method.budget(upload.n, 1).p, mmd.LARGEST // 2)
        return _Read(scores.apply(Rows(), _blocks(upload.data, rng, most)))
    assert trained is not None
    if method.layout == "table":
        assert isinstance(upload.data, Draws)
        rows, most = learning.kept(upload, seed), method.budget(1, upload.k).q
        return _Read(scores.apply(trained.at(), sampling.lent(upload.data, rows, most)))
    blocks = _test_blocks(upload, seed, rng)
    if isinstance(method, Uniform):
        blocks = replace(blocks, q=sampling.rows(blocks.q, slice(len(blocks.p) // method.m)))
    return _Read(scores.apply(trained.at(), blocks))


def _with_log_q(upload: Upload, method: SBC) -> TableScores:
    """Test quantities, log q last as in the registry: read from the file, which holds no q."""
    truth, drawn = (upload.densities[name] for name in (LOG_Q, f"{LOG_Q}_draws"))
    known = TableScores(truth[None], drawn[None])
    others = tuple(name for name in chosen(method.quantities) if name != LOG_Q)
    if not labels(others, upload.names):  # alone, or beside products that one parameter lacks
        return known
    assert isinstance(upload.data, Draws)
    made = Quantities(others).table(upload.data)
    return TableScores(
        np.concatenate([made.truth, known.truth]), np.concatenate([made.draws, known.draws])
    )


def _test_blocks(upload: Upload, seed: int, rng: np.random.Generator) -> Blocks:
    """Independent rows, in no order, that no network of this seed learns from."""
    if isinstance(upload.data, Draws):
        return sampling.blocks_of_rows(upload.data, rng, learning.kept(upload, seed))
    _, test = learning.parts(upload, seed)
    return _blocks(test, rng)


def _blocks(data: Draws | Blocks, rng: np.random.Generator, most: int | None = None) -> Blocks:
    """Independent rows in no order, at most so many of each side: a table is split by x."""
    if isinstance(data, Draws):
        data = sampling.blocks_of_rows(data, rng)
    elif most is not None:
        data = Blocks(*(sampling.rows(side, rng.permutation(len(side)))
                        for side in (data.p, data.q)))  # fmt: skip
    return Blocks(*(sampling.rows(side, slice(most)) for side in (data.p, data.q)))


def _at_median(method: Anew, upload: Upload, seed: int) -> _Read:
    """What a local test reads at the observations nearest to the median, learnt on other rows."""
    assert isinstance(upload.data, Draws)
    train, test = learning.places(upload, seed)
    (rows, each), (points, draws) = method.sizes(len(train), upload.k)
    learn = sampling.take(upload.data, train[:rows], each)
    score = method.learn(learn, stream(seed, "diagnose", "local"))
    at = test[_nearest(upload.data.x[test], points)]
    looked = sampling.take(upload.data, at, min(draws, _LOOKED))
    return _Read(scores.apply(score, looked), at, looked)
