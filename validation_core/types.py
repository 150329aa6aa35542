"""The values that travel through NPT Lab: draws, scores, outcomes, and what makes them.

    benchmark or upload --sample--> PosteriorTable or TwoSamples
        --apply(score)--> TableScores or BlockScores --method.test--> Outcome
        --collect over trials--> PowerCell --figures--> page

Shapes: N simulations, K draws of q at each, D parameters, M data, S test quantities. Every
statistic works on the last axis and broadcasts over leading ones, so that R trials are one array.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import ClassVar, Literal, NamedTuple, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from validation_core.keys import Specification

Array = NDArray[np.floating]
Float = NDArray[np.float64]
LogDensity = Callable[[Array, Array], Array]
"""log q(theta | x) of rows theta (n, D), x (n, M): (n,)."""
Preset = Literal["interactive", "paper"]
"""How long a network learns: seconds, while a page is looked at, or as in its paper."""


@dataclass(frozen=True, eq=False)
class Joint:
    """Rows (theta, x) drawn from one joint law: theta (n, D), x (n, M)."""

    theta: Array
    x: Array

    def __len__(self) -> int:
        return len(self.theta)


@dataclass(frozen=True, eq=False)
class TwoSamples:
    """Two independent samples of (theta, x): p with theta from the truth, q from the estimator.

    The two never share an x: C2ST, Multiple and Uniform are conservative otherwise.
    """

    p: Joint
    q: Joint


@dataclass(frozen=True, eq=False)
class PosteriorTable:
    """A table: at each x the truth and K draws of q. theta (N, D), x (N, M), q (N, K, D)."""

    theta: Array
    x: Array
    q: Array

    def __len__(self) -> int:
        return len(self.theta)


class Score(Protocol):
    """A function of (theta, x), fixed before the test draws are seen. High looks like p."""

    def __call__(self, theta: Array, x: Array) -> Array:
        """Scores (n,), or (S, n) for S test quantities, of rows theta (n, D), x (n, M)."""
        ...


@runtime_checkable
class TableScore(Protocol):
    """A score that reads a whole table at once, where what depends on x alone is dear."""

    def table(self, draws: PosteriorTable) -> TableScores:
        """Scores of the truth and of q's draws, as row by row."""
        ...


class Reference(Protocol):
    """A law of calibration scores under p, known by its draws."""

    def counts(self, test: Array, m: int, rng: np.random.Generator) -> tuple[Array, Array]:
        """How many of m calibration scores lie below each test score, and how many equal it."""
        ...


@dataclass(frozen=True, eq=False)
class BlockScores:
    """Scores of independent blocks: p (..., n_p), q (..., n_q), and what calibrates Uniform(m).

    A score of S test quantities puts an axis S before the last. With `reference` None the p
    scores themselves are split into disjoint calibration sets; with one, p may be empty.
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
    """Data (..., n, M), for a test that looks over x; else None."""


Scores = BlockScores | TableScores


class Budget(NamedTuple):
    """Draws that one test uses up: from p (true pairs) and from q."""

    p: int
    q: int


@dataclass(frozen=True, eq=False)
class Outcome:
    """What a test says, over any leading axes of trials.

    statistic, pvalue (...); arrays carry what the figures draw; effect holds plain numbers.
    """

    statistic: Array
    pvalue: Array
    budget: Budget
    arrays: Mapping[str, Array] = field(default_factory=dict)
    effect: Mapping[str, float] = field(default_factory=dict)
    seconds: float = 0.0


class MethodStyle(NamedTuple):
    """How one method is drawn everywhere: grey until it says otherwise."""

    color: str = "#8A8F98"
    dash: str = "solid"
    symbol: str = "circle-open"


class Paper(NamedTuple):
    """Where something comes from."""

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
        """Authors and year; from four authors on the first stands for all."""
        names = self.authors.split(", ")
        return f"{names[0] + ' et al.' if len(names) > 3 else self.authors} ({self.year})"


class Benchmark(Specification):
    """Three samplers and, where known, the oracle: x ~ p(x), theta ~ p(.|x), q ~ q_gamma(.|x).

    A subclass is a frozen dataclass whose fields are its options; its `name` is also what stored
    keys call it.
    """

    name: ClassVar[str]
    title: ClassVar[str]
    paper: ClassVar[Paper]
    counts_iterations: ClassVar[bool] = False
    """Whether gamma is a number of iterations, by which q gets better, not worse."""
    gamma_title: ClassVar[str] = "Strength, gamma"
    """Gamma above a slider."""

    def __init_subclass__(cls, *, spec: str | None = None, **options: object) -> None:
        """Register the class under its name."""
        own = f"benchmark:{cls.name}" if "name" in cls.__dict__ else None
        super().__init_subclass__(spec=spec or own, **options)

    @property
    def summary(self) -> str:
        """What gamma does, in one sentence."""
        raise NotImplementedError

    @property
    def label(self) -> str:
        """Title with its options."""
        return self.title

    @property
    def gammas(self) -> tuple[float, ...]:
        """The paper's grid of perturbation strengths, the first of them 0 where q can equal p."""
        raise NotImplementedError

    @property
    def dims(self) -> tuple[int, int]:
        """(D, M): dimensions of theta and x."""
        raise NotImplementedError

    @property
    def axis(self) -> str:
        """Gamma on an axis."""
        return "iterations" if self.counts_iterations else "perturbation strength gamma"

    def place(self, gamma: float) -> str:
        """One gamma, after "at"."""
        return f"gamma = {gamma:g}"

    def x(self, n: int, rng: np.random.Generator) -> Array:
        """n draws from p(x): (n, M)."""
        raise NotImplementedError

    def theta(self, x: Array, gamma: float, rng: np.random.Generator) -> Array:
        """One draw of the truth at each x: (n, D). Mode collapse perturbs p, hence gamma."""
        raise NotImplementedError

    def q(self, x: Array, gamma: float, rng: np.random.Generator) -> Array:
        """One draw of the estimator at each x: (n, D)."""
        raise NotImplementedError

    def log_ratio(self, theta: Array, x: Array, gamma: float) -> Array | None:
        """log p(theta|x) - log q_gamma(theta|x): (n,), or None where nobody knows it."""
        del theta, x, gamma
        return None

    def log_p(self, theta: Array, x: Array, gamma: float) -> Array | None:
        """log p(theta|x), normalised: (n,), or None where nobody knows it."""
        del theta, x, gamma
        return None


class Pairs(Benchmark):
    """A benchmark whose theta comes together with x, and whose q is dear at each new x."""

    def pairs(self, n: int, gamma: float, rng: np.random.Generator) -> Joint:
        """n draws of theta with its x, independent of one another."""
        raise NotImplementedError

    def draws(self, x: Array, k: int, gamma: float, rng: np.random.Generator) -> Array:
        """k draws of the estimator at each x: (n, k, D)."""
        raise NotImplementedError


@runtime_checkable
class Weighted(Protocol):
    """A benchmark that knows log p(theta, x) - log q_gamma(theta | x), if not log p(x)."""

    def log_weight(self, theta: Array, x: Array, gamma: float) -> Array:
        """It (n,), up to a function of x."""
        ...


@dataclass(frozen=True, eq=False)
class PowerCell:
    """Rejections of one method at one point of a sweep: counts, so that exact intervals follow.

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
    """Draws from p that all trials together used."""
    draws_q: int
    seconds: float
    label: str = ""
    """The method with its options, as a legend shows it."""
    statistic: float | None = None
    """Mean of the statistic over trials."""
    statistic_low: float | None = None
    statistic_high: float | None = None
    """Where the middle 90% of the trials' statistics lie."""

    @property
    def rate(self) -> float:
        """Share of trials that rejected."""
        return self.rejections / self.trials
