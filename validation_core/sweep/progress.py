"""Progress of a sweep: stored and missing trials, and the rows of its results."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, MutableMapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING

from validation_core.methods.base import Method
from validation_core.scores.trained_scores import TrainTask
from validation_core.sweep.plan import Batch, MethodTrials, Sweep, SweepCurve, SweepPlace
from validation_core.sweep.rates import rate_interval
from validation_core.sweep.trials import Tally, merge_tallies
from validation_core.types import Array, NetworkCount, PowerCell

if TYPE_CHECKING:
    from validation_core.store import Store


@dataclass(frozen=True, eq=False)
class Progress:
    """Stored results of a sweep."""

    cells: Sequence[PowerCell]
    """Counts so far, in the order of methods and places; places without a trial are left out."""
    done: Mapping[str, int]
    """Trials that have run, by method's label, over all places and networks."""
    wanted: Mapping[str, int]
    """Trials of each method, by its label, over all places and networks."""
    training: Mapping[str, float]
    """Training seconds of the networks that a method read, each once, by its label."""
    pvalues: Mapping[tuple[str, SweepPlace], Array]
    """Of the trials with the first network, by method's label and place."""

    @property
    def complete(self) -> bool:
        """Whether every trial has run."""
        return all(count >= self.wanted[label] for label, count in self.done.items())


TallyMemory = MutableMapping[str, "list[Tally]"]
"""Cache of tallies read before, by key: a page reads twice a second."""


def collect(
    sweep: Sweep, store: Store, memory: TallyMemory | None = None, beside: Sequence[Sweep] = ()
) -> Progress:
    """Collect the finished trials of a sweep.

    Args:
        sweep: the sweep.
        store: holds its parts and curves.
        memory: cache of tallies read before; new ones are added.
        beside: further sweeps whose stored curves may hold the same trials.
    """
    known: TallyMemory = {} if memory is None else memory
    cells, done, wanted, seconds = [], {}, {}, {}
    pvalues: dict[tuple[str, SweepPlace], Array] = {}
    for method in sweep.methods:
        every = [one for one in sweep.of_one_network if method in one.methods]
        tallies = [_tallies(one, method, store, known, _like(one, beside)) for one in every]
        training = {
            one.network(method, place.gamma) or (one.seed, place.gamma): tally.training
            for one, of_one in zip(every, tallies, strict=True)
            for place, tally in of_one.items()
        }
        done[method.label] = 0
        for place in sweep.places:
            here = [of_one[place] for of_one in tallies if place in of_one]
            if not here:
                continue
            cell = _cell(sweep, method, place, here)
            pvalues[method.label, place] = here[0].pvalues
            cells.append(cell)
            done[method.label] += cell.trials
        wanted[method.label] = len(every) * sweep.design.trials * len(sweep.places)
        seconds[method.label] = sum(training.values())
    return Progress(cells, done, wanted, seconds, pvalues)


def _cell(sweep: Sweep, method: Method, place: SweepPlace, tallies: Sequence[Tally]) -> PowerCell:
    """Counts of one place over all networks whose trials have run."""
    cells = [tally.cell(sweep.benchmark, method, *place, sweep.design) for tally in tallies]
    if len(cells) == 1:
        return cells[0]
    merged = merge_tallies(tallies).cell(sweep.benchmark, method, *place, sweep.design)
    return replace(merged, networks=tuple(NetworkCount(c.rejections, c.trials) for c in cells))


def _like(one: Sweep, beside: Sequence[Sweep]) -> list[Sweep]:
    """Parts of other sweeps that read the networks of the same seed."""
    return [part for other in beside for part in other.of_one_network if part.seed == one.seed]


def missing(
    sweep: Sweep, store: Store, beside: Sequence[Sweep] = ()
) -> tuple[TrainTask | Batch, ...]:
    """Tasks that must still run, in order.

    Args:
        sweep: the sweep.
        store: holds finished parts and curves.
        beside: further sweeps whose stored curves may hold the same trials.
    """
    several = [_missing(one, store, _like(one, beside)) for one in sweep.of_one_network]
    return tuple(dict.fromkeys(task for tasks in several for task in tasks))


def begun(sweep: Sweep, store: Store) -> bool:
    """Whether there is anything to see: its stored curves, or what runs first."""
    if all(store.has("results", sweep.curve(method).key) for method in sweep.methods):
        return True
    first = next((task for task in sweep.tasks if isinstance(task, Batch)), None)
    return first is not None and any(part.done(store) for part in first.parts)


def missing_of_all(sweeps: Sequence[Sweep], store: Store) -> tuple[TrainTask | Batch, ...]:
    """Tasks of several sweeps that must still run; parts that draw alike are one batch.

    A batch runs where the last of its parts would: the networks that they read are trained by
    then.
    """
    left: dict[object, TrainTask | Batch] = {}
    for task in (task for sweep in sweeps for task in missing(sweep, store)):
        if isinstance(task, Batch):
            draws = task.parts[0].draws
            alike = left.pop(draws, None)  # it moves to the end
            parts = (*alike.parts, *task.parts) if isinstance(alike, Batch) else task.parts
            left[draws] = Batch(parts=tuple(dict.fromkeys(parts)))
        else:
            left.setdefault(task, task)
    return tuple(left.values())


def _missing(sweep: Sweep, store: Store, beside: Sequence[Sweep]) -> tuple[TrainTask | Batch, ...]:
    """Tasks of a sweep with one network that must still run."""
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
    """Store each complete curve of each network as one record."""
    for one, method in ((o, m) for o in sweep.of_one_network for m in o.methods):
        tallies = _tallies(one, method, store, {})
        complete = len(tallies) == len(one.places) and all(
            len(tally.pvalues) == one.design.trials for tally in tallies.values()
        )
        if complete:
            device = _devices(one, method, store)
            one.curve(method).save(store, list(tallies.values()), device)


def curve_records(sweep: Sweep) -> Iterator[SweepCurve]:
    """Records of every method with every network."""
    for one in sweep.of_one_network:
        yield from map(one.curve, one.methods)


def _devices(sweep: Sweep, method: Method, store: Store) -> str:
    """Where the parts of a curve ran, by their records: they may have been made elsewhere."""
    parts = (part for place in sweep.places for part in sweep.parts[method.label, place])
    records = (store.load("results", part.key) for part in parts)
    known = {
        str(record.meta["device"]) for record in records if record and "device" in record.meta
    }
    return ", ".join(sorted(known))


def _tallies(
    sweep: Sweep, method: Method, store: Store, known: TallyMemory, beside: Sequence[Sweep] = ()
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


def _added(parts: Sequence[MethodTrials], store: Store, known: TallyMemory) -> Tally | None:
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
    return [
        {**asdict(cell), "rate": cell.rate, **rate_interval(cell)._asdict()}
        for cell in progress.cells
    ]
