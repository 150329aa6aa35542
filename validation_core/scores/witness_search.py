"""Witnesses that FLAML or AutoGluon finds, where installed.

Their fitted models could be stored only as pickles, so the rows and settings are stored;
each process that needs the witness searches once and keeps it. A search that stops by the clock
is not reproducible to the bit: another process may end with another witness, which never saw the
test rows either. AutoGluon keeps its models in a temporary folder, in its own format.
"""

from __future__ import annotations

import importlib
import tempfile
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from validation_core import keys
from validation_core.learn.stored_network import GIVEN, StoredNetwork
from validation_core.rng import stream
from validation_core.scores.witness_rows import (
    FOLDS,
    WitnessRegression,
    WitnessRows,
    build_regression,
    robust_scaling,
    standardise_rows,
    summarise_members,
)
from validation_core.types import Array, Float

Library = Literal["flaml", "autogluon"]

_KEPT = 8  # found models a process keeps


class _Model(NamedTuple):
    """A fitted model: its predictions, and its summary."""

    predict: Callable[[Float], Float]
    name: str
    r2: float
    """Held out, by the library's own cross-validation."""


@dataclass(frozen=True, eq=False)
class TrainedSearch(StoredNetwork):
    """The rows and settings of a search; `r2` is of the search that was run first."""

    library: Library = field(metadata=GIVEN)
    problem: WitnessRegression
    shift: Array  # (D + M,)
    scale: Array  # (D + M,)
    budget: float
    """Seconds that a search takes."""
    seed: NDArray[np.uint32]
    """(2,): two halves, as a seed may have more bits than a float64 tells apart."""
    weights: Mapping[str, float]
    r2: Mapping[str, float]
    seconds: float = 0.0
    device: str = "cpu"

    @property
    def summary(self) -> Mapping[str, float]:
        """Held-out R2; the best model's name with all the weight."""
        return summarise_members(self.weights, self.r2)

    def at(self, beta: float = 0.0) -> _Searched:
        """The witness; beta changes nothing, as there are no parameters to mix."""
        del beta
        return _Searched(self)


@dataclass(frozen=True, eq=False)
class _Searched:
    """The prediction of the model that this process found."""

    trained: TrainedSearch

    def __call__(self, theta: Array, x: Array) -> Array:
        z = standardise_rows(theta, x, self.trained.shift, self.trained.scale)
        high, low = map(int, self.trained.seed)
        seed = high * 2**32 + low
        model = _model(self.trained.library, self.trained.problem, self.trained.budget, seed)
        return np.asarray(model.predict(z), dtype=np.float64)


def search_witness(
    rows: WitnessRows, library: Library, seconds: float, seed: int
) -> TrainedSearch:
    """Search for `seconds`.

    Raises:
        ValueError: when the library is not installed, with the package to install.
    """
    start = time.perf_counter()  # a library searches in processes of its own, by the clock
    shift, scale = robust_scaling(rows)
    problem = build_regression(rows, shift, scale, stream(seed, "folds"))
    model = _model(library, problem, seconds, seed)
    return TrainedSearch(
        library,
        problem,
        shift,
        scale,
        seconds,
        np.array(divmod(seed, 2**32), dtype=np.uint32),
        {model.name: 1.0},
        {model.name: model.r2, "ensemble": model.r2},
        time.perf_counter() - start,
    )


fitted_models: OrderedDict[str, _Model] = OrderedDict()
_lock = threading.Lock()  # two pages of one process must not search for the same witness twice


def _model(library: Library, problem: WitnessRegression, seconds: float, seed: int) -> _Model:
    key = f"{library} {float(seconds)} {seed} {keys.digest(**vars(problem))}"
    with _lock:
        if key not in fitted_models:
            fitted_models[key] = SEARCHES[library](problem, seconds, seed)
        fitted_models.move_to_end(key)
        while len(fitted_models) > _KEPT:
            fitted_models.popitem(last=False)
        return fitted_models[key]


def _flaml(problem: WitnessRegression, seconds: float, seed: int) -> _Model:
    """FLAML's search over its own list of learners, by the inner folds."""
    automl = _library("flaml", "AutoML", "pip install '.[automl]' in the folder of this program")()
    automl.fit(
        problem.z,
        problem.y,
        task="regression",
        metric="mse",
        time_budget=max(1.0, seconds),
        sample_weight=_weight(problem),
        eval_method="cv",
        n_splits=FOLDS,
        split_type="group",
        groups=problem.fold,
        n_jobs=1,
        seed=seed % 2**31,
        verbose=0,
    )
    return _Model(automl.predict, str(automl.best_estimator), 1 - 4 * float(automl.best_loss))


def _autogluon(problem: WitnessRegression, seconds: float, seed: int) -> _Model:
    """AutoGluon as in the paper's Section 4: best_quality, regression of least squared error."""
    del seed  # AutoGluon takes none
    predictor = _library(
        "autogluon.tabular", "TabularPredictor", "pip install 'autogluon.tabular[all]'"
    )
    rows = _frame(problem.z).assign(y=problem.y, weight=_weight(problem), fold=problem.fold)
    folder = tempfile.TemporaryDirectory(prefix="nptlab-autogluon-")
    model = predictor(
        label="y",
        problem_type="regression",
        eval_metric="mean_squared_error",
        path=folder.name,
        sample_weight="weight",
        weight_evaluation=True,
        groups="fold",
        verbosity=0,
    ).fit(rows, time_limit=max(1.0, seconds), presets="best_quality")
    error_held = -float(model.leaderboard()["score_val"].max())

    def predict(z: Float, _kept: object = folder) -> Float:  # the folder goes with the model
        return np.asarray(model.predict(_frame(z)), dtype=np.float64)

    return _Model(predict, str(model.model_best), 1 - 4 * error_held)


SEARCHES: Mapping[Library, Callable[[WitnessRegression, float, int], _Model]] = {
    "flaml": _flaml,
    "autogluon": _autogluon,
}


def _weight(problem: WitnessRegression) -> Float:
    """Class weights of mean 1, which the learners' own regularisation is meant for."""
    return problem.weight * len(problem.weight)


def _frame(z: Float) -> pd.DataFrame:
    return pd.DataFrame(z, columns=[f"z{i}" for i in range(z.shape[1])])


def _library(module: str, name: str, install: str) -> Any:
    """Class through which a library is used; FLAML without its learners lacks it."""
    try:
        return getattr(importlib.import_module(module), name)
    except (ImportError, AttributeError) as error:
        raise ValueError(
            f"The engine {module.partition('.')[0]} needs {module}, which is not installed whole. "
            f"Run `{install}`, or choose the engine ensemble, which needs nothing."
        ) from error
