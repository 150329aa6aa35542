"""Scripts to take away: train what the dashboard trained, with zuko, sbi, BayesFlow or PyTorch.

Each holds the task's prior and simulator in NumPy, the estimator's options, and writes a table of
fresh simulations that My posterior reads. NPT Lab is not imported.
"""

from __future__ import annotations

from collections.abc import Mapping
from string import Template
from typing import Any

from validation_core.estimators import (
    DiffusionPosterior,
    Estimator,
    FlowMatching,
    MaskedAutoregressiveFlow,
    NeuralSplineFlow,
)
from validation_core.estimators.flows import FlowEstimator
from validation_core.estimators.transport import TransportEstimator
from validation_core.simulators import Simulator

LIBRARIES: Mapping[str, str] = {
    "zuko": "zuko",
    "sbi": "sbi",
    "bayesflow": "BayesFlow",
    "torch": "PyTorch",
}
"""What the scripts are for, and how it writes its name."""
_FLOWS = ("zuko", "sbi", "bayesflow")
_WRITTEN_FOR: Mapping[type[Estimator], tuple[str, ...]] = {
    MaskedAutoregressiveFlow: _FLOWS,
    NeuralSplineFlow: _FLOWS,
    DiffusionPosterior: ("torch",),
    FlowMatching: ("torch",),
}


def libraries_for(estimator: Estimator) -> tuple[str, ...]:
    """The libraries that a script trains this estimator with; none for some."""
    return _WRITTEN_FOR.get(type(estimator), ())


def training_script(
    library: str, simulator: Simulator, estimator: Estimator, seed: int = 0
) -> str:
    """A complete Python script that trains an estimator on a task.

    Args:
        library: of `LIBRARIES`.
        simulator: the task.
        estimator: with its options; `libraries_for` says which libraries have it. sbi's flows
            are built otherwise inside; BayesFlow's are coupling flows; zuko's and PyTorch's
            networks are the same.
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
    if library not in libraries_for(estimator):
        names = ", ".join(kind.name for kind, known in _WRITTEN_FOR.items() if library in known)
        raise ValueError(
            f"Scripts for {LIBRARIES[library]} train {names}; got {estimator.name}. Choose one of "
            "those."
        )
    if simulator.name not in _SIMULATORS:
        raise ValueError(
            f"Scripts know the tasks {', '.join(_SIMULATORS)}; got {simulator.name}. Write its "
            "`simulate` into the script of one of those."
        )
    simulate = Template(_SIMULATORS[simulator.name]).substitute(
        dimensions=simulator.dims[0], data=simulator.dims[1]
    )
    head = _HEAD.substitute(
        task=simulator.title,
        estimator=estimator.title.lower(),
        library=LIBRARIES[library],
        seed=seed,
        simulations=estimator.simulations,
        epochs=estimator.epochs,
        patience=estimator.patience or estimator.epochs,
        batch=estimator.batch,
        lr=estimator.lr,
        imports=_IMPORTS[library],
        simulate=simulate,
    )
    if isinstance(estimator, TransportEstimator):
        options, own = _transport_options(simulator, estimator), _TRANSPORTS[estimator.name]
    else:
        assert isinstance(estimator, FlowEstimator)
        options, own = _flow_options(simulator, estimator), {}
    training = Template(_TRAINING[library]).safe_substitute(own)
    return head + Template(training).substitute(options) + _TABLE


def _transport_options(simulator: Simulator, estimator: TransportEstimator) -> dict[str, Any]:
    """What the velocity's network and its ODE are built with."""
    return {
        "theta": simulator.dims[0],
        "x": simulator.dims[1],
        "hidden": estimator.hidden,
        "further": estimator.layers - 1,
        "steps": estimator.steps,
    }


def _flow_options(simulator: Simulator, estimator: FlowEstimator) -> dict[str, Any]:
    """What the library's flow is built with."""
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
    "torch": "import torch\nfrom torch.nn.functional import silu",
}

_LOOP = """
def standardised(values, mean, sd):
    return torch.from_numpy(((values - mean) / sd).astype(np.float32))


z, c = standardised(theta, theta_mean, theta_sd), standardised(x, x_mean, x_sd)
order, tenth = torch.randperm(SIMULATIONS), SIMULATIONS // 10
held, learnt = order[:tenth], order[tenth:]
batches = max(1, round(len(learnt) / BATCH))
adam = torch.optim.Adam($network.parameters(), lr=RATE)


def mean(before, now, taken):  # of weights, over some five epochs
    return before + max(1 / (5 * batches), 9 / (10 + taken)) * (now - before)


${watched}averaged = torch.optim.swa_utils.AveragedModel($network, avg_fn=mean)
lowest, best, since = np.inf, None, 0
for epoch in range(EPOCHS):
    for rows in learnt[torch.randperm(len(learnt))].tensor_split(batches):
        loss = $loss
        adam.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_($network.parameters(), 5.0)
        adam.step()
        averaged.update_parameters($network)
    with torch.no_grad():
        held_out = $held_out.item()
    since += 1
    if held_out < lowest:
        lowest, since = held_out, 0
        best = {name: value.clone() for name, value in averaged.module.state_dict().items()}
    if since >= PATIENCE:
        break
$network.load_state_dict(best)
print(f"{epoch + 1} epochs, $said")
"""

_MOMENTS = """
torch.manual_seed(SEED)
theta_mean, theta_sd, x_mean, x_sd = theta.mean(0), theta.std(0), x.mean(0), x.std(0)
"""

_TRANSPORTS: Mapping[str, Mapping[str, str]] = {
    "flow_matching": {
        "examples": """    time, noise = torch.rand(len(z), 1), torch.randn_like(z)
    return time * z + (1 - time) * noise, 2 * time - 1, z - noise""",
        "times": """left = 1 - np.arange(STEPS + 1) / STEPS
times = 1 - (left + left**2) / 2
codes = 2 * times - 1""",
    },
    "diffusion": {
        "examples": """    sigma = (-1.2 + 1.2 * torch.randn(len(z), 1)).exp()
    angle, noise = torch.atan(2 * sigma), torch.randn_like(z)
    state = angle.cos() * z + angle.sin() * noise
    return state, sigma.log() / 4, angle.cos() * noise - angle.sin() * z""",
        "times": """high, low = 80 ** (1 / 7), 0.002 ** (1 / 7)
sigmas = (high + np.arange(STEPS + 1) / STEPS * (low - high)) ** 7
times = np.arctan(2 * sigmas)
codes = np.log(sigmas) / 4""",
    },
}
"""What a velocity learns from, and the times of its ODE with what the network is told of them."""

_TRAINING = {
    "torch": _MOMENTS
    + """STEPS = $steps  # of the ODE


class Velocity(torch.nn.Module):
    def __init__(self):
        super().__init__()
        linear, wide = torch.nn.Linear, $hidden
        self.x = torch.nn.ModuleList([linear($x, wide), linear(wide, wide), linear(wide, wide)])
        self.time = torch.nn.ModuleList([linear(16, wide), linear(wide, wide)])
        self.state, self.out = linear($theta, wide), linear(wide, $theta)
        self.trunk = torch.nn.ModuleList([linear(wide, wide) for _ in range($further)])

    def forward(self, state, code, x):
        h = silu(self.x[0](x))
        about_x = self.x[2](h + silu(self.x[1](h)))
        angles = code * torch.linspace(0, np.log(8), 8).exp()
        waves = torch.cat([angles.sin(), angles.cos()], dim=1)
        about_time = self.time[1](silu(self.time[0](waves)))
        h = silu(self.state(state) + about_x + about_time)
        for layer in self.trunk:
            h = h + silu(layer(h))
        return self.out(h)


def examples(z):  # states on the way from noise to z, codes of their times, velocities
$examples


def error(network, example, x):
    state, code, velocity = example
    return (network(state, code, x) - velocity).square().mean()


network = Velocity()

"""
    + Template(_LOOP).safe_substitute(
        network="network",
        loss="error(network, examples(z[rows]), c[rows])",
        held_out="error(averaged.module, watched, c[held].repeat(8, 1))",
        said="squared error {lowest:.3f} held out",
        watched="watched = examples(z[held].repeat(8, 1))\n",
    )
    + """$times


def draw(x):
    c = standardised(np.repeat(x, DRAWS, axis=0), x_mean, x_sd)
    z = torch.randn(len(c), $theta)

    def slope(z, i):
        return network(z, torch.full((len(c), 1), codes[i], dtype=torch.float32), c)

    with torch.no_grad():
        for i, step in enumerate(np.diff(times)):  # Heun's method
            first = slope(z, i)
            z = z + step / 2 * (first + slope(z + step * first, i + 1))
    return theta_mean + theta_sd * z.reshape(len(x), DRAWS, -1).numpy()

""",
    "zuko": _MOMENTS
    + """sizes = {"transforms": $transforms, "hidden_features": [$hidden, $hidden]$zuko_bins}
flow = zuko.flows.$flow($theta, $x, **sizes)

"""
    + Template(_LOOP).safe_substitute(
        network="flow",
        loss="-flow(c[rows]).log_prob(z[rows]).mean()",
        held_out="-averaged.module(c[held]).log_prob(z[held]).mean()",
        said="{lowest + np.log(theta_sd).sum():.3f} nats a pair held out",
        watched="",
    )
    + """

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
