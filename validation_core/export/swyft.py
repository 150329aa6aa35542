"""Draws weighted by a ratio estimator of swyft."""

from __future__ import annotations

SWYFT_EXAMPLE = """\
import numpy as np
import swyft
import torch

from export import from_prior

rng = np.random.default_rng(0)


def prior(count):
    return rng.uniform(-2, 2, size=(count, 2)).astype(np.float32)


class Simulator(swyft.Simulator):
    def build(self, graph):
        z = graph.node("z", lambda: prior(1)[0])
        graph.node("x", lambda z: z + 0.5 * rng.standard_normal(2).astype(np.float32), z)


class Network(swyft.SwyftModule):
    def __init__(self):
        super().__init__()
        pair = ((0, 1),)  # the joint ratio of both parameters
        self.ratio = swyft.LogRatioEstimator_Ndim(2, pair, varnames="z")

    def forward(self, A, B):
        return self.ratio(A["x"], B["z"])


# Your own training stands here.
network = Network()
trainer = swyft.SwyftTrainer(accelerator="cpu", max_epochs=10, enable_progress_bar=False)
trainer.fit(network, swyft.SwyftDataModule(Simulator().sample(3000), batch_size=128))
network.eval()


def log_w(theta, x):
    \"\"\"The estimated log ratio at each row of theta, given one x.\"\"\"
    theta, x = torch.as_tensor(theta), torch.as_tensor(x).expand(len(theta), -1)
    with torch.no_grad():
        return network({"x": x}, {"z": theta}).logratios[:, 0]


# Fresh simulations: none of them was used to train.
test = Simulator().sample(500)
table = from_prior(log_w, prior, np.stack(test["z"]), np.stack(test["x"]), k=200)
table.save("posterior.npz")
"""
"""A script that trains swyft's ratio estimator and saves a table of weighted draws, to copy."""
