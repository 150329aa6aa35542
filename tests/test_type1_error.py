"""Check the checker: levels on self-made tables, found off where they are, told as they are."""

import json
from dataclasses import dataclass, replace

import numpy as np
import plotly.graph_objects as go
import pytest

from tests.fixed_claims import CLAIMED
from tests.reports import code_of
from validation_core import codec, diagnosis, statistics, tables
from validation_core.diagnosis import learning, tasks
from validation_core.diagnosis.null_tables.method_battery import verdict_pvalues
from validation_core.diagnosis.questions import Names, by_name
from validation_core.methods import DC, LC2ST, SBC, TARP, Multiple, Omnibus
from validation_core.scores.classifier import Classifier
from validation_core.statistics import Uniformity
from validation_core.store import Store
from validation_core.tables import Upload

QUESTION = by_name("checker")
QUICK = Classifier(epochs=4, lr=1e-2, batch=64, hidden=8, layers=2)
SMALL = {"steps": 8, "batch": 16, "draws_step": 4, "hidden": 8, "layers": 1, "start": "origin"}
REAL = learning.recipe


def quick(upload, method):
    how = REAL(upload, method)
    if method.reads_classifier:
        return QUICK
    return replace(how, **SMALL) if method.localizes else how


@pytest.fixture(autouse=True)
def _quick(monkeypatch):
    monkeypatch.setattr(learning, "recipe", quick)


def wrong(n=100, k=8, d=2, seed=0):
    """A table whose q is far off: the self-made tables are right all the same."""
    rng = np.random.default_rng(seed)
    theta = rng.standard_normal((n, d))
    x = theta + rng.standard_normal((n, d))
    q = 3 + x[:, None] + 0.2 * rng.standard_normal((n, k, d))
    return Upload.of({"theta": theta, "x": x, "theta_q": q})


def found_of(upload, store, methods=None, seed=0):
    tasks.register_upload(upload)
    (task,) = QUESTION.studies(upload, methods or diagnosis.default_methods(), seed)
    task.run(store, lambda fraction, live: None)
    return QUESTION.gather([task.load(store)])


def test_tests_keep_their_level_whatever_q_is(store):
    found = found_of(wrong(), store)
    assert [test.name for test in found.tests] == [
        "omnibus", "sbc", "tarp", "within_x", "multiple", "c2st", "colt"
    ]  # fmt: skip
    assert found.trials == 200
    assert found.draws == 7
    assert found.verdict.rejections <= statistics.binomial_bounds(200, 0.05, 0.999)[1]
    for test in found.tests:
        rate = test.rejections
        assert rate.low <= rate.rate <= rate.high
        assert rate.rejections == round(rate.rate * 200)
    json.dumps(QUESTION.to_json(found), allow_nan=False)
    assert found.pvalues.shape == (7, 200)


def test_levels_over_many_tables(store):
    """All the rejections of 20 uploads: exact tests at their level, the verdict within it."""
    counts = np.zeros(3)
    for seed in range(20):
        found = found_of(wrong(seed=seed), store, (SBC(), TARP(), Multiple()), seed)
        counts += [test.rejections.rejections for test in found.tests[1:]] + [
            found.verdict.rejections
        ]
    low, high = statistics.binomial_bounds(4000, 0.05, 0.999)
    assert low <= counts[0] <= high
    assert counts[1] <= high + 40  # Multiple's law is a limit: 24 rows a side
    assert counts[2] <= high


@dataclass(frozen=True, kw_only=True)
class Eager(SBC):
    """A test whose p-values are wrong by a factor."""

    factor: float = 1.0

    @property
    def label(self):
        return f"Eager {self.factor}"

    def of_ranks(self, u):
        statistic, pvalue = super().of_ranks(u)
        return Uniformity(statistic, np.minimum(1.0, pvalue * self.factor))


@pytest.mark.parametrize(("factor", "outside"), [(0.2, "too often"), (30.0, "too seldom")])
def test_a_wrong_level_is_seen_and_said(factor, outside, store):
    found = found_of(wrong(d=1), store, (Eager(factor=factor),))
    (test,) = found.tests
    assert test.rejections.outside == outside
    said = " ".join(QUESTION.describe(found, Names(()), CLAIMED))
    assert f"rejected {outside}" in said
    assert ("do not rely on the verdict" in said) == (outside == "too often")
    assert {row["rejects"] for row in QUESTION.rows(found, Names(()), CLAIMED)} == {outside}


def test_what_is_left_out_is_said(store):
    methods = (SBC(), LC2ST(), DC(m=10), SBC(quantities="products"))
    found = found_of(wrong(), store, methods)
    assert [test.name for test in found.tests] == ["sbc"]
    # With 8 draws the diagnosis itself cannot run DC with m = 10: it is no part of the answer.
    left = {one.label for one in found.left_out}
    assert left == {LC2ST().label, "SBC products"}
    assert sum("was left out" in line for line in QUESTION.notes(found, Names(()))) == 2
    assert "left out" not in " ".join(QUESTION.describe(found, Names(()), CLAIMED))


def test_the_diagnosis_network_is_used(store):
    upload = wrong()
    (task,) = QUESTION.studies(upload, diagnosis.default_methods(), 3)
    wanted = [
        tasks.method_training(upload, method, 3)
        for method in diagnosis.default_methods()
        if method.name in ("tarp", "within_x", "multiple", "c2st")
    ]
    assert set(wanted) < set(task.trainings)
    assert len(task.trainings) == 3  # references, classifier, localizer


def test_a_run_again_says_the_same(store, tmp_path):
    upload = wrong()
    one, other = found_of(upload, store), found_of(upload, Store(tmp_path / "other"))
    assert codec.to_json(one) == codec.to_json(other)
    np.testing.assert_array_equal(one.pvalues, other.pvalues)


@pytest.mark.parametrize(
    ("upload", "word"),
    [
        (wrong(k=1), "at least 2; got 1"),
        (wrong(n=4), "at least 5 rows; got 4"),
        (Upload.of({"p": np.zeros((20, 1)), "q": np.ones((20, 1))}), "have no x"),
    ],
)
def test_obstacles(upload, word):
    assert word in QUESTION.obstacle(upload)


@pytest.mark.parametrize(("n", "k", "d"), [(5, 2, 1), (12, 2, 3), (60, 2, 1)])
def test_small_tables_are_answered(n, k, d, store):
    upload = wrong(n=n, k=k, d=d)
    assert QUESTION.obstacle(upload) is None
    found = found_of(upload, store)
    assert 0 <= found.verdict.rate <= 0.2
    assert len(QUESTION.figures(found, Names(()), CLAIMED)) == 1 + min(6, len(found.tests))


def test_constant_and_whole_numbers_keep_the_level(store):
    arrays = wrong().arrays()
    arrays["theta_q"] = np.round(arrays["theta_q"])
    arrays["theta_q"][..., 1] = 0.0
    found = found_of(Upload.of(arrays), store)
    assert found.verdict.rejections <= statistics.binomial_bounds(200, 0.05, 0.999)[1]


@pytest.mark.parametrize("rows", [300, pytest.param(None, marks=pytest.mark.slow)])
@pytest.mark.parametrize("name", ["two_moons_undertrained", "sir_undertrained"])
def test_real_tables(name, rows, shared, store):
    arrays = tables.read(shared / "data" / f"{name}.npz").arrays()
    some = Upload.of({name: array[:rows] for name, array in arrays.items()})
    found = found_of(some, store)
    assert found.verdict.outside != "too often"


def test_figures_and_rows(store):
    found = found_of(wrong(), store)
    drawings = QUESTION.figures(found, Names(()), CLAIMED)
    assert len(drawings) == 7  # rates, and the six tests that are off most
    for one in drawings:
        go.Figure(one.figure.to_plotly_json())  # validates
        assert one.caption.endswith(".")
        adjusts = one.title.endswith((" of SBC", " of Relabelling within x"))
        if one.title.startswith("p-values"):
            assert ("bar may lie above the grey band" in one.caption) == adjusts
    rows = QUESTION.rows(found, Names(()), CLAIMED)
    assert [row["rate"] for row in rows] == sorted((row["rate"] for row in rows), reverse=True)
    assert {"Verdict", "SBC"} <= {row["test"] for row in rows}


def test_the_code_runs_as_it_stands(tmp_path, capsys):
    upload, path = wrong(), tmp_path / "table.npz"
    np.savez(path, **upload.arrays())
    exec(code_of(QUESTION, path, 1), {})
    said = capsys.readouterr().out.strip().splitlines()
    found = found_of(tables.read(path), Store(tmp_path / "again"), seed=1)
    again = list(QUESTION.describe(found, Names(()), CLAIMED))
    assert said[: len(again)] == again


def test_methods_that_were_not_asked_count_as_silent():
    p = np.array([[0.01, 0.2], [0.5, 0.04]])
    two = (SBC(), TARP())
    np.testing.assert_allclose(verdict_pvalues(p, two, 2), [0.02, 0.08])
    np.testing.assert_allclose(verdict_pvalues(p, two, 5), [0.05, 0.2])
    np.testing.assert_allclose(verdict_pvalues(p, (SBC(), Omnibus()), 5), [0.5, 0.04])
