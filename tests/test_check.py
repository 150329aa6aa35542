"""`check`: a prior, a simulator and a sampler become a diagnosed table, in NumPy or torch."""

import re

import numpy as np
import pandas as pd
import pytest
import torch

import validation_core as npt
from tests.conftest import ROOT
from validation_core.store import Store

N, K = 120, 20


@pytest.fixture
def checked(tmp_path):
    """A check that trains nothing, of the exact posterior unless another part is given."""

    def run(**given):
        rng = np.random.default_rng(0)
        parts = {
            "prior": lambda n: rng.standard_normal((n, 2)),
            "simulate": lambda theta: theta + rng.standard_normal(theta.shape),
            "sample": lambda x, k: x[:, None] / 2 + draws(rng, x, k),
            "n": N,
            "draws": K,
            "methods": "sbc",
            "questions": "none",
            "progress": False,
            "store": Store(tmp_path),
        }
        return npt.check(**parts | given)

    return run


def draws(rng, x, k):
    return 0.5**0.5 * rng.standard_normal((len(x), k, 2))


def test_numpy_functions_are_simulated_drawn_and_diagnosed(checked):
    def log_q(theta, x):
        return -((theta - x / 2) ** 2).sum(1)

    result = checked(names=["mass", "spin"], x_names=["light", "wind"], log_q=log_q)
    assert result.verdict == "no problem found"
    table = result.table
    assert (table.n, table.k, table.names, table.x_names) == (
        (N, K, ("mass", "spin"), ("light", "wind"))
    )
    held = table.arrays()
    theta, x = held["theta"], held["x"]
    assert 0.8 < (x - theta).std() < 1.2
    np.testing.assert_allclose(held["log_q"], log_q(theta, x), rtol=1e-3)
    assert checked(sample=lambda x, k: x[:, None] + 0 * draws(np.random, x, k)).pvalue < 0.01


@pytest.mark.parametrize("bias", [0, 2])
def test_a_level_far_above_the_spread_hides_no_bias(checked, bias):
    rng, level = np.random.default_rng(1), 1e9
    result = checked(
        prior=lambda n: level + rng.standard_normal((n, 2)),
        sample=lambda x, k: (x[:, None] + level) / 2 + bias + draws(rng, x, k),
    )
    assert (result.pvalue < 0.01) == bool(bias)
    theta_q = result.table.arrays()["theta_q"]
    assert len(np.unique(theta_q)) > 0.99 * theta_q.size


def test_torch_functions_are_given_tensors_of_their_own_kind(checked):
    seen = set()

    def simulate(theta):
        seen.add(("theta", theta.dtype))
        return theta.float() + torch.randn(theta.shape)

    def sample(x, k):
        seen.add(("x", x.dtype))
        return x[:, None] / 2 + 0.5**0.5 * torch.randn(len(x), k, 2)

    torch.manual_seed(0)
    prior = torch.distributions.Normal(torch.zeros(2).double(), torch.ones(2).double())
    with torch.enable_grad():
        result = checked(prior=lambda n: prior.sample((n,)), simulate=simulate, sample=sample)
    assert result.table.n == N
    assert seen == {("theta", torch.float64), ("x", torch.float32)}


def test_one_parameter_needs_no_axis_of_its_own(checked):
    rng = np.random.default_rng(1)
    result = checked(
        prior=rng.standard_normal,
        simulate=lambda theta: theta + rng.standard_normal(len(theta)),
        sample=lambda x, k: x[:, None] / 2 + 0.5**0.5 * rng.standard_normal((len(x), k)),
    )
    held = result.table.arrays()
    assert (held["x"].shape, held["theta_q"].shape) == ((N, 1), (N, K, 1))


def test_functions_may_change_what_they_are_given(checked):
    rng = np.random.default_rng(1)

    def simulate(theta):
        theta += 10
        return 10 * (theta + rng.standard_normal(theta.shape))

    def sample(x, k):
        x /= 10
        x -= 10
        return x[:, None] / 2 + draws(rng, x, k)

    def log_q(theta, x):
        x /= 10
        x -= 10
        return -((theta - x / 2) ** 2).sum(1)

    result = checked(simulate=simulate, sample=sample, log_q=log_q)
    held = result.table.arrays()
    assert abs(held["theta"].mean()) < 0.5, "the simulator was given theta of its own"
    assert held["x"].min() > 10
    assert result.verdict == "no problem found"


def test_a_frame_from_prior_is_a_frame_in_simulate(checked):
    rng = np.random.default_rng(1)
    result = checked(
        prior=lambda n: pd.DataFrame(rng.standard_normal((n, 2)), columns=["mass", "spin"]),
        simulate=lambda theta: theta + rng.standard_normal(theta.shape),
        sample=lambda x, k: x[["mass", "spin"]].values[:, None] / 2 + draws(rng, x, k),
        log_q=lambda theta, x: -((theta - x / 2) ** 2).sum(axis=1),
    )
    assert result.table.n == N
    assert "log_q" in result.table.arrays()


def test_rows_that_fail_are_left_out_and_counted(checked):
    rng, calls = np.random.default_rng(2), []

    def sample(x, k):
        calls.append(len(x))
        if (x[:, 0] > 2).any():
            raise RuntimeError("beyond the grid")
        return x[:, None] / 2 + draws(rng, x, k)

    with pytest.warns(UserWarning, match=r"not tested there: \d+ rows?: RuntimeError"):
        result = checked(sample=sample)
    assert N / 2 < result.table.n < N
    assert max(calls) > 1, "rows are drawn in batches"


@pytest.mark.usefixtures("quick_training")
def test_the_document_has_an_example_that_runs(tmp_path, monkeypatch):
    monkeypatch.setenv("NPTLAB_CACHE", str(tmp_path / "cache"))
    monkeypatch.chdir(tmp_path)
    text = (ROOT / "docs" / "training.md").read_text(encoding="utf-8")
    (code,) = [
        block
        for block in re.findall(r"```python\n(.*?)```", text, re.DOTALL)
        if "npt.check" in block
    ]
    names = {}
    with torch.random.fork_rng():
        torch.manual_seed(0)
        exec(compile(code, "training.md", "exec"), names)
    assert names["result"].verdict == "problem found"
    assert npt.read(tmp_path / "fresh.npz").n == 300


def broken(*_):
    raise RuntimeError("no such shape")


@pytest.mark.parametrize(
    ("given", "told"),
    [
        (
            {"sample": lambda x, k: np.zeros((k, len(x), 2))},
            r"sample\(x, k\) .*asked with x \(2, 2\) and k = 3, got \(3, 2, 2\).*Swap",
        ),
        (
            {"sample": lambda x, k: np.zeros((len(x), k, 5))},
            r"sample\(x, k\) .*\(2, 3, 5\) in place of \(2, 3, 2\)",
        ),
        ({"sample": broken}, r"sample\(x, k\) .*asked with \(2, 2\), 3, .*RuntimeError: no such"),
        ({"sample": None}, r"sample\(x, k\) must be a function .*got NoneType"),
        ({"prior": broken}, r"prior\(n\) .*asked with 120, it raised RuntimeError"),
        ({"prior": lambda n: np.zeros((3, 2))}, r"prior\(n\) .*n = 120, got shape \(3, 2\)"),
        (
            {"prior": torch.distributions.Normal(0.0, 1.0)},
            r"got Normal\. Pass prior=lambda n: prior\.sample\(\(n,\)\)",
        ),
        ({"simulate": lambda theta: np.zeros(3)}, r"simulate must return one x for each of 6"),
        ({"simulate": broken}, "simulate must give finite x; got none at 120 theta"),
        ({"simulate": broken}, "simulator's RuntimeError: no such shape"),
        ({"simulate": None}, r"simulate\(theta\) must be a function .*got NoneType"),
        ({"simulate": lambda theta: ["a"] * len(theta)}, "simulate must return numbers; got <U1"),
        ({"simulate": lambda theta: [None] * len(theta)}, "must return numbers; got object at 6"),
        ({"simulate": lambda theta: (theta, theta), "n": 40}, "one array.* got a tuple of 2"),
        (
            {"simulate": lambda theta: np.zeros((len(theta), 2 + (theta[0, 0] > 0)))},
            r"x of one shape at all theta; got \((2|3),\) at some and \((2|3),\) at others",
        ),
        (
            {"log_q": broken},
            r"log_q\(thetas, x_i\) .*asked with \(2, 2\), \(2,\), it raised Runtime",
        ),
        (
            {"log_q": lambda thetas, x: -((thetas - x) ** 2)},
            r"asked with thetas \(2, 2\) and x_i \(2,\), got \(2, 2\) in place of \(2,\)",
        ),
        ({"log_q": 3}, r"log_q\(thetas, x_i\) must be a function .*got int"),
        ({"max_seconds": -1}, "max_seconds is a number of seconds above 0.* got -1"),
        ({"n": 2}, "n is at least 4; got 2"),
    ],
)
def test_a_function_that_fails_is_named_with_what_it_was_asked(checked, given, told):
    with pytest.raises(ValueError, match=told):
        checked(**given)


@pytest.mark.parametrize("given", [{"n": "200"}, {"draws": 50.0}, {"max_seconds": "a"}])
def test_what_is_no_number_is_refused_by_name(checked, given):
    ((name, got),) = given.items()
    with pytest.raises(TypeError, match=f"{name} is a .*number.*; got {got!r}"):
        checked(**given)


def test_torch_functions_may_work_in_bfloat16(checked):
    torch.manual_seed(0)
    result = checked(
        prior=lambda n: torch.randn(n, 2).bfloat16(),
        simulate=lambda theta: theta + torch.randn_like(theta),
        sample=lambda x, k: x[:, None] / 2 + 0.5**0.5 * torch.randn(len(x), k, 2).bfloat16(),
    )
    assert result.table.n == N
