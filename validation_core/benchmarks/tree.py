"""The tree: a branching mixture of 1016 thin normals in the plane, and a q that blurs it.

Chen, Bansal, Scott, CoLT, Section 1 and Appendix C.1; the two trees are the toy of Karras et al.
(2024), Guiding a diffusion model with a bad version of itself. x ~ N(0, 1) picks the tree, A
where x >= 0 and B below; theta given x is that tree's mixture blurred by noise of sd 0.01, q the
same mixture blurred more. CoLT's covariance is not symmetric as printed; diag(size) stands on
both sides of it here.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from functools import lru_cache
from typing import ClassVar, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from validation_core.types import Array, Benchmark, GammaDomain, Paper

Noise = Literal["scaled", "added"]
Classes = Literal["A", "B", "AB"]

SD = 0.01
"""Standard deviation of p's blur."""

_DEPTHS = 7
_ALONG = np.linspace(0.07, 0.93, 8)  # where on a branch its 8 components lie
_ORIGIN = np.array([0.0030, 0.0325])
_SCALE = np.array([1.3136, 1.3844])
_ROOTS = {"A": np.pi / 4, "B": np.pi * 5 / 4}
_ROWS = 512  # rows of a density computed at a time: 4 MB, near the processor


class _Mixture(NamedTuple):
    """Normal components in the order of creation; weights are not normalised."""

    weight: Array  # (k,)
    mean: Array  # (k, 2)
    covariance: Array  # (k, 2, 2)


class _Blurred(NamedTuple):
    """A mixture at one amount of blur, prepared for drawing and evaluation."""

    edges: Array  # (k,), cumulative weights, the last of them 1
    mean: Array  # (k, 2)
    chol: Array  # (k, 3): lower factors of the covariances, (0, 0), (1, 0), (1, 1)
    quadratic: Array  # (6, k): log(weight N) at (t, u) as a form in (tt, tu, uu, t, u, 1)


@lru_cache(maxsize=1)
def grow_trees() -> dict[str, _Mixture]:
    """Both trees, before any blur: 127 branches of 8 components each.

    One stream of the generator that Karras et al. used grows A first, then B: the order of the
    draws makes the tree.
    """
    rng = np.random.RandomState(2)
    grown = {name: list(_branch(_ORIGIN, angle, 0, rng)) for name, angle in _ROOTS.items()}
    return {name: _joined(parts) for name, parts in grown.items()}


def _joined(parts: Iterable[_Mixture]) -> _Mixture:
    return _Mixture(*(np.concatenate(column) for column in zip(*parts, strict=True)))


def _branch(
    start: Array, angle: float, depth: int, rng: np.random.RandomState
) -> Iterator[_Mixture]:
    """The 8 components of a branch, then recursively those of its children."""
    along = np.array([np.cos(angle), np.sin(angle)])
    length = 0.292 * 0.8**depth * (1 + 0.2 * rng.randn())
    thick = 0.2 * 0.8**depth / length
    size = _SCALE * length * 0.06
    parallel = np.outer(along, along)
    shape = parallel + (np.eye(2) - parallel) * thick**2
    yield _Mixture(
        weight=np.full(len(_ALONG), length * 0.5**depth),
        mean=(start + along * length * _ALONG[:, None]) * _SCALE,
        covariance=np.tile(shape * np.outer(size, size), (len(_ALONG), 1, 1)),
    )
    for side in (1, -1):
        # The last branches draw their children's angles too; without, the next ones would differ.
        turned = angle + side * 0.7**depth * (1 + 0.2 * rng.randn())
        if depth + 1 < _DEPTHS:
            yield from _branch(start + along * length, turned, depth + 1, rng)


@lru_cache(maxsize=128)
def _blurred(classes: Classes, sd: float) -> _Blurred:
    """One tree, or the weighted mixture of both, with sd^2 I added to every covariance."""
    weight, mean, covariance = _joined(grow_trees()[name] for name in classes)
    weight = weight / weight.sum()
    chol = np.linalg.cholesky(covariance + sd**2 * np.eye(2))
    inverse = np.linalg.inv(chol)  # (k, 2, 2), lower
    precision = np.swapaxes(inverse, 1, 2) @ inverse
    pull = (precision @ mean[:, :, None])[..., 0]
    log_peak = np.log(weight) - np.log(2 * np.pi) + np.log(np.linalg.det(inverse))
    quadratic = np.stack(
        [
            -precision[:, 0, 0] / 2,
            -precision[:, 0, 1],
            -precision[:, 1, 1] / 2,
            pull[:, 0],
            pull[:, 1],
            log_peak - (mean * pull).sum(-1) / 2,
        ]
    )
    edges = np.cumsum(weight)
    edges[-1] = 1.0
    lower = np.stack([chol[:, 0, 0], chol[:, 1, 0], chol[:, 1, 1]], axis=1)
    return _Blurred(edges, mean, lower, quadratic)


def draw_mixture(classes: Classes, sd: float, n: int, rng: np.random.Generator) -> Array:
    """Draw from the blurred mixture: (n, 2).

    Args:
        classes: one tree, or both.
        sd: standard deviation of the blur.
        n: number of draws.
        rng: random generator.
    """
    mixture = _blurred(classes, sd)
    which = np.searchsorted(mixture.edges, rng.random(n), side="right")
    first, second = rng.standard_normal((2, n))
    a, b, c = mixture.chol[which].T
    return mixture.mean[which] + np.stack([a * first, b * first + c * second], axis=1)


def mixture_log_density(theta: Array, classes: Classes, sd: float) -> Array:
    """Log density (n,) of the blurred mixture at theta (n, 2), by log-sum-exp."""
    t, u = theta.T
    forms = np.stack([t * t, t * u, u * u, t, u, np.ones(len(theta))], axis=1)  # (n, 6)
    quadratic, out = _blurred(classes, sd).quadratic, np.empty(len(theta))
    for start in range(0, len(theta), _ROWS):
        logs = forms[start : start + _ROWS] @ quadratic
        highest = logs.max(axis=1)
        logs -= highest[:, None]
        out[start : start + _ROWS] = highest + np.log(np.exp(logs, out=logs).sum(axis=1))
    return out


@dataclass(frozen=True, kw_only=True)
class Tree(Benchmark):
    """Two branching mixtures, selected by the sign of x; q is blurred more than p.

    Examples:
        >>> benchmark = npt.Tree(noise="added")
        >>> x = benchmark.x(5, rng)
        >>> theta, draws = benchmark.theta(x, 1, rng), benchmark.q(x, 1, rng)
        >>> theta.shape, benchmark.log_ratio(draws, x, 1).shape
        ((5, 2), (5,))
    """

    name: ClassVar[str] = "tree"
    title: ClassVar[str] = "Tree"
    paper: ClassVar[Paper] = Paper(
        "Chen, Bansal, Scott", 2025, "Conditional localization test", "Section 1, Appendix C.1"
    )
    noise: Noise = field(
        default="scaled",
        metadata={
            "label": "Noise of q",
            "help": "Scaled: sd 0.01 (1 + gamma), as in the appendix. Added: noise of sd "
            "0.01 gamma on top of p, as in the text.",
        },
    )

    def __post_init__(self) -> None:
        if self.noise not in ("scaled", "added"):
            raise ValueError(
                f"noise is 'scaled' or 'added'; got {self.noise!r}. Choose one of those."
            )

    @property
    def summary(self) -> str:
        """Effect of gamma on q, in one sentence."""
        if self.noise == "scaled":
            return "q blurs the tree by noise of sd 0.01 (1 + gamma), p by sd 0.01"
        return "q adds noise of sd 0.01 gamma to draws of p"

    @property
    def label(self) -> str:
        """Title, with the growth of q's noise."""
        return f"{self.title}, {self.noise} noise"

    @property
    def gammas(self) -> tuple[float, ...]:
        """0 to 4 in steps of a half."""
        return tuple(step / 2 for step in range(9))

    @property
    def domain(self) -> GammaDomain:
        """Where the sd that q adds to p's, or has in place of p's, is 0 or more."""
        if self.noise == "scaled":
            return GammaDomain("the relative excess of q's sd", -1)
        return GammaDomain("the sd of the noise that q adds, in hundredths", 0)

    @property
    def dims(self) -> tuple[int, int]:
        """Dimensions of theta and of x: 2 and 1."""
        return 2, 1

    def sd(self, gamma: float) -> float:
        """Standard deviation of q's blur."""
        return SD * float(1 + gamma if self.noise == "scaled" else np.sqrt(1 + gamma**2))

    def x(self, n: int, rng: np.random.Generator) -> Array:
        """Draw x from N(0, 1): (n, 1)."""
        return rng.standard_normal((n, 1))

    def theta(self, x: Array, gamma: float, rng: np.random.Generator) -> Array:
        """Draw from the tree that each x selects, blurred by sd 0.01: (n, 2)."""
        del gamma
        return self._draw(x, SD, rng)

    def q(self, x: Array, gamma: float, rng: np.random.Generator) -> Array:
        """Draw from the tree that each x selects, blurred by sd(gamma): (n, 2)."""
        return self._draw(x, self.sd(gamma), rng)

    def log_ratio(self, theta: Array, x: Array, gamma: float) -> Array:
        """log p - log q (n,), exactly 0 at gamma = 0."""
        if gamma == 0:
            return np.zeros(len(theta))
        return self.log_p(theta, x, gamma) - self.log_q(theta, x, gamma)

    def log_p(self, theta: Array, x: Array, gamma: float) -> Array:
        """log p(theta|x), normalised: (n,)."""
        del gamma
        return self._log_density(theta, x, SD)

    def log_q(self, theta: Array, x: Array, gamma: float) -> Array:
        """log q_gamma(theta|x), normalised: (n,)."""
        return self._log_density(theta, x, self.sd(gamma))

    @staticmethod
    def _draw(x: Array, sd: float, rng: np.random.Generator) -> Array:
        out = np.empty((len(x), 2))
        for classes, rows in _picked(x):
            out[rows] = draw_mixture(classes, sd, int(rows.sum()), rng)
        return out

    @staticmethod
    def _log_density(theta: Array, x: Array, sd: float) -> Array:
        out = np.empty(len(theta))
        for classes, rows in _picked(x):
            out[rows] = mixture_log_density(theta[rows], classes, sd)
        return out


def _picked(x: Array) -> tuple[tuple[Classes, NDArray[np.bool_]], ...]:
    """Each tree, with a mask of the rows that select it (n,)."""
    in_a = x[:, 0] >= 0
    return ("A", in_a), ("B", ~in_a)
