"""Adam along a cosine schedule, for many networks at once.

torch.optim imports torch's compiler at its first step, which costs every process two seconds and
70 MB and is then not used.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

import torch
from torch import Tensor

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
