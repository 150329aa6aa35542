"""Scripts to take away: each is run where its library is, and writes a table that is read."""

import importlib.util

import numpy as np
import pytest

import validation_core as npt
from tests.conftest import ROOT
from validation_core.estimators import FlowMatching, MaskedAutoregressiveFlow, NeuralSplineFlow
from validation_core.explorers.training.scripts import training_script
from validation_core.simulators import SIMULATORS, GaussianLinear, TwoMoons

SMALL = {"simulations": 120, "epochs": 2, "hidden": 8, "transforms": 2, "batch": 32}
NSF = NeuralSplineFlow(**SMALL)


def run(script, names=None):
    exec(compile(script, "script.py", "exec"), names if names is not None else {})


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


@pytest.mark.filterwarnings("ignore")  # of the libraries, which say that two epochs are few
@pytest.mark.parametrize(
    ("library", "simulator", "estimator"),
    [
        ("zuko", TwoMoons(), NSF),
        ("zuko", GaussianLinear(), MaskedAutoregressiveFlow(**SMALL)),
        ("sbi", TwoMoons(), MaskedAutoregressiveFlow(**SMALL)),
        ("bayesflow", TwoMoons(), NSF),
    ],
    ids=lambda value: getattr(value, "name", value),
)
def test_a_script_trains_and_writes_a_table(library, simulator, estimator, tmp_path, monkeypatch):
    if importlib.util.find_spec(library) is None:
        pytest.skip(f"{library} is not installed: pip install {library}")
    script = training_script(library, simulator, estimator)
    monkeypatch.chdir(tmp_path)
    run(script.replace("ROWS, DRAWS = 1000, 200", "ROWS, DRAWS = 60, 20"))
    table = npt.read(tmp_path / "table.npz").upload.data
    assert table.q.shape == (60, 20, simulator.dims[0])
    assert np.isfinite(table.q).all()


def test_other_requests_are_refused():
    with pytest.raises(ValueError, match="Scripts are for zuko, sbi, bayesflow; got 'jax'"):
        training_script("jax", TwoMoons(), NSF)
    with pytest.raises(ValueError, match="Scripts train maf, nsf; got flow_matching"):
        training_script("zuko", TwoMoons(), FlowMatching())


def test_the_documentation_shows_the_script():
    page = (ROOT / "docs" / "estimators.md").read_text()
    assert training_script("zuko", TwoMoons(), NeuralSplineFlow()) in page


def test_the_documentations_example_runs():
    page = (ROOT / "docs" / "estimators.md").read_text()
    names = {}
    run(page.split("```python\n")[1].partition("```")[0], names)
    assert names["theta_q"].shape == (1000, 200, 2)
    assert np.isfinite(names["nats"]).all()
