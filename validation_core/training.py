"""The one training loop: any number of classifiers of one shape, each on its own data."""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import NamedTuple, TypeVar

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn import functional

from validation_core import nets, statistics
from validation_core.nets import Parameters
from validation_core.optim import Adam

Report = Callable[[float, Mapping[str, float]], None]
"""Called with the fraction done and a few live numbers."""

Inputs = NDArray[np.float32]
_T = TypeVar("_T")


class Problem(NamedTuple):
    """One classifier's data, scaled: p and q to learn from, held_p and held_q to watch."""

    p: Inputs  # (n, inputs)
    q: Inputs  # (n_q, inputs), n_q >= n: each epoch takes n of them
    held_p: Inputs
    held_q: Inputs


@dataclass(frozen=True, kw_only=True)
class Schedule:
    """Adam with a cosine from `lr` to 0 over `epochs`, balanced batches of `batch` rows."""

    epochs: int
    lr: float
    batch: int = 256
    weight_decay: float = 0.0
    keep_best: bool = False
    """Return the parameters with the lowest held-out loss rather than the last ones."""


class Fit(NamedTuple):
    """A trained network and how it got there; the arrays of `history` run over its checks."""

    parameters: Parameters
    history: dict[str, NDArray[np.floating]]
    kept: int
    """The check whose parameters these are."""


def fit(
    problems: list[Problem],
    start: list[Parameters],
    schedule: Schedule,
    rngs: list[np.random.Generator],
    *,
    report: Report | None = None,
    device: str = "cpu",
    checks: int = 20,
) -> list[Fit]:
    """Train one network per problem, all in one batch of B.

    Losses add up and Adam works element by element, so each network takes the steps it would
    take alone. All problems have the same numbers of rows.

    Args:
        problems: data, one per network.
        start: initial parameters, one per network.
        schedule: optimiser's settings.
        rngs: one generator per network; they order the rows.
        report: told the progress at every epoch, with live numbers at every check.
        device: where to compute.
        checks: how often held-out loss and AUC are computed.
    """
    tensors = nets.stack(start, device)
    for tensor in tensors.values():
        tensor.requires_grad_()
    adam = Adam(
        [(tensors.values(), schedule.lr)], over=schedule.epochs, decay=schedule.weight_decay
    )
    batches = _Batches(problems, schedule.batch, rngs, device)
    watch = _Watch(problems, schedule, device)
    every = max(1, schedule.epochs // checks)
    for epoch in range(schedule.epochs):
        loss = torch.zeros(len(problems), device=device)
        for z, label in batches.epoch():
            losses = functional.binary_cross_entropy_with_logits(
                nets.forward(tensors, z), label, reduction="none"
            ).mean(1)  # (B,)
            adam.zero_grad()
            losses.sum().backward()
            adam.step()
            loss += losses.detach() / batches.per_epoch
        adam.cool()
        due = (epoch + 1) % every == 0 or epoch + 1 == schedule.epochs
        live = watch.check(tensors, epoch + 1, loss) if due else {}
        if report:
            report((epoch + 1) / schedule.epochs, live)
    return watch.fits(tensors)


class _Batches:
    """Balanced batches, half p and half q, in an order that each network's generator draws."""

    def __init__(
        self, problems: list[Problem], batch: int, rngs: list[np.random.Generator], device: str
    ) -> None:
        self.p = _tensor([problem.p for problem in problems], device)  # (B, n, inputs)
        self.q = _tensor([problem.q for problem in problems], device)  # (B, n_q, inputs)
        self.rngs = rngs
        n = self.p.shape[1]
        self.per_epoch = max(1, round(2 * n / batch))
        bounds = np.linspace(0, n, self.per_epoch + 1).astype(int)
        self.slices = [slice(a, b) for a, b in itertools.pairwise(bounds)]
        self.labels = [self._label(s.stop - s.start) for s in self.slices]

    def epoch(self) -> list[tuple[Tensor, Tensor]]:
        """(inputs (B, b, inputs), labels (B, b)) for every batch; label 1 is p."""
        p = self._shuffled(self.p)
        q = self._shuffled(self.q)[:, : p.shape[1]]
        pairs = zip(self.slices, self.labels, strict=True)
        return [(torch.cat([p[:, s], q[:, s]], dim=1), label) for s, label in pairs]

    def _label(self, b: int) -> Tensor:
        ones = torch.ones(len(self.rngs), b, device=self.p.device)
        return torch.cat([ones, torch.zeros_like(ones)], dim=1)

    def _shuffled(self, rows: Tensor) -> Tensor:
        take = self.p.shape[1]
        order = np.stack([rng.permutation(rows.shape[1])[:take] for rng in self.rngs])
        index = torch.from_numpy(order).to(rows.device)
        return torch.take_along_dim(rows, index.unsqueeze(-1), dim=1)


class _Watch:
    """Held-out loss and AUC on the way, and the parameters to return."""

    def __init__(self, problems: list[Problem], schedule: Schedule, device: str) -> None:
        self.held_p = _tensor([problem.held_p for problem in problems], device)
        self.held_q = _tensor([problem.held_q for problem in problems], device)
        self.keep_best = schedule.keep_best
        self.best = np.full(len(problems), np.inf)
        self.at_best = np.zeros(len(problems), dtype=int)
        self.kept: dict[str, Tensor] = {}
        self.rows: list[tuple[NDArray[np.floating], ...]] = []

    def check(self, tensors: dict[str, Tensor], epoch: int, loss: Tensor) -> dict[str, float]:
        """Note losses and AUCs of this epoch; gives their means over networks."""
        with torch.no_grad():
            p, q = nets.forward(tensors, self.held_p), nets.forward(tensors, self.held_q)
            held = (functional.softplus(-p).mean(1) + functional.softplus(q).mean(1)) / 2
        held_loss = held.cpu().numpy()
        auc = np.atleast_1d(statistics.auc(p.cpu().numpy(), q.cpu().numpy()))
        now = loss.cpu().numpy()
        self.rows.append((np.full(len(now), epoch), now, held_loss, auc))
        self._keep(tensors, held_loss)
        means = {"loss": now.mean(), "held_loss": held_loss.mean(), "auc": auc.mean()}
        return {"epoch": float(epoch), **{name: float(mean) for name, mean in means.items()}}

    def _keep(self, tensors: dict[str, Tensor], held_loss: NDArray[np.floating]) -> None:
        if not self.keep_best:
            return
        better = held_loss < self.best
        self.best = np.where(better, held_loss, self.best)
        self.at_best = np.where(better, len(self.rows) - 1, self.at_best)
        which = torch.from_numpy(better).to(self.held_p.device)
        for name, tensor in tensors.items():
            now = tensor.detach().clone()
            mask = which.reshape(-1, *[1] * (now.ndim - 1))
            self.kept[name] = torch.where(mask, now, self.kept.get(name, now))

    def fits(self, tensors: dict[str, Tensor]) -> list[Fit]:
        """The networks to keep and their histories."""
        networks = nets.unstack(self.kept if self.keep_best else tensors)
        columns = [np.stack(column, axis=1) for column in zip(*self.rows, strict=True)]
        names = ("epoch", "loss", "held_loss", "auc")
        kept = self.at_best if self.keep_best else np.full(len(networks), len(self.rows) - 1)
        return [
            Fit(
                network,
                {n: c[i].astype(np.float32) for n, c in zip(names, columns, strict=True)},
                int(kept[i]),
            )
            for i, network in enumerate(networks)
        ]


def _tensor(arrays: list[Inputs], device: str) -> Tensor:
    """One axis more; a single array, which may be large, is not copied."""
    stacked = arrays[0][None] if len(arrays) == 1 else np.stack(arrays)
    return torch.from_numpy(stacked).to(device)


def timed(work: Callable[[], _T]) -> tuple[_T, float]:
    """What `work` returns, and the seconds it took."""
    start = time.perf_counter()
    return work(), time.perf_counter() - start
