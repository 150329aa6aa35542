"""The spiral: theta is a point on a curve, and q stops a diffusion's sampler some steps early.

Chen, Bansal, Scott, CoLT, Appendix C.3. x ~ Unif[1.5 pi, 4.5 pi] and theta(x) =
(x cos x, x sin x). A diffusion after Karras et al. (2022), Elucidating the design space of
diffusion-based generative models (EDM), draws theta in 20 reverse steps; its last state is the
truth, its state gamma steps before that is q. CoLT trains one; here the denoiser is the ideal one,
which knows theta(x): its state after k steps is theta(x) + t_k N(0, I), in closed form. (The start
from 80 N(0, I) instead of theta(x) + 80 N(0, I) also draws the mean a share t_k / 80, at most
.0013, towards 0; that is left out.) Appendix D.4 has power rise as q comes nearer to the last
step; it falls.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, ClassVar, Literal

import numpy as np

from validation_core.estimators.diffusion import (
    LEFT_OUT,
    STEPS,
    Diffusion,
    noise_levels,
    steps_left_out,
)
from validation_core.types import Array, Benchmark, Paper

if TYPE_CHECKING:
    from validation_core.estimators.diffusion import TrainedDiffusion

_LOADED_GENERATORS: dict[str, TrainedDiffusion] = {}

LOW, HIGH = 1.5 * np.pi, 4.5 * np.pi
"""Range of x."""

SIGMA_DATA = 0.5
"""Standard deviation of each coordinate of theta: the scale for which EDM is tuned."""

# Moments of (x cos x, x sin x) over x in [1.5 pi, 4.5 pi], by parts. Means: 2 and 2 / (3 pi).
# Mean squares: E[x^2] / 2 -+ 1/4, where E[x^2] = 9.75 pi^2.
MEAN = np.array([2.0, 2 / (3 * np.pi)])
"""Mean of the bare curve."""
SD = np.sqrt(4.875 * np.pi**2 + np.array([-0.25, 0.25]) - MEAN**2)
"""Standard deviations of the bare curve's coordinates, 6.62 and 6.95."""


def spiral_curve(x: Array) -> Array:
    """theta(x), standardised to mean 0 and sd 0.5 in each coordinate: (n, 2) of x (n, 1)."""
    # A column of its own, so that equal x give equal bits however they are laid out.
    angle = np.ascontiguousarray(x[:, 0])
    bare = np.stack([angle * np.cos(angle), angle * np.sin(angle)], axis=1)
    return SIGMA_DATA * (bare - MEAN) / SD


def _ideal_state(x: Array, step: int, rng: np.random.Generator) -> Array:
    """Draw an ideal denoiser's state once after `step` of the 20 steps: (n, 2)."""
    return spiral_curve(x) + noise_levels()[step] * rng.standard_normal((len(x), 2))


@dataclass(frozen=True, kw_only=True)
class Spiral(Benchmark):
    """A point on a spiral, and a sampler that stops gamma steps early.

    Examples:
        >>> benchmark = npt.Spiral()
        >>> benchmark.dims, benchmark.q(benchmark.x(5, rng), 2, rng).shape
        ((2, 1), (5, 2))
    """

    name: ClassVar[str] = "spiral"
    title: ClassVar[str] = "Spiral"
    gamma_title: ClassVar[str] = "Reverse steps left out, gamma"
    paper: ClassVar[Paper] = Paper(
        "Chen, Bansal, Scott", 2025, "Conditional localization test", "Appendix C.3"
    )
    model: Literal["ideal", "diffusion"] = field(
        default="ideal",
        metadata={
            "label": "Denoiser",
            "help": "ideal: in closed form; diffusion: a network trained on the spiral.",
        },
    )

    def __post_init__(self) -> None:
        if self.model not in ("ideal", "diffusion"):
            raise ValueError(
                f"model is ideal or diffusion; got {self.model!r}. Choose one of those."
            )

    @property
    def summary(self) -> str:
        """Effect of gamma on q, in one sentence."""
        return "q leaves out the last gamma of a diffusion's 20 reverse steps"

    @property
    def label(self) -> str:
        """Title, with the denoiser."""
        return f"{self.title}, {'ideal' if self.model == 'ideal' else 'trained'} denoiser"

    @property
    def sampler(self) -> Diffusion | None:
        """Training recipe of the network that draws p and q; None in closed form."""
        return Diffusion() if self.model == "diffusion" else None

    @property
    def truth(self) -> Spiral:
        """The benchmark whose pairs train the network."""
        return Spiral()

    def use_network(self, network: TrainedDiffusion) -> None:
        """Use this network in this process from now on."""
        _LOADED_GENERATORS[self.model] = network

    @property
    def gammas(self) -> tuple[float, ...]:
        """Numbers of steps left out. At 0 p and q are one point: all draws tie with the truth."""
        return LEFT_OUT

    def check_gamma(self, gamma: float) -> None:
        """Refuse what is no number of steps to leave out."""
        steps_left_out(gamma)

    @property
    def dims(self) -> tuple[int, int]:
        """Dimensions of theta and of x: 2 and 1."""
        return 2, 1

    def x(self, n: int, rng: np.random.Generator) -> Array:
        """Draw x uniformly on [1.5 pi, 4.5 pi]: (n, 1)."""
        return rng.uniform(LOW, HIGH, (n, 1))

    def theta(self, x: Array, gamma: float, rng: np.random.Generator) -> Array:
        """State after the last step: the point on the curve, or the network's sample: (n, 2)."""
        del gamma
        return self._state(x, STEPS, rng)

    def q(self, x: Array, gamma: float, rng: np.random.Generator) -> Array:
        """State gamma steps before the last (n, 2); in closed form theta(x) + t N(0, I).

        Raises:
            ValueError: unless gamma is an integer from 0 to 5.
        """
        return self._state(x, STEPS - steps_left_out(gamma), rng)

    def _state(self, x: Array, step: int, rng: np.random.Generator) -> Array:
        if self.model == "ideal":
            return _ideal_state(x, step, rng)
        if self.model not in _LOADED_GENERATORS:
            raise ValueError(
                "The trained spiral draws from a network; got none in this process. Let "
                "trained_scores.ready fetch or train it."
            )
        latents = rng.standard_normal((len(x), 2))
        (state,) = _LOADED_GENERATORS[self.model].sample(x, [step], latents, total=STEPS)
        return np.asarray(state, dtype=np.float64)

    def log_ratio(self, theta: Array, x: Array, gamma: float) -> None:
        """None: p is a point and has no density."""

    def log_p(self, theta: Array, x: Array, gamma: float) -> None:
        """None: p is a point and has no density."""
