"""A conditional diffusion model, small enough to train and sample on one processor.

How it is trained, and the noise levels, scalings and sampler of EDM: Karras, Aittala, Aila, Laine
(2022), Table 1 and Algorithm 1. Noise is in the training scale, where each coordinate of theta has
standard deviation 0.5.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, ClassVar, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from validation_core import sampling
from validation_core.keys import check_options
from validation_core.learn.scaling import moments
from validation_core.learn.stored_network import StoredNetwork
from validation_core.pieces import slices
from validation_core.rng import stream
from validation_core.scores import Recipe
from validation_core.types import Array, Benchmark, Joint, Preset

if TYPE_CHECKING:
    from torch import Tensor

    from validation_core.keys import Arrays
    from validation_core.study import Report


_State = TypeVar("_State", "Tensor", NDArray[np.floating])

SIGMA_DATA = 0.5
STEPS = 20
"""Reverse steps of Chen, Bansal, Scott, Appendix C.3."""
LEFT_OUT = (0, 1, 2, 3, 4, 5)
"""Of them, the last ones that a benchmark's q leaves out, as gamma rises."""

_HIGH, _LOW, _RHO = 80.0, 0.002, 7.0


def steps_left_out(gamma: float) -> int:
    """Gamma as a number of steps that are left out.

    Raises:
        ValueError: unless it is one of `LEFT_OUT`.
    """
    if gamma not in LEFT_OUT:
        raise ValueError(
            f"gamma counts the steps left out, an integer from 0 to {LEFT_OUT[-1]}; got "
            f"{gamma:g}. Choose one of those."
        )
    return int(gamma)


@dataclass(frozen=True, kw_only=True)
class Diffusion(Recipe, spec="diffusion"):
    """Recipe of an EDM model of theta given x (Karras et al. 2022); with a seed it fixes a
    network.

    Chen, Bansal, Scott, CoLT, Appendix C.3, train one on the spiral; width, depth and batch are
    our choice.
    """

    pairs: int = field(
        default=32_768,
        metadata={"label": "Training pairs", "min": 100, "max": 1_000_000, "help": "(theta, x)"},
    )
    epochs: int = field(default=700, metadata={"label": "Epochs", "min": 1, "max": 100_000})
    lr: float = field(
        default=3e-3,
        metadata={
            "label": "Initial learning rate",
            "min": 1e-6,
            "max": 0.1,
            "help": "Adam's; a cosine takes it to 0.",
        },
    )
    batch: int = field(default=512, metadata={"label": "Batch", "min": 16, "max": 65_536})
    hidden: int = field(
        default=48,
        metadata={
            "label": "Hidden units",
            "min": 8,
            "max": 1024,
            "help": "Sampling evaluates the network 39 times; its cost grows with the square.",
        },
    )
    layers: int = field(default=3, metadata={"label": "Hidden layers", "min": 1, "max": 10})
    clip: float = field(
        default=10.0,
        metadata={
            "label": "Largest gradient",
            "min": 0.01,
            "max": 1000.0,
            "help": "Norm to which a step's gradient is shortened.",
        },
    )

    def __post_init__(self) -> None:
        check_options(self)

    one_scale: ClassVar[bool] = False
    """Whether all coordinates of theta share a scale, as the pixels of an image do."""

    @property
    def label(self) -> str:
        """Name for a list of trained models."""
        return "diffusion model"

    def sample(self, benchmark: Benchmark, gamma: float, rng: np.random.Generator) -> Joint:
        """Draw pairs (theta, x) of the truth."""
        return sampling.pairs(benchmark, gamma, self.pairs, rng)

    def learn_all(
        self, data: Sequence[Joint], seeds: Sequence[int], report: Report | None = None
    ) -> list[TrainedDiffusion]:
        """Train one model for each set of pairs and seed."""
        from validation_core.learn.in_turn import train_in_turn

        return train_in_turn(train_diffusion, data, self, seeds, report)

    def read(self, arrays: Arrays, *, seconds: float, device: str) -> TrainedDiffusion:
        """Rebuild a model from `TrainedDiffusion.arrays`."""

        return TrainedDiffusion.read(arrays, seconds=seconds, device=device)

    @classmethod
    def preset(cls, name: Preset) -> Diffusion:
        """`paper`: 50,000 epochs at 1e-4 (over an hour). `interactive`: a minute or two."""
        return PRESETS[name]


PRESETS: dict[Preset, Diffusion] = {
    "interactive": Diffusion(),
    "paper": Diffusion(epochs=50_000, lr=1e-4),
}


def noise_levels(n: int = STEPS) -> NDArray[np.float64]:
    """Noise sd t_0 > ... > t_n before the first step and after each of n: (n + 1,), from 80 to
    0.002, then 0.

    t_i = (80^(1/7) + i / (n - 1) (0.002^(1/7) - 80^(1/7)))^7 (Karras et al. 2022, Equation 5).

    Raises:
        ValueError: for fewer than two steps.
    """
    if n < 2:
        raise ValueError(f"A sampler takes at least two steps; got {n}. Raise it.")
    high, low = _HIGH ** (1 / _RHO), _LOW ** (1 / _RHO)
    return np.append((high + np.arange(n) / (n - 1) * (low - high)) ** _RHO, 0.0)


class _Scalings(NamedTuple):
    """D(theta; s) = skip theta + out F(into theta, code): F sees and gives unit variance."""

    skip: Array
    out: Array
    into: Array
    code: Array


def edm_scalings(sigma: Array | float) -> _Scalings:
    """EDM's scalings at noise sd `sigma`, each of its shape."""
    total = np.sqrt(np.square(sigma) + SIGMA_DATA**2)
    return _Scalings(
        skip=SIGMA_DATA**2 / total**2,
        out=sigma * SIGMA_DATA / total,
        into=1 / total,
        code=np.log(sigma) / 4,
    )


def sampling_trajectory(
    denoise: Callable[[_State, float], _State], latents: _State, total: int = STEPS
) -> Iterator[_State]:
    """Generate the states before the first step and after each of `total` steps, lazily.

    Args:
        denoise: D(state, sd of its noise).
        latents: standard normal (n, D); everything follows from them.
        total: steps of the whole way.
    """
    schedule = [float(level) for level in noise_levels(total)]
    state = latents * schedule[0]
    yield state
    for now, after in itertools.pairwise(schedule):
        slope = (state - denoise(state, now)) / now
        euler = state + slope * (after - now)
        if after > 0:
            slope = (slope + (euler - denoise(euler, after)) / after) / 2
            state = state + slope * (after - now)
        else:  # D has no slope at 0
            state = euler
        yield state


_CPU_ROWS, _GPU_ROWS = 1024, 1 << 17  # rows per pass: as many as fit a core's cache, a GPU


@dataclass(frozen=True, eq=False)
class TrainedDiffusion(StoredNetwork):
    """A trained network, with the affine maps between its units and those of the data."""

    network: Mapping[str, NDArray[np.float32]]
    theta_shift: NDArray[np.float32]  # (D,)
    theta_scale: NDArray[np.float32]  # (D,), one unit of the training scale in theta's units
    x_shift: NDArray[np.float32]  # (M,)
    x_scale: NDArray[np.float32]  # (M,)
    history: Mapping[str, NDArray[np.floating]]
    """epoch and loss at every check; 0 is perfect only where x fixes theta."""
    seconds: float = 0.0
    device: str = "cpu"

    @property
    def summary(self) -> Mapping[str, float]:
        """Last training loss, for lists of networks."""
        return {"loss": float(self.history["loss"][-1])}

    def noise(self, total: int = STEPS) -> Array:
        """Noise sd left by a perfect network after each step: (total + 1, D), in theta's units.

        Row k belongs to the state after step k; row 0 to the latents.
        """
        return noise_levels(total)[:, None] * self.theta_scale

    def sample(
        self, x: Array, steps: Sequence[int], latents: Array, total: int = STEPS
    ) -> list[NDArray[np.float32]]:
        """Sample one trajectory at each x; the states after the given steps, (n, D) each.

        Args:
            x: (n, M), in the data's units.
            steps: which states, 0 (latents) to `total` (the sample), in any order.
            latents: standard normal (n, D); use others for samples that are to be independent.
            total: reverse steps of the whole trajectory.

        Raises:
            ValueError: for a step outside 0 to `total`, or shapes that do not fit the network.
        """
        from validation_core.learn import perceptron

        self._check(x, steps, latents, total)
        import torch

        device = perceptron.pick_device()
        parameters = perceptron.tensors(self.network, device)
        out = [np.empty(latents.shape, dtype=np.float32) for _ in steps]
        size = _CPU_ROWS if device == "cpu" else _GPU_ROWS
        with torch.inference_mode():
            for part in slices(len(x), size):
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

    from validation_core.estimators.diffusion import network

    about_x = network.embed_x(parameters, x)

    def denoise(state: Tensor, sigma: float) -> Tensor:
        skip, out, into, code = (float(scale) for scale in edm_scalings(sigma))
        level = network.embed_level(parameters, torch.full((1, 1), code, device=state.device))
        prediction = network.forward_pass(parameters, state * into, about_x, level)
        return state * skip + prediction * out

    return list(itertools.islice(sampling_trajectory(denoise, latents, total), last + 1))


def train_diffusion(
    data: Joint, recipe: Diffusion, seed: int, report: Report | None = None
) -> TrainedDiffusion:
    """Train a diffusion model of theta given x.

    Args:
        data: all training pairs, theta (n, D) and x (n, M).
        recipe: network and optimiser settings.
        seed: of the initial parameters, the order of rows and the noise.
        report: called with the progress.
    """
    from validation_core.estimators.diffusion.network import NetworkShape, fit_network
    from validation_core.learn import perceptron, training

    where = perceptron.pick_device()
    theta_shift, theta_sd = (part.astype(np.float32) for part in moments(data.theta))
    if recipe.one_scale:
        theta_sd = np.full_like(theta_sd, np.sqrt(np.mean(theta_sd**2)))
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
        lambda: fit_network(theta, x, start, recipe, rng, report=report, device=where)
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
