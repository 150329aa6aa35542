"""`compare`: rank several posteriors of the same simulations by distance from the true one."""

from __future__ import annotations

import json
import operator
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from os import PathLike
from typing import Any, SupportsIndex
from urllib.parse import urlencode

import numpy as np
from numpy.typing import ArrayLike

from validation_core.api.helpers import helper_processes
from validation_core.api.keywords import checked_keywords
from validation_core.api.result import Result, Rows
from validation_core.api.table import Table, as_table
from validation_core.api.work import Watch, progress_watch, run_in_turn
from validation_core.diagnosis import comparison, tasks
from validation_core.diagnosis.comparison import Measure, Ranking
from validation_core.drawing.drawn import Drawn
from validation_core.engine import Task
from validation_core.panels import posteriors
from validation_core.store import Store
from validation_core.tables import Upload
from validation_core.tables.reading import File
from validation_core.types import Array


@dataclass(frozen=True, eq=False, repr=False)
class ComparisonResult(Result):
    """Measures of several tables, and their paired differences from a reference.

    Examples:
        >>> theta_exact = x[:, None] + rng.standard_normal((60, 20, 2))
        >>> exact = npt.Table(theta, x, theta_exact, names=["a", "b"])
        >>> result = npt.compare([table, exact], reference="table 2")
        >>> result.crps.shape  # tables, parameters, (estimate, low, high)
        (2, 2, 3)
    """

    labels: tuple[str, ...]
    measures: tuple[Measure, ...]
    """Measures: a value for every table, and differences with simultaneous intervals."""
    crps: Array
    """Differences in CRPS from the reference (T, D, 3): estimate, low, high by parameter."""
    names: tuple[str, ...]
    """Names of the parameters."""
    reference: int = 0
    """Place of the reference table of the differences."""
    ranking: Ranking | None = None
    """Tables by distance from the true posterior; None where one has too few draws."""
    pvalues: tuple[float | None, ...] = ()
    """Of each table's own tests, adjusted for all tests of all tables; None without a test."""
    uploads: tuple[Upload, ...] = ()
    """The tables."""
    left_out: tuple[str, ...] = ()
    """What is not compared, and why, in sentences."""
    warnings: tuple[str, ...] = ()
    """The tables' own warnings, with their labels."""

    @property
    def title(self) -> str:
        return "Which posterior is nearest to the true one?"

    @property
    def sentences(self) -> tuple[str, ...]:
        """Tables that are the same; the nearest, and whether it is right; warnings; then every
        other one.
        """
        first: tuple[str, ...] = ()
        if self.ranking is not None:
            right = comparison.right_text(self.ranking, self.labels, self.pvalues)
            first = (*comparison.headline(self.ranking, self.labels), *filter(None, [right]))
        told = comparison.describe(self.measures, self.labels, self.reference)
        same = comparison.same_text(self.uploads, self.labels) if self.uploads else None
        return (*filter(None, [same]), *first, *self.warnings, *self.left_out, *told)

    def figures(self) -> tuple[Drawn, ...]:
        """The lead of the nearest table, the differences, and each measure."""
        first = self.labels[self.reference]
        others = [i for i in range(len(self.labels)) if i != self.reference]
        by_parameter = [
            drawing
            for i in others
            if len(self.crps)
            for drawing in posteriors.parameter_differences(
                self.crps[i], self.names, self.labels[i], first
            )
        ]
        nearest = (
            (posteriors.energy_score_gaps(self.ranking, self.labels),) if self.ranking else ()
        )
        return (
            *nearest,
            *posteriors.differences(self.measures, self.labels, self.reference),
            *by_parameter,
            *posteriors.history(self.measures, self.labels),
        )

    def rows(self) -> Rows:
        """A row for each measure of each table; `closer` is None where it is undecided."""
        return [
            {
                "measure": measure.name,
                "table": label,
                **measure.values[i]._asdict(),
                **{f"difference_{k}": v for k, v in measure.differences[i]._asdict().items()},
                "closer": None if i == self.reference else measure.closer(i),
            }
            for measure in self.measures
            for i, label in enumerate(self.labels)
        ]

    def link(self, server: str = "http://localhost:8501", store: Store | None = None) -> str:
        """Keep the tables for the dashboard, and return the address of their comparison there.

        Args:
            server: address of a dashboard that reads the same store: on this machine, as
                `nptlab app` opens it, or with the same NPTLAB_CACHE.
            store: where that dashboard reads tables; by default the user's cache folder.

        Raises:
            ValueError: for more tables than the page compares.
        """
        if not 2 <= len(self.uploads) <= comparison.MOST_ON_PAGE:
            raise ValueError(
                f"The page compares 2 to {comparison.MOST_ON_PAGE} tables; got "
                f"{len(self.uploads)}. Compare fewer."
            )
        store = store or Store.usual()
        entries = []
        for label, upload in zip(self.labels, self.uploads, strict=True):
            tasks.save_upload(store, upload)
            entries.append(("tables", comparison.address_entry(label, upload)))
        return f"{server.rstrip('/')}/compare-posteriors?{urlencode(entries)}"

    def to_json(self) -> str:
        """Every number as JSON, as the command line prints it."""
        document: dict[str, object] = {
            "tables": list(self.labels),
            "reference": self.labels[self.reference],
            "sentences": list(self.sentences),
            "ranking": self.ranking and _ranked(self.ranking, self.labels),
            "pvalues": list(self.pvalues),
            "measures": [self._measure(measure) for measure in self.measures],
        }
        return json.dumps(document, indent=1, allow_nan=False)

    def _measure(self, measure: Measure) -> dict[str, object]:
        others = range(len(self.labels))
        return {
            "name": measure.name,
            "title": measure.title,
            "about": measure.about,
            "higher_is_better": measure.higher_is_better,
            "values": [value._asdict() for value in measure.values],
            "differences": [value._asdict() for value in measure.differences],
            "closer": [None if i == self.reference else measure.closer(i) for i in others],
        }


@checked_keywords()
def compare(
    tables: Mapping[str, Table | Upload | File | Mapping[str, ArrayLike]]
    | Sequence[Table | Upload | File],
    *more: object,
    reference: str | SupportsIndex = 0,
    seed: int = 0,
    store: Store | None = None,
    progress: bool | Watch = True,
) -> ComparisonResult:
    """Compare posteriors of the same simulations row by row: checkpoints, architectures, methods.

    Effects of an observation on both tables cancel, so that small differences show. Energy score,
    CRPS and log score are proper (Gneiting, Raftery 2007): the true posterior has the best. Other
    cores help, their number set by NPTLAB_WORKERS.

    Args:
        tables: two or more, by label, with the same theta and x in every row.
        reference: the table that differences are taken from, by label or place: 0 is the first,
            -1 the last.
        seed: of the tests whose ranks are compared.
        store: of networks and results; by default the user's cache folder, with the shipped
            gallery behind it.
        progress: True for a bar on terminals and in notebooks, False for silence, or a `Watch`.

    Raises:
        TypeError: for tables one by one instead of together, or a reference that is neither a
            label nor a place.
        ValueError: for fewer than two tables, tables of other simulations or draws that look
            mistaken, by their names, the same draws in all, or a reference that is none of them.

    Examples:
        >>> theta_exact = x[:, None] + rng.standard_normal((60, 20, 2))
        >>> exact = npt.Table(theta, x, theta_exact, names=["a", "b"])
        >>> result = npt.compare({"narrow": table, "exact": exact})
        >>> result.labels, result.measures[0].name
        (('narrow', 'exact'), 'energy')
    """
    if more or isinstance(tables, Table | Upload | str | PathLike):
        raise TypeError(
            f"Tables are compared in one list, or by label; got {1 + len(more)} by "
            f"{'themselves' if more else 'itself'}. Write npt.compare([a, b]) or "
            f"npt.compare({{'one': a, 'other': b}})."
        )
    labels, several = _named(tables)
    if isinstance(reference, str) and reference not in labels:
        raise ValueError(
            f"The reference is one of {', '.join(labels)}; got {reference!r}. Choose one."
        )
    at = labels.index(reference) if isinstance(reference, str) else reference
    return compared(labels, several, at, seed, store or Store.usual(), progress)


def compared(
    labels: Sequence[str],
    tables: Sequence[Table],
    reference: SupportsIndex,
    seed: int,
    store: Store,
    progress: bool | Watch,
) -> ComparisonResult:
    """As `compare`, for tables that may share a label.

    Raises:
        TypeError: for a reference that is no whole number.
        ValueError: for fewer than two tables, tables of different simulations, draws that look
            mistaken, the same draws in all, or a reference that is none of them.
    """
    if len(tables) < 2:
        raise ValueError(
            f"A comparison needs at least two tables; got {len(tables)}. Name another file."
        )
    reference = _place(reference, len(tables))
    uploads, methods = [table.upload for table in tables], comparison.methods()
    for i, (label, upload) in enumerate(zip(labels, uploads, strict=True)):
        reason = None if i == reference else comparison.unlike(uploads[reference], upload)
        if reason:
            raise ValueError(f"{label}: {reason}")
        try:
            upload.require_usable()
        except ValueError as refusal:
            raise ValueError(f"{label}: {refusal}") from None
    if same := comparison.one_text(uploads, labels):
        raise ValueError(same)
    names: dict[Task, str] = {}
    for label, upload in zip(labels, uploads, strict=True):
        tasks.register_upload(upload)
        own = (*tasks.tasks(upload, methods, seed), *comparison.studies(upload, seed))
        names |= {task: f"{label}: {task.label}" for task in own if task not in names}
    queue = list(names)
    with progress_watch(progress) as watch, helper_processes(queue, store, uploads) as helpers:
        run_in_turn(queue, store, watch, helpers=helpers, label=names.__getitem__)
    records = [tasks.records(store, upload, methods, seed)[0] for upload in uploads]
    scores = [
        next((task.load(store) for task in comparison.studies(upload, seed)), None)
        for upload in uploads
    ]
    return ComparisonResult(
        tuple(labels),
        tuple(comparison.measures(uploads, records, scores, reference)),
        np.asarray(comparison.parameters(scores, reference)),
        uploads[reference].names,
        reference,
        comparison.ranking(scores),
        comparison.rejections(records),
        tuple(uploads),
        comparison.left_out(uploads, labels),
        comparison.warnings(uploads, labels),
    )


def _place(reference: SupportsIndex, count: int) -> int:
    """The place from 0 of the reference among so many tables; below 0 it counts from the last.

    Raises:
        TypeError: for no whole number.
        ValueError: for a place where there is no table.
    """
    rule = f"The reference is a label, or a place from {-count} to {count - 1}"
    try:
        place = operator.index(reference)
    except TypeError:
        raise TypeError(f"{rule}; got {reference!r}. Choose one.") from None
    if not -count <= place < count:
        raise ValueError(f"{rule}; got {place}. Choose one.")
    return place % count


def _ranked(ranking: Ranking, labels: Sequence[str]) -> list[dict[str, object]]:
    """The tables, nearest first, each with its excess energy score."""
    return [{"table": labels[i], **ranking.behind[i]._asdict()} for i in ranking.order]


def _named(tables: Mapping[str, Any] | Sequence[Any]) -> tuple[list[str], list[Table]]:
    """Tables by label; unlabelled ones by file name, or by place."""
    if isinstance(tables, Mapping):
        return list(tables), [as_table(table) for table in tables.values()]
    several = [as_table(table) for table in tables]
    paths = [table.path for table in several]
    places = [f"table {i + 1}" for i in range(len(several))]
    return paths if len(set(paths)) == len(paths) else places, several
