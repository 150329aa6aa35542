"""The network of a witness: one for each fold and one of all rows, as one batch."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import torch

from validation_core.learn import perceptron, training
from validation_core.learn.adam import Adam
from validation_core.pieces import stack_by_name
from validation_core.scores.witness_rows import FOLDS, MemberArrays, MemberFit, WitnessRegression
from validation_core.types import Float, Integers

_HIDDEN, _LAYERS = 64, 3
NETWORK_STEPS = 600
_BATCH = 256
_RATE = 3e-3
_DECAY = 1e-2
_CHECKS = 8
_ROWS = 4096  # rows per pass


def fit_network(problem: WitnessRegression, rng: np.random.Generator) -> MemberFit:
    """A network with squared error, stopped where held-out folds are predicted best.

    A fold's network sees the batches of all others with its own rows' weights at 0, so that the
    held-out curve of the folds is that of the network of all rows too.
    """
    device = perceptron.pick_device()
    start = perceptron.perceptron(rng, [problem.z.shape[1], *[_HIDDEN] * _LAYERS, 1])
    tensors = perceptron.learnable(stack_by_name([start] * (FOLDS + 1)), device)
    adam = Adam([(tensors.values(), _RATE)], over=NETWORK_STEPS, decay=_DECAY, fused=False)
    z = torch.from_numpy(problem.z.astype(np.float32)).to(device)
    y = torch.from_numpy(problem.y.astype(np.float32)).to(device)
    # (folds + 1, n): 0 for the rows that a network does not learn from; the last takes all.
    use = np.stack([problem.fold != fold for fold in range(FOLDS + 1)])
    learnt = torch.from_numpy(use.astype(np.float32)).to(device)

    def loss(rows: torch.Tensor) -> torch.Tensor:
        inputs = z[rows].expand(FOLDS + 1, -1, -1)
        error = (training.logits(tensors, inputs) - y[rows]) ** 2
        return (error * learnt[:, rows]).mean(1)

    best, best_tensors, best_predictions = -np.inf, tensors, np.zeros(len(problem.y))
    batches = ([torch.from_numpy(_batch(problem, rng)).to(device)] for _ in range(NETWORK_STEPS))
    for step, _ in enumerate(training.descend(adam, batches, loss), 1):
        if step % (NETWORK_STEPS // _CHECKS) == 0:
            predicted = _held(tensors, z, problem.fold)
            r2 = problem.r2(predicted)
            if r2 > best:
                best, best_predictions = r2, predicted
                best_tensors = {name: t.detach()[-1:].clone() for name, t in tensors.items()}
    return MemberFit(
        best_predictions, best, perceptron.unstack(perceptron.arrays(best_tensors))[0]
    )


def predict_network(arrays: MemberArrays, z: Float) -> Float:
    """Predictions (n,) at rows z (n, d)."""
    device = perceptron.pick_device()
    tensors = perceptron.tensors(stack_by_name([arrays]), device)
    inputs = torch.from_numpy(z.astype(np.float32)).to(device)
    with torch.inference_mode():
        parts = [
            training.logits(tensors, part.unsqueeze(0))[0] for part in torch.split(inputs, _ROWS)
        ]
        out: Float = torch.cat(parts).cpu().numpy().astype(np.float64)
    return out


def _batch(problem: WitnessRegression, rng: np.random.Generator) -> Integers:
    """Rows of a step, as many of p as of q."""
    n_p = int((problem.y > 0).sum())
    half = _BATCH // 2
    return np.concatenate([rng.integers(0, n_p, half), rng.integers(n_p, len(problem.y), half)])


def _held(tensors: Mapping[str, torch.Tensor], z: torch.Tensor, fold: Integers) -> Float:
    """Predictions (n,) of each row by the network that did not learn from it."""
    out = np.empty(len(fold))
    with torch.no_grad():
        for index in range(FOLDS):
            rows = np.flatnonzero(fold == index)
            own = {name: tensor[index : index + 1] for name, tensor in tensors.items()}
            out[rows] = (
                training.logits(own, z[torch.from_numpy(rows)].unsqueeze(0))[0].cpu().numpy()
            )
    return out
