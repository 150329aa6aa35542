"""Witnesses that FLAML or AutoGluon finds, where installed.

Their fitted models could be stored only as pickles, so what is stored is the rows and settings;
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
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from validation_core import keys
from validation_core.rng import stream
from validation_core.scores.witness import problem
from validation_core.scores.witness.member import Told
from validation_core.scores.witness.problem import FOLDS, Problem, Rows
from validation_core.types import Array

Float = NDArray[np.float64]
Library = Literal["flaml", "autogluon"]

_KEPT = 8  # found models a process keeps


class Found(NamedTuple):
    """A fitted model: its predictions, and what it said of itself."""

    predict: Callable[[Float], Float]
    name: str
    r2: float
    """Held out, by the library's own cross-validation."""


@dataclass(frozen=True, eq=False)
class TrainedSearch:
    """The rows and settings of a search; `told` is of the search that was run first."""

    library: Library
    problem: Problem
    shift: Array  # (D + M,)
    scale: Array  # (D + M,)
    budget: float
    """Seconds that a search takes."""
    seed: int
    told: Told
    seconds: float = 0.0
    device: str = "cpu"

    @property
    def summary(self) -> Mapping[str, float]:
        """Held-out R2; the best model's name with all the weight."""
        return self.told.summary

    def at(self, beta: float = 0.0) -> Searched:
        """The witness; beta changes nothing, as there are no parameters to mix."""
        del beta
        return Searched(self)

    def arrays(self) -> dict[str, Array]:
        """Everything to search again, by flat names."""
        own = {f"problem.{name}": array for name, array in vars(self.problem).items()}
        # Two halves: a seed may have more bits than a float64 tells apart.
        seed = np.array(divmod(self.seed, 2**32), dtype=np.uint32)
        return {
            **own, **self.told.arrays(), "shift": self.shift, "scale": self.scale,
            "budget": np.array([self.budget]), "seed": seed,
        }  # fmt: skip

    @classmethod
    def read(
        cls, arrays: Mapping[str, Array], library: Library, seconds: float, device: str
    ) -> TrainedSearch:
        """What `arrays` gave."""
        high, low = map(int, arrays["seed"])
        return cls(
            library, Problem(**keys.part(arrays, "problem")), arrays["shift"], arrays["scale"],
            float(arrays["budget"][0]), high * 2**32 + low, Told.read(arrays), seconds, device,
        )  # fmt: skip


@dataclass(frozen=True, eq=False)
class Searched:
    """The prediction of the model that this process found."""

    trained: TrainedSearch

    def __call__(self, theta: Array, x: Array) -> Array:
        z = problem.scaled(theta, x, self.trained.shift, self.trained.scale)
        found = _found(self.trained.library, self.trained.problem, self.trained.budget,
                       self.trained.seed)  # fmt: skip
        return np.asarray(found.predict(z), dtype=np.float64)


def learn(rows: Rows, library: Library, seconds: float, seed: int) -> TrainedSearch:
    """Search for `seconds`.

    Raises:
        ValueError: when the library is not installed, with what to install.
    """
    start = time.perf_counter()
    shift, scale = problem.scaling(rows)
    asked = problem.problem(rows, shift, scale, stream(seed, "folds"))
    found = _found(library, asked, seconds, seed)
    told = Told({found.name: 1.0}, {found.name: found.r2, "ensemble": found.r2})
    took = time.perf_counter() - start
    return TrainedSearch(library, asked, shift, scale, seconds, seed, told, took)


_models: OrderedDict[str, Found] = OrderedDict()
_lock = threading.Lock()  # two pages of one process must not search for the same witness twice


def _found(library: Library, asked: Problem, seconds: float, seed: int) -> Found:
    key = f"{library} {float(seconds)} {seed} {keys.digest(**vars(asked))}"
    with _lock:
        if key not in _models:
            _models[key] = SEARCHES[library](asked, seconds, seed)
        _models.move_to_end(key)
        while len(_models) > _KEPT:
            _models.popitem(last=False)
        return _models[key]


def _flaml(asked: Problem, seconds: float, seed: int) -> Found:
    """FLAML's search over its own list of learners, by the inner folds."""
    found = _library("flaml", "AutoML", "pip install -r requirements-automl.txt")()
    found.fit(
        asked.z, asked.y, task="regression", metric="mse", time_budget=max(1.0, seconds),
        sample_weight=_weight(asked), eval_method="cv", n_splits=FOLDS, split_type="group",
        groups=asked.fold, n_jobs=1, seed=seed % 2**31, verbose=0,
    )  # fmt: skip
    return Found(found.predict, str(found.best_estimator), 1 - 4 * float(found.best_loss))


def _autogluon(asked: Problem, seconds: float, seed: int) -> Found:
    """AutoGluon as in the paper's Section 4: best_quality, regression of least squared error."""
    del seed  # AutoGluon takes none
    predictor = _library(
        "autogluon.tabular", "TabularPredictor", "pip install 'autogluon.tabular[all]'"
    )
    rows = _frame(asked.z).assign(y=asked.y, weight=_weight(asked), fold=asked.fold)
    folder = tempfile.TemporaryDirectory(prefix="nptlab-autogluon-")
    found = predictor(
        label="y", problem_type="regression", eval_metric="mean_squared_error", path=folder.name,
        sample_weight="weight", weight_evaluation=True, groups="fold", verbosity=0,
    ).fit(rows, time_limit=max(1.0, seconds), presets="best_quality")  # fmt: skip
    error_held = -float(found.leaderboard()["score_val"].max())

    def predict(z: Float, _kept: object = folder) -> Float:  # the folder goes with the model
        return np.asarray(found.predict(_frame(z)), dtype=np.float64)

    return Found(predict, str(found.model_best), 1 - 4 * error_held)


SEARCHES: Mapping[Library, Callable[[Problem, float, int], Found]] = {
    "flaml": _flaml,
    "autogluon": _autogluon,
}


def _weight(asked: Problem) -> Float:
    """Class weights of mean 1, which the learners' own regularisation is meant for."""
    return asked.weight * len(asked.weight)


def _frame(z: Float) -> pd.DataFrame:
    return pd.DataFrame(z, columns=[f"z{i}" for i in range(z.shape[1])])


def _library(module: str, name: str, install: str) -> Any:
    """What a library is used by; FLAML without its learners imports, but has no such name."""
    try:
        return getattr(importlib.import_module(module), name)
    except (ImportError, AttributeError) as error:
        raise ValueError(
            f"The engine {module.partition('.')[0]} needs {module}, which is not installed whole. "
            f"Run `{install}`, or choose the engine ensemble, which needs nothing."
        ) from error
