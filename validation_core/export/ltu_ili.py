"""Draws of a posterior that ltu-ili trained, with sbi's networks or lampe's."""

from __future__ import annotations

LTU_ILI_EXAMPLE = """\
import ili
import numpy as np
import torch
from ili.dataloaders import NumpyLoader
from ili.inference import InferenceRunner

from export import from_callable

rng = np.random.default_rng(0)


def simulate(n):
    theta = rng.uniform(-2, 2, size=(n, 2)).astype(np.float32)
    return theta, theta + 0.5 * rng.standard_normal((n, 2)).astype(np.float32)


# Your own training stands here.
theta, x = simulate(2000)
runner = InferenceRunner.load(
    backend="lampe",
    engine="NPE",
    prior=ili.utils.Uniform(low=[-2, -2], high=[2, 2]),
    nets=[ili.utils.load_nde_lampe(model="maf", hidden_features=16, num_transforms=2)],
    train_args={"training_batch_size": 64, "learning_rate": 1e-3, "max_epochs": 20},
)
posterior, _ = runner(loader=NumpyLoader(x=x, theta=theta))


def sample(x, k):
    \"\"\"k draws at one x, mixed: an ensemble gives those of each network in turn.\"\"\"
    draws = posterior.sample((k,), torch.as_tensor(x), show_progress_bars=False)
    return draws[torch.randperm(k)]


# Fresh simulations: none of them was used to train.
theta, x = simulate(500)
table = from_callable(sample, theta, x, k=200)
table.save("posterior.npz")
"""
"""A script that trains an ensemble of ltu-ili and saves a table, to copy."""
