"""A table's features beside those of null and of injected tables made from its own draws."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from validation_core.answers.cause.biases import disturbed
from validation_core.answers.cause.central import Central
from validation_core.answers.cause.features import Features
from validation_core.answers.cause.ranks import Ranked
from validation_core.answers.cause.variants import Variant, variants
from validation_core.answers.injections import Pool
from validation_core.rng import stream
from validation_core.types import Array, Draws

ROWS, DRAWS, PARAMETERS = 1500, 200, 16
"""What is looked at of a larger table: bounds the time."""
NUMBERS, FEWER = 2_000_000, 40
"""Numbers of q's draws beyond which fewer draws are looked at, and how many then: the table
itself is large, and what is worked out from these draws is 15 times as large as they are."""
NULLS = 299
"""Tables in which a point of each row's pool plays the truth."""
EACH = 20
"""Injected tables of every shape of every cause."""

_AROUND = 0.15  # of a variant's range of strengths, on either side
_AT_ONCE = 1_000_000  # numbers of injected truths held at a time
_LARGE = 10_000  # numbers of a table's truths from which on it is an eighth of that


@dataclass(frozen=True, eq=False)
class Clouds:
    """Features of a table (first of `null`), of its null tables, and of injected ones."""

    names: tuple[str, ...]
    """Of the F features."""
    null: Array
    """(1 + B, F): the table itself, then null tables, which are exchangeable with it if p = q."""
    injected: Array
    """(I, F)."""
    of: NDArray[np.intp]
    """Which variant each injected table has: (I,)."""
    strengths: Array
    """(I,)."""
    variants: tuple[Variant, ...]

    @property
    def observed(self) -> Array:
        """The table's own: (F,)."""
        return self.null[0]


def some(table: Draws, seed: int) -> tuple[Draws, NDArray[np.intp]]:
    """What is looked at of a table, and the parameters that are; all of it where it is small."""
    n, k, d = table.q.shape
    rows = np.sort(stream(seed, "cause", "rows").permutation(n)[:ROWS])
    columns = np.linspace(0, d - 1, min(d, PARAMETERS)).astype(int)
    most = DRAWS if len(rows) * len(columns) * min(k, DRAWS) <= NUMBERS else FEWER
    draws = np.linspace(0, k - 1, min(k, most)).astype(int)
    q = table.q[np.ix_(rows, draws, columns)]
    return Draws(table.theta[rows][:, columns], table.x[rows], q), columns


def ready(table: Draws, seed: int) -> tuple[Ranked, Pool, Features]:
    """A table made ready: its points without ties, q's draws among them, its features."""
    ranked = Ranked.of(table, stream(seed, "cause", "ties"))
    pool = Central(ranked.points[:, 1:], table.x, ranked=ranked)
    return ranked, pool, Features(ranked, table.x)


def _step(numbers: int) -> int:
    """How many sets of truths of so many numbers are worked on at a time."""
    return max(1, (_AT_ONCE if numbers <= _LARGE else _AT_ONCE // 8) // numbers)


def nulls(
    ranked: Ranked, features: Features, seed: int, *, count: int = NULLS,
    report: Callable[[float], None] = lambda done: None,
) -> tuple[tuple[str, ...], Array]:  # fmt: skip
    """Names of the features, and those of the table itself and of null tables (1 + B, F)."""
    n, size, d = ranked.points.shape
    step, rng = _step(n * d), stream(seed, "cause", "null")
    which = rng.integers(size, size=(count + 1, n))
    which[0] = 0
    found = []
    for start in range(0, len(which), step):
        found.append(features.of(ranked.pooled(which[start : start + step], rng)))
        report(min(1.0, (start + step) / len(which)))
    names = tuple(found[0])
    return names, np.concatenate([_rows(one, names) for one in found])


@dataclass(frozen=True, eq=False)
class Injector:
    """Makes injected tables of one table, and their features by these names."""

    ranked: Ranked
    pool: Pool
    features: Features
    names: tuple[str, ...]
    variants: tuple[Variant, ...]

    def made(
        self, of: NDArray[np.intp], strengths: Array, rng: np.random.Generator,
        report: Callable[[float], None] = lambda done: None,
    ) -> Array:  # fmt: skip
        """Features (I, F) of tables with these variants at these strengths (I,)."""
        n, size, d = self.ranked.points.shape
        step = _step(n * d)
        found = []
        for start in range(0, len(of), step):
            part = slice(start, start + step)
            which = rng.integers(size - 1, size=(len(of[part]), n))
            pairs = zip(of[part].tolist(), strengths[part].tolist(), strict=True)
            moved = [
                self.variants[v].apply(self.pool, which[i : i + 1], s, rng)
                for i, (v, s) in enumerate(pairs)
            ]
            theta = disturbed(self.pool, which, np.concatenate(moved), rng)
            scores = self.ranked.moved(theta, which, rng)
            found.append(_rows(self.features.of(scores), self.names))
            report(min(1.0, (start + step) / len(of)))
        return np.concatenate(found)


def clouds(
    ranked: Ranked, pool: Pool, features: Features, seed: int, *, each: int = EACH,
    count: int = NULLS, report: Callable[[float], None] = lambda done: None,
) -> tuple[Clouds, Injector]:  # fmt: skip
    """Null tables and injected ones at strengths of all sizes; `report` hears the share done."""
    names, null = nulls(ranked, features, seed, count=count, report=lambda f: report(0.25 * f))
    every = variants(ranked, pool)
    injector = Injector(ranked, pool, features, names, every)
    rng = stream(seed, "cause", "injected")
    of = np.repeat(np.arange(len(every)), each)
    places = (rng.random((len(every), each)) + np.arange(each)) / each  # evenly, as in strata
    strengths = np.concatenate([v.drawn(at) for v, at in zip(every, places, strict=True)])
    points = injector.made(of, strengths, rng, lambda f: report(0.25 + 0.75 * f))
    return Clouds(names, null, points, of, strengths, every), injector


def closer(
    found: Clouds, injector: Injector, at: Mapping[int, float], seed: int, *, each: int = EACH,
    report: Callable[[float], None] = lambda done: None,
) -> Clouds:  # fmt: skip
    """With more injected tables of these variants, at strengths about these."""
    rng = stream(seed, "cause", "closer")
    of = np.repeat(np.array(list(at), dtype=np.intp), each)
    around = rng.uniform(-_AROUND, _AROUND, (len(at), each))
    strengths = np.concatenate(
        [
            found.variants[v].drawn(np.maximum(found.variants[v].place(np.array(s)) + off, -0.5))
            for (v, s), off in zip(at.items(), around, strict=True)
        ]
    )
    points = injector.made(of, strengths, rng, report)
    return replace(
        found, injected=np.concatenate([found.injected, points]),
        of=np.concatenate([found.of, of]),
        strengths=np.concatenate([found.strengths, strengths]),
    )  # fmt: skip


def _rows(found: dict[str, Array], names: tuple[str, ...]) -> Array:
    return np.stack([found[name] for name in names], axis=1)
