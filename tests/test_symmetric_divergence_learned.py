"""The divergence as a classifier sees it, beside the divergence of the densities."""

import numpy as np
import pytest

from validation_core import keys
from validation_core.bayes import MODELS
from validation_core.bayes.algorithms import ALGORITHMS
from validation_core.bayes.variational import Variational
from validation_core.scores.classifier import Classifier
from validation_core.scores.upload_training import UploadTraining, trained_by
from validation_core.symmetric_divergence import InferenceRun, learned
from validation_core.symmetric_divergence.learned import ClassifierDivergence


@pytest.fixture(autouse=True)
def _small(monkeypatch):
    monkeypatch.setattr(learned, "TESTED", 300)
    few = Classifier(epochs=60, lr=3e-3, batch=128, hidden=64, keep_best=True)
    with trained_by(UploadTraining(classifier=few)):
        yield


def _run(model, inference, iterations):
    return InferenceRun(
        model=MODELS[model](), inference=ALGORITHMS[inference], iterations=iterations
    )


def _found(task, store):
    reports = []
    task.run(store, lambda fraction, now: reports.append(fraction))
    assert reports[-1] == 1.0
    return task.load(store)


def test_it_finds_less_than_there_is_and_more_with_more_to_learn_from(store):
    run = _run("hospitals", "adjusted_laplace", 300)
    few, many = (_found(ClassifierDivergence(of=run, rows=rows), store) for rows in (40, 600))
    assert few.exact == many.exact
    np.testing.assert_array_equal(few.d_exact, many.d_exact)
    assert many.estimate.high < many.exact.low
    assert few.estimate.high < many.estimate.low
    assert 0.5 < few.auc.estimate < many.auc.estimate
    assert many.auc.low < many.auc_exact.estimate


def test_where_q_is_right_both_say_so(store):
    result = _found(
        ClassifierDivergence(of=_run("heart_transplants", "exact", 10), rows=100), store
    )
    assert np.abs(result.d_exact).max() < 1e-6
    assert result.estimate.boot_low <= 0.05
    assert abs(result.estimate.estimate) < 0.1
    assert result.auc.low < 0.5 < result.auc.high


def test_the_exact_value_is_the_run_s(store):
    """The mean of d over fresh simulations is that of the run's own, but for chance."""
    run = InferenceRun(model=MODELS["concrete"](), inference=ALGORITHMS["laplace"], iterations=300,
              datasets=300)  # fmt: skip
    run.run(store, lambda *_: None)
    weights = run.load(store).weights
    d = weights.truth[:, 0] - weights.draws[:, 0]
    result = _found(ClassifierDivergence(of=run, rows=60), store)
    error = np.hypot(d.std() / np.sqrt(300), result.exact.sd / np.sqrt(300))
    assert abs(d.mean() - result.exact.estimate) < 4.5 * error
    assert result.d_exact.mean() == pytest.approx(result.exact.estimate)
    assert result.d_estimate.mean() == pytest.approx(result.estimate.estimate)


def test_it_is_a_task_of_the_engine(store):
    task = ClassifierDivergence(of=_run("heart_transplants", "laplace", 100), rows=40)
    assert task.load(store) is None
    assert not task.done(store)
    assert keys.read(keys.canonical_text(task)) == task
    assert task.needs == {keys.key(task.training)}
    longer = ClassifierDivergence(of=_run("heart_transplants", "laplace", 101), rows=40)
    assert len({task.key, longer.key, ClassifierDivergence(of=task.of, rows=41).key}) == 3
    result = _found(task, store)
    assert task.done(store)
    assert store.has("models", keys.key(task.training))
    assert result.d_estimate.shape == result.d_exact.shape == (300,)
    assert result.estimate.low < result.estimate.estimate < result.estimate.high


def test_runs_with_other_options(store):
    run = InferenceRun(
        model=MODELS["heart_transplants"](), inference=Variational(m=5), iterations=10
    )
    assert ClassifierDivergence(of=run).source.benchmark.m == 5
    direct = InferenceRun(model=run.model, inference=Variational(estimator="plain"), iterations=10)
    with pytest.raises(ValueError, match="usual options"):
        ClassifierDivergence(of=direct).run(store, lambda *_: None)


def test_inference_that_fails_is_told(store):
    task = ClassifierDivergence(of=_run("hospitals", "laplace", 10), rows=20)
    with pytest.raises(ValueError, match="got none at"):
        task.run(store, lambda *_: None)
    assert task.load(store) is None
