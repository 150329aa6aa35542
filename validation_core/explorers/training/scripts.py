"""Scripts to take away: train what the dashboard trained, with zuko, sbi or BayesFlow alone.

Each holds the task's prior and simulator in NumPy, the estimator's options, and writes a table of
fresh simulations that My posterior reads. NPT Lab is not imported.
"""

from __future__ import annotations

from string import Template
from typing import Any

from validation_core.estimators.flows import (
    FlowEstimator,
    MaskedAutoregressiveFlow,
    NeuralSplineFlow,
)
from validation_core.simulators import Simulator

LIBRARIES = ("zuko", "sbi", "bayesflow")
"""What the scripts are for."""
WRITTEN_FOR: tuple[type[FlowEstimator], ...] = (MaskedAutoregressiveFlow, NeuralSplineFlow)
"""The estimators that all of the three have."""


def training_script(
    library: str, simulator: Simulator, estimator: FlowEstimator, seed: int = 0
) -> str:
    """A complete Python script that trains an estimator on a task.

    Args:
        library: of `LIBRARIES`.
        simulator: the task.
        estimator: one of `WRITTEN_FOR`, with its options. sbi's flows are built otherwise inside;
            BayesFlow's are coupling flows; zuko's network is the same.
        seed: of simulations, first weights and the order of rows.

    Raises:
        ValueError: for another library, estimator or task.

    Example:
        >>> from validation_core.estimators import NeuralSplineFlow
        >>> from validation_core.simulators import TwoMoons
        >>> script = training_script("zuko", TwoMoons(), NeuralSplineFlow())
        >>> script.splitlines()[0]
        '\"\"\"Two moons, neural spline flow, with zuko: trains it and writes table.npz.'
    """
    if library not in LIBRARIES:
        raise ValueError(
            f"Scripts are for {', '.join(LIBRARIES)}; got {library!r}. Choose one of those."
        )
    if type(estimator) not in WRITTEN_FOR:
        names = ", ".join(kind.name for kind in WRITTEN_FOR)
        raise ValueError(f"Scripts train {names}; got {estimator.name}. Choose one of those.")
    if simulator.name not in _SIMULATORS:
        raise ValueError(
            f"Scripts know the tasks {', '.join(_SIMULATORS)}; got {simulator.name}. Write its "
            "`simulate` into the script of one of those."
        )
    simulate = Template(_SIMULATORS[simulator.name]).substitute(
        dimensions=simulator.dims[0], data=simulator.dims[1]
    )
    options = _options(library, simulator, estimator)
    head = _HEAD.substitute(
        task=simulator.title,
        estimator=estimator.title.lower(),
        library={"zuko": "zuko", "sbi": "sbi", "bayesflow": "BayesFlow"}[library],
        seed=seed,
        simulations=estimator.simulations,
        epochs=estimator.epochs,
        patience=estimator.patience or estimator.epochs,
        batch=estimator.batch,
        lr=estimator.lr,
        imports=_IMPORTS[library],
        simulate=simulate,
    )
    return head + Template(_TRAINING[library]).substitute(options) + _TABLE


def _options(library: str, simulator: Simulator, estimator: FlowEstimator) -> dict[str, Any]:
    """What the library's network is built with."""
    spline = isinstance(estimator, NeuralSplineFlow)
    bins = estimator.bins if isinstance(estimator, NeuralSplineFlow) else 0
    return {
        "flow": "NSF" if spline else "MAF",
        "model": estimator.name,
        "transform": "spline" if spline else "affine",
        "theta": simulator.dims[0],
        "x": simulator.dims[1],
        "transforms": estimator.transforms,
        "hidden": estimator.hidden,
        "zuko_bins": f', "bins": {bins}' if spline else "",
        "sbi_bins": f", num_bins={bins}" if spline else "",
        "bf_bins": f', transform_kwargs={{"bins": {bins}}}' if spline else "",
    }


_SIMULATORS = {
    "two_moons": '''
def simulate(n, rng):
    """theta ~ U[-1, 1]^2; x on a crescent that theta shifts."""
    theta = rng.uniform(-1, 1, (n, 2))
    angle = rng.uniform(-np.pi / 2, np.pi / 2, n)
    radius = 0.1 + 0.01 * rng.standard_normal(n)
    crescent = np.stack([radius * np.cos(angle) + 0.25, radius * np.sin(angle)], axis=1)
    total, difference = theta[:, 0] + theta[:, 1], theta[:, 1] - theta[:, 0]
    return theta, crescent + np.stack([-np.abs(total), difference], axis=1) / np.sqrt(2)
''',
    "gaussian_linear": '''
def simulate(n, rng):
    """theta ~ N(0, 0.1 I), x ~ N(theta, 0.1 I)."""
    theta = np.sqrt(0.1) * rng.standard_normal((n, $dimensions))
    return theta, theta + np.sqrt(0.1) * rng.standard_normal(theta.shape)
''',
    "gaussian_linear_uniform": '''
def simulate(n, rng):
    """theta ~ U[-1, 1]^$dimensions, x ~ N(theta, 0.1 I)."""
    theta = rng.uniform(-1, 1, (n, $dimensions))
    return theta, theta + np.sqrt(0.1) * rng.standard_normal(theta.shape)
''',
    "gaussian_mixture": '''
def simulate(n, rng):
    """theta ~ U[-10, 10]^$dimensions, x ~ N(theta, I) or, as often, N(theta, 0.01 I)."""
    theta = rng.uniform(-10, 10, (n, $dimensions))
    sd = rng.choice([1.0, 0.1], (n, 1))
    return theta, theta + sd * rng.standard_normal(theta.shape)
''',
    "sir": '''
def simulate(n, rng):
    """Log infection and recovery rates; log(1 + infected among 1,000) on ten days."""
    theta = np.log([0.4, 0.125]) + np.array([0.5, 0.2]) * rng.standard_normal((n, 2))
    beta, gamma = np.exp(theta).T
    state = np.tile([[1 - 1e-6], [1e-6]], n)  # susceptible, infected
    shares = []

    def slope(state):
        infections = beta * state[0] * state[1]
        return np.stack([-infections, infections - gamma * state[1]])

    for step in range(1, 4 * 160 + 1):  # four of Runge and Kutta's steps a day
        first = slope(state)
        second = slope(state + first / 8)
        third = slope(state + second / 8)
        fourth = slope(state + third / 4)
        state = state + (first + 2 * second + 2 * third + fourth) / 24
        if step % (4 * 16) == 0:
            shares.append(state[1])
    infected = rng.binomial(1000, np.clip(np.stack(shares, axis=1), 0, 1))
    return theta, np.log1p(infected)
''',
}

_HEAD = Template('''"""$task, $estimator, with $library: trains it and writes table.npz.

Open the table on the page My posterior, or: nptlab diagnose table.npz
"""

import numpy as np
$imports

SEED, SIMULATIONS = $seed, $simulations
EPOCHS, PATIENCE, BATCH, RATE = $epochs, $patience, $batch, $lr
ROWS, DRAWS = 1000, 200  # of the table

$simulate

rng = np.random.default_rng(SEED)
theta, x = simulate(SIMULATIONS, rng)
''')

_IMPORTS = {
    "zuko": "import torch\nimport zuko",
    "sbi": "import torch\nfrom sbi.inference import NPE\nfrom sbi.neural_nets import posterior_nn",
    "bayesflow": (
        'import os\n\nos.environ.setdefault("KERAS_BACKEND", "torch")\nimport bayesflow as bf\n'
        'import keras  # BayesFlow 2.0.7 fails with 3.15: pip install "keras<3.13"'
    ),
}

_TRAINING = {
    "zuko": """
torch.manual_seed(SEED)
theta_mean, theta_sd, x_mean, x_sd = theta.mean(0), theta.std(0), x.mean(0), x.std(0)
sizes = {"transforms": $transforms, "hidden_features": [$hidden, $hidden]$zuko_bins}
flow = zuko.flows.$flow($theta, $x, **sizes)


def standardised(values, mean, sd):
    return torch.from_numpy(((values - mean) / sd).astype(np.float32))


z, c = standardised(theta, theta_mean, theta_sd), standardised(x, x_mean, x_sd)
order, tenth = torch.randperm(SIMULATIONS), SIMULATIONS // 10
held, learnt = order[:tenth], order[tenth:]
batches = max(1, round(len(learnt) / BATCH))
adam = torch.optim.Adam(flow.parameters(), lr=RATE)


def mean(before, now, taken):  # of weights, over some five epochs
    return before + max(1 / (5 * batches), 9 / (10 + taken)) * (now - before)


averaged = torch.optim.swa_utils.AveragedModel(flow, avg_fn=mean)
lowest, best, since = np.inf, None, 0
for epoch in range(EPOCHS):
    for rows in learnt[torch.randperm(len(learnt))].tensor_split(batches):
        loss = -flow(c[rows]).log_prob(z[rows]).mean()
        adam.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(flow.parameters(), 5.0)
        adam.step()
        averaged.update_parameters(flow)
    with torch.no_grad():
        held_out = -averaged.module(c[held]).log_prob(z[held]).mean().item()
    since += 1
    if held_out < lowest:
        lowest, since = held_out, 0
        best = {name: value.clone() for name, value in averaged.module.state_dict().items()}
    if since >= PATIENCE:
        break
flow.load_state_dict(best)
print(f"{epoch + 1} epochs, {lowest + np.log(theta_sd).sum():.3f} nats a pair held out")


def draw(x):
    with torch.no_grad():
        z = flow(standardised(x, x_mean, x_sd)).sample((DRAWS,))
    return theta_mean + theta_sd * z.movedim(0, 1).numpy()

""",
    "sbi": """
torch.manual_seed(SEED)
network = posterior_nn("$model", num_transforms=$transforms, hidden_features=$hidden$sbi_bins)
inference = NPE(density_estimator=network, show_progress_bars=False)
inference.append_simulations(torch.from_numpy(theta).float(), torch.from_numpy(x).float())
flow = inference.train(
    training_batch_size=BATCH,
    learning_rate=RATE,
    max_num_epochs=EPOCHS,
    stop_after_epochs=PATIENCE,
)


def draw(x):
    with torch.no_grad():
        drawn = flow.sample((DRAWS,), condition=torch.from_numpy(x).float())
    return drawn.movedim(0, 1).numpy()

""",
    "bayesflow": """
keras.utils.set_random_seed(SEED)
workflow = bf.BasicWorkflow(
    inference_network=bf.networks.CouplingFlow(
        depth=$transforms,
        transform="$transform",
        subnet_kwargs={"widths": ($hidden, $hidden)}$bf_bins,
    ),
    inference_variables=["theta"],
    inference_conditions=["x"],
    standardize=["inference_variables", "inference_conditions"],
    initial_learning_rate=RATE,
)
held = SIMULATIONS // 10
workflow.fit_offline(
    {"theta": theta[held:], "x": x[held:]},
    epochs=EPOCHS,
    batch_size=BATCH,
    validation_data={"theta": theta[:held], "x": x[:held]},
    callbacks=[keras.callbacks.EarlyStopping(patience=PATIENCE, restore_best_weights=True)],
    verbose=0,
)


def draw(x):
    return workflow.sample(num_samples=DRAWS, conditions={"x": x})["theta"]

""",
}

_TABLE = """
theta, x = simulate(ROWS, rng)  # fresh: q has not learnt from them
np.savez("table.npz", theta=theta, x=x, theta_q=draw(x))
"""
