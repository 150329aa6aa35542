"""Scores: their arrays, how they are learnt, and fixed ones without learning.

A score may have looked at training draws and at x, never at the test theta; so ranks stay exact
however bad it is. Each kind has a recipe, which is light; what learns and runs its network lies
beside it in `..._training`, which imports torch.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Protocol, Self, overload

import numpy as np
from numpy.typing import NDArray

from validation_core.hashing import hashed
from validation_core.keys import Specification
from validation_core.pieces import slices
from validation_core.types import (
    Array,
    Benchmark,
    BlockScores,
    Integers,
    PosteriorTable,
    Score,
    TableScore,
    TableScores,
    TwoSamples,
)

if TYPE_CHECKING:
    from validation_core.keys import Arrays
    from validation_core.study import Report


_NUMBERS = 1 << 20  # of theta and x scored at once: bounds the memory of a table's repeated x
_SALT = np.array([0x5EED], np.uint64)
_HASHED = 1 << 22  # numbers hashed at a time


@overload
def apply(score: Score, draws: TwoSamples) -> BlockScores: ...
@overload
def apply(score: Score, draws: PosteriorTable) -> TableScores: ...
def apply(score: Score, draws: TwoSamples | PosteriorTable) -> BlockScores | TableScores:
    """The scores of both sides of independent blocks, or of a table's truth and draws.

    Returns:
        Block scores p (n_p,), q (n_q,), with a leading axis S where the score has S test
        quantities; table scores truth (S, n) and draws (S, n, K), S = 1 for a single score.
    """
    if isinstance(draws, TwoSamples):
        return BlockScores(score(draws.p.theta, draws.p.x), score(draws.q.theta, draws.q.x))
    if isinstance(score, TableScore):
        return score.table(draws)
    truth = np.atleast_2d(score(draws.theta, draws.x))
    return _tied(score, draws, truth)


def _tied(score: Score, draws: PosteriorTable, truth: Array) -> TableScores:
    """Scores of the truth (S, n) and of q's draws (S, n, K); equal ones at an x share one."""
    n, k, d = draws.q.shape
    both = np.empty((len(truth), n, k + 1), dtype=truth.dtype)
    both[..., 0] = truth
    step = max(1, _NUMBERS // (k * (d + draws.x.shape[1])))
    for part in slices(n, step):
        rows = draws.q[part].reshape(-1, d)
        scored = score(rows, np.repeat(draws.x[part], k, axis=0))
        both[:, part, 1:] = np.atleast_2d(scored).reshape(len(truth), -1, k)
        slots = np.concatenate([draws.theta[part, None], draws.q[part]], axis=1)
        both[:, part] = equalise_tied_scores(slots, both[:, part])
    return TableScores(both[..., 0], both[..., 1:])


def equalise_tied_scores(inputs: Array, scores: Array) -> Array:
    """Scores (..., n, J) of inputs (n, J, C), those of equal inputs of one row made one.

    The first of them, which is the truth's where that comes first. What a matrix product rounds
    depends on a row's place in its batch: where draws repeat (point masses, rounded or binary
    parameters), a score that differs in its last bit would break ties by place, and the truth
    always stands in the same one.
    """
    _, j, c = inputs.shape
    out = scores
    # Whole inputs are compared only where their first numbers repeat: hardly ever.
    possible = _with_repeats(inputs[..., 0])
    for part in slices(len(possible), max(1, _HASHED // max(1, j * c))):
        some = possible[part]
        words = hashed(inputs[some].reshape(-1, c), _SALT).reshape(-1, j)
        repeated = _with_repeats(words)
        if not len(repeated):
            continue
        if out is scores:
            out = scores.copy()
        rows = out[..., some[repeated], :]
        source = np.broadcast_to(_first_equal(words[repeated]), rows.shape)
        out[..., some[repeated], :] = np.take_along_axis(rows, source, axis=-1)
    return out


def _with_repeats(values: NDArray[np.generic]) -> Integers:
    """Rows of values (n, J) in which one occurs more than once."""
    ordered = np.sort(values, axis=1)
    return np.flatnonzero((ordered[:, 1:] == ordered[:, :-1]).any(axis=1))


def _first_equal(words: np.ndarray) -> np.ndarray:
    """For each word (r, J) the place of the first in its row that equals it: (r, J)."""
    order = np.argsort(words, axis=1, kind="stable")
    ordered = np.take_along_axis(words, order, axis=1)
    places = np.broadcast_to(np.arange(words.shape[1]), words.shape)
    new = np.ones(words.shape, dtype=bool)
    new[:, 1:] = ordered[:, 1:] != ordered[:, :-1]
    start = np.maximum.accumulate(np.where(new, places, 0), axis=1)
    leaders = np.empty_like(order)
    np.put_along_axis(leaders, order, np.take_along_axis(order, start, axis=1), axis=1)
    return leaders


class _Trained(Protocol):
    """A network as it is kept; one that scores has `at(beta) -> Score` as well."""

    @property
    def seconds(self) -> float:
        """Seconds of training."""
        ...

    @property
    def device(self) -> str:
        """Where."""
        ...

    @property
    def summary(self) -> Mapping[str, float]:
        """Held-out numbers of its training."""
        ...

    def arrays(self) -> Arrays:
        """Everything to store, by flat names."""
        ...


class Recipe(Specification):
    """How a score is learnt: a frozen value, part of the network's key."""

    batched: ClassVar[bool] = False
    """Whether several networks are trained as one batch on a GPU."""

    @property
    def label(self) -> str:
        """Short description for a list of trained models."""
        return ""

    @property
    def places(self) -> int:
        """Distinct x at which it needs draws of q from a benchmark."""
        return 0

    def cost(self) -> float:
        """Seconds of training, about, on one 2.x GHz core."""
        return 1.0

    def for_all_gammas(self, gammas: int) -> Self:
        """The recipe of one network for so many gammas; by itself the same."""
        del gammas
        return self

    def sample(self, benchmark: Benchmark, gamma: float, rng: np.random.Generator) -> Any:
        """Training data drawn from a benchmark."""
        raise NotImplementedError(f"{type(self).__name__} learns from no benchmark")

    def of_table(self, train: PosteriorTable, rng: np.random.Generator) -> Any:
        """Training data from the rows of a table that no test reads."""
        del rng
        return train

    def of_blocks(self, train: TwoSamples, rng: np.random.Generator) -> Any:
        """Training data from two samples.

        Raises:
            ValueError: for a recipe that needs draws at each x.
        """
        raise ValueError(
            "This method learns from draws of q at each x; got two samples p and q, which have "
            "none. Upload a table of theta, x and theta_q."
        )

    def learn_all(
        self, data: Sequence[Any], seeds: Sequence[int], report: Report | None = None
    ) -> Sequence[_Trained]:
        """One network for each set of data and seed."""
        raise NotImplementedError(f"{type(self).__name__} learns nothing yet")

    def read(self, arrays: Arrays, *, seconds: float, device: str) -> _Trained:
        """Trained score from the output of `Trained.arrays`."""
        raise NotImplementedError(f"{type(self).__name__} reads nothing back yet")


@dataclass(frozen=True, kw_only=True)
class LinearBoundary:
    """s = -((theta - 1/4 - offset) cos(angle) + x sin(angle)), for one theta and one x.

    Bansal, Chen, Scott, Fig. 1. At offset 0 and angle 0 the Bayes classifier for
    p = N(0, I), q = N((1/2, 0), I); `angle` in radians.
    """

    offset: float = 0.0
    angle: float = 0.0

    def __call__(self, theta: Array, x: Array) -> Array:
        along, across = np.cos(self.angle), np.sin(self.angle)
        return -((theta[:, 0] - 0.25 - self.offset) * along + x[:, 0] * across)


class RawRows:
    """theta (n, D), x (n, M) -> (D + M, n): every number of a row, without learning."""

    def __call__(self, theta: Array, x: Array) -> Array:
        return np.ascontiguousarray(np.concatenate([theta, x], axis=1).T)
