"""A table's features beside those of null tables and injected tables of its own draws."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from validation_core.diagnosis.questions.cause.prepared_table import PreparedTable
from validation_core.diagnosis.questions.cause.variants import Variant, injectable_variants
from validation_core.diagnosis.questions.cause.variants.biases import disturbed
from validation_core.pieces import slices
from validation_core.relabelling.played_truths import (
    pick_slots,
    pick_slots_after_observed,
    tables_at_once,
)
from validation_core.rng import stream
from validation_core.statistics.permutation import share_beyond
from validation_core.types import Array

_NULLS = 299  # tables in which a point of each row's pool plays the truth
TABLES_OF_EACH = 20  # injected tables of every shape of every cause
_AROUND_SHARE = 0.15  # of a variant's range of strengths, on either side
_AT_ONCE = 1_000_000  # numbers of injected truths held at a time


@dataclass(frozen=True, eq=False)
class ReferenceSets:
    """Features of a table (first of `null`), of its null tables, and of injected ones."""

    names: tuple[str, ...]
    """Names of the F features."""
    null: Array
    """(1 + B, F): the table itself, then null tables, which are exchangeable with it if p = q."""
    injected: Array
    """(I, F)."""
    of: NDArray[np.intp]
    """Variant of each injected table: (I,)."""
    strengths: Array
    """(I,)."""
    variants: tuple[Variant, ...]

    @property
    def observed(self) -> Array:
        """The table's own: (F,)."""
        return self.null[0]

    def pvalue(self, name: str, *, low: bool = False) -> float:
        """p-value of one feature, for being so large or so low, by relabelling: exact in
        parameters that were not chosen by their looks."""
        feature = self.null[:, self.names.index(name)] * (-1 if low else 1)
        return float(share_beyond(feature[0], feature[1:]))


def null_features(
    table: PreparedTable,
    *,
    count: int = _NULLS,
    report: Callable[[float], None] = lambda done: None,
) -> tuple[tuple[str, ...], Array]:
    """Names of the features, and those of the table itself and of null tables (1 + B, F)."""
    n, size, d = table.ranked.points.shape
    step, rng = tables_at_once(n * d, _AT_ONCE), stream(table.seed, "cause", "null")
    which = pick_slots_after_observed(count, n, size, rng)
    blocks = []
    for part in slices(len(which), step):
        blocks.append(table.features.of(table.ranked.pooled(which[part], rng)))
        report(part.stop / len(which))
    names = tuple(blocks[0])
    return names, np.concatenate([_rows(block, names) for block in blocks])


@dataclass(frozen=True, eq=False)
class _Injector:
    """Makes injected tables of one table, and their features by these names."""

    table: PreparedTable
    names: tuple[str, ...]
    variants: tuple[Variant, ...]

    def injected(
        self,
        of: NDArray[np.intp],
        strengths: Array,
        rng: np.random.Generator,
        report: Callable[[float], None] = lambda done: None,
    ) -> Array:
        """Features (I, F) of tables with these variants at these strengths (I,)."""
        table, pool = self.table, self.table.pool
        n, size, d = table.ranked.points.shape
        step = tables_at_once(n * d, _AT_ONCE)
        blocks = []
        for part in slices(len(of), step):
            which = pick_slots(len(of[part]), n, size - 1, rng)
            pairs = zip(of[part].tolist(), strengths[part].tolist(), strict=True)
            moved = [
                self.variants[v].apply(pool, which[i : i + 1], s, rng)
                for i, (v, s) in enumerate(pairs)
            ]
            theta = disturbed(pool, which, np.concatenate(moved), rng)
            scores = table.ranked.moved(theta, which, rng)
            blocks.append(_rows(table.features.of(scores), self.names))
            report(part.stop / len(of))
        return np.concatenate(blocks)


def build_reference_sets(
    table: PreparedTable, *, report: Callable[[float], None]
) -> tuple[ReferenceSets, _Injector]:
    """Null tables and injected ones at strengths of all sizes; `report` hears the share done."""
    names, null = null_features(table, report=lambda f: report(0.25 * f))
    shapes = injectable_variants(table.ranked, table.pool)
    injector = _Injector(table, names, shapes)
    rng = stream(table.seed, "cause", "injected")
    of = np.repeat(np.arange(len(shapes)), TABLES_OF_EACH)
    places = (
        rng.random((len(shapes), TABLES_OF_EACH)) + np.arange(TABLES_OF_EACH)
    ) / TABLES_OF_EACH  # evenly, as in strata
    strengths = np.concatenate([v.strengths(at) for v, at in zip(shapes, places, strict=True)])
    points = injector.injected(of, strengths, rng, lambda f: report(0.25 + 0.75 * f))
    return ReferenceSets(names, null, points, of, strengths, shapes), injector


def refine_reference_sets(
    sets: ReferenceSets,
    injector: _Injector,
    at: Mapping[int, float],
    report: Callable[[float], None],
) -> ReferenceSets:
    """The sets with more injected tables of these variants, at strengths about these."""
    rng = stream(injector.table.seed, "cause", "closer")
    of = np.repeat(np.array(list(at), dtype=np.intp), TABLES_OF_EACH)
    around = rng.uniform(-_AROUND_SHARE, _AROUND_SHARE, (len(at), TABLES_OF_EACH))
    strengths = np.concatenate(
        [
            sets.variants[v].strengths(np.maximum(sets.variants[v].place(np.array(s)) + off, -0.5))
            for (v, s), off in zip(at.items(), around, strict=True)
        ]
    )
    points = injector.injected(of, strengths, rng, report)
    return replace(
        sets,
        injected=np.concatenate([sets.injected, points]),
        of=np.concatenate([sets.of, of]),
        strengths=np.concatenate([sets.strengths, strengths]),
    )


def _rows(features: dict[str, Array], names: tuple[str, ...]) -> Array:
    return np.stack([features[name] for name in names], axis=1)
