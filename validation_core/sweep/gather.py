"""What the store holds of a sweep so far, what is missing, and the numbers to take away."""

from __future__ import annotations

from collections.abc import Mapping, MutableMapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from validation_core import power, statistics, trials
from validation_core.sweep.parts import TrialsTask
from validation_core.sweep.plan import Place, Sweep
from validation_core.tasks import TrainTask
from validation_core.types import Array, Method, PowerCell

if TYPE_CHECKING:
    from validation_core.store import Store


@dataclass(frozen=True, eq=False)
class Progress:
    """What the store holds of a sweep."""

    cells: Sequence[PowerCell]
    """Counts so far, in the order of methods and places; places without a trial are left out."""
    done: Mapping[str, int]
    """Trials that have run, by method's label, over all places."""
    wanted: int
    """Trials of each method, over all places."""
    training: Mapping[str, float]
    """Seconds that the networks which a method read took, by its label."""
    pvalues: Mapping[tuple[str, Place], Array]

    @property
    def complete(self) -> bool:
        """Whether every trial has run."""
        return all(count >= self.wanted for count in self.done.values())


Memory = MutableMapping[str, "list[trials.Tally]"]
"""What was read before, by key: a page asks twice a second."""


def collect(sweep: Sweep, store: Store, memory: Memory | None = None) -> Progress:
    """Gather what has run so far."""
    known: Memory = {} if memory is None else memory
    cells, done, seconds = [], {}, {}
    pvalues: dict[tuple[str, Place], Array] = {}
    for method in sweep.methods:
        done[method.label], training = 0, {}
        for place, tally in _tallies(sweep, method, store, known).items():
            cell, pvalues[method.label, place] = _cell(sweep, method, place, tally)
            cells.append(cell)
            done[method.label] += cell.trials
            training[place.gamma] = tally.training
        seconds[method.label] = sum(training.values())
    wanted = sweep.design.trials * len(sweep.places)
    return Progress(cells, done, wanted, seconds, pvalues)


def missing(sweep: Sweep, store: Store) -> tuple[TrainTask | TrialsTask, ...]:
    """What must still run, in order; methods whose whole curve is kept need nothing."""
    kept = {m.label for m in sweep.methods if store.has("results", sweep.curve(m).key)}
    left = replace(sweep, methods=tuple(m for m in sweep.methods if m.label not in kept))
    tests = [t for t in left.tasks if isinstance(t, TrialsTask) and not t.done(store)]
    networks = {t.network for t in tests}
    wanted = set(tests)
    return tuple(
        task for task in left.tasks
        if (task in wanted if isinstance(task, TrialsTask)
            else networks & set(task.trainings) and not task.done(store))
    )  # fmt: skip


def keep(sweep: Sweep, store: Store) -> None:
    """Put each finished curve into a record of its own."""
    for method in sweep.methods:
        found = _tallies(sweep, method, store, {})
        complete = len(found) == len(sweep.places) and all(
            len(tally.pvalues) == sweep.design.trials for tally in found.values()
        )
        if complete:
            sweep.curve(method).save(store, list(found.values()))


def _tallies(
    sweep: Sweep, method: Method, store: Store, known: Memory
) -> dict[Place, trials.Tally]:
    """What a method has said at each place where it has run; parts are added up."""
    curve = sweep.curve(method)
    if curve.key not in known and store.has("results", curve.key):
        whole = curve.load(store)
        if whole is not None:
            known[curve.key] = whole
    if curve.key in known:
        return dict(zip(sweep.places, known[curve.key], strict=True))
    found = {}
    for place in sweep.places:
        parts = []
        for part in sweep.parts[method.label, place]:
            if part.key not in known and part.done(store):
                tally = part.load(store)
                if tally is not None:
                    known[part.key] = [tally]
            parts += known.get(part.key, [])
        if parts:
            found[place] = trials.together(parts)
    return found


def _cell(
    sweep: Sweep, method: Method, place: Place, tally: trials.Tally
) -> tuple[PowerCell, Array]:
    p, t = tally.pvalues, tally.statistics
    protocol = power.protocol_of(method, sweep.design)
    # All trials read one pool: it was drawn once, however many parts drew it anew.
    shared = protocol == "pooled" and method.budget(1, 1).p > 1 and method.reads != "rows"
    draws_p = power.POOL * sweep.design.n if shared else tally.draws_p
    low, high = np.quantile(t, [0.05, 0.95])
    cell = PowerCell(
        benchmark=sweep.benchmark.label, method=method.name, options=power.options(method),
        gamma=place.gamma, beta=place.beta, trials=len(p),
        rejections=int((p <= sweep.design.alpha).sum()), alpha=sweep.design.alpha,
        protocol=protocol,
        draws_p=draws_p, draws_q=tally.draws_q, seconds=tally.seconds, label=method.label,
        statistic=float(t.mean()), statistic_low=float(low), statistic_high=float(high),
    )  # fmt: skip
    return cell, p


def rows(progress: Progress) -> list[dict[str, Any]]:
    """Cells as plain values, one row each: what tables, CSV, parquet and JSON hold."""
    plain = []
    for cell in progress.cells:
        low, high = statistics.wilson(cell.rejections, cell.trials)
        interval = {"rate": cell.rate, "low": float(low), "high": float(high)}
        plain.append({**asdict(cell), **interval})
    return plain
