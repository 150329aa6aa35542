"""Types shared by all of NPT Lab: draws, scores, outcomes, and the protocols that make them.

    benchmark or upload --sample--> PosteriorTable or TwoSamples
        --apply(score)--> TableScores or BlockScores --method.test--> Outcome
        --collect over trials--> PowerCell --figures--> page

Shapes: N simulations, K draws of q at each, D parameters, M data, S test quantities. Every
statistic works on the last axis and broadcasts over leading ones, so that R trials are one array.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import ClassVar, Literal, NamedTuple, Protocol, SupportsFloat, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from validation_core.keys import Specification

Array = NDArray[np.floating]
Float = NDArray[np.float64]
Integers = NDArray[np.int64]
ImageShape = tuple[int, int, int]
"""Height, width and colours: 1 or 3."""
LogDensity = Callable[[Array, Array], Array]
"""log q(theta | x) of rows theta (n, D), x (n, M): (n,)."""
Preset = Literal["interactive", "paper"]
"""Length of a training: seconds, for interactive pages, or as in the paper."""


class Interval(NamedTuple):
    """A number with its 95% interval: JSON has `name`, `name_low` and `name_high`."""

    estimate: float
    low: float
    high: float

    @classmethod
    def of(cls, *ends: float) -> Interval:
        """Of numbers, or of arrays of one number; NaN for what is not finite."""
        return cls(*(float(end) if np.isfinite(end) else math.nan for end in ends))

    @property
    def known(self) -> bool:
        """Whether there is an estimate."""
        return not math.isnan(self.estimate)


@dataclass(frozen=True, eq=False)
class Joint:
    """Rows (theta, x) from one joint distribution: theta (n, D), x (n, M)."""

    theta: Array
    x: Array

    @classmethod
    def joined(cls, parts: Sequence[Joint]) -> Joint:
        """The rows of several, one after another."""
        thetas, xs = zip(*((part.theta, part.x) for part in parts), strict=True)
        return cls(np.concatenate(thetas), np.concatenate(xs))

    def __len__(self) -> int:
        return len(self.theta)


@dataclass(frozen=True, eq=False)
class TwoSamples:
    """Two independent samples of (theta, x): p with theta from the truth, q from the estimator.

    They share no x: otherwise C2ST, Multiple and Uniform would be conservative.
    """

    p: Joint
    q: Joint


@dataclass(frozen=True, eq=False)
class ClassProbabilities:
    """Probabilities (N, C) that q states of C classes at each x (N, M), and the true class (N,).

    M is 0 where x is not given.
    """

    p: Array
    classes: Integers
    x: Array


@dataclass(frozen=True, eq=False)
class PosteriorTable:
    """A table: the truth and K draws of q at each x. theta (N, D), x (N, M), q (N, K, D)."""

    theta: Array
    x: Array
    q: Array

    def __len__(self) -> int:
        return len(self.theta)


@dataclass(frozen=True, eq=False)
class TruthRanks:
    """Ranks of N true values among q's draws in D parameters, without the draws.

    below (N, D) counts the draws below each true value, of most (N, D) draws; where most is 0,
    below is a PIT value in [0, 1].
    """

    below: Array
    most: Array

    def __len__(self) -> int:
        return len(self.below)

    def randomised(self, rng: np.random.Generator) -> Array:
        """Ranks (D, N) in [0, 1], uniform if q is right: a whole rank r of K is (r + v) / (K + 1)
        with v uniform; a PIT value is itself."""
        v = rng.random(self.below.shape)
        u = np.where(self.most > 0, (self.below + v) / (self.most + 1), self.below)
        return u.T


class Score(Protocol):
    """A function of (theta, x), fixed before the test draws are seen; high values favour p."""

    def __call__(self, theta: Array, x: Array) -> Array:
        """Scores (n,), or (S, n) for S test quantities, of rows theta (n, D), x (n, M)."""
        ...


@runtime_checkable
class TableScore(Protocol):
    """A score of whole tables: terms that depend on x alone are computed once per row."""

    def table(self, draws: PosteriorTable) -> TableScores:
        """Scores of the truth and of q's draws, equal to those row by row."""
        ...


class Reference(Protocol):
    """A distribution of calibration scores under p, represented by draws."""

    def counts(self, test: Array, m: int, rng: np.random.Generator) -> tuple[Array, Array]:
        """Of m calibration scores, the numbers below and equal to each test score."""
        ...


@dataclass(frozen=True, eq=False)
class BlockScores:
    """Scores of independent blocks, p (..., n_p) and q (..., n_q), and Uniform(m)'s reference.

    A score of S test quantities has an axis S before the last. With `reference` None the p scores
    are split into disjoint calibration sets; with a reference p may be empty.
    """

    p: Array
    q: Array
    reference: Reference | None = None


@dataclass(frozen=True, eq=False)
class TableScores:
    """Scores of a table: truth (..., S, n) and q's draws (..., S, n, K), S test quantities."""

    truth: Array
    draws: Array
    x: Array | None = None
    """Data (..., n, M), for a test that varies over x; else None."""
    own: int = 0
    """Number of the last test quantities that came with the table."""


Scores = BlockScores | TableScores


class Budget(NamedTuple):
    """Draws that one test uses: from p (true pairs) and from q."""

    p: int
    q: int


@dataclass(frozen=True, eq=False)
class Outcome:
    """Result of a test, over any leading axes of trials.

    statistic, pvalue (...); `arrays` hold data of the figures, `effect` plain numbers.
    """

    statistic: Array
    pvalue: Array
    budget: Budget
    arrays: Mapping[str, Array] = field(default_factory=dict)
    effect: Mapping[str, float] = field(default_factory=dict)
    seconds: float = 0.0


class MethodStyle(NamedTuple):
    """Colour and line style of a method in every figure; grey by default."""

    color: str = "#8A8F98"
    dash: str = "solid"
    symbol: str = "circle-open"


class Paper(NamedTuple):
    """A reference to the literature."""

    authors: str
    year: int
    title: str
    where: str = ""

    def __str__(self) -> str:
        return f"{self.authors} ({self.year}), {self.title}" + (
            f", {self.where}" * bool(self.where)
        )

    @property
    def short(self) -> str:
        """Authors and year; four or more authors are shortened to the first."""
        names = self.authors.split(", ")
        return f"{names[0] + ' et al.' if len(names) > 3 else self.authors} ({self.year})"


def check_level(alpha: SupportsFloat) -> None:
    """Refuse a level outside of (0, 1).

    Raises:
        ValueError: for one.
    """
    if not 0 < float(alpha) < 1:
        raise ValueError(f"The level lies between 0 and 1; got {alpha}. 0.05 is usual.")


class GammaDomain(NamedTuple):
    """The gammas at which a benchmark has a q."""

    means: str
    """What gamma is, in a few words that follow "gamma is"."""
    low: float
    high: float = math.inf
    with_low: bool = True
    """Whether the lower end is one of them."""

    def check(self, gamma: float) -> None:
        """Refuse a gamma outside.

        Raises:
            ValueError: with what gamma is, and where it lies.
        """
        if self.low < gamma <= self.high or (self.with_low and gamma == self.low):
            return
        least = f"{self.low:g} or more" if self.with_low else f"above {self.low:g}"
        where = least if math.isinf(self.high) else f"from {self.low:g} to {self.high:g}"
        raise ValueError(f"gamma is {self.means}, {where}; got {gamma:g}. Choose within.")


class Benchmark(Specification):
    """Three samplers, x ~ p(x), theta ~ p(.|x), q ~ q_gamma(.|x), and log densities where known.

    A subclass is a frozen dataclass whose fields are its options; its `name` also identifies it
    in stored keys.
    """

    name: ClassVar[str]
    title: ClassVar[str]
    paper: ClassVar[Paper]
    counts_iterations: ClassVar[bool] = False
    """Whether gamma is a number of iterations, with which q improves."""
    gamma_title: ClassVar[str] = "Strength, gamma"
    """Label of gamma's slider."""

    def __init_subclass__(cls, *, spec: str | None = None, **options: object) -> None:
        """Register the class under its name."""
        own = f"benchmark:{cls.name}" if "name" in cls.__dict__ else None
        super().__init_subclass__(spec=spec or own, **options)

    @property
    def summary(self) -> str:
        """The effect of gamma, in one sentence."""
        raise NotImplementedError

    @property
    def label(self) -> str:
        """Title with its options."""
        return self.title

    @property
    def gammas(self) -> tuple[float, ...]:
        """The paper's grid of gamma; it begins at 0 where q can equal p."""
        raise NotImplementedError

    @property
    def domain(self) -> GammaDomain | None:
        """The gammas at which q exists; None where it does at every number."""
        return None

    def check_gamma(self, gamma: float) -> None:
        """Refuse a gamma at which there is no q.

        Raises:
            ValueError: with the rule.
        """
        if not math.isfinite(gamma):
            raise ValueError(f"gamma is a finite number; got {gamma:g}. Choose one.")
        if self.domain is not None:
            self.domain.check(gamma)

    def is_exact(self, gamma: float) -> bool:
        """Whether q is p at this gamma."""
        return gamma == 0

    @property
    def dims(self) -> tuple[int, int]:
        """(D, M): dimensions of theta and x."""
        raise NotImplementedError

    @property
    def axis(self) -> str:
        """Label of an axis of gamma."""
        return "iterations" if self.counts_iterations else "perturbation strength gamma"

    def place(self, gamma: float) -> str:
        """One gamma in words, to follow "at"."""
        return f"gamma = {gamma:g}"

    def x(self, n: int, rng: np.random.Generator) -> Array:
        """n draws from p(x): (n, M)."""
        raise NotImplementedError

    def theta(self, x: Array, gamma: float, rng: np.random.Generator) -> Array:
        """One draw of the truth at each x: (n, D). Mode collapse perturbs p by gamma."""
        raise NotImplementedError

    def q(self, x: Array, gamma: float, rng: np.random.Generator) -> Array:
        """One draw of the estimator at each x: (n, D)."""
        raise NotImplementedError

    def log_ratio(self, theta: Array, x: Array, gamma: float) -> Array | None:
        """log p(theta|x) - log q_gamma(theta|x): (n,), or None where it is unknown."""
        del theta, x, gamma
        return None

    def log_p(self, theta: Array, x: Array, gamma: float) -> Array | None:
        """log p(theta|x), normalised: (n,), or None where it is unknown."""
        del theta, x, gamma
        return None

    def log_q(self, theta: Array, x: Array, gamma: float) -> Array | None:
        """log q_gamma(theta|x), normalised: (n,), or None where it is unknown."""
        p, ratio = self.log_p(theta, x, gamma), self.log_ratio(theta, x, gamma)
        return None if p is None or ratio is None else p - ratio


class Pairs(Benchmark):
    """A benchmark that draws theta and x jointly, and whose q is costly at each new x."""

    theta_at_x: ClassVar[bool] = False
    """Whether theta can be drawn at a given x as well."""

    def pairs(self, n: int, gamma: float, rng: np.random.Generator) -> Joint:
        """n independent draws of (theta, x)."""
        raise NotImplementedError

    def draws(self, x: Array, k: int, gamma: float, rng: np.random.Generator) -> Array:
        """k draws of the estimator at each x: (n, k, D)."""
        raise NotImplementedError


@runtime_checkable
class Weighted(Protocol):
    """A benchmark with known log p(theta, x) - log q_gamma(theta | x), but unknown log p(x)."""

    def log_weight(self, theta: Array, x: Array, gamma: float) -> Array:
        """The log weight (n,), up to a function of x."""
        ...


class NetworkCount(NamedTuple):
    """Rejections in the trials that read one trained network."""

    rejections: int
    trials: int


@dataclass(frozen=True, eq=False)
class PowerCell:
    """Rejections of one method at one point of a sweep: counts, so that intervals follow.

    Examples:
        >>> (cell,) = npt.power("boundary", gamma=[1], methods="sbc", trials=20, n=50, k=10).cells
        >>> cell.trials, cell.draws_p, cell.rate
        (20, 1000, 1.0)
    """

    benchmark: str
    method: str
    options: Mapping[str, float | int | str | bool]
    gamma: float
    beta: float
    trials: int
    rejections: int
    alpha: float
    protocol: Literal["pooled", "fresh"]
    draws_p: int
    """Draws from p used by all trials together."""
    draws_q: int
    seconds: float
    label: str = ""
    """Method and options, for legends."""
    statistic: float | None = None
    """Mean of the statistic over trials."""
    statistic_low: float | None = None
    statistic_high: float | None = None
    """End of the central 90% of the trials' statistics; the other is above."""
    networks: tuple[NetworkCount, ...] = ()
    """Counts of each trained network, where there are several; they read the same draws, and are
    added up in `trials` and `rejections`."""

    @property
    def rate(self) -> float:
        """Rejection rate over trials: the mean over networks."""
        return self.rejections / self.trials
