"""The local score: one classifier of truth against q, and many with random labels (nulls).

A score of H + 1 test quantities: the logits of H + 1 small networks, which learn as one batch.
They share rows and batches and differ in start and labels alone.

References:
    L-C2ST: local diagnostics for posterior approximations in simulation-based inference,
    Linhart, Gramfort & Rodrigues (2023), Algorithms 1 and 2: the null classifiers learn permuted
    labels. Labels are swapped within pairs here, since both rows of a pair share their x: a
    permutation of all labels unbalances x between the classes, a swap never does.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from validation_core.keys import Specification
from validation_core.learn.scaling import robust
from validation_core.pieces import slices
from validation_core.precision import narrowed
from validation_core.scores.classifier import standardise_inputs
from validation_core.types import Array, Integers, PosteriorTable

if TYPE_CHECKING:
    from torch import Tensor

    from validation_core.learn.perceptron import Parameters, Tensors

FEWEST = 8
"""Pairs to learn from: with fewer, swaps leave too few different sets of labels."""

_BATCH = 64  # pairs: rows of a hundred networks that stay in a core's cache
_FEWEST_BATCHES = 12  # of an epoch: small tables take smaller steps rather than too few
_AT_ONCE = 100  # networks trained side by side on a processor: more would leave its cache
_ROWS = 256  # of one pass on a CPU: a layer of a hundred networks fits in its cache


@dataclass(frozen=True, kw_only=True)
class LC2STClassifier(Specification, spec="local"):
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

    def learn(self, train: PosteriorTable, rng: np.random.Generator) -> LocalScore:
        """The networks of all labels, on the truth and one draw of q, taken at random, at each x.

        Under the global null the truth of a pair is a fair coin given its two rows. The labels
        of every network, the first's true ones too, are then independent fair coins, and all
        else is common or drawn alike for each: the networks are exchangeable. Which row of a pair
        comes first is a coin of its own, so that not even rounding tells the first network apart.

        Raises:
            ValueError: if there are fewer than 8 rows, no draw at them, or a number is not finite.
        """
        _require(train)
        n, k = train.q.shape[:2]
        draw = train.q[np.arange(n), rng.integers(k, size=n)]  # (n, D)
        shift, scale = _scaling(train.theta, draw, train.x)
        truth, other = (
            standardise_inputs(theta, train.x, shift, scale) for theta in (train.theta, draw)
        )
        heads = rng.random((self.nulls + 1, n)) < 0.5  # is the first row of a pair the truth?
        coin = heads[0][:, None]
        pairs = _Pairs(
            np.where(coin, truth, other),
            np.where(coin, other, truth),
            np.where(heads, 1, -1).astype(np.float32),
        )
        return LocalScore(_train(pairs, self, rng), shift, scale)


@dataclass(frozen=True, eq=False)
class LocalScore:
    """(theta, x) to the logits (H + 1, n) of all networks, high where a row looks like the truth.

    The first learnt the true labels, each other one its own swapped ones.
    """

    parameters: Mapping[str, NDArray[np.float32]]
    """weight0, bias0, ...: (H + 1, fan in, fan out) and (H + 1, 1, fan out)."""
    shift: Array  # (D + M,), float64: a level may dwarf the spread
    scale: Array  # (D + M,)

    @property
    def nulls(self) -> int:
        """Number of null classifiers, H."""
        return len(self.parameters["bias0"]) - 1

    def __call__(self, theta: Array, x: Array) -> Array:
        import torch

        from validation_core.learn import perceptron

        device = perceptron.pick_device()
        z = standardise_inputs(theta, x, self.shift, self.scale)
        out = np.empty((self.nulls + 1, len(z)), dtype=np.float32)
        step = _ROWS if device == "cpu" else 1 << 14
        with torch.inference_mode():
            tensors = perceptron.tensors(self.parameters, device)
            for part in slices(len(z), step):
                rows = torch.from_numpy(z[part]).to(device)
                out[:, part] = _logits(tensors, rows).cpu().numpy()
        return out


class _Pairs(NamedTuple):
    """Two rows of each pair (n, inputs), and which is the truth to each network.

    `signs` (B, n): 1 where a network calls `first` the truth, -1 where `second`.
    """

    first: NDArray[np.float32]
    second: NDArray[np.float32]
    signs: NDArray[np.float32]


def _logits(parameters: Tensors, z: Tensor) -> Tensor:
    """Logits (B, n) of the same inputs z (n, inputs) under B networks."""
    from torch.nn import functional

    from validation_core.learn import perceptron

    shared = z.expand(len(parameters["bias0"]), -1, -1)  # a view: rows are never copied
    return perceptron.forward(parameters, shared, activation=functional.relu).squeeze(-1)


def _train(pairs: _Pairs, recipe: LC2STClassifier, rng: np.random.Generator) -> Parameters:
    """Parameters of B networks, by AdamW along a cosine on batches of whole pairs.

    `rng` draws the networks' starts and the common order of pairs: each takes the steps that it
    would take alone, whichever others are trained beside it.
    """
    from validation_core.learn import perceptron

    widths, count = [pairs.first.shape[1], recipe.hidden, recipe.hidden, 1], len(pairs.signs)
    start, device = perceptron.perceptron(rng, widths, count), perceptron.pick_device()
    orders = [rng.permutation(len(pairs.first)) for _ in range(recipe.epochs)]
    step = _AT_ONCE if device == "cpu" else count
    parts = []
    for i in range(0, count, step):
        own = {name: array[i : i + step] for name, array in start.items()}
        some = pairs._replace(signs=pairs.signs[i : i + step])
        parts.append(_trained(perceptron.learnable(own, device), some, orders, recipe, device))
    return {name: np.concatenate([part[name] for part in parts]) for name in start}


def _trained(
    tensors: dict[str, Tensor],
    pairs: _Pairs,
    orders: Sequence[Integers],
    recipe: LC2STClassifier,
    device: str,
) -> Parameters:
    """Some of the networks, on pairs and signs as in `_train`; each epoch has its order."""
    import torch
    from torch.nn import functional

    from validation_core.learn import perceptron
    from validation_core.learn.adam import Adam
    from validation_core.learn.training import descend

    first, second, sign = (torch.from_numpy(array).to(device) for array in pairs)
    batches = recipe.batches(len(first))
    steps = recipe.epochs * batches
    adam = Adam([(tensors.values(), recipe.lr)], over=steps, decay=recipe.weight_decay)

    def loss(rows: Tensor) -> Tensor:
        g = _logits(tensors, torch.cat([first[rows], second[rows]]))  # (B, 2 b)
        label = sign[:, rows]
        return functional.softplus(-g * torch.cat([label, -label], dim=1)).mean(1)

    rounds = (
        [rows]
        for order in orders
        for rows in torch.tensor_split(torch.from_numpy(order).to(device), batches)
    )
    for _ in descend(adam, rounds, loss):
        pass
    return perceptron.arrays(tensors)


def _require(train: PosteriorTable) -> None:
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
    return narrowed(*robust(np.concatenate([both, np.concatenate([x, x])], axis=1)))
