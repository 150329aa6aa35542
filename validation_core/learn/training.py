"""The training loop, and classifiers: any number of one shape at once, each on its own data."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeVar

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn import functional

from validation_core import statistics
from validation_core.learn.adam import Adam
from validation_core.learn.perceptron import (
    Parameters,
    Tensors,
    arrays,
    forward,
    learnable,
    unstack,
)
from validation_core.pieces import stack_by_name
from validation_core.provenance import Stopwatch
from validation_core.study import Report
from validation_core.types import Integers

_Inputs = NDArray[np.float32]
_T = TypeVar("_T")
_CHECKS = 20  # of held-out loss and AUC, in a training


def descend(
    adam: Adam,
    rounds: Iterable[Iterable[_T]],
    loss: Callable[[_T], Tensor],
    *,
    clip: float | None = None,
) -> Iterator[list[Tensor]]:
    """A step down the loss of each batch, round by round; after a round the rates go on.

    Batches are drawn as they are needed, and the work between rounds is the body of
    the caller's own loop.

    Args:
        adam: the parameters, and how they move.
        rounds: the batches of each round: of an epoch, or of one step.
        loss: of a batch; where it is a vector its sum is descended, so that each of several
            networks takes the steps that it would take alone.
        clip: norm to which all gradients of a step are shortened; those of each network, which
            parameters' leading axis counts, where the loss is a vector.

    Yields:
        The losses of a round's batches.
    """
    for batches in rounds:
        losses = []
        for batch in batches:
            value = loss(batch)
            adam.zero_grad()
            torch.autograd.backward(value if value.ndim == 0 else value.sum())
            if clip is not None and value.ndim == 0:
                torch.nn.utils.clip_grad_norm_(adam.parameters, clip)
            elif clip is not None:
                _clip_each(adam.parameters, clip)
            adam.step()
            losses.append(value.detach())
        adam.step_schedule()
        yield losses


def _clip_each(parameters: Iterable[Tensor], clip: float) -> None:
    """Shorten the gradients of each of several networks, as torch does those of one."""
    gradients = [tensor.grad for tensor in parameters if tensor.grad is not None]
    squares = torch.stack([gradient.flatten(1).square().sum(1) for gradient in gradients])
    shares = (clip / (squares.sum(0).sqrt() + 1e-6)).clamp(max=1.0)
    for gradient in gradients:
        gradient.mul_(shares.reshape(-1, *[1] * (gradient.ndim - 1)))


class ClassifierProblem(NamedTuple):
    """One classifier's data, scaled: p and q to learn from, held_p and held_q to watch."""

    p: _Inputs  # (n, inputs)
    q: _Inputs  # (n_q, inputs), n_q >= n: each epoch takes n of them
    held_p: _Inputs
    held_q: _Inputs


@dataclass(frozen=True, kw_only=True)
class Schedule:
    """Adam with a cosine from `lr` to 0 over `epochs`, balanced batches of `batch` rows."""

    epochs: int
    lr: float
    batch: int = 256
    weight_decay: float = 0.0
    keep_best: bool = False
    """Return the parameters with the lowest held-out loss rather than the last ones."""


def flow_loss(flow: Any, theta: Tensor, x: Tensor) -> Callable[[Integers], Tensor]:
    """Mean of -log q(theta | x) over some rows, nats, as a function of these."""

    def loss(rows: Integers) -> Tensor:
        nats: Tensor = -flow(x[rows]).log_prob(theta[rows]).mean()
        return nats

    return loss


class _Fit(NamedTuple):
    """A trained network and its history; the arrays of `history` run over its checks."""

    parameters: Parameters
    history: dict[str, NDArray[np.floating]]
    kept: int
    """The check whose parameters these are."""


def fit(
    problems: Sequence[ClassifierProblem],
    start: Sequence[Parameters],
    schedule: Schedule,
    rngs: Sequence[np.random.Generator],
    *,
    report: Report | None = None,
    device: str = "cpu",
) -> list[_Fit]:
    """Train one classifier per problem, all in one batch of B.

    Losses add up and Adam works element by element, so each network takes the steps it would
    take alone. All problems have the same numbers of rows.

    Args:
        problems: data, one per network.
        start: initial parameters, one per network.
        schedule: optimiser's settings.
        rngs: one generator per network; they order the rows.
        report: called with the progress at every epoch, with live numbers at every check.
        device: where to compute.
    """
    tensors = learnable(stack_by_name(start), device)
    adam = Adam(
        [(tensors.values(), schedule.lr)], over=schedule.epochs, decay=schedule.weight_decay
    )
    batches = _Batches(problems, schedule.batch, rngs, device)
    watch = _Watch(problems, schedule, device)

    def loss(batch: tuple[Tensor, Tensor]) -> Tensor:
        z, label = batch
        g = logits(tensors, z)
        return functional.binary_cross_entropy_with_logits(g, label, reduction="none").mean(1)

    epochs = (batches.epoch() for _ in range(schedule.epochs))
    interval = max(1, schedule.epochs // _CHECKS)
    for epoch, losses in enumerate(descend(adam, epochs, loss), 1):
        due = epoch % interval == 0 or epoch == schedule.epochs
        live = watch.check(tensors, epoch, sum(a / len(losses) for a in losses)) if due else {}
        if report:
            report(epoch / schedule.epochs, live)
    return watch.fits(tensors)


def logits(parameters: Tensors, z: Tensor) -> Tensor:
    """Logits (B, n) of inputs z (B, n, inputs) under B classifiers.

    Bansal, Chen, Scott, Appendix B: three layers with skip connections, 256 hidden. SiLU and the
    place of the skips are our choice; no BatchNorm, which interpolated weights would break.
    """
    return forward(parameters, z, skips=True).squeeze(-1)


class _Batches:
    """Balanced batches, half p and half q, in an order that each network's generator draws."""

    def __init__(
        self,
        problems: Sequence[ClassifierProblem],
        batch: int,
        rngs: Sequence[np.random.Generator],
        device: str,
    ) -> None:
        self.p = _tensor([problem.p for problem in problems], device)  # (B, n, inputs)
        self.q = _tensor([problem.q for problem in problems], device)  # (B, n_q, inputs)
        self.rngs = rngs
        self.slices = equal_slices(self.p.shape[1], max(1, round(2 * self.p.shape[1] / batch)))
        self.labels = [self._label(s.stop - s.start) for s in self.slices]

    def epoch(self) -> list[tuple[Tensor, Tensor]]:
        """(inputs (B, b, inputs), labels (B, b)) for every batch; label 1 is p."""
        p = self._shuffled(self.p)
        q = self._shuffled(self.q)[:, : p.shape[1]]
        pairs = zip(self.slices, self.labels, strict=True)
        return [(torch.cat([p[:, s], q[:, s]], dim=1), label) for s, label in pairs]

    def _label(self, b: int) -> Tensor:
        p_labels = torch.ones(len(self.rngs), b, device=self.p.device)
        return torch.cat([p_labels, torch.zeros_like(p_labels)], dim=1)

    def _shuffled(self, rows: Tensor) -> Tensor:
        take = self.p.shape[1]
        order = np.stack([rng.permutation(rows.shape[1])[:take] for rng in self.rngs])
        index = torch.from_numpy(order).to(rows.device)
        return torch.take_along_dim(rows, index.unsqueeze(-1), dim=1)


class _Watch:
    """Held-out loss and AUC on the way, and the parameters to return."""

    def __init__(
        self, problems: Sequence[ClassifierProblem], schedule: Schedule, device: str
    ) -> None:
        self.held_p = _tensor([problem.held_p for problem in problems], device)
        self.held_q = _tensor([problem.held_q for problem in problems], device)
        self.keep_best = schedule.keep_best
        self.best = np.full(len(problems), np.inf)
        self.at_best = np.zeros(len(problems), dtype=int)
        self.best_tensors: dict[str, Tensor] = {}
        self.rows: list[tuple[NDArray[np.floating], ...]] = []

    def check(self, tensors: Tensors, epoch: int, loss: Tensor | float) -> dict[str, float]:
        """Record losses and AUCs of this epoch; returns their means over networks."""
        with torch.no_grad():
            p, q = logits(tensors, self.held_p), logits(tensors, self.held_q)
            losses = (functional.softplus(-p).mean(1) + functional.softplus(q).mean(1)) / 2
        held_loss = losses.cpu().numpy()
        auc = np.atleast_1d(statistics.auc(p.cpu().numpy(), q.cpu().numpy()))
        now = torch.as_tensor(loss).cpu().numpy()
        self.rows.append((np.full(len(now), epoch), now, held_loss, auc))
        if self.keep_best:
            self._remember(tensors, held_loss)
        means = {"loss": now.mean(), "held_loss": held_loss.mean(), "auc": auc.mean()}
        return {"epoch": float(epoch), **{name: float(mean) for name, mean in means.items()}}

    def _remember(self, tensors: Tensors, held_loss: NDArray[np.floating]) -> None:
        better = held_loss < self.best
        self.best = np.where(better, held_loss, self.best)
        self.at_best = np.where(better, len(self.rows) - 1, self.at_best)
        which = torch.from_numpy(better).to(self.held_p.device)
        for name, tensor in tensors.items():
            now = tensor.detach().clone()
            mask = which.reshape(-1, *[1] * (now.ndim - 1))
            self.best_tensors[name] = torch.where(mask, now, self.best_tensors.get(name, now))

    def fits(self, tensors: Tensors) -> list[_Fit]:
        """The networks to keep and their histories."""
        networks = unstack(arrays(self.best_tensors if self.keep_best else tensors))
        last = np.full(len(networks), len(self.rows) - 1)
        checkpoints = self.at_best if self.keep_best else last
        columns = [np.stack(column, axis=1) for column in zip(*self.rows, strict=True)]
        names = ("epoch", "loss", "held_loss", "auc")
        return [
            _Fit(
                network,
                {n: c[i].astype(np.float32) for n, c in zip(names, columns, strict=True)},
                int(checkpoints[i]),
            )
            for i, network in enumerate(networks)
        ]


def equal_slices(n: int, count: int) -> list[slice]:
    """`count` parts of n rows, as equal as can be."""
    bounds = np.linspace(0, n, count + 1).astype(int).tolist()
    return [slice(a, b) for a, b in itertools.pairwise(bounds)]


def _tensor(arrays: Sequence[_Inputs], device: str) -> Tensor:
    """Arrays stacked along a new axis; a single array, which may be large, is not copied."""
    stacked = arrays[0][None] if len(arrays) == 1 else np.stack(arrays)
    return torch.from_numpy(stacked).to(device)


def timed(work: Callable[[], _T]) -> tuple[_T, float]:
    """Result of `work`, and the seconds it took."""
    watch = Stopwatch()
    return work(), watch.seconds
