"""A real estimator whose error is known in nats: a spline flow on two moons, found or missed.

The flow (zuko's NSF, 3 transforms of 64 x 64, Adam 5e-4, batch 128) learns from 9,000 simulations,
the best step on 1,000 others is kept, and it ends some .2 nats from the truth. Trained once, some
minutes on one core, and kept below --cache; its tables go through relabelling alone and through
the whole verdict.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import torch
from zuko.flows import NSF

from benchmarks import rows as table
from benchmarks.lab import Lab, say
from benchmarks.rows import Row
from benchmarks.verdict_power import ALPHA, VERDICTS, WORDS
from validation_core.rng import stream
from validation_core.types import Array, PosteriorTable

SIMULATIONS, HELD, EPOCHS, BATCH, RATE = 9000, 1000, 80, 128, 5e-4
SIZES = (1000, 5000)
DRAWS = 200
LEAST = {5000: 0.8}
FULL, QUICK = 40, 6
_RADIUS, _WIDTH = 0.1, 0.01


def two_moons(n: int, rng: np.random.Generator) -> tuple[Array, Array]:
    """theta (n, 2) from U[-1, 1]^2 and x (n, 2), as methods2.md section 8 has it."""
    theta = rng.uniform(-1, 1, (n, 2))
    angle = rng.uniform(-np.pi / 2, np.pi / 2, n)
    radius = rng.normal(_RADIUS, _WIDTH, n)
    moon = np.column_stack([radius * np.cos(angle) + 0.25, radius * np.sin(angle)])
    off = np.column_stack([-np.abs(theta.sum(1)), theta[:, 1] - theta[:, 0]]) / np.sqrt(2)
    return theta, moon + off


def log_posterior(theta: Array, x: Array) -> Array:
    """log p(theta | x) where neither moon leaves the box: half of the likelihood."""
    off = np.column_stack([-np.abs(theta.sum(1)), theta[:, 1] - theta[:, 0]]) / np.sqrt(2)
    place = x - off - np.array([0.25, 0.0])
    radius = np.linalg.norm(place, axis=1)
    z = (radius - _RADIUS) / _WIDTH
    normal = -(z**2) / 2 - np.log(_WIDTH * np.sqrt(2 * np.pi))
    return normal - np.log(np.pi * radius) - np.log(2)


def flow(kept: Path, seed: int = 0) -> NSF:
    """The trained flow, from its file or trained anew."""
    torch.manual_seed(seed)
    network = NSF(features=2, context=2, transforms=3, hidden_features=(64, 64))
    if kept.exists():
        with np.load(kept) as arrays:
            state = {name: torch.from_numpy(arrays[name]) for name in arrays.files}
        network.load_state_dict(state)
        return network
    theta, x = (
        torch.from_numpy(two_moon).float()
        for two_moon in two_moons(SIMULATIONS + HELD, stream(seed))
    )
    held_out = slice(SIMULATIONS, None)
    best, state = np.inf, network.state_dict()
    adam = torch.optim.Adam(network.parameters(), lr=RATE)
    order = torch.Generator().manual_seed(seed)
    for epoch in range(EPOCHS):
        for some in torch.split(torch.randperm(SIMULATIONS, generator=order), BATCH):
            loss = -network(x[some]).log_prob(theta[some]).mean()
            adam.zero_grad()
            loss.backward()
            adam.step()
        with torch.inference_mode():
            loss = float(-network(x[held_out]).log_prob(theta[held_out]).mean())
        if loss < best:
            best, state = loss, {n: a.clone() for n, a in network.state_dict().items()}
        if epoch % 10 == 0:
            say(f"flow, epoch {epoch} of {EPOCHS}, held out {loss:.3f}")
    network.load_state_dict(state)
    kept.parent.mkdir(parents=True, exist_ok=True)
    np.savez(kept, **{name: two_moon.numpy() for name, two_moon in network.state_dict().items()})
    return network


def nats(network: NSF, n: int = 20_000) -> tuple[float, float]:
    """KL of the truth from the flow, where no moon leaves the box, and its standard error."""
    theta, x = two_moons(n, stream(1, "nats"))
    inside = np.abs(theta).max(1) < 0.6
    with torch.inference_mode():
        log_q = network(torch.from_numpy(x).float()).log_prob(torch.from_numpy(theta).float())
    off = (log_posterior(theta, x) - log_q.numpy())[inside]
    return float(off.mean()), float(off.std() / np.sqrt(len(off)))


def draws(network: NSF, n: int, seed: int) -> PosteriorTable:
    """A fresh table."""
    theta, x = two_moons(n, stream(seed, "flow", n))
    torch.manual_seed(seed)
    with torch.inference_mode():
        q = network(torch.from_numpy(x).float()).sample((DRAWS,))
    return PosteriorTable(
        theta.astype(np.float32), x, np.ascontiguousarray(q.numpy().transpose(1, 0, 2))
    )


def rows(lab: Lab) -> Iterator[Row]:
    """Shares of tables on which the flow's error is found, at both sizes."""
    torch.set_num_threads(1)
    network = flow((lab.kept or lab.folder) / "two_moons_nsf.npz")
    distance, error = nats(network)
    count = FULL if lab.full else QUICK
    for n in SIZES:
        example, share = [], {}
        for column, words in WORDS.items():
            start = time.perf_counter()
            p = np.array([
                VERDICTS[column](draws(network, n, seed), seed) for seed in range(count)
            ])  # fmt: skip
            each = (time.perf_counter() - start) / count
            share[column] = float(np.mean(p <= ALPHA))
            example.append(
                f"{words} {share[column]:.2f}, median p {np.median(p):.3g}, {each:.0f} s"
            )
        least = LEAST.get(n)
        yield table.told(
            f"NSF on two moons, {distance:.2f} ± {2 * error:.2f} nats, N, K = {n}, {DRAWS}",
            f"{'; '.join(example)} (of {count} tables)",
            None if least is None else share["complete"] >= least,
            "" if least is None else f">= {least:.2g}, complete", share=share,
        )  # fmt: skip
