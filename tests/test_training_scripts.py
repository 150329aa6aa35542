"""Scripts to take away: each is run where its library is, and writes a table that is read."""

import importlib.util
import subprocess
import sys

import numpy as np
import pytest

import validation_core as npt
from tests.conftest import ROOT
from validation_core.estimators import (
    ESTIMATORS,
    DiffusionPosterior,
    FlowEnsemble,
    FlowMatching,
    MaskedAutoregressiveFlow,
    NeuralSplineFlow,
)
from validation_core.estimators.base import Scales
from validation_core.estimators.transport import TrainedTransport
from validation_core.estimators.transport_training import carry
from validation_core.explorers.training.scripts import libraries_for, training_script
from validation_core.simulators import SIMULATORS, GaussianLinear, TwoMoons

SMALL = {"simulations": 120, "epochs": 2, "hidden": 8, "transforms": 2, "batch": 32}
NSF = NeuralSplineFlow(**SMALL)
BRIEF = {"simulations": 120, "epochs": 2, "hidden": 8, "steps": 6, "batch": 32}
VELOCITIES = (FlowMatching(**BRIEF), DiffusionPosterior(**BRIEF))


def run(script, names):
    exec(compile(script, "script.py", "exec"), names)


@pytest.mark.parametrize("name", SIMULATORS)
def test_the_simulator_of_a_script_is_the_dashboards(name):
    """The same numbers from the same generator."""
    simulator = SIMULATORS[name]()
    script = training_script("zuko", simulator, NSF)
    names = {}
    run(script.partition("\nrng = ")[0], names)
    theta, x = names["simulate"](50, np.random.default_rng(0))
    pairs = simulator.pairs(50, np.random.default_rng(0))
    np.testing.assert_allclose(theta, pairs.theta, rtol=1e-12)
    np.testing.assert_allclose(x, pairs.x, rtol=1e-9)


@pytest.mark.parametrize(
    ("library", "simulator", "estimator"),
    [
        ("zuko", TwoMoons(), NSF),
        ("zuko", GaussianLinear(), MaskedAutoregressiveFlow(**SMALL)),
        ("sbi", TwoMoons(), MaskedAutoregressiveFlow(**SMALL)),
        ("bayesflow", TwoMoons(), NSF),
        *(("torch", TwoMoons(), velocity) for velocity in VELOCITIES),
    ],
    ids=lambda value: getattr(value, "name", value),
)
def test_a_script_trains_and_writes_a_table(library, simulator, estimator, tmp_path):
    """In a process of its own, as a user's: BayesFlow turns gradients off in all of PyTorch."""
    if importlib.util.find_spec(library) is None:
        pytest.skip(f"{library} is not installed: pip install {library}")
    script = training_script(library, simulator, estimator)
    (tmp_path / "train.py").write_text(
        script.replace("ROWS, DRAWS = 1000, 200", "ROWS, DRAWS = 60, 20"), encoding="utf-8"
    )
    subprocess.run([sys.executable, "train.py"], cwd=tmp_path, check=True, timeout=300)
    table = npt.read(tmp_path / "table.npz").upload.data
    assert table.q.shape == (60, 20, simulator.dims[0])
    assert np.isfinite(table.q).all()


@pytest.mark.parametrize("velocity", VELOCITIES, ids=lambda value: value.name)
def test_a_script_of_pytorch_draws_as_the_dashboards_network_does(velocity, tmp_path, monkeypatch):
    """The script's weights, in our network, carry the same noise to the same theta."""
    import torch

    monkeypatch.chdir(tmp_path)
    script = training_script("torch", TwoMoons(), velocity)
    names = {}
    run(script.replace("ROWS, DRAWS = 1000, 200", "ROWS, DRAWS = 30, 5"), names)
    ours = {"x.0": "x0", "x.1": "x1", "x.2": "x2", "time.0": "level0", "time.1": "level1",
            "state": "theta", "trunk.0": "trunk1", "trunk.1": "trunk2", "out": "out"}  # fmt: skip
    weights = {}
    for theirs, own in ours.items():
        layer = names["network"].get_submodule(theirs)
        weights[f"{own}.weight"] = layer.weight.detach().numpy().T.copy()
        weights[f"{own}.bias"] = layer.bias.detach().numpy()
    scales = Scales(*(names[f"{of}_{what}"] for of in ("theta", "x") for what in ("mean", "sd")))
    q = TrainedTransport(weights, scales, {}, velocity)
    torch.manual_seed(1)
    drawn = names["draw"](names["x"])
    torch.manual_seed(1)
    noise = torch.randn(30 * 5, 2).numpy()
    carried = carry(q, noise, np.repeat(scales.x(names["x"]), 5, axis=0))
    np.testing.assert_allclose(drawn, scales.back(carried).reshape(30, 5, 2), atol=1e-5)


def test_other_requests_are_refused():
    with pytest.raises(ValueError, match="Scripts are for zuko, sbi, bayesflow, torch; got 'jax'"):
        training_script("jax", TwoMoons(), NSF)
    with pytest.raises(ValueError, match="Scripts for zuko train maf, nsf; got flow_matching"):
        training_script("zuko", TwoMoons(), FlowMatching())
    with pytest.raises(ValueError, match="Scripts for PyTorch train diffusion, flow_matching"):
        training_script("torch", TwoMoons(), FlowEnsemble())


def test_estimators_of_one_network_have_scripts():
    written = {name for name, kind in ESTIMATORS.items() if libraries_for(kind())}
    assert written == set(ESTIMATORS) - {"ensemble", "marginals"}


def test_the_documentation_shows_the_script():
    page = (ROOT / "docs" / "estimators.md").read_text()
    assert training_script("zuko", TwoMoons(), NeuralSplineFlow()) in page


def test_the_documentations_example_runs():
    page = (ROOT / "docs" / "estimators.md").read_text()
    names = {}
    run(page.split("```python\n")[1].partition("```")[0], names)
    assert names["theta_q"].shape == (1000, 200, 2)
    assert np.isfinite(names["nats"]).all()
