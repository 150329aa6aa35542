"""Progress of a sweep: stored and missing trials, and the rows of its results."""

from __future__ import annotations

from collections.abc import Mapping, MutableMapping, Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING

from validation_core import statistics
from validation_core.methods.base import Method
from validation_core.scores.trained_scores import TrainTask
from validation_core.sweep.plan import Batch, MethodTrials, Sweep, SweepPlace
from validation_core.sweep.trials import Tally, merge_tallies
from validation_core.types import Array, PowerCell

if TYPE_CHECKING:
    from validation_core.store import Store


@dataclass(frozen=True, eq=False)
class Progress:
    """Stored results of a sweep."""

    cells: Sequence[PowerCell]
    """Counts so far, in the order of methods and places; places without a trial are left out."""
    done: Mapping[str, int]
    """Trials that have run, by method's label, over all places."""
    wanted: int
    """Trials of each method, over all places."""
    training: Mapping[str, float]
    """Training seconds of the networks that a method read, by its label."""
    pvalues: Mapping[tuple[str, SweepPlace], Array]

    @property
    def complete(self) -> bool:
        """Whether every trial has run."""
        return all(count >= self.wanted for count in self.done.values())


Memory = MutableMapping[str, "list[Tally]"]
"""Cache of tallies read before, by key: a page reads twice a second."""


def collect(
    sweep: Sweep, store: Store, memory: Memory | None = None, beside: Sequence[Sweep] = ()
) -> Progress:
    """Collect the finished trials of a sweep.

    Args:
        sweep: the sweep.
        store: holds its parts and curves.
        memory: cache of tallies read before; new ones are added.
        beside: further sweeps whose stored curves may hold the same trials.
    """
    known: Memory = {} if memory is None else memory
    cells, done, seconds = [], {}, {}
    pvalues: dict[tuple[str, SweepPlace], Array] = {}
    for method in sweep.methods:
        done[method.label], training = 0, {}
        for place, tally in _tallies(sweep, method, store, known, beside).items():
            cell = tally.cell(sweep.benchmark, method, *place, sweep.design)
            pvalues[method.label, place] = tally.pvalues
            cells.append(cell)
            done[method.label] += cell.trials
            training[place.gamma] = tally.training
        seconds[method.label] = sum(training.values())
    wanted = sweep.design.trials * len(sweep.places)
    return Progress(cells, done, wanted, seconds, pvalues)


def missing(
    sweep: Sweep, store: Store, beside: Sequence[Sweep] = ()
) -> tuple[TrainTask | Batch, ...]:
    """Tasks that must still run, in order.

    Args:
        sweep: the sweep.
        store: holds finished parts and curves.
        beside: further sweeps whose stored curves may hold the same trials.
    """
    kept = {
        (method.label, place)
        for other in (sweep, *beside)
        for method in other.methods
        if store.has("results", other.curve(method).key)
        for place in other.places
    }
    if all((method.label, place) in kept for method in sweep.methods for place in sweep.places):
        return ()
    whole = {part for at in kept & set(sweep.parts) for part in sweep.parts[at]}
    batches = {
        task
        for task in sweep.tasks
        if isinstance(task, Batch)
        and not whole.issuperset(task.parts)
        and not whole.issuperset(task.missing(store))
    }
    networks = {training for batch in batches for training in batch.trainings}
    return tuple(
        task
        for task in sweep.tasks
        if (
            task in batches
            if isinstance(task, Batch)
            else networks & set(task.trainings) and not task.done(store)
        )
    )


def keep_curves(sweep: Sweep, store: Store) -> None:
    """Store each complete curve as one record."""
    for method in sweep.methods:
        tallies = _tallies(sweep, method, store, {})
        complete = len(tallies) == len(sweep.places) and all(
            len(tally.pvalues) == sweep.design.trials for tally in tallies.values()
        )
        if complete:
            device = _devices(sweep, method, store)
            sweep.curve(method).save(store, list(tallies.values()), device)


def _devices(sweep: Sweep, method: Method, store: Store) -> str:
    """Where the parts of a curve ran, by their records: they may have been made elsewhere."""
    parts = (part for place in sweep.places for part in sweep.parts[method.label, place])
    records = (store.load("results", part.key) for part in parts)
    known = {
        str(record.meta["device"]) for record in records if record and "device" in record.meta
    }
    return ", ".join(sorted(known))


def _tallies(
    sweep: Sweep, method: Method, store: Store, known: Memory, beside: Sequence[Sweep] = ()
) -> dict[SweepPlace, Tally]:
    """Tallies of a method at each place where it has run, parts merged."""
    whole: dict[SweepPlace, Tally] = {}
    for other in (*beside, sweep):
        curve = other.curve(method)
        if curve.key not in known and store.has("results", curve.key):
            stored = curve.tallies(store)
            if stored is not None:
                known[curve.key] = stored
        whole |= dict(zip(other.places, known.get(curve.key, ()), strict=False))
    tallies = {}
    for place in sweep.places:
        tally = whole.get(place) or _added(sweep.parts[method.label, place], store, known)
        if tally is not None:
            tallies[place] = tally
    return tallies


def _added(parts: Sequence[MethodTrials], store: Store, known: Memory) -> Tally | None:
    """Finished parts of one place, merged."""
    tallies: list[Tally] = []
    for part in parts:
        if part.key not in known and part.done(store):
            tally = part.load(store)
            if tally is not None:
                known[part.key] = [tally]
        tallies += known.get(part.key, [])
    return merge_tallies(tallies) if tallies else None


def progress_rows(progress: Progress) -> list[dict[str, object]]:
    """Cells as plain values, one row each, for tables, CSV, parquet and JSON."""
    records = []
    for cell in progress.cells:
        low, high = statistics.wilson(cell.rejections, cell.trials)
        interval = {"rate": cell.rate, "low": float(low), "high": float(high)}
        records.append({**asdict(cell), **interval})
    return records
