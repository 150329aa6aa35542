"""`divergence`: symmetric divergence of inference from the posterior, over simulated data.

docs/divergence.md has the divergences after 30,000 iterations, when VI has converged on all
models but `glm_binomial` and, on a data set or two, `heart_transplants`.

Where the paper is silent: inference starts at 0, VI at N(0, I) with full covariance and 10 draws
a step; columns are standardised, constant ones dropped, an intercept added, the noise of
`concrete` is 1. At the paper's rates VI moves a coordinate by at most 1.65 in 3000 iterations,
hence its large numbers there; on `glm_binomial` it even grows narrow before it is near. On
`heart_transplants` Adam, which remembers the steep slopes of its first steps, needs up to 30,000
iterations where rates are small; one or two data sets make the mean, and figures show medians.
(The mean of converged Laplace over all data sets is .166, by quadrature; over the 100 that ship,
.019.) `ionosphere` and `concrete` have the
covariates of the UCI repository, which ship with the program, or random ones of their shape where
a user asks for `design=stand-in`; every result says which.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from numbers import Integral
from typing import TypeVar

from validation_core.api.keywords import checked_keywords
from validation_core.api.names import entry
from validation_core.api.result import Result, Rows
from validation_core.api.work import Watch, progress_watch, run_on_engine
from validation_core.bayes import MODELS, Model, closed
from validation_core.bayes.algorithms import ALGORITHMS, possible
from validation_core.bayes.inference import Inference
from validation_core.drawing.drawn import Drawn
from validation_core.report.numbers import dumps, library_versions
from validation_core.store import Store
from validation_core.symmetric_divergence import GRID, MS, Plan, Terms, collect, figure, missing
from validation_core.symmetric_divergence.curves import figure_rows
from validation_core.symmetric_divergence.figures import drawn
from validation_core.symmetric_divergence.runs import trained

T = TypeVar("T")

__all__ = ["ALGORITHMS", "MODELS", "DivergenceResult", "divergence"]

TITLE = "Symmetric divergence over simulations"
FIGURES = (1, 2, 3)


@dataclass(frozen=True, eq=False, repr=False)
class DivergenceResult(Result):
    """Estimates of KL(p, q) + KL(q, p) in nats: by model, inference, iterations and M.

    Examples:
        >>> result = npt.divergence("hospitals", ["laplace", "vi"], iterations=[100], datasets=5)
        >>> [row["inference"] for row in result.rows()]
        ['laplace', 'vi']
    """

    plans: Mapping[int, Plan]
    """Plan of each figure, by its number in the paper."""
    terms: Mapping[int, Mapping[tuple[int, int], Terms]]
    """Terms of the finished runs, by place of model and of inference."""
    m: tuple[int, ...] | None = None
    """Values of M in Figure 2."""

    @property
    def title(self) -> str:
        return TITLE

    @property
    def sentences(self) -> tuple[str, ...]:
        plan = next(iter(self.plans.values()))
        standing = [model.label for model in plan.models if "stand-in" in model.label]
        first = (
            f"KL(p‖q) + KL(q‖p) between the true posterior p and an inferred q, in nats, averaged "
            f"over data simulated from each model ({plan.datasets} data sets, the same ones for "
            f"every algorithm). It is 0 if q is p at every one of them."
        )
        if not standing:
            return (first,)
        return (
            first,
            f"Covariates are a stand-in, random numbers of the shape of the real ones: "
            f"{', '.join(standing)}.",
        )

    def figures(self) -> tuple[Drawn, ...]:
        """The paper's figures, in order."""
        return tuple(
            drawing
            for number, plan in self.plans.items()
            for drawing in drawn(number, plan, dict(self.terms[number]), self.m)
        )

    def of_figure(self, number: int) -> Rows:
        """The rows that one figure of the paper shows."""
        return figure_rows(number, self.plans[number], dict(self.terms[number]), self.m)

    def rows(self) -> Rows:
        """A row for each model, inference, iterations and M: `skl` with its 95% interval."""
        return [
            {"figure": number, **row} for number in self.plans for row in self.of_figure(number)
        ]

    def to_json(self) -> str:
        """Every number as JSON, as the command line prints it."""
        plan = next(iter(self.plans.values()))
        return dumps(
            {
                "datasets": plan.datasets,
                "seed": plan.seed,
                "figures": {str(number): list(self.of_figure(number)) for number in self.plans},
                "versions": library_versions(),
            }
        )


Several = str | Model | Iterable[str | Model]
Inferences = str | Inference | Iterable[str | Inference]


@checked_keywords()
def divergence(
    model: Several = (),
    inference: Inferences = (),
    *,
    figure: int | Sequence[int] = 1,
    iterations: int | Sequence[int] = GRID,
    datasets: int = 100,
    m: int | Sequence[int] | None = None,
    seed: int = 0,
    engine: str | None = None,
    store: Store | None = None,
    progress: bool | Watch = True,
) -> DivergenceResult:
    """Estimate the symmetric divergence of inference from the posterior (Domke 2021).

    `divergence("hospitals", ["laplace", "vi"], iterations=(100, 1000))`: simulate (z, y) from the
    model, let inference see y alone, and average log p - log q at the true z less the same at a
    draw of q. The mean is KL(p, q) + KL(q, p) in nats.

    Args:
        model: a name in MODELS or a model, or several; by default all five.
        inference: laplace, adjusted_laplace, vi, iwvi, renyi, chi or exact; by default those of
            the figure.
        figure: of the paper: 1 against iterations, 2 weighted with each M, 3 trained with each M;
            or several.
        iterations: number of iterations of inference, or several, each a separate run.
        datasets: simulated for each model.
        m: draws that Figure 2 weighs and that Figure 3 trains with; or several numbers of them.
        seed: of data and inference.
        engine: local, serial, dask:ADDRESS or dask:ADDRESS,local; by default as the environment
            says (NPTLAB_ENGINE), else worker processes of this machine.
        store: of the runs; by default the user's cache folder, with the shipped gallery behind it.
        progress: True for a bar on terminals and in notebooks, False for silence, or a `Watch`.

    Raises:
        TypeError: for what is neither a name nor a model, or an inference.
        ValueError: for names or numbers that cannot be used, or when a run fails.

    Examples:
        >>> result = npt.divergence("hospitals", "laplace", iterations=[100], datasets=5)
        >>> result.rows()[0]["skl"] > 0
        True
    """
    store = store or Store.usual()
    models = [_model(each) for each in _listed(model, MODELS)]
    chosen = [_inference(each) for each in _listed(inference, ())]
    ms = None if m is None else _numbers(m)
    wanted = plans(
        _numbers(figure), models, chosen, _numbers(iterations), ms, datasets=datasets, seed=seed
    )
    result, problem = estimate(wanted, ms, store, progress, engine)
    if problem:
        raise ValueError(problem)
    return result


def _listed(value: str | T | Iterable[str | T], usual: Iterable[str]) -> list[str | T]:
    """One as a list; of a mapping, such as MODELS, its names."""
    if isinstance(value, str) or not isinstance(value, Iterable):
        return [value]
    return list(value) or list(usual)


def _numbers(values: int | Iterable[int]) -> list[int]:
    """One number or several as a list."""
    return list(values) if isinstance(values, Iterable) else [values]


def _model(model: str | Model) -> Model:
    if isinstance(model, str):
        return entry(MODELS, model, "model")()
    if not isinstance(model, Model):
        raise TypeError(
            f"A model is its name in MODELS or a model; got {model!r}. Name one: "
            f"{', '.join(MODELS)}."
        )
    return model


def _inference(inference: str | Inference) -> Inference:
    if isinstance(inference, str):
        return entry(ALGORITHMS, inference, "inference")
    if not isinstance(inference, Inference):
        raise TypeError(
            f"An inference is its name in ALGORITHMS or an inference; got {inference!r}. Name "
            f"one: {', '.join(ALGORITHMS)}."
        )
    return inference


def plans(
    numbers: Sequence[int],
    models: Sequence[Model],
    inferences: Sequence[Inference],
    iterations: Sequence[int],
    m: Sequence[int] | None,
    *,
    datasets: int,
    seed: int,
) -> dict[int, Plan]:
    """The plan of each figure, by its number.

    Raises:
        ValueError: for an unknown figure or inference, or an invalid M.
    """
    if not _all_among(FIGURES, numbers):
        raise ValueError(
            f"Figures are 1, 2 and 3; got {', '.join(map(str, numbers))}. Choose among them."
        )
    ms = m or ()
    if not _all_among(MS, ms) or len(set(ms)) < len(ms):
        raise ValueError(
            f"M is one or more of {', '.join(map(str, MS))}, each once; got "
            f"{', '.join(map(str, ms))}. Choose among them."
        )
    for model in models:
        if lacking := [inference for inference in inferences if not possible(model, inference)]:
            raise ValueError(
                f"{lacking[0].label} needs a closed form, which {model.title} has not. Choose by "
                f"--model of {', '.join(filter(closed, MODELS))}, or leave it out."
            )
    along = tuple(sorted(iterations))
    own = {3: trained(m) if m else ()}
    return {
        number: figure(
            number, models, own.get(number, inferences), along, datasets=datasets, seed=seed
        )
        for number in sorted(set(numbers))
    }


def _all_among(known: Sequence[int], numbers: Iterable[int]) -> bool:
    """Whether numbers are whole and each is one of these."""
    return all(isinstance(number, Integral) and number in known for number in numbers)


def estimate(
    wanted: Mapping[int, Plan],
    m: Sequence[int] | None,
    store: Store,
    progress: bool | Watch,
    engine: str | None = None,
) -> tuple[DivergenceResult, str]:
    """Run the missing runs and collect all.

    Returns:
        The result, and a message about failed runs, empty without any.

    Raises:
        ValueError: for an unknown engine.
    """
    left = tuple(dict.fromkeys(run for plan in wanted.values() for run in missing(plan, store)))
    with progress_watch(progress) as watch:
        state = run_on_engine(left, store, watch, TITLE, engine)
    terms = {number: collect(plan, store) for number, plan in wanted.items()}
    problem = "" if state.state == "done" else state.message
    return DivergenceResult(wanted, terms, tuple(m) if m else None), problem
