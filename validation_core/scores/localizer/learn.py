"""Training a localizer: ranks climb away from uniform, held-out anchors say when it is enough."""

from __future__ import annotations

import time
from collections.abc import Mapping

import numpy as np
import torch
from numpy.typing import NDArray

from validation_core import nets, statistics
from validation_core.nets import Parameters
from validation_core.rng import stream
from validation_core.scores.localizer import divergence, networks, starts
from validation_core.scores.localizer.frame import Frame
from validation_core.scores.localizer.recipe import Anchors, Localizer
from validation_core.scores.localizer.rows import Rows, distance, distances, in_frame, ranks
from validation_core.scores.localizer.starts import Start
from validation_core.scores.localizer.trained import TrainedLocalizer
from validation_core.training import Report

CHECKS = 15
"""Times that the ranks of all anchors are looked at, beside the start."""
_NULL_MEAN = 0.869  # of Kolmogorov's law
_MARGIN = 0.5
"""KS distance, times the root of the held-out anchors, by which a step must beat the start: about
half a standard error. Below it the start, which no anchor has shaped, is the better bet."""


def learn(
    data: Anchors, recipe: Localizer, seed: int, report: Report | None = None,
    device: str | None = None,
) -> TrainedLocalizer:  # fmt: skip
    """Train one localizer; the seed fixes its start and the order of anchors and draws."""
    began = time.perf_counter()
    where = nets.pick_device(device)
    frame = Frame.fit(data.learn, whiten=recipe.whiten)
    rows, watch = (in_frame(frame, part, where) for part in (data.learn, data.watch))
    d, m = rows.theta.shape[1], rows.x.shape[1]
    rng = stream(seed, "localizer")
    centre = networks.centre_parameters(recipe, m, d, rng)
    phi = networks.embedding_parameters(recipe.embedding, d, rng)
    first = starts.taken(recipe, rows)
    total = max(1, first + recipe.steps)

    def tell(step: int, live: Mapping[str, float]) -> None:
        if report:
            report(step / total, live)

    start, tried = starts.choose(recipe, centre, phi, rows, watch, seed, tell)
    climb = _Climb(recipe, start, rows, watch, where)
    climb.run(data, frame, stream(seed, "order"), lambda step, live: tell(first + step, live))
    kept = climb.best()
    return TrainedLocalizer(
        recipe.embedding, *climb.at(kept), centre, phi, frame,
        {**climb.history(), **tried},
        climb.film(), kept=kept, seconds=time.perf_counter() - began, device=where,
    )  # fmt: skip


class _Climb:
    """The steps of one training, and what was seen on the way."""

    def __init__(
        self, recipe: Localizer, start: Start, rows: Rows, watch: Rows, device: str
    ) -> None:
        self.recipe, self.rows, self.watch = recipe, rows, watch
        self.start = start.distance
        self.centre, self.phi = (
            networks.learnable(part, device) for part in (start.centre, start.phi)
        )
        self.snapshots: list[tuple[Parameters, Parameters]] = []
        self.seen: list[tuple[float, float, float, float]] = []

    def run(
        self, data: Anchors, frame: Frame, rng: np.random.Generator, tell: starts.Tell
    ) -> None:
        """Take the steps of the recipe, looking at all anchors 15 times."""
        steps = self.recipe.steps
        every = max(1, -(-steps // CHECKS))
        self._check(0)
        if not steps:
            return
        recipe = self.recipe
        optimiser, schedule = networks.optimiser(recipe, self.centre, self.phi, steps)
        for step in range(1, steps + 1):
            rows = self._batch(data, frame, rng)
            truth, drawn = distances(self.recipe, self.centre, self.phi, rows)
            u = divergence.soft_ranks(truth, drawn, self.recipe.tau)
            away = divergence.w2(u) if self.recipe.divergence == "w2" else divergence.sinkhorn(u)
            optimiser.zero_grad()
            (-away).backward()
            optimiser.step()
            schedule.step()
            due = step % every == 0 or step == steps
            tell(step, self._check(step) if due else {})

    def best(self) -> int:
        """The check to keep: the last, or the best held-out one if it clearly beats the start."""
        if not self.recipe.keep_best:
            return len(self.seen) - 1
        held = np.array([seen[2] for seen in self.seen])
        best, n = int(held.argmax()), len(self.watch.theta)
        start = _excess(self.start, n + len(self.rows.theta))
        return best if _excess(held[best], n) > start + _MARGIN / np.sqrt(n) else 0

    def at(self, check: int) -> tuple[Parameters, Parameters]:
        """The two networks' parameters at a check."""
        return self.snapshots[check]

    def history(self) -> dict[str, NDArray[np.floating]]:
        """What each check saw, by name."""
        columns = np.array(self.seen, dtype=np.float32).T
        return dict(zip(("step", "train", "held", "w2"), columns, strict=True))

    def film(self) -> dict[str, NDArray[np.float16]]:
        """Parameters at every check, in half precision."""
        film = {}
        for part, name in enumerate(("centre", "phi")):
            for key in self.snapshots[0][part]:
                stacked = np.stack([snapshot[part][key] for snapshot in self.snapshots])
                film[f"{name}.{key}"] = stacked.astype(np.float16)
        return film

    def _batch(self, data: Anchors, frame: Frame, rng: np.random.Generator) -> Rows:
        recipe = self.recipe
        if data.more is not None:
            few = recipe.draws_step or recipe.draws
            drawn = data.more(recipe.batch, few, rng)
            return in_frame(frame, drawn, self.rows.x.device.type)
        n, k = self.rows.q.shape[:2]
        everything = slice(None)
        draws = (
            rng.permutation(k)[: recipe.draws_step] if 0 < recipe.draws_step < k else everything
        )
        which = rng.permutation(n)[: recipe.batch] if recipe.batch < n else np.arange(n)
        return self.rows.take(which, draws)

    def _check(self, step: int) -> dict[str, float]:
        self.snapshots.append((networks.arrays(self.centre), networks.arrays(self.phi)))
        u = ranks(self.recipe, self.centre, self.phi, self.rows)
        train, w2 = float(statistics.ks(u).statistic), float(divergence.w2(torch.from_numpy(u)))
        held = distance(self.recipe, self.centre, self.phi, [self.watch])
        self.seen.append((float(step), train, held, w2))
        return {"step": float(step), "train": train, "held": held}


def _excess(distance: float, n: int) -> float:
    """A KS distance beyond what n uniform ranks show on average."""
    return max(distance - _NULL_MEAN / np.sqrt(n), 0.0)
