"""`run`: one test, on a table or on one trial of a benchmark."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from inspect import signature
from typing import cast

import numpy as np
from numpy.typing import ArrayLike

from validation_core.api.keywords import checked_keywords
from validation_core.api.names import resolve_benchmark, resolve_method
from validation_core.api.result import Result, Rows
from validation_core.api.table import Table, as_table
from validation_core.api.work import Watch, progress_watch, run_in_turn
from validation_core.benchmarks import BENCHMARKS
from validation_core.diagnosis import Record, findings, tasks
from validation_core.diagnosis.plan import method_obstacle
from validation_core.drawing.drawn import Drawn
from validation_core.keys import JSON
from validation_core.methods.base import Method
from validation_core.methods.record import Effects
from validation_core.panels.record import pictures
from validation_core.report.numbers import dumps
from validation_core.store import Store
from validation_core.sweep.plan import Sweep, SweepPlace
from validation_core.sweep.trial_detail import first_trial
from validation_core.sweep.trials import TrialDesign
from validation_core.tables import Upload
from validation_core.tables.reading import File
from validation_core.text import capitalise, equals, signed_text
from validation_core.types import Array, Benchmark


@dataclass(frozen=True, eq=False, repr=False)
class MethodResult(Result):
    """What one test says: its statistic, its p-value, and the arrays that its figures draw.

    Examples:
        >>> npt.run("sbc", table)
        SBC
        Largest KS distance over parameters 0.2484, p = 0.0019.
    """

    method: Method
    record: Record
    names: tuple[str, ...] = ()
    """Names of the parameters."""
    x_names: tuple[str, ...] = ()
    training: Mapping[str, float] = field(default_factory=dict)
    """Facts about the training of its network, by name."""

    @property
    def title(self) -> str:
        return self.record.title

    @property
    def statistic(self) -> float:
        """Value of the statistic that `method.statistic` names."""
        return float(self.record.statistic or 0.0)

    @property
    def pvalue(self) -> float:
        """p-value: uniform or stochastically larger if q is right, and never 0."""
        return float(1.0 if self.record.pvalue is None else self.record.pvalue)

    @property
    def effect(self) -> Mapping[str, JSON]:
        """Findings beyond the p-value, as plain values by name."""
        return self.record.effect.to_json()

    @property
    def arrays(self) -> Mapping[str, Array]:
        """Data of its figures by name: ranks, nulls, scores."""
        return self.record.arrays

    @property
    def draws(self) -> tuple[int, int]:
        """Numbers of draws from p and from q that it used."""
        return self.record.draws_p, self.record.draws_q

    @property
    def sentences(self) -> tuple[str, ...]:
        value = signed_text(self.statistic, ".4g")
        first = f"{self.record.about} {value}, p {equals(self.pvalue)}."
        return (capitalise(first), *findings(self.record, self.x_names))

    def figures(self) -> tuple[Drawn, ...]:
        return (
            *pictures(self.record, names=self.names),
            *self.record.kind.training_figures(self.training),
        )

    def rows(self) -> Rows:
        """One row: statistic, p-value, draws, seconds."""
        return [
            {
                "method": self.record.label,
                "statistic": self.statistic,
                "pvalue": self.pvalue,
                "draws_p": self.record.draws_p,
                "draws_q": self.record.draws_q,
                "seconds": self.record.seconds,
            }
        ]

    def to_json(self) -> str:
        return dumps({**self.record.to_json(), "training": dict(self.training)})


@checked_keywords()
def run(
    method: str | Method,
    data: Table | Upload | File | Mapping[str, ArrayLike] | Benchmark,
    *,
    gamma: float | None = None,
    n: int | None = None,
    k: int | None = None,
    seed: int = 0,
    store: Store | None = None,
    progress: bool | Watch = True,
    **options: object,
) -> MethodResult:
    """Run one test, and train its networks; networks and results in the store are reused.

    `run("colt", table, embedding="fourier")` tests a table as a diagnosis does;
    `run("c2st", "gaussian", gamma=0.3)` tests one trial of a benchmark.

    Args:
        method: its name in METHODS, or the method itself.
        data: a table, a file or arrays that hold one, or a benchmark or its name.
        gamma: of a benchmark: strength of the error of q; at 0, the default, q is the posterior.
        n: of a benchmark: test points, by default 1000.
        k: of a benchmark: draws of q at each x, for tests of tables; by default 100.
        seed: of the split of a table, of networks, trials and tie-breakers.
        store: of networks and results; by default the user's cache folder, with the shipped
            gallery behind it.
        progress: True for a bar on terminals and in notebooks, False for silence, or a `Watch`.
        options: of the method, as METHODS lists them.

    Raises:
        TypeError: for an option that the method has not, and for gamma, n or k of a table.
        ValueError: for a name that there is not, and for a test that this table cannot serve, with
            why; for draws that look mistaken, with what corrects them.

    Examples:
        >>> round(npt.run("sbc", table).pvalue, 4)
        0.0019
        >>> npt.run("sbc", "gaussian", gamma=1, n=60, k=20).draws
        (60, 1200)
    """
    chosen = resolve_method(method, options, signature(run).parameters)
    store = store or Store.usual()
    benchmark = _benchmark(data)
    if benchmark is None:
        table = as_table(data)  # type: ignore[arg-type]
        if given := [
            f"{name}={value}"
            for name, value in {"gamma": gamma, "n": n, "k": k}.items()
            if value is not None
        ]:
            raise TypeError(
                f"gamma, n and k say what is drawn from a benchmark; got {', '.join(given)} for a "
                f"table, which has its rows and draws already. Leave them out."
            )
        return _on_table(chosen, table, seed, store, progress)
    design = TrialDesign(
        trials=1, n=1000 if n is None else n, k=100 if k is None else k, seed=seed
    )
    sweep = Sweep(
        benchmark=benchmark, methods=(chosen,), gammas=(gamma or 0.0,), design=design, seed=seed
    )
    return _on_trial(chosen, sweep, store, progress)


def _benchmark(data: object) -> Benchmark | None:
    if isinstance(data, str):
        return resolve_benchmark(data, {}) if data in BENCHMARKS else None
    known = isinstance(data, tuple(BENCHMARKS.values()))
    return cast("Benchmark", data) if known else None


def _on_table(
    method: Method, table: Table, seed: int, store: Store, progress: bool | Watch
) -> MethodResult:
    upload = table.upload
    if reason := method_obstacle(method, upload):
        raise ValueError(f"{method.label} cannot run on this table. {reason}")
    upload.require_usable()
    tasks.register_upload(upload)
    with progress_watch(progress) as watch:
        run_in_turn(tasks.tasks(upload, [method], seed), store, watch)
    (record,), _ = tasks.records(store, upload, [method], seed)
    return MethodResult(method, record, upload.names, upload.x_names)


def _on_trial(method: Method, sweep: Sweep, store: Store, progress: bool | Watch) -> MethodResult:
    task = first_trial(sweep, method, SweepPlace(sweep.gammas[0], 0.0))
    with progress_watch(progress) as watch:
        run_in_turn([task], store, watch)
    trial = task.load(store)
    assert trial is not None, "it has just run"
    record = Record(
        name=method.name,
        label=method.label,
        title=method.title,
        status="ran",
        about=method.statistic,
        statistic=trial.statistic,
        pvalue=trial.pvalue,
        draws_p=trial.draws_p,
        draws_q=trial.draws_q,
        seconds=trial.seconds,
        effect=Effects.of({**_single(trial.arrays), **trial.effect}),
        arrays={**trial.arrays, **({"theta_q": trial.theta} if trial.theta.size else {})},
    )
    return MethodResult(method, record, training=trial.learned)


def _single(arrays: Mapping[str, Array]) -> dict[str, float]:
    """Arrays of a single number, which a record stores as effects."""
    return {name: float(array) for name, array in arrays.items() if np.ndim(array) == 0}
