"""Gravitational lensing: theta is a galaxy, x its lensed, blurred and noisy image.

Bansal, Chen, Scott, Conformal C2ST, Section 5.3. theta ~ N(m, P) over 16 x 16 pixels,
x = A theta + noise, A a lens and a blur; q draws by a reverse diffusion whose score is
(1 - gamma) s_true + gamma s_biased. The paper does not say what its A, its noise and its biased
score are; those here are ours. The prior is fitted to real galaxies, the lens is a singular
isothermal ellipsoid, and p(theta | x) = N(m + K (x - A m), Sigma) has at noise level t the score

    s_true = -(Sigma + t^2 I)^-1 (theta_t - m - K (x - A m)).

Two scores are biased in ways that happen:

- turned lens: the same of the posterior under a lens at a wrong angle. The mean galaxy's image is
  taken through the right one: q is off at every x and right on average, which a test of marginals
  would see at once.
- convolved likelihood: an approximation in use, exact at t = 0 only, that takes theta_0 | theta_t
  for N(theta_t, t^2 I): Adam et al. (2022), Posterior samples of source galaxies in strong
  gravitational lenses with score-based priors (arXiv 2211.03812). It counts the data twice where
  t is larger than the prior, so that q overshoots at any x alike: statistics of theta's size, as
  TARP's, see it first.

      s_biased = -(P + t^2 I)^-1 (theta_t - m) + A' (sd^2 I + t^2 A A')^-1 (x - A theta_t)

  Diffusion posterior sampling (Chung et al. 2022) leaves out theta_0's spread and would need a
  step size to be stable.

All is linear and Gaussian, so that q is a Gaussian too, found by carrying mean and covariance
through the sampler's steps.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import ClassVar, Literal, NamedTuple

import numpy as np
from scipy.linalg import solve_triangular

from validation_core.benchmarks.galaxies import SIDE, Galaxies, load_galaxies
from validation_core.benchmarks.galaxy_files import galaxies_identity, probes_file
from validation_core.benchmarks.lens import lens_matrix
from validation_core.benchmarks.reverse_diffusion import (
    diffusion_estimator,
    sample_reverse_diffusion,
)
from validation_core.scores.classifier import Classifier
from validation_core.types import Array, Benchmark, Paper


def downsample(images: Array) -> Array:
    """Means over areas: (n, H, W) to (n, 16, 16), pixels shared out where sides do not divide."""
    rows, columns = (_area_weights(size) for size in images.shape[1:])
    return np.asarray(rows @ images @ columns.T)


def _area_weights(size: int) -> Array:
    """How much each of `size` pixels has in each of 16 equal stretches: (16, size), rows 1."""
    edges = np.linspace(0, size, SIDE + 1)
    left, right = np.arange(size), np.arange(1, size + 1)
    overlap = np.minimum(edges[1:, None], right) - np.maximum(edges[:-1, None], left)
    return np.asarray(np.clip(overlap, 0, None) * SIDE / size)


Lens = Literal["isothermal", "affine"]
Bias = Literal["turned lens", "convolved likelihood"]
PIXELS = SIDE**2
"""Dimensions of theta, and of x."""
RIDGE = 0.02**2
"""Variance added to every pixel of the prior, in units of the mean peak: 256 pixels have a
covariance of full rank, and a galaxy's dark corners some light."""
EINSTEIN = 0.45
"""Einstein radius; the image reaches from -1 to 1."""
AXIS_RATIO = 0.75
"""Of the lens's isodensity ellipses."""
ANGLE = 0.6
"""Radians by which the lens is turned."""
TURNED: Mapping[Lens, float] = {"isothermal": 0.6, "affine": 0.15}
"""Radians by which the turned lens is turned further: less where all of the image turns."""
SOURCE = 0.6
"""Half the side of the source's window: rays from all of the image but its corners meet it."""
BLUR = 1.0
"""Standard deviation of the blur, in pixels of the image."""
NOISE = 0.1
"""Standard deviation of the noise, in units of the mean peak: some 18 of the 256 directions of
theta are settled by x, the others left to the prior."""
WARP = ((0.85, -0.30), (0.40, 0.75))
"""What the affine lens does to a place of the image: a turn, a shear and a magnification."""
STEPS = 100
"""Of the reverse diffusion."""
LARGEST, SMALLEST = 30.0, 0.003
"""Its noise levels, geometric in between: some ten times the prior's widest direction, and less
than the posterior's narrowest."""
STRENGTHS = (0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.7, 0.85, 1.0)
"""The grid of gamma."""


class GaussianLaw(NamedTuple):
    """A Gaussian of theta given x: N(m + gain (x - A m), root root')."""

    gain: Array  # (D, M)
    root: Array  # (D, D), lower
    whitening: Array  # (D, D), the inverse of root

    @classmethod
    def of(cls, gain: Array, covariance: Array) -> GaussianLaw:
        """From its covariance (D, D)."""
        root = np.linalg.cholesky((covariance + covariance.T) / 2)
        whitening = solve_triangular(root, np.eye(len(root)), lower=True)
        return cls(gain, root, whitening)

    @property
    def covariance(self) -> Array:
        """(D, D)."""
        return np.asarray(self.root @ self.root.T)

    def draws(self, off: Array, rng: np.random.Generator) -> Array:
        """theta - m (n, D), one for each x - A m (n, M)."""
        return np.asarray(off @ self.gain.T + rng.standard_normal(off.shape) @ self.root.T)

    def log_density(self, theta: Array, off: Array) -> Array:
        """Of theta - m (n, D) at x - A m (n, M): (n,)."""
        z = (theta - off @ self.gain.T) @ self.whitening.T
        constant = np.log(np.diag(self.whitening)).sum() - 0.5 * PIXELS * np.log(2 * np.pi)
        return np.asarray(constant - 0.5 * np.einsum("ij,ij->i", z, z))


class _PosteriorMoments(NamedTuple):
    """Of a Gaussian of theta at each of n images."""

    mean: Array
    """(n, D)."""
    sd: Array
    """(D,), the same at each."""


class LensingSystem(NamedTuple):
    """A prior and a lens: all that gamma leaves alone."""

    mean: Array  # (D,) m
    prior: Array  # (D, D) P
    prior_root: Array  # (D, D), lower
    lens: Array  # (M, D) A
    seen: Array  # (M,) A m
    posterior: GaussianLaw
    turned: GaussianLaw  # the posterior under the turned lens


@cache
def lensing_system(lens: Lens, galaxies: Galaxies, path: str) -> LensingSystem:
    """By options; `path` is the file that the galaxies are from."""
    del path  # part of the key: another file, another prior
    mean, prior = _prior(galaxies)
    forward = lens_matrix(lens)
    laws = [_posterior(prior, lens_matrix(lens, turned)) for turned in (0.0, TURNED[lens])]
    return LensingSystem(mean, prior, np.linalg.cholesky(prior), forward, forward @ mean, *laws)


def _posterior(prior: Array, forward: Array) -> GaussianLaw:
    """Of theta - m given x - A m, by conjugacy."""
    covariance = np.linalg.inv(np.linalg.inv(prior) + forward.T @ forward / NOISE**2)
    return GaussianLaw.of(covariance @ forward.T / NOISE**2, covariance)


def _prior(name: Galaxies) -> tuple[Array, Array]:
    """Mean (D,) and covariance (D, D) of galaxies, in all eight symmetries of the square."""
    images = load_galaxies(name)
    turned = [
        np.rot90(side, turns, (1, 2))
        for side in (images, images[:, :, ::-1])
        for turns in range(4)
    ]
    pixels = np.concatenate(turned).reshape(-1, PIXELS)
    return pixels.mean(0), np.cov(pixels.T) + RIDGE * np.eye(PIXELS)


def _check(gamma: float) -> None:
    if not 0 <= gamma <= 1:
        raise ValueError(f"gamma mixes two scores, 0 to 1; got {gamma:g}. Choose in between.")


@dataclass(frozen=True, kw_only=True)
class Lensing(Benchmark):
    """A galaxy behind a gravitational lens, and a diffusion that draws it with a biased score."""

    name: ClassVar[str] = "lensing"
    title: ClassVar[str] = "Gravitational lensing"
    paper: ClassVar[Paper] = Paper("Bansal, Chen, Scott", 2025, "Conformal C2ST", "Section 5.3")
    lens: Lens = field(
        default="isothermal",
        metadata={
            "label": "Lens",
            "help": "isothermal: a singular isothermal ellipsoid; affine: the paper's warp.",
        },
    )
    galaxies: Galaxies = field(
        default="hubble",
        metadata={
            "label": "Galaxies",
            "stored": "galaxies_read",
            "help": "What the prior is fitted to. hubble: sources of the Hubble Deep Field; "
            "probes: images of the file that NPTLAB_PROBES names.",
        },
    )
    biased: Bias = field(
        default="turned lens",
        metadata={
            "label": "Biased score",
            "help": "turned lens: the posterior's under a lens at a wrong angle; convolved "
            "likelihood: an approximation in use that counts the data twice at high noise.",
        },
    )
    diffusion: Literal["closed form", "reverse SDE"] = field(
        default="closed form",
        metadata={
            "label": "Diffusion of q",
            "help": "closed form: the Gaussian that the diffusion's steps lead to; reverse SDE: "
            "the steps themselves.",
        },
    )

    def __post_init__(self) -> None:
        if self.galaxies.startswith("probes:"):  # as a key says it
            object.__setattr__(self, "galaxies", "probes")
        options = {
            "lens": ("isothermal", "affine"),
            "galaxies": ("hubble", "probes"),
            "biased": ("turned lens", "convolved likelihood"),
            "diffusion": ("closed form", "reverse SDE"),
        }
        for name, choices in options.items():
            if getattr(self, name) not in choices:
                raise ValueError(
                    f"{name} is {' or '.join(choices)}; got {getattr(self, name)!r}. Choose one "
                    "of those."
                )

    @property
    def summary(self) -> str:
        """What gamma does."""
        return "the score of q's diffusion is (1 − gamma) times the true one plus gamma a biased"

    @property
    def label(self) -> str:
        """Title with the options that are not usual."""
        options = [
            *(["affine warp"] if self.lens == "affine" else []),
            *(["PROBES galaxies"] if self.galaxies == "probes" else []),
            *(["convolved likelihood"] if self.biased != "turned lens" else []),
            *(["reverse SDE"] if self.diffusion == "reverse SDE" else []),
        ]
        return ", ".join([self.title, *options])

    @property
    def gammas(self) -> tuple[float, ...]:
        """From the true score to the biased one."""
        return STRENGTHS

    @property
    def dims(self) -> tuple[int, int]:
        """16 x 16 pixels of the source, and of the image."""
        return PIXELS, PIXELS

    @property
    def classifier(self) -> Classifier:
        """What C2ST, Multiple and Uniform learn: raw pixels, the paper's 2000 + 2000 rows.

        One wide layer: q is wrong in products of pixels, and on 4000 rows of 512 pixels three
        layers of 256 find as much of it (convolved likelihood, gamma = 1: AUC .592 against .593)
        in thrice the time.
        """
        return Classifier(train=2000, epochs=60, lr=2e-3, batch=128, layers=1, hidden=512)

    def x(self, n: int, rng: np.random.Generator) -> Array:
        """Images of n galaxies from the prior: (n, M)."""
        system = self._system
        sources = rng.standard_normal((n, PIXELS)) @ system.prior_root.T
        noise = NOISE * rng.standard_normal((n, PIXELS))
        return np.asarray(system.seen + sources @ system.lens.T + noise)

    def theta(self, x: Array, gamma: float, rng: np.random.Generator) -> Array:
        """A source from the exact posterior at each image: (n, D)."""
        del gamma
        system = self._system
        return np.asarray(system.mean + system.posterior.draws(x - system.seen, rng))

    def q(self, x: Array, gamma: float, rng: np.random.Generator) -> Array:
        """A source from the diffusion at each image: (n, D).

        Raises:
            ValueError: for a gamma outside 0 to 1.
        """
        _check(gamma)
        system = self._system
        if self.diffusion == "reverse SDE":
            off = sample_reverse_diffusion(system, self.biased, gamma, x - system.seen, rng)
        else:
            off = self._estimator(gamma).draws(x - system.seen, rng)
        return np.asarray(system.mean + off)

    def log_p(self, theta: Array, x: Array, gamma: float) -> Array:
        """The posterior's log density: (n,)."""
        del gamma
        system = self._system
        return system.posterior.log_density(theta - system.mean, x - system.seen)

    def log_ratio(self, theta: Array, x: Array, gamma: float) -> Array:
        """log p - log q_gamma, both Gaussian: (n,); 0 at gamma = 0."""
        if gamma == 0:
            return np.zeros(len(theta))
        system = self._system
        log_q = self._estimator(gamma).log_density(theta - system.mean, x - system.seen)
        return np.asarray(self.log_p(theta, x, gamma) - log_q)

    @property
    def forward(self) -> Array:
        """A (M, D): the lens, then the blur."""
        return self._system.lens

    def sources(self) -> Array:
        """The galaxies (n, D) that the prior is fitted to."""
        return load_galaxies(self.galaxies).reshape(-1, PIXELS)

    def moments(self, x: Array, gamma: float) -> _PosteriorMoments:
        """Mean and standard deviations of q_gamma at images x (n, M); of p at gamma = 0."""
        system, law = self._system, self._estimator(gamma)
        mean = system.mean + (x - system.seen) @ law.gain.T
        return _PosteriorMoments(np.asarray(mean), np.sqrt(np.diag(law.covariance)))

    @property
    def galaxies_read(self) -> str:
        """The galaxies as a stored key names them, with the identity of a user's file."""
        return galaxies_identity(self.galaxies)

    @property
    def _path(self) -> str:
        return f"{probes_file()} {self.galaxies_read}" if self.galaxies == "probes" else ""

    @property
    def _system(self) -> LensingSystem:
        return lensing_system(self.lens, self.galaxies, self._path)

    def _estimator(self, gamma: float) -> GaussianLaw:
        _check(gamma)
        return diffusion_estimator(self.lens, self.galaxies, self._path, self.biased, float(gamma))
