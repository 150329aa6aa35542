"""Draws of a posterior model of dingo."""

from __future__ import annotations

DINGO_EXAMPLE = """\
import numpy as np
import torch
from dingo.core.posterior_models.normalizing_flow import NormalizingFlowPosteriorModel

from export import from_callable

rng = np.random.default_rng(0)


def simulate(n):
    theta = rng.uniform(-2, 2, size=(n, 2)).astype(np.float32)
    return theta, theta + 0.5 * rng.standard_normal((n, 2)).astype(np.float32)


# Your own model stands here: build_model_from_kwargs(filename="model_latest.pt", device="cpu").
step = {
    "hidden_dim": 32, "num_transform_blocks": 1, "activation": "elu", "num_bins": 8,
    "dropout_probability": 0.0, "batch_norm": False, "base_transform_type": "rq-coupling",
}
flow = {"input_dim": 2, "context_dim": 2, "num_flow_steps": 3, "base_transform_kwargs": step}
settings = {"posterior_model_type": "normalizing_flow", "posterior_kwargs": flow}
model = NormalizingFlowPosteriorModel(
    metadata={"train_settings": {"model": settings}}, device="cpu"
)
model.network.embedding_net = torch.nn.Identity()
theta, x = map(torch.as_tensor, simulate(2000))
optimizer = torch.optim.Adam(model.network.parameters(), lr=3e-3)
for _ in range(200):
    optimizer.zero_grad()
    model.loss(theta, x).backward()
    optimizer.step()
model.network.eval()


# A model of waveforms draws standardised parameters: times std, plus mean of
# model.metadata["train_settings"]["data"]["standardization"], in its order of parameters.
def sample_batch(xs, k):
    with torch.no_grad():
        return model.sample(torch.as_tensor(xs), num_samples=k)


def log_q(theta, x):
    with torch.no_grad():
        x = torch.as_tensor(x).expand(len(theta), -1)
        return model.log_prob(torch.as_tensor(theta, dtype=torch.float32), x)


# Fresh simulations: none of them was used to train.
theta, x = simulate(500)
table = from_callable(None, theta, x, k=200, sample_batch=sample_batch, log_q=log_q)
table.save("posterior.npz")
"""
"""A script that trains a small flow of dingo and saves a table, to copy."""
