"""A study keeps its typed result through the one codec, whatever it is made of."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
import pytest

from validation_core import codec
from validation_core.store import Store
from validation_core.study import Report, Study
from validation_core.types import Array


class Interval(NamedTuple):
    low: float
    high: float


@dataclass(frozen=True, eq=False)
class Curve:
    name: str
    power: Array
    interval: Interval | None = None


@dataclass(frozen=True, eq=False)
class Outcome:
    pvalue: float
    u: Array
    curves: tuple[Curve, ...]
    extra: Mapping[str, Array] = field(default_factory=dict)
    words: Mapping[str, str | float] = field(default_factory=dict)
    ends: tuple[int, float] = (0, 0.0)
    reason: str | None = None


@dataclass(frozen=True, kw_only=True)
class Asked(Study[Outcome], spec="test asked"):
    n: int = 3

    @property
    def label(self) -> str:
        return f"Asked {self.n}"

    def compute(self, store: Store, report: Report) -> Outcome:
        rng = np.random.default_rng(self.n)
        return Outcome(
            float("nan"),
            rng.random(self.n).astype(np.float32),
            (Curve("a", rng.random(2)), Curve("b", np.zeros(0), Interval(0, 1.5))),
            {"rows.x": np.arange(3)},
            {"reading": "over", "atc": 0.5},
            (2, 2.5),
        )


def test_a_result_comes_back_as_it_was(tmp_path):
    store, study = Store(tmp_path), Asked()
    assert study.load(store) is None
    assert not study.done(store)
    study.run(store, lambda fraction, live: None)
    assert study.done(store)
    result, again = study.compute(store, lambda fraction, live: None), study.load(store)
    assert type(again) is Outcome
    assert np.isnan(again.pvalue)
    np.testing.assert_array_equal(again.u, result.u)
    assert again.u.dtype == np.float32
    assert again.curves[1].interval == Interval(0, 1.5)
    assert type(again.curves[1].interval) is Interval
    assert again.curves[0].interval is None
    np.testing.assert_array_equal(again.curves[0].power, result.curves[0].power)
    np.testing.assert_array_equal(again.extra["rows.x"], np.arange(3))
    assert (again.words, again.ends, again.reason) == (result.words, (2, 2.5), None)


def test_a_study_needs_what_it_reads_and_is_named():
    assert Asked().needs == frozenset()
    assert Asked.result is Outcome
    assert Asked().key != Asked(n=4).key


def test_other_things_are_refused():
    with pytest.raises(TypeError, match=r"at 'words\.a'"):
        codec.dump(Outcome(0.5, np.zeros(1), (), words={"a": {1, 2}}))
    with pytest.raises(TypeError, match="go by text"):
        codec.dump(Outcome(0.5, np.zeros(1), (), extra={1: np.zeros(1)}))
