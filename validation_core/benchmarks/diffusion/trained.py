"""A trained diffusion model: its network, the scaling of its data, its samples."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from validation_core.benchmarks.diffusion import (
    SIGMA_DATA,
    STEPS,
    Diffusion,
    levels,
    scalings,
    trajectory,
)
from validation_core.learn.standardizer import moments
from validation_core.learn.stored import StoredNetwork
from validation_core.rng import stream
from validation_core.types import Array, Joint

if TYPE_CHECKING:
    from torch import Tensor

    from validation_core.learn.training import Report

_CPU_ROWS, _GPU_ROWS = 1024, 1 << 17  # rows per pass: what stays in a core's cache, in a GPU


@dataclass(frozen=True, eq=False)
class TrainedDiffusion(StoredNetwork):
    """A network and the affine maps between the data's units and its own."""

    network: Mapping[str, NDArray[np.float32]]
    theta_shift: NDArray[np.float32]  # (D,)
    theta_scale: NDArray[np.float32]  # (D,), what one unit of the training scale is worth
    x_shift: NDArray[np.float32]  # (M,)
    x_scale: NDArray[np.float32]  # (M,)
    history: Mapping[str, NDArray[np.floating]]
    """epoch and loss at every check; 0 is perfect only where x fixes theta."""
    seconds: float = 0.0
    device: str = "cpu"

    @property
    def summary(self) -> Mapping[str, float]:
        """Its last loss, for lists of networks."""
        return {"loss": float(self.history["loss"][-1])}

    def noise(self, total: int = STEPS) -> Array:
        """Sd of what a perfect network would leave after each step: (total + 1, D), theta's units.

        Row k belongs to the state after step k; row 0 to the latents.
        """
        return levels(total)[:, None] * self.theta_scale

    def sample(
        self, x: Array, steps: Sequence[int], latents: Array, total: int = STEPS
    ) -> list[NDArray[np.float32]]:
        """The states after the asked steps of one trajectory at each x: (n, D) each.

        Args:
            x: (n, M), in the data's units.
            steps: which states, 0 (latents) to `total` (the sample), in any order.
            latents: standard normal (n, D); use others for samples that are to be independent.
            total: reverse steps of the whole trajectory.

        Raises:
            ValueError: for a step outside 0 to `total`, or shapes that do not fit the network.
        """
        self._check(x, steps, latents, total)
        import torch

        from validation_core.learn import nets

        device = nets.pick_device()
        parameters = nets.tensors(self.network, device)
        out = [np.empty(latents.shape, dtype=np.float32) for _ in steps]
        size = _CPU_ROWS if device == "cpu" else _GPU_ROWS
        with torch.inference_mode():
            for first in range(0, len(x), size):
                part = slice(first, first + size)
                scaled = ((x[part] - self.x_shift) / self.x_scale).astype(np.float32)
                states = _states(
                    parameters,
                    torch.from_numpy(scaled).to(device),
                    torch.from_numpy(np.asarray(latents[part], dtype=np.float32)).to(device),
                    max(steps, default=0),
                    total,
                )
                for samples, step in zip(out, steps, strict=True):
                    samples[part] = (
                        states[step].cpu().numpy() * self.theta_scale + self.theta_shift
                    )
        return out

    def _check(self, x: Array, steps: Sequence[int], latents: Array, total: int) -> None:
        if any(not 0 <= step <= total for step in steps):
            raise ValueError(f"Steps lie between 0 and {total}; got {list(steps)}. Choose within.")
        fitting = (len(x), len(self.x_shift)), (len(x), len(self.theta_shift))
        if (x.shape, latents.shape) != fitting:
            raise ValueError(
                f"This model takes x {fitting[0]} and latents {fitting[1]}; got {x.shape} and "
                f"{latents.shape}. Bring one row of latents for each row of x."
            )


def _states(
    parameters: Mapping[str, Tensor], x: Tensor, latents: Tensor, last: int, total: int
) -> list[Tensor]:
    """States 0 to `last` of the trajectories at standardised x, in the training scale."""
    import torch

    from validation_core.benchmarks.diffusion import network

    about_x = network.embed_x(parameters, x)

    def denoise(state: Tensor, sigma: float) -> Tensor:
        skip, out, into, code = (float(scale) for scale in scalings(sigma))
        level = network.embed_level(parameters, torch.full((1, 1), code, device=state.device))
        prediction = network.forward(parameters, state * into, about_x, level)
        return state * skip + prediction * out

    return list(itertools.islice(trajectory(denoise, latents, total), last + 1))


def learn(
    data: Joint,
    recipe: Diffusion,
    seed: int,
    report: Report | None = None,
    device: str | None = None,
) -> TrainedDiffusion:
    """Train a model of theta given x on all of `data`, of which a recipe asks `pairs` rows.

    The seed fixes the start, the order of rows and the noise.
    """
    from validation_core.benchmarks.diffusion.network import NetworkShape, fit
    from validation_core.learn import nets, training

    where = nets.pick_device(device)
    theta_shift, theta_sd = (part.astype(np.float32) for part in moments(data.theta))
    x_shift, x_scale = (part.astype(np.float32) for part in moments(data.x))
    theta_scale = theta_sd / np.float32(SIGMA_DATA)
    shape = NetworkShape(
        theta=len(theta_shift), x=len(x_shift), hidden=recipe.hidden, layers=recipe.layers
    )
    theta = ((data.theta - theta_shift) / theta_scale).astype(np.float32)
    x = ((data.x - x_shift) / x_scale).astype(np.float32)
    start = shape.initial(stream(seed, "initial"))
    rng = stream(seed, "noise and order")
    fitted, seconds = training.timed(
        lambda: fit(theta, x, start, recipe, rng, report=report, device=where)
    )
    return TrainedDiffusion(
        fitted.parameters,
        theta_shift,
        theta_scale,
        x_shift,
        x_scale,
        fitted.history,
        seconds=seconds,
        device=where,
    )
