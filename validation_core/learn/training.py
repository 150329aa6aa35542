"""Perceptrons, the one training loop and Adam, and classifiers: any number of a shape at once."""

from __future__ import annotations

import itertools
import math
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple, TypeVar

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn import functional

from validation_core import statistics
from validation_core.keys import Arrays
from validation_core.settings import DEVICE

# ---- Perceptrons as arrays by name ----
#
# How they start, their one forward pass, to tensors and back.
#
# Parameters may have a leading axis of networks, so that a gamma grid by seeds trains as one
# batch, and psi_beta = (1 - beta) psi + beta psi_rand is one line.


# Networks this small lose from more threads, and by a factor of 100 beside another busy process;
# one thread also makes results independent of the machine's cores.
torch.set_num_threads(1)

_Single = NDArray[np.float32]
Parameters = dict[str, _Single]
Tensors = Mapping[str, Tensor]


def perceptron(
    rng: np.random.Generator, widths: Sequence[int], count: int | None = None
) -> Parameters:
    """Layers `weight0`, `bias0`, ... between these widths.

    Weights (fan in, fan out) and biases (fan out,); for `count` networks at once, each drawn by
    itself, (count, fan in, fan out) and (count, 1, fan out).
    """
    parameters: Parameters = {}
    for i, (fan_in, fan_out) in enumerate(itertools.pairwise(widths)):
        weight, bias = layer(rng, fan_in, fan_out, count)
        parameters |= {f"weight{i}": weight, f"bias{i}": bias}
    return parameters


def layer(
    rng: np.random.Generator, fan_in: int, fan_out: int, count: int | None = None
) -> tuple[_Single, _Single]:
    """PyTorch's default start, U(-1, 1) / sqrt(fan in) for weights and biases alike."""
    bound = 1 / np.sqrt(max(fan_in, 1))  # an input of no columns is a layer's bias alone
    networks, rows = ((), ()) if count is None else ((count,), (1,))
    shapes = ((*networks, fan_in, fan_out), (*networks, *rows, fan_out))
    weight, bias = (rng.uniform(-bound, bound, shape).astype(np.float32) for shape in shapes)
    return weight, bias


def reinitialise(network: torch.nn.Module, rng: np.random.Generator) -> None:
    """Start a module of another library anew by our own generator, as PyTorch's default does."""
    state = network.state_dict()
    for name in [name for name in state if name.endswith("weight")]:
        bound = 1 / np.sqrt(state[name].shape[1])
        for each in (name, name.removesuffix("weight") + "bias"):
            values = rng.uniform(-bound, bound, state[each].shape).astype(np.float32)
            state[each].copy_(torch.from_numpy(values))


def zero_last_layer(parameters: Parameters) -> Parameters:
    """The same network with its last layer at 0: it adds nothing until it has learnt."""
    last = _depth(parameters) - 1
    zeros = {name: np.zeros_like(parameters[name]) for name in (f"weight{last}", f"bias{last}")}
    return {**parameters, **zeros}


def forward(
    parameters: Tensors,
    h: Tensor,
    *,
    skips: bool = False,
    activation: Callable[[Tensor], Tensor] = functional.silu,
) -> Tensor:
    """What a perceptron makes of rows h (n, inputs), or B of them of rows (B, n, inputs).

    With `skips` a hidden layer from the second on adds to the one before: h <- h + a(h W + b).
    """
    last = _depth(parameters) - 1
    for i in range(last):
        after = activation(_affine(parameters, i, h))
        h = h + after if skips and i else after
    return _affine(parameters, last, h)


def _affine(parameters: Tensors, i: int, h: Tensor) -> Tensor:
    weight, bias = parameters[f"weight{i}"], parameters[f"bias{i}"]
    if weight.ndim == 2:
        return torch.addmm(bias, h, weight)
    if bias.ndim == 3:
        return torch.baddbmm(bias, h, weight)
    if len(weight) == 1:  # one network: the plain product is faster than the batched one
        return torch.addmm(bias[0], h[0], weight[0]).unsqueeze(0)
    return torch.baddbmm(bias.unsqueeze(1), h, weight)


def _depth(parameters: Mapping[str, object]) -> int:
    return sum(name.startswith("weight") for name in parameters)


def tensors(parameters: Arrays, device: str) -> dict[str, Tensor]:
    """Arrays as tensors, which share their memory on a processor."""
    return {name: torch.from_numpy(array).to(device) for name, array in parameters.items()}


def learnable(parameters: Arrays, device: str) -> dict[str, Tensor]:
    """Arrays as tensors of their own that collect gradients."""
    copies = tensors({name: array.copy() for name, array in parameters.items()}, device)
    return {name: tensor.requires_grad_() for name, tensor in copies.items()}


def arrays(parameters: Tensors) -> Parameters:
    """The way back, as copies."""
    return {name: tensor.detach().cpu().numpy().copy() for name, tensor in parameters.items()}


def stack(networks: Sequence[Arrays]) -> Parameters:
    """Networks of one shape with a leading axis."""
    return {name: np.stack([network[name] for network in networks]) for name in networks[0]}


def unstack(networks: Parameters) -> list[Parameters]:
    """The way back: one dictionary of arrays per network."""
    count = len(next(iter(networks.values())))
    return [{name: array[i].copy() for name, array in networks.items()} for i in range(count)]


def interpolate_parameters(
    trained: Mapping[str, _Single], initial: Mapping[str, _Single], beta: float
) -> Parameters:
    """psi_beta = (1 - beta) psi_trained + beta psi_initial, in single precision."""
    if beta == 0:
        return dict(trained)
    share, other = np.float32(1 - beta), np.float32(beta)
    return {name: share * array + other * initial[name] for name, array in trained.items()}


def pick_device(wanted: str | None = None) -> str:
    """`wanted`, else NPTLAB_DEVICE, else the best this machine has: cuda, mps, cpu."""
    if chosen := wanted or DEVICE.value():
        return chosen
    if torch.cuda.is_available():
        return "cuda"
    return "mps" if torch.backends.mps.is_available() else "cpu"


# ---- The one training loop, and classifiers on it ----
#
# Any number of one shape, each on its own data.


Report = Callable[[float, Mapping[str, float]], None]
"""Called with the fraction done and a few live numbers."""

_Inputs = NDArray[np.float32]
_T = TypeVar("_T")


def descend(
    adam: Adam,
    rounds: Iterable[Iterable[_T]],
    loss: Callable[[_T], Tensor],
    *,
    clip: float | None = None,
) -> Iterator[list[Tensor]]:
    """A step down the loss of each batch, round by round; after a round the rates go on.

    Batches are drawn as they are needed, and what is to be watched between rounds is the body of
    the caller's own loop.

    Args:
        adam: the parameters, and how they move.
        rounds: the batches of each round: of an epoch, or of one step.
        loss: of a batch; where it is a vector its sum is descended, so that each of several
            networks takes the steps that it would take alone.
        clip: norm to which all gradients of a step are shortened.

    Yields:
        The losses of a round's batches.
    """
    for batches in rounds:
        losses = []
        for batch in batches:
            value = loss(batch)
            adam.zero_grad()
            torch.autograd.backward(value if value.ndim == 0 else value.sum())
            if clip is not None:
                torch.nn.utils.clip_grad_norm_(adam.parameters, clip)
            adam.step()
            losses.append(value.detach())
        adam.step_schedule()
        yield losses


class Problem(NamedTuple):
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


class _Fit(NamedTuple):
    """A trained network and how it got there; the arrays of `history` run over its checks."""

    parameters: Parameters
    history: dict[str, NDArray[np.floating]]
    kept: int
    """The check whose parameters these are."""


def fit(
    problems: Sequence[Problem],
    start: Sequence[Parameters],
    schedule: Schedule,
    rngs: Sequence[np.random.Generator],
    *,
    report: Report | None = None,
    device: str = "cpu",
    checks: int = 20,
) -> list[_Fit]:
    """Train one classifier per problem, all in one batch of B.

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
    tensors = learnable(stack(start), device)
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
    interval = max(1, schedule.epochs // checks)
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
        problems: Sequence[Problem],
        batch: int,
        rngs: Sequence[np.random.Generator],
        device: str,
    ) -> None:
        self.p = _tensor([problem.p for problem in problems], device)  # (B, n, inputs)
        self.q = _tensor([problem.q for problem in problems], device)  # (B, n_q, inputs)
        self.rngs = rngs
        self.slices = slices(self.p.shape[1], max(1, round(2 * self.p.shape[1] / batch)))
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

    def __init__(self, problems: Sequence[Problem], schedule: Schedule, device: str) -> None:
        self.held_p = _tensor([problem.held_p for problem in problems], device)
        self.held_q = _tensor([problem.held_q for problem in problems], device)
        self.keep_best = schedule.keep_best
        self.best = np.full(len(problems), np.inf)
        self.at_best = np.zeros(len(problems), dtype=int)
        self.best_tensors: dict[str, Tensor] = {}
        self.rows: list[tuple[NDArray[np.floating], ...]] = []

    def check(self, tensors: Tensors, epoch: int, loss: Tensor | float) -> dict[str, float]:
        """Note losses and AUCs of this epoch; gives their means over networks."""
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


def slices(n: int, count: int) -> list[slice]:
    """`count` parts of n rows, as equal as can be."""
    bounds = np.linspace(0, n, count + 1).astype(int).tolist()
    return [slice(a, b) for a, b in itertools.pairwise(bounds)]


def _tensor(arrays: Sequence[_Inputs], device: str) -> Tensor:
    """One axis more; a single array, which may be large, is not copied."""
    stacked = arrays[0][None] if len(arrays) == 1 else np.stack(arrays)
    return torch.from_numpy(stacked).to(device)


def timed(work: Callable[[], _T]) -> tuple[_T, float]:
    """What `work` returns, and the seconds it took."""
    start = time.perf_counter()
    return work(), time.perf_counter() - start


# ---- Adam along a cosine, on torch's own fused kernel: what torch.optim computes, to the bit ----
#
# torch.optim imports torch's compiler at its first step, which costs every process two seconds and
# 70 MB and is then not used.


_BETAS, _EPS = (0.9, 0.999), 1e-8


class Adam:
    """Adam, or AdamW where weights decay: a rate for each group of parameters.

    Args:
        groups: parameters and the rate that they begin at.
        over: calls of `step_schedule` along which every rate falls as a cosine to 0; None: none.
        decay: share of a parameter, times the rate, that a step takes away.
        fused: use the fused kernel; else go operation by operation, as torch.optim does by
            default, whose last digits differ.
    """

    def __init__(
        self,
        groups: Sequence[tuple[Iterable[Tensor], float]],
        *,
        over: int | None = None,
        decay: float = 0.0,
        fused: bool = True,
    ) -> None:
        self._groups = [[_AdamState(tensor) for tensor in tensors] for tensors, _ in groups]
        self._rates = [rate for _, rate in groups]
        self._over, self._decay, self._passed = over, decay, 0
        self._fused = fused

    @property
    def parameters(self) -> list[Tensor]:
        """What it moves, group after group."""
        return [moments.tensor for group in self._groups for moments in group]

    def zero_grad(self) -> None:
        """Forget the gradients."""
        for tensor in self.parameters:
            tensor.grad = None

    def step(self) -> None:
        """Take one step along the gradients; parameters without one stay where they are."""
        for group, rate in zip(self._groups, self._rates, strict=True):
            moved = [moments for moments in group if moments.tensor.grad is not None]
            if moved and self._fused:
                self._move(moved, rate)
            elif moved:
                self._move_by_parts(moved, rate)

    def set_lr(self, *rates: float) -> None:
        """Go on at other rates, one for each group, with what is remembered of the gradients."""
        if len(rates) != len(self._rates):
            raise ValueError(
                f"every group of parameters has a rate; got {len(rates)} for {len(self._rates)}"
            )
        self._rates = list(rates)

    def step_schedule(self) -> None:
        """Lower the rates: 1 + cos(pi t / over) over what it was a call before, and 0 at the end.

        A product over calls, as torch's schedule has it, not the closed form: the two differ in
        their last digits, and what was trained would be another network.
        """
        if self._over is None:
            return
        self._passed += 1
        now, before = (
            1 + math.cos(math.pi * t / self._over) for t in (self._passed, self._passed - 1)
        )
        over = self._passed >= self._over
        self._rates = [0.0 if over else now / before * rate for rate in self._rates]

    def _move(self, group: Sequence[_AdamState], rate: float) -> None:
        steps = [moments.steps for moments in group]
        with torch.no_grad():
            torch._foreach_add_(steps, 1)
            torch._fused_adamw_(
                [moments.tensor for moments in group],
                [moments.tensor.grad for moments in group if moments.tensor.grad is not None],
                [moments.mean for moments in group],
                [moments.square for moments in group],
                [],
                steps,
                lr=rate,
                beta1=_BETAS[0],
                beta2=_BETAS[1],
                weight_decay=self._decay,
                eps=_EPS,
                amsgrad=False,
                maximize=False,
            )

    def _move_by_parts(self, group: Sequence[_AdamState], rate: float) -> None:
        with torch.no_grad():
            for moments in group:
                gradient, decay = moments.tensor.grad, 1 - rate * self._decay
                assert gradient is not None
                moments.steps += 1
                moments.tensor.mul_(decay)
                moments.mean.lerp_(gradient, 1 - _BETAS[0])
                moments.square.mul_(_BETAS[1]).addcmul_(gradient, gradient, value=1 - _BETAS[1])
                first, second = (1 - beta ** moments.steps.item() for beta in _BETAS)
                size = (moments.square.sqrt() / second**0.5).add_(_EPS)
                moments.tensor.addcdiv_(moments.mean, size, value=-rate / first)


class _AdamState:
    """A parameter and what Adam remembers of its gradients."""

    def __init__(self, tensor: Tensor) -> None:
        self.tensor = tensor
        self.mean, self.square = torch.zeros_like(tensor), torch.zeros_like(tensor)
        # A tensor, as the kernel asks for, and where the kernel runs.
        self.steps = torch.zeros((), dtype=torch.float32, device=tensor.device)
