"""Bayesian models with an inferred q: a benchmark whose axis is the number of iterations.

Domke (2021) judges inference by the symmetric divergence; here every test is run on the same q.
gamma counts the iterations of the inference. gamma = 0 is the posterior itself, where it has a
closed form. The model gives theta, the unconstrained coordinates of its parameters, together with
x, its data: for most models nobody can draw theta at a given x.
"""

from __future__ import annotations

import hashlib
from collections import OrderedDict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, fields
from threading import Lock
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from validation_core import keys
from validation_core.bayes import MODELS, Model, closed, covariates
from validation_core.bayes.algorithms import ALGORITHMS
from validation_core.bayes.inference import Inference
from validation_core.bayes.model import PAPER, log_joint
from validation_core.bayes.posterior import FullGaussian, Posterior
from validation_core.bayes.variational import Variational, trained_with
from validation_core.pieces import find_equal_runs, slices
from validation_core.rng import stream
from validation_core.types import Array, Joint, Pairs, Paper

ModelName = Literal["glm_binomial", "heart_transplants", "hospitals", "ionosphere", "concrete"]
InferenceName = Literal["laplace", "adjusted_laplace", "vi", "iwvi", "renyi", "chi", "exact"]

GAMMAS = (10.0, 30.0, 100.0, 300.0, 1000.0, 3000.0)

_OPTIONS = {"data", "design"}
"""Fields that are the models' own."""
_M = 10
_NUMBERS = 1 << 20  # of theta and x whose densities are computed at a time


@dataclass(frozen=True, kw_only=True)
class BayesModel(Pairs):
    """A Bayesian model, and a q inferred anew at each x.

    Examples:
        >>> benchmark = npt.BayesModel(inference="laplace")
        >>> p = benchmark.pairs(3, 100, rng)
        >>> p.theta.shape, benchmark.draws(p.x, 4, 100, rng).shape
        ((3, 2), (3, 4, 2))
    """

    name: ClassVar[str] = "bayes_model"
    title: ClassVar[str] = "Bayesian models"
    paper: ClassVar[Paper] = PAPER
    counts_iterations: ClassVar[bool] = True
    version: ClassVar[int] = (
        1
        + sum(kind.version - 1 for kind in MODELS.values())
        + sum(inference.version - 1 for inference in ALGORITHMS.values())
    )
    """Rises with that of any model or inference: fields hold their names alone."""

    model: ModelName = field(default="heart_transplants", metadata={"label": "Model"})
    inference: InferenceName = field(
        default="laplace",
        metadata={
            "label": "Inference",
            "listed": False,
            "help": "What finds q at each x. exact: the posterior itself, for heart_transplants "
            "and concrete.",
        },
    )
    m: int = field(
        default=_M,
        metadata={
            "label": "Draws weighed, M",
            "min": 2,
            "max": 100,
            "listed": False,
            "help": "Of iwvi: draws of q in each of the groups that training weighs.",
            "stored": "draws_of_a_step",
        },
    )
    data: Literal["peregrine", "book"] = field(
        default="peregrine",
        metadata={
            "label": "Years and pairs",
            "listed": False,
            "help": "Of glm_binomial: the real counts of pairs of falcons, or the simulated ones "
            "of the book.",
        },
    )
    design: covariates.Design = field(
        default="real", metadata={**covariates.OPTION, "listed": False}
    )

    @classmethod
    def about(cls, model: Model, inference: Inference) -> BayesModel:
        """The benchmark of a model and an inference.

        Raises:
            ValueError: for a model or an inference with options that no benchmark has.
        """
        own = {name: getattr(model, name) for name in _OPTIONS & _options(model.name)}
        if isinstance(inference, Variational) and inference.m > 1:
            own["m"] = inference.m
        benchmark = cls(**{"model": model.name, "inference": inference.name, **own})
        for one, there in ((inference, benchmark.by), (model, benchmark.of)):
            if one != there:
                raise ValueError(
                    f"A benchmark runs a model and an inference with their usual options; got "
                    f"{one.label} where it has {there.label}. Choose that one."
                )
        return benchmark

    def __post_init__(self) -> None:
        for what, known in (("model", tuple(MODELS)), ("inference", tuple(ALGORITHMS))):
            if getattr(self, what) not in known:
                raise ValueError(
                    f"{what} is one of {', '.join(known)}; got {getattr(self, what)!r}. Choose "
                    f"one of those."
                )
        object.__setattr__(self, "design", covariates.read(self.model, self.design))
        object.__setattr__(self, "m", int(str(self.m).partition(" of ")[0]))
        for name in sorted(self._changed - _options(self.model)):
            raise ValueError(
                f"{name} is an option of other models; got {getattr(self, name)!r} for "
                f"{self.model}. Leave it out."
            )
        if self.m < 2 or (self.m != _M and self.inference != "iwvi"):
            raise ValueError(
                f"m counts the draws that iwvi weighs, two or more; got {self.m} for "
                f"{self.inference}. Leave it out, or take inference=iwvi."
            )
        if self.inference == "exact" and not closed(self.model):
            raise ValueError(
                f"inference=exact needs a posterior in closed form, which {self.model} has not; "
                f"take heart_transplants or concrete, or another inference"
            )

    @property
    def digest(self) -> str:
        """Digest of the model's covariates, part of the key."""
        return covariates.digest(self.model, self.design)

    @property
    def draws_of_a_step(self) -> int | str:
        """m, and the draws of a training step where they are not VI's: part of the key."""
        draws = trained_with(self.m).samples if self.inference == "iwvi" else Variational().samples
        return self.m if draws == Variational().samples else f"{self.m} of {draws}"

    @property
    def of(self) -> Model:
        """The model."""
        model: Model = MODELS[self.model](**{name: getattr(self, name) for name in self._changed})
        return model

    @property
    def _changed(self) -> set[str]:
        """Options of the model that differ from their defaults."""
        return {
            option.name
            for option in fields(self)
            if option.name in _OPTIONS and getattr(self, option.name) != option.default
        }

    @property
    def by(self) -> Inference:
        """The inference."""
        return trained_with(self.m) if self.inference == "iwvi" else ALGORITHMS[self.inference]

    @property
    def summary(self) -> str:
        """Effect of gamma on q, in one sentence."""
        if self.inference == "exact":
            return "q is the posterior itself; gamma plays no part and is 0"
        return f"q is what {self.by.label} finds in gamma iterations at each x"

    @property
    def label(self) -> str:
        """The model and the inference, with their options."""
        return f"{self.of.label}, {self.by.label}"

    @property
    def gammas(self) -> tuple[float, ...]:
        """Iterations, 10 to 3000; 0 alone where q is exact."""
        return (0.0,) if self.inference == "exact" else GAMMAS

    def check_gamma(self, gamma: float) -> None:
        """Refuse what is no number of iterations; at 0 q is the posterior itself.

        Raises:
            ValueError: with the rule.
        """
        exact = self.inference == "exact"
        if gamma != 0 and (exact or gamma < 1 or not float(gamma).is_integer()):
            rule = "0, as q is exact" if exact else "a number of iterations"
            choice = ", ".join(f"{each:g}" for each in self.gammas)
            raise ValueError(f"gamma is {rule}; got {gamma:g}. Choose among {choice}.")

    def place(self, gamma: float) -> str:
        """Number of iterations in words, to follow "at"."""
        return f"{gamma:,g} iterations" if gamma else "gamma = 0, the exact posterior"

    @property
    def dims(self) -> tuple[int, int]:
        """Number of coordinates of theta, and of numbers in x."""
        return self.of.dims

    def pairs(self, n: int, gamma: float, rng: np.random.Generator) -> Joint:
        """n simulations of the model: theta (n, D) with its x (n, M)."""
        del gamma
        return self.of.simulate(n, rng)

    def x(self, n: int, rng: np.random.Generator) -> Array:
        """Draw data from the model: (n, M)."""
        return self.of.simulate(n, rng).x

    def theta(self, x: Array, gamma: float, rng: np.random.Generator) -> Array:
        """Draw theta once from the exact posterior at each x: (n, D).

        Raises:
            ValueError: where it has no closed form.
        """
        del gamma
        return self._draw(x, 0.0, rng)

    def q(self, x: Array, gamma: float, rng: np.random.Generator) -> Array:
        """Draw theta once from q at each x, fitted once for each distinct row: (n, D).

        Raises:
            ValueError: where inference fails, or gamma is no number of iterations.
        """
        return self._draw(x, gamma, rng)

    def draws(self, x: Array, k: int, gamma: float, rng: np.random.Generator) -> Array:
        """Draw theta k times from q at each x: (n, k, D)."""
        return self.posterior(x, gamma).sample(k, [rng] * len(x))

    def _draw(self, x: Array, gamma: float, rng: np.random.Generator) -> Array:
        out = np.empty((len(x), self.dims[0]))
        for rows, at in self._at(x, gamma):
            out[rows] = at.sample(rows.shape[1], [rng] * len(rows))
        return out

    def posterior(self, x: Array, gamma: float) -> Posterior:
        """q at each row of x.

        Raises:
            ValueError: where inference fails, or gamma is no number of iterations.
        """
        if gamma == 0:
            posterior = self.of.exact(x)
            if posterior is None:
                raise ValueError(
                    f"theta at a given x, and gamma = 0, need a posterior in closed form, which "
                    f"{self.of.title} has not; draw pairs of theta and x, and take gamma = "
                    f"{GAMMAS[0]:g} or more"
                )
            return posterior
        self.check_gamma(gamma)
        return _fitted(self.of, self.by, int(gamma), x)

    def log_ratio(self, theta: Array, x: Array, gamma: float) -> Array | None:
        """log p - log q (n,), exactly 0 at gamma = 0; None where p has no closed form."""
        if not closed(self.model):
            return None
        if gamma == 0:
            return np.zeros(len(theta))
        return self._log_density(theta, x, 0.0) - self._log_density(theta, x, gamma)

    def log_p(self, theta: Array, x: Array, gamma: float) -> Array | None:
        """log p(theta|x), normalised: (n,); None where p has no closed form."""
        del gamma
        return self._log_density(theta, x, 0.0) if closed(self.model) else None

    def log_q(self, theta: Array, x: Array, gamma: float) -> Array:
        """log q(theta|x), normalised: (n,)."""
        return self._log_density(theta, x, gamma)

    def log_weight(self, theta: Array, x: Array, gamma: float) -> Array:
        """log p(theta, x) - log q(theta|x), available for every model: (n,).

        It contains log p(x), so it does not compare rows of different x.
        """
        joint, step = np.empty(len(theta)), max(1, _NUMBERS // sum(self.dims))
        for part in slices(len(theta), step):
            joint[part] = log_joint(self.of, theta[part], x[part])
        return joint - self._log_density(theta, x, gamma)

    def _log_density(self, theta: Array, x: Array, gamma: float) -> Array:
        out = np.empty(len(theta))
        for rows, at in self._at(x, gamma):
            out[rows] = at.log_density(np.asarray(theta)[rows])
        return out

    def _at(self, x: Array, gamma: float) -> Iterator[tuple[NDArray[np.intp], Posterior]]:
        """Indices (k, c) of c repeats of each of k distinct rows of x, and q at these k rows."""
        starts, counts = find_equal_runs(x)
        posterior: Any = self.posterior(x[starts], gamma)
        for count in np.unique(counts):
            which = np.flatnonzero(counts == count)
            some = type(posterior)(
                *(getattr(posterior, attribute.name)[which] for attribute in fields(posterior))
            )
            yield starts[which][:, None] + np.arange(count), some


def _options(model: str) -> set[str]:
    return {option.name for option in fields(MODELS[model])}


_BATCH = 1 << 17  # numbers of one batch: its steps stay near the processor (measured)
_MOST = 4096  # data sets of a batch: more gain nothing
_SAMPLES = 10  # points that a step of a randomised inference looks at


def _fitted(model: Model, inference: Inference, iterations: int, x: Array) -> FullGaussian:
    """Fit q at each row of x (n, M); rows may repeat.

    Raises:
        ValueError: where inference fails on some rows, or has no q for this model.
    """
    x = np.ascontiguousarray(x, np.float64) + 0.0  # one zero, whatever its sign
    names = _names(model, inference, iterations, x)
    new = {name: row for row, name in enumerate(names) if name not in FIT_CACHE}
    fits: dict[str, Array] = {}
    for some in _batches(list(new), model):
        rngs = [stream(0, "bayes_model", name) for name in some]
        q = inference.fit(model, x[[new[name] for name in some]], iterations, rngs)
        assert isinstance(q, FullGaussian)
        flat = np.concatenate([q.mean, q.scale.reshape(len(some), -1)], axis=1)
        fits |= dict(zip(some, flat, strict=True))
    rows = np.stack([fits[name] if name in fits else FIT_CACHE.take(name) for name in names])
    FIT_CACHE.keep(fits)
    d = model.dims[0]
    posterior = FullGaussian(rows[:, :d], rows[:, d:].reshape(-1, d, d))
    if not posterior.ok.all():
        raise ValueError(
            f"Tests draw from q at every x; got none at {(~posterior.ok).sum():,} of "
            f"{len(x):,} after {iterations:,} iterations of {inference.label} on {model.label}. "
            "Take more iterations, or another inference."
        )
    return posterior


def _names(model: Model, inference: Inference, iterations: int, x: Array) -> list[str]:
    about = f"{keys.canonical_text(model)} {keys.canonical_text(inference)} {iterations} ".encode()
    return [hashlib.sha256(about + row.tobytes()).hexdigest()[:32] for row in x]


def _batches(names: Sequence[str], model: Model) -> Iterator[Sequence[str]]:
    d, m = model.dims
    size = min(_MOST, max(1, _BATCH // (d * d + _SAMPLES * d + m)))
    for first in range(0, len(names), size):
        yield names[first : first + size]


@dataclass(eq=False)
class FitCache:
    """Cache of this process's latest fits, by name, bounded by their total size."""

    most: int
    _fits: OrderedDict[str, Array] = field(default_factory=OrderedDict)
    _lock: Lock = field(default_factory=Lock)
    _numbers: int = 0

    def __contains__(self, name: str) -> bool:
        return name in self._fits

    def __len__(self) -> int:
        return len(self._fits)

    def take(self, name: str) -> Array:
        return self._fits[name]

    def keep(self, found: dict[str, Array]) -> None:
        """Add fits, and drop the oldest beyond the bound."""
        with self._lock:
            for name, fit in found.items():
                self._numbers += fit.size if name not in self._fits else 0
                self._fits[name] = fit
            while self._numbers > self.most:
                self._numbers -= self._fits.popitem(last=False)[1].size


FIT_CACHE = FitCache(16 << 20)  # 128 MB: the q of a million hearts, or of 13,000 ionospheres
