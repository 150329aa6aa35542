"""sbi's NPE on given pairs, with its maf and nsf. Runs in the peers' environment."""

from __future__ import annotations

import os
import tempfile
import time
import warnings
from typing import Any

import torch
from sbi.inference import NPE
from sbi.neural_nets import posterior_nn
from talk import Arrays, serve

warnings.filterwarnings("ignore")


def train(
    arrays: Arrays,
    model: str,
    seed: int,
    batch: int,
    lr: float,
    patience: int,
    epochs: int,
    options: dict[str, int],
) -> dict[str, Any]:
    """Train until patience ends, and log q of other pairs."""
    torch.manual_seed(seed)
    theta, x, fresh_theta, fresh_x = (
        torch.from_numpy(arrays[name]).float() for name in ("theta", "x", "fresh_theta", "fresh_x")
    )
    inference = NPE(
        density_estimator=posterior_nn(model, **options), show_progress_bars=False
    ).append_simulations(theta, x)
    start, begin = time.perf_counter(), time.process_time()
    estimator = inference.train(
        training_batch_size=batch,
        learning_rate=lr,
        stop_after_epochs=patience,
        max_num_epochs=epochs,
    )
    seconds, cpu = time.perf_counter() - start, time.process_time() - begin
    with torch.no_grad():
        log_q = estimator.log_prob(fresh_theta[None], condition=fresh_x)[0]
    return {
        "seconds": seconds,
        "cpu": cpu,
        "epochs": inference.summary["epochs_trained"][-1],
        "log_q": log_q.tolist(),
    }


if __name__ == "__main__":
    os.chdir(tempfile.mkdtemp())  # sbi leaves its logs where it runs
    serve(train=train)
