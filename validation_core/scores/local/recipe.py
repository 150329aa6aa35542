"""How the local classifiers are trained, and why their labels make an exact test.

References:
    L-C2ST: local diagnostics for posterior approximations in simulation-based inference,
    Linhart, Gramfort & Rodrigues (2023), Algorithms 1 and 2: the null classifiers learn permuted
    labels. Labels are swapped within pairs here, since both rows of a pair share their x: a
    permutation of all labels unbalances x between the classes, a swap never does.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from validation_core.narrow import narrowed
from validation_core.scores.classifier import scaled
from validation_core.scores.local.score import LocalScore
from validation_core.types import Array, Draws

FEWEST = 8
"""Pairs to learn from: with fewer, swaps leave too few different sets of labels."""

_BATCH = 64  # pairs: rows of a hundred networks that stay in a core's cache
_FEWEST_BATCHES = 12  # of an epoch: small tables take smaller steps rather than too few


@dataclass(frozen=True, kw_only=True)
class Local:
    """One classifier and its nulls: two hidden layers with ReLU, AdamW along a cosine to 0.

    Few epochs, a high rate and a strong decay of weights: the nulls are as sure of noise as the
    classifier is, so that what limits the power is how much noise it learns. Twice the decay has
    more power still, but also smooths an error into places where q is right. Stopping early on
    held-out rows, as others do, leaves many a classifier at its start.
    """

    nulls: int = field(default=100, metadata={"label": "Null classifiers"})
    hidden: int = field(default=32, metadata={"label": "Hidden units"})
    epochs: int = field(default=15, metadata={"label": "Epochs"})
    lr: float = field(default=1e-2, metadata={"label": "Initial learning rate"})
    weight_decay: float = field(default=1.0, metadata={"label": "Weight decay"})

    def batches(self, n: int) -> int:
        """Batches of an epoch over n pairs."""
        return max(round(n / _BATCH), min(_FEWEST_BATCHES, n // 2))

    def learn(self, train: Draws, rng: np.random.Generator) -> LocalScore:
        """The networks of all labels, on the truth and one draw of q, taken at random, at each x.

        Under the global null the truth of a pair is a fair coin given its two rows. The labels
        of every network, the first's true ones too, are then independent fair coins, and all
        else is common or drawn alike for each: the networks are exchangeable. Which row of a pair
        comes first is a coin of its own, so that not even rounding tells the first network apart.

        Raises:
            ValueError: if there are fewer than 8 rows, no draw at them, or a number is not finite.
        """
        from validation_core import nets
        from validation_core.scores.local import networks

        _require(train)
        n, k = train.q.shape[:2]
        drawn = train.q[np.arange(n), rng.integers(k, size=n)]  # (n, D)
        shift, scale = _scaling(train.theta, drawn, train.x)
        truth, other = (scaled(one, train.x, shift, scale) for one in (train.theta, drawn))
        heads = rng.random((self.nulls + 1, n)) < 0.5  # is the first row of a pair the truth?
        coin = heads[0][:, None]
        parameters = networks.train(
            np.where(coin, truth, other), np.where(coin, other, truth),
            np.where(heads, 1, -1).astype(np.float32), self, rng, nets.pick_device(),
        )  # fmt: skip
        return LocalScore(parameters, shift, scale)


def _require(train: Draws) -> None:
    n, k = train.q.shape[:2]
    if n < FEWEST or k < 1:
        raise ValueError(
            f"local classifiers learn from at least {FEWEST} simulations with a draw of q at "
            f"each; got {n} with {k}; bring more"
        )
    for name, array in (("theta", train.theta), ("x", train.x), ("q", train.q)):
        if not np.isfinite(array).all():
            bad = int((~np.isfinite(array)).sum())
            raise ValueError(
                f"local classifiers learn from finite numbers; got {bad} others in {name}; "
                "drop these rows"
            )


def _scaling(theta: Array, drawn: Array, x: Array) -> tuple[Array, Array]:
    """Median and robust sd of each column, of both rows of all pairs alike."""
    both = np.concatenate([theta, drawn]).astype(np.float64)  # (2 n, D)
    pooled = np.concatenate([both, np.concatenate([x, x])], axis=1)
    low, middle, high = np.quantile(pooled, [0.25, 0.5, 0.75], axis=0)
    spread = (high - low) / 1.349
    spread = np.where(spread > 0, spread, pooled.std(axis=0))  # a column that is mostly one value
    return narrowed(middle, np.where(spread > 0, spread, 1.0))
