"""Errors as Python users know them: the kind of exception, and the name that was meant."""

import numpy as np
import pytest

import validation_core as npt


@pytest.fixture
def table():
    rng = np.random.default_rng(0)
    x = rng.standard_normal((60, 2))
    return npt.Table(x + 1, x, x[:, None] + rng.standard_normal((60, 20, 2)))


@pytest.mark.parametrize(
    ("call", "kind", "words"),
    [
        (lambda table: npt.read("nowhere.npz"), FileNotFoundError, "got 'nowhere.npz'"),
        (lambda table: npt.read("nowhere.npz"), ValueError, "Check the path"),
        (lambda table: npt.read(["a.npz", "b.npz"]), FileNotFoundError, "In the file 'a'"),
        (lambda table: npt.mend("nowhere.npz"), FileNotFoundError, "Check the path"),
        (lambda table: npt.diagnose(3), TypeError, "got int"),
        (lambda table: npt.diagnose(*3 * [np.zeros((3, 2))]), TypeError, r"npt\.Table\(theta"),
        (lambda table: npt.diagnose(table, question="none"), TypeError, "mean 'questions'"),
        (lambda table: npt.observation(table, row=3), TypeError, "mean 'rows'"),
        (lambda table: npt.read("a.npz", circlar=()), TypeError, r"read\(\) .* mean 'circular'"),
        (lambda table: npt.Table(0, 0, 0, name=["a"]), TypeError, r"Table\(\) .* mean 'names'"),
        (lambda table: npt.ask("observation", table, wher=3), TypeError, "mean 'where'"),
        (lambda table: npt.ask("siz", table), ValueError, "A question is one of.*mean 'size'"),
        (lambda table: npt.run("tarp", table, metrc=3), TypeError, "mean 'metric'"),
        (lambda table: npt.run("sbc", "gaussian", gama=0.2), TypeError, "mean 'gamma'"),
        (lambda table: npt.run("sbc", table, gamma=0.9, k=3), TypeError, "got gamma=0.9, k=3 for"),
        (
            lambda table: npt.ask("size", table, upload=3),
            TypeError,
            "keyword 'upload'.*Choose among",
        ),
        (lambda table: npt.ask("size", table, options=3), TypeError, "keyword 'options'"),
        (
            lambda table: npt.ask("sensitivity", table, methods="dc"),
            ValueError,
            "no answer by DC within x alone. Name other methods",
        ),
        (
            lambda table: npt.ask(
                "sensitivity",
                {name: array[..., :1] for name, array in table.arrays().items()},
                injections=["bias_all"],
            ),
            ValueError,
            "than vary in this table, 1; got bias_all. Choose some of bias,",
        ),
        (lambda table: npt.ask("size", table, progress="no"), TypeError, "Try progress=False"),
        (lambda table: npt.Checkpoints(0, 0, name=["a"]), TypeError, "mean 'names'"),
        (lambda table: npt.run("tarpp", table), ValueError, "mean 'tarp'"),
        (lambda table: npt.power("gausian"), ValueError, "mean 'gaussian'"),
    ],
)
def test_an_error_says_what_was_meant(table, call, kind, words):
    with pytest.raises(kind, match=words):
        call(table)


@pytest.mark.parametrize(
    ("given", "kind", "words"),
    [
        ({"seed": -1}, ValueError, "got -1"),
        ({"seed": 1.5}, TypeError, "got 1.5"),
        ({"alpha": "0.05"}, TypeError, "got '0.05'"),
        ({"store": "/tmp/x"}, TypeError, "Try store="),
    ],
)
def test_shared_keywords_are_checked_before_any_work(table, given, kind, words):
    with pytest.raises(kind, match=words):
        npt.ask("size", table, **given)
    with pytest.raises(kind, match=words):
        npt.Checkpoints(np.zeros((60, 2)), np.zeros((60, 2)), **given)


def test_a_former_keyword_is_taken(table, store):
    result = npt.diagnose(table, "sbc", answers="size", store=store)
    assert list(result) == ["size"]
