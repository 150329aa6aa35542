"""The level of the verdict on the kinds of tables that are not plain, over 2000 right ones."""

import numpy as np
import pytest
from scipy.stats import binom

from validation_core.methods import SBC
from validation_core.relabelling import relabelled
from validation_core.rng import stream
from validation_core.tables import Upload
from validation_core.types import TruthRanks

TABLES, ALPHA = 1000, 0.05
N, K, D = 40, 10, 2


def within_bounds(rejected, exact=True):
    """Whether so many rejections are usual at the level; of a conservative test, not too many."""
    low, high = binom.ppf([0.001, 0.999], TABLES, ALPHA)
    return rejected <= high and (rejected >= low or not exact)


def ranks_at_random(rng, most, shape):
    return TruthRanks(
        rng.integers(0, most + 1, shape).astype(float), np.broadcast_to(most, shape) * 1.0
    )


@pytest.mark.slow
@pytest.mark.parametrize("d", [1, 3])
@pytest.mark.parametrize("kind", ["ranks", "own numbers of draws", "pit"])
def test_ranks_alone_keep_the_level(kind, d):
    rng = np.random.default_rng(d)
    rejected = 0
    for _ in range(TABLES):
        if kind == "pit":
            ranks = TruthRanks(rng.random((N, d)), np.zeros((N, d)))
        else:
            most = np.array(7) if kind == "ranks" else rng.integers(1, 30, (N, 1))
            ranks = ranks_at_random(rng, most, (N, d))
        rejected += SBC().test_ranks(ranks, rng).pvalue <= ALPHA
    print(kind, d, rejected / TABLES)
    assert within_bounds(rejected, exact=d == 1)


def right_table(rng, gaps):
    """theta and draws from one law given x and its gaps, which depend on x."""
    x = rng.normal(size=(N, 3))
    if gaps:
        x[rng.random(N) < 1 / (1 + np.exp(-x[:, 0])), 1] = np.nan
        x[rng.random(N) < 0.2, 2] = np.nan
    mean = np.nan_to_num(x[:, :1], nan=3.0) + np.nan_to_num(x[:, 1:2], nan=-2.0)
    slots = mean[:, None] + rng.normal(size=(N, K + 1, D)) * (1 + np.isnan(x[:, 2:3]))[:, None]
    arrays = {"theta": slots[:, 0], "theta_q": slots[:, 1:]}
    return Upload.of(arrays | ({"x": x} if gaps else {}), missing="mask")


@pytest.mark.slow
@pytest.mark.parametrize("gaps", [False, True], ids=["no x", "masked x"])
def test_relabelling_keeps_the_level(gaps):
    rejected = 0
    for i in range(TABLES):
        upload = right_table(np.random.default_rng((i, gaps)), gaps)
        assert upload.dims[1] == (5 if gaps else 0)
        assert not upload.dropped
        result = relabelled(upload.data, i, relabelings=39)
        rejected += result.pvalue <= ALPHA
    print(gaps, rejected / TABLES)
    assert within_bounds(rejected)


def right_classes(rng, few):
    """A class and a number of one law given x, named as discrete; the class of 2 or of 4."""
    x = rng.normal(size=(N, 2))
    number = rng.poisson(np.exp(0.5 * x[:, 1:]), (N, K + 1))
    chances = rng.random((N, K + 1))
    if few:
        slots = (chances < 1 / (1 + np.exp(-2 * x[:, :1]))) + 0.0
    else:
        slots = np.minimum((4 * chances ** np.exp(x[:, :1])).astype(int), 3)
    both = np.stack([slots, np.minimum(number, 9)], axis=-1) * 1.0
    arrays = {"theta": both[:, 0], "x": x, "theta_q": both[:, 1:]}
    return Upload.of(arrays | {"theta_names": np.array(["model", "count"])}, discrete=["model"])


@pytest.mark.slow
def test_named_classes_keep_the_level():
    rejected = 0
    for i in range(TABLES):
        upload = right_classes(np.random.default_rng((i, 7)), few=bool(i % 2))
        events = upload.own_quantities
        assert "model = 1" in events
        result = relabelled(upload.data, i, relabelings=39, quantities=list(events.values()))
        rejected += result.pvalue <= ALPHA
    print(rejected / TABLES)
    assert within_bounds(rejected)


def test_a_wrong_width_is_found_in_ranks_alone():
    rng = stream(0, "tests", "ranks")
    wide = TruthRanks(
        rng.binomial(20, rng.beta(0.5, 0.5, (200, 1))) * 1.0, np.full((200, 1), 20.0)
    )
    assert SBC().test_ranks(wide, rng).pvalue < 0.01
