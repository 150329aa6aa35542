"""`power`: rejection rates of tests on a benchmark, as functions of gamma."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Sequence
from dataclasses import asdict, dataclass, fields, replace
from numbers import Real
from typing import cast

from validation_core.api.keywords import checked_keywords
from validation_core.api.names import entry, resolve_benchmark, resolve_method
from validation_core.api.result import Result, Rows
from validation_core.api.work import Watch, progress_watch, run_on_engine
from validation_core.drawing.drawn import Drawn
from validation_core.methods.base import Method
from validation_core.panels.power import Along, power_figure
from validation_core.scores import trained_scores
from validation_core.scores.classifier import PRESETS
from validation_core.store import Store
from validation_core.sweep import presets
from validation_core.sweep.plan import Sweep
from validation_core.sweep.progress import Progress, collect, missing, progress_rows
from validation_core.sweep.trials import Protocol, TrialDesign
from validation_core.text import level_text, list_text
from validation_core.types import Benchmark, PowerCell


@dataclass(frozen=True, eq=False, repr=False)
class PowerResult(Result):
    """Rejections of each method at each gamma and beta, as counts with 95% Wilson intervals.

    Examples:
        >>> result = npt.power("boundary", gamma=[0, 1], methods="sbc", trials=20, n=50, k=10)
        >>> [(row["gamma"], row["rejections"], row["rate"]) for row in result.rows()]
        [(0.0, 2, 0.1), (1.0, 20, 1.0)]
    """

    sweep: Sweep
    counted: Progress

    @property
    def title(self) -> str:
        return f"Power of {self.sweep.label}"

    @property
    def cells(self) -> tuple[PowerCell, ...]:
        """Counts of rejections, in the order of methods, gammas and betas."""
        return tuple(self.counted.cells)

    @property
    def sentences(self) -> tuple[str, ...]:
        design = self.sweep.design
        networks = f", mean of {self.sweep.networks} trained networks" * (self.sweep.networks > 1)
        return (
            f"Share of {design.trials} trials of {design.n} test points that each test rejects at "
            f"level {level_text(design.alpha)}{networks}; brackets and bands are 95% intervals.",
        )

    def figures(self) -> tuple[Drawn, ...]:
        """One curve over gamma, and over beta, for each value of the other."""
        alpha = self.sweep.design.alpha
        return tuple(
            power_figure(cells, along, f"{fixed} = {value:g}", alpha)
            for along, fixed in _axes(self.sweep)
            for value in dict.fromkeys(getattr(cell, fixed) for cell in self.cells)
            for cells in [[cell for cell in self.cells if getattr(cell, fixed) == value]]
        )

    def rows(self) -> Rows:
        """A row for each cell: the rate with its 95% interval, low and high."""
        benchmark = self.sweep.benchmark
        about = {"benchmark": benchmark.name, "set": asdict(benchmark)}
        return [{**row, **about} for row in progress_rows(self.counted)]

    def to_json(self) -> str:
        """The cells, as the command line prints them."""
        return json.dumps({"cells": list(self.rows())}, indent=1, allow_nan=False)


def _axes(sweep: Sweep) -> list[tuple[Along, Along]]:
    """The variable on the axis, and the fixed one."""
    axes: list[tuple[Along, Along]] = []
    if len(sweep.gammas) > 1 or len(sweep.betas) == 1:
        axes.append(("gamma", "beta"))
    if len(sweep.betas) > 1:
        axes.append(("beta", "gamma"))
    return axes


@checked_keywords()
def power(
    benchmark: str | Benchmark,
    gamma: float | Sequence[float] = (),
    methods: str | Method | Sequence[str | Method] = (),
    *,
    beta: float | Sequence[float] = 0.0,
    trials: int | None = None,
    n: int = 1000,
    k: int = 100,
    alpha: float = 0.05,
    seed: int = 0,
    networks: int | None = None,
    preset: str = "interactive",
    protocol: Protocol = "pooled",
    engine: str | None = None,
    store: Store | None = None,
    progress: bool | Watch = True,
    **options: object,
) -> PowerResult:
    """Estimate the power of tests: count rejections over many trials at each gamma.

    `power("gaussian", gamma=[0, .1, .2], methods=["c2st", "uniform"], perturbation="heavy_tail")`.
    Trials are stored in parts: a stopped sweep resumes, and with more trials or a further method
    only the missing ones run. All curves use common random numbers.

    Args:
        benchmark: its name in BENCHMARKS, the benchmark itself, or the name of a paper's figure
            (`conformal_mean_shift`, `type_one`, ...), which brings its own methods, gammas and
            design: trials, alpha and networks alone may stand beside it.
        gamma: strengths of the error of q; at 0 q is the posterior and the rate the type I error.
        methods: names in METHODS, or methods.
        beta: shares by which networks are moved back to their random initial weights.
        trials: at each gamma and beta; by default 200, or the paper's number.
        n: test points of a trial.
        k: draws of q at each x, for tests of tables.
        alpha: level of each test.
        seed: of networks and trials.
        networks: trained at each gamma, over which rates are averaged; by default 1, or the
            paper's number.
        preset: how classifiers are trained: interactive, paper, ...
        protocol: `pooled` calibrates Uniform on all trials' scores, `fresh` as the papers do.
        engine: local, serial, dask:ADDRESS or dask:ADDRESS,local; by default as the environment
            says (NPTLAB_ENGINE), else worker processes of this machine.
        store: of networks and results; by default the user's cache folder, with the shipped
            gallery behind it.
        progress: True for a bar on terminals and in notebooks, False for silence, or a `Watch`.
        options: of the benchmark, as BENCHMARKS lists them.

    Raises:
        ValueError: for names or options that cannot be used, or when the work of a method fails.

    Examples:
        >>> result = npt.power("boundary", gamma=[0, 1], methods="sbc", trials=20, n=50, k=10)
        >>> [cell.rejections for cell in result.cells]
        [2, 20]
    """
    several = [methods] if isinstance(methods, str | Method) else methods
    gammas, betas = (_numbers(values) for values in (gamma, beta))
    own = SweepOptions(beta=betas, n=n, k=k, seed=seed, preset=preset, protocol=protocol)
    asked = {"gamma": gammas, "methods": several}
    if isinstance(benchmark, str) and benchmark in _published():
        beside = [*(name for name, value in asked.items() if value), *own.changed, *options]
        wanted = published(benchmark, beside, trials, alpha, networks)
    else:
        on = resolve_benchmark(benchmark, options)
        lacking = [name for name, value in asked.items() if not value]
        if lacking:
            raise ValueError(
                f"A power needs gamma and methods; got no {list_text(lacking)}. Try gamma=[0, 1], "
                'methods=["sbc"].'
            )
        wanted = own.sweep(
            on, [resolve_method(method, {}) for method in several], gammas, trials, alpha, networks
        )
    result, problem = count(wanted, store or Store.usual(), progress, engine)
    if problem:
        raise ValueError(problem)
    return result


@dataclass(frozen=True, kw_only=True)
class SweepOptions:
    """What a sweep of one's own leaves open, and a paper's figure brings itself."""

    beta: tuple[float, ...] = (0.0,)
    n: int = 1000
    k: int = 100
    seed: int = 0
    preset: str = "interactive"
    protocol: Protocol = "pooled"

    @property
    def changed(self) -> list[str]:
        """Names of those that are not at their default."""
        return [field.name for field in fields(self) if getattr(self, field.name) != field.default]

    def sweep(
        self,
        benchmark: Benchmark,
        methods: Iterable[Method],
        gammas: Iterable[float],
        trials: int | None,
        alpha: float,
        networks: int | None,
    ) -> Sweep:
        """The sweep of these methods on a benchmark; what is given twice is in it once.

        Raises:
            ValueError: for options that cannot be used.
        """
        return Sweep(
            benchmark=benchmark,
            methods=tuple(dict.fromkeys(methods)),
            gammas=tuple(dict.fromkeys(gammas)),
            betas=tuple(dict.fromkeys(self.beta)),
            recipe=trained_scores.classifier_of(benchmark, entry(PRESETS, self.preset, "preset")),
            seed=self.seed,
            networks=1 if networks is None else networks,
            design=TrialDesign(
                trials=200 if trials is None else trials,
                n=self.n,
                k=self.k,
                alpha=alpha,
                protocol=self.protocol,
                seed=self.seed,
            ),
        )


def published(
    name: str,
    beside: Collection[str],
    trials: int | None,
    alpha: float,
    networks: int | None = None,
) -> Sweep:
    """The sweep of a paper's figure or a demonstration.

    Args:
        name: of the figure.
        beside: what else was given, of which there may be nothing.
        trials: in place of its own.
        alpha: level of each test.
        networks: in place of its own.

    Raises:
        ValueError: for an unknown name, or anything beside it.
    """
    if beside:
        raise ValueError(
            "A figure brings its benchmark, methods, gammas and design; got "
            f"{list_text(list(beside))} beside {name}. Leave one of the two out."
        )
    sweep = presets.by_name(name).sweep
    trials = sweep.design.trials if trials is None else trials
    networks = sweep.networks if networks is None else networks
    design = replace(sweep.design, trials=trials, alpha=alpha)
    return replace(sweep, design=design, networks=networks)


def _numbers(values: float | Iterable[float]) -> tuple[float, ...]:
    """One number or several."""
    return tuple(
        map(float, [values] if isinstance(values, Real) else cast("Iterable[float]", values))
    )


def count(
    sweep: Sweep, store: Store, progress: bool | Watch, engine: str | None = None
) -> tuple[PowerResult, str]:
    """Run the missing trials of a sweep, and count rejections.

    Returns:
        The result, and a message about failed trials, empty without any.

    Raises:
        ValueError: for an unknown engine.
    """
    with progress_watch(progress) as watch:
        state = run_on_engine(missing(sweep, store), store, watch, sweep.label, engine)
    problem = "" if state.state == "done" else state.message
    return PowerResult(sweep, collect(sweep, store)), problem


def _published() -> set[str]:
    """Names of the papers' figures and of the demonstrations."""
    return {comparison.name for comparison in presets.everything()}
