"""A benchmark at all of its strengths at once: gamma becomes a further coordinate of x.

A network that learns from its draws is one network for every gamma. Held at one gamma it is a
score like any other, fixed before the test draws are seen, so that tests by it stay exact.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from validation_core import scores
from validation_core.types import Array, Benchmark, Paper, PosteriorTable, Score, TableScores


@dataclass(frozen=True, kw_only=True)
class OverGamma(Benchmark, spec="over_gamma"):
    """Pairs whose x is extended by gamma's position on the grid: uniform, scaled to [-1, 1].

    Its own argument gamma is ignored.
    """

    paper: ClassVar[Paper] = Paper(
        "Chen, Bansal, Scott", 2025, "Conditional localization test", "Section 4"
    )
    of: Benchmark
    grid: tuple[float, ...]

    @property
    def summary(self) -> str:
        return f"{self.of.summary}, at {len(self.grid)} values of gamma"

    @property
    def label(self) -> str:
        return f"{self.of.label}, all gammas"

    @property
    def gammas(self) -> tuple[float, ...]:
        """A single 0: the strengths are part of x."""
        return (0.0,)

    @property
    def dims(self) -> tuple[int, int]:
        d, m = self.of.dims
        return d, m + 1

    @property
    def _places(self) -> NDArray[np.float64]:
        """Scaled position of each gamma (G,)."""
        return np.linspace(-1, 1, len(self.grid)) if len(self.grid) > 1 else np.zeros(1)

    def at(self, x: Array, index: int) -> Array:
        """x (n, M) with the scaled position of the index-th gamma appended: (n, M + 1)."""
        return np.concatenate([x, np.full((len(x), 1), self._places[index])], axis=1)

    def x(self, n: int, rng: np.random.Generator) -> Array:
        places = rng.choice(self._places, size=(n, 1))
        return np.concatenate([self.of.x(n, rng), places], axis=1)

    def theta(self, x: Array, gamma: float, rng: np.random.Generator) -> Array:
        del gamma
        return self._each(self.of.theta, x, rng)

    def q(self, x: Array, gamma: float, rng: np.random.Generator) -> Array:
        del gamma
        return self._each(self.of.q, x, rng)

    @property
    def drawn_from(self) -> tuple[Benchmark, tuple[float, ...]]:
        """The benchmark that draws, and where: networks behind it are given to it."""
        return self.of, self.grid

    def _each(
        self,
        law: Callable[[Array, float, np.random.Generator], Array],
        x: Array,
        rng: np.random.Generator,
    ) -> Array:
        out = np.empty((len(x), self.dims[0]))
        for gamma, rows in self._rows(x):
            out[rows] = law(x[rows, :-1], gamma, rng)
        return out

    def _rows(self, x: Array) -> Iterator[tuple[float, NDArray[np.bool_]]]:
        """Each gamma present in x, with a mask of its rows (n,)."""
        index = np.abs(x[:, -1:] - self._places).argmin(axis=1)
        for each in np.unique(index):
            yield self.grid[each], index == each


@dataclass(frozen=True, eq=False)
class AtGamma:
    """A score of `OverGamma` held at one gamma: a score of the benchmark's own (theta, x)."""

    score: Score
    over: OverGamma
    index: int
    """Index of gamma on the grid."""

    def __call__(self, theta: Array, x: Array) -> Array:
        return self.score(theta, self.over.at(x, self.index))

    def table(self, draws: PosteriorTable) -> TableScores:
        """Scores of the truth and of q's draws; work that depends on x alone is done once."""
        x = self.over.at(draws.x, self.index)
        return scores.apply(self.score, PosteriorTable(draws.theta, x, draws.q))


def refine_grid(gammas: tuple[float, ...], count: int, power: float = 1.0) -> tuple[float, ...]:
    """Refine a grid to at least `count` values, by halving the widest gap again and again.

    Args:
        gammas: values that the grid keeps; a single value stays alone.
        count: values of the refined grid, at least.
        power: gaps are measured in gamma to this power.
    """
    values = sorted(gammas)
    while 1 < len(values) < count:
        seen = np.array(values) ** power
        gap = int(np.diff(seen).argmax())
        middle = ((seen[gap] + seen[gap + 1]) / 2) ** (1 / power)
        values.insert(gap + 1, float(f"{middle:.3g}") if power != 1 else round(middle, 6))
    return tuple(values)
