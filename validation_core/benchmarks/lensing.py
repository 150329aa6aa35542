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

from dataclasses import dataclass, field
from typing import ClassVar, Literal

import numpy as np

from validation_core.benchmarks.galaxies import Galaxies
from validation_core.benchmarks.galaxy_files import galaxies_identity, load_galaxies, probes_file
from validation_core.benchmarks.lens import NOISE, PIXELS, Bias, Lens
from validation_core.benchmarks.lensing_system import (
    GaussianLaw,
    LensingSystem,
    PosteriorMoments,
    lensing_system,
)
from validation_core.benchmarks.reverse_diffusion import (
    diffusion_estimator,
    sample_reverse_diffusion,
)
from validation_core.scores.classifier import Classifier
from validation_core.settings import PROBES
from validation_core.types import Array, Benchmark, GammaDomain, Paper

STRENGTHS = (0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.7, 0.85, 1.0)
"""The grid of gamma."""


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
            "help": "isothermal: a singular isothermal ellipsoid; affine: a warp like the "
            "paper's, which prints no numbers of it.",
        },
    )
    galaxies: Galaxies = field(
        default="hubble",
        metadata={
            "label": "Galaxies",
            "stored": "galaxies_read",
            "lacks": lambda option: "" if option == "hubble" or PROBES.value() else "needs data",
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
        """Effect of gamma on q, in one sentence."""
        return (
            "the score of q's diffusion is (1 − gamma) times the true one plus gamma times a "
            "biased one"
        )

    @property
    def label(self) -> str:
        """Title, with the options that differ from their defaults."""
        options = [
            *(["affine warp"] if self.lens == "affine" else []),
            *(["PROBES galaxies"] if self.galaxies == "probes" else []),
            *(["convolved likelihood"] if self.biased != "turned lens" else []),
            *(["reverse SDE"] if self.diffusion == "reverse SDE" else []),
        ]
        return ", ".join([self.title, *options])

    @property
    def gammas(self) -> tuple[float, ...]:
        """Weights of the biased score, 0 to 1."""
        return STRENGTHS

    @property
    def domain(self) -> GammaDomain:
        """A weight, 0 to 1."""
        return GammaDomain("the weight of the biased score", 0, 1)

    @property
    def dims(self) -> tuple[int, int]:
        """Dimensions of theta and of x: 16 x 16 pixels each."""
        return PIXELS, PIXELS

    @property
    def classifier(self) -> Classifier:
        """Recipe of the classifier of C2ST, Multiple and Uniform: raw pixels, the paper's 4000
        rows.

        One wide layer: q is wrong in products of pixels, and on 4000 rows of 512 pixels three
        layers of 256 find as much of it (convolved likelihood, gamma = 1: AUC .592 against .593)
        in thrice the time.
        """
        return Classifier(train=2000, epochs=60, lr=2e-3, batch=128, layers=1, hidden=512)

    def x(self, n: int, rng: np.random.Generator) -> Array:
        """Draw images of n galaxies from the prior: (n, M)."""
        system = self.system
        sources = rng.standard_normal((n, PIXELS)) @ system.prior_root.T
        noise = NOISE * rng.standard_normal((n, PIXELS))
        return np.asarray(system.seen + sources @ system.lens.T + noise)

    def theta(self, x: Array, gamma: float, rng: np.random.Generator) -> Array:
        """Draw a source from the exact posterior at each image: (n, D)."""
        del gamma
        system = self.system
        return np.asarray(system.mean + system.posterior.draws(x - system.seen, rng))

    def q(self, x: Array, gamma: float, rng: np.random.Generator) -> Array:
        """Draw a source from the diffusion at each image: (n, D).

        Raises:
            ValueError: for a gamma outside 0 to 1.
        """
        self.check_gamma(gamma)
        system = self.system
        if self.diffusion == "reverse SDE":
            off = sample_reverse_diffusion(system, self.biased, gamma, x - system.seen, rng)
        else:
            off = self.estimator(gamma).draws(x - system.seen, rng)
        return np.asarray(system.mean + off)

    def log_p(self, theta: Array, x: Array, gamma: float) -> Array:
        """log p(theta|x), normalised: (n,)."""
        del gamma
        system = self.system
        return system.posterior.log_density(theta - system.mean, x - system.seen)

    def log_ratio(self, theta: Array, x: Array, gamma: float) -> Array:
        """log p - log q_gamma, both Gaussian: (n,); 0 at gamma = 0."""
        if gamma == 0:
            return np.zeros(len(theta))
        system = self.system
        log_q = self.estimator(gamma).log_density(theta - system.mean, x - system.seen)
        return np.asarray(self.log_p(theta, x, gamma) - log_q)

    @property
    def forward(self) -> Array:
        """Forward map A (M, D): the lens, then the blur."""
        return self.system.lens

    def sources(self) -> Array:
        """Galaxies (n, D) that the prior is fitted to."""
        return load_galaxies(self.galaxies).reshape(-1, PIXELS)

    def moments(self, x: Array, gamma: float) -> PosteriorMoments:
        """Mean and standard deviations of q_gamma at images x (n, M); of p at gamma = 0."""
        system, law = self.system, self.estimator(gamma)
        mean = system.mean + (x - system.seen) @ law.gain.T
        return PosteriorMoments(np.asarray(mean), np.sqrt(np.diag(law.covariance)))

    @property
    def galaxies_read(self) -> str:
        """Identity of the galaxies in a key, with that of a user's file."""
        return galaxies_identity(self.galaxies)

    @property
    def _path(self) -> str:
        return f"{probes_file()} {self.galaxies_read}" if self.galaxies == "probes" else ""

    @property
    def system(self) -> LensingSystem:
        """The lens, the prior fitted to the galaxies and the exact posterior."""
        return lensing_system(self.lens, self.galaxies, self._path)

    def estimator(self, gamma: float) -> GaussianLaw:
        """Law of theta - m under q_gamma, given x - A m, with m the mean source.

        Raises:
            ValueError: for a gamma outside 0 to 1.
        """
        self.check_gamma(gamma)
        return diffusion_estimator(self.lens, self.galaxies, self._path, self.biased, float(gamma))
