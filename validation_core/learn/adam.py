"""Adam along a cosine schedule, for many networks at once.

The steps are torch.optim's function. Its classes, which its schedules need, import torch's
compiler when one is made: 1.1 to 2 seconds and 76 MB of every process, for nothing.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

import torch
from torch import Tensor
from torch.optim.adamw import adamw

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
        """The tensors that it moves, group after group."""
        return [moments.tensor for group in self._groups for moments in group]

    def zero_grad(self) -> None:
        """Forget the gradients."""
        for tensor in self.parameters:
            tensor.grad = None

    def step(self) -> None:
        """Take one step along the gradients; parameters without one stay where they are."""
        for group, rate in zip(self._groups, self._rates, strict=True):
            moved = [moments for moments in group if moments.tensor.grad is not None]
            if not moved:
                continue
            with torch.no_grad():
                adamw(
                    [moments.tensor for moments in moved],
                    [moments.tensor.grad for moments in moved if moments.tensor.grad is not None],
                    [moments.mean for moments in moved],
                    [moments.square for moments in moved],
                    [],
                    [moments.steps for moments in moved],
                    fused=self._fused,
                    foreach=False,
                    amsgrad=False,
                    beta1=_BETAS[0],
                    beta2=_BETAS[1],
                    lr=rate,
                    weight_decay=self._decay,
                    eps=_EPS,
                    maximize=False,
                )

    def set_lr(self, *rates: float) -> None:
        """Go on at other rates, one for each group, with the remembered gradients."""
        if len(rates) != len(self._rates):
            raise ValueError(
                f"every group of parameters has a rate; got {len(rates)} for {len(self._rates)}"
            )
        self._rates = list(rates)

    def step_schedule(self) -> None:
        """Lower the rates: 1 + cos(pi t / over) times the last call's rate, and 0 at the end.

        A product over calls, as torch's schedule does, not the closed form: the two differ in
        their last digits, and would train another network.
        """
        if self._over is None:
            return
        self._passed += 1
        now, before = (
            1 + math.cos(math.pi * t / self._over) for t in (self._passed, self._passed - 1)
        )
        over = self._passed >= self._over
        self._rates = [0.0 if over else now / before * rate for rate in self._rates]


class _AdamState:
    """A parameter and Adam's moments of its gradients."""

    def __init__(self, tensor: Tensor) -> None:
        self.tensor = tensor
        self.mean, self.square = torch.zeros_like(tensor), torch.zeros_like(tensor)
        # A tensor on the kernel's device, as the kernel requires.
        self.steps = torch.zeros((), dtype=torch.float32, device=tensor.device)
