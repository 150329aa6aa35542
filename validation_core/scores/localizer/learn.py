"""Training a localizer: ranks climb away from uniform, held-out anchors say when it is enough."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import replace

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
from validation_core.scores.localizer.starts import Start, excess, margin
from validation_core.scores.localizer.trained import TrainedLocalizer
from validation_core.training import Report

CHECKS = 12
"""Times that the ranks of all anchors are looked at, beside the start."""


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
    total = max(1, starts.steps(recipe, rows) + recipe.steps * recipe.stages)
    done = 0

    def tell(step: int, live: Mapping[str, float]) -> None:
        if report:
            report((done + step) / total, live)

    plain, blur, tried = starts.choose(recipe, centre, phi, rows, watch, seed, tell)
    done += starts.steps(recipe, rows)
    climbs = []
    if recipe.stages > 1:  # while phi is the identity: cheap, and often enough
        simple = replace(recipe, embedding="identity")
        first = _Climb(simple, plain._replace(phi={}), rows, watch, where)
        first.run(data, frame, stream(seed, "centre"), tell)
        plain = first.best()._replace(phi=phi)
        climbs.append(first.with_phi(phi))
        done += recipe.steps
    clearly = blur is not None and blur.excess > plain.excess + margin(len(rows.x) + len(watch.x))
    climb = _Climb(recipe, blur if blur and clearly else plain, rows, watch, where)
    climb.run(data, frame, stream(seed, "order"), tell)
    before = sum(len(one.seen) for one in climbs)
    kept = before + climb.kept
    if climbs and climb.kept == 0 and not clearly:  # where the first stage had got to
        kept = climbs[0].kept
    climbs.append(climb)
    return TrainedLocalizer(
        recipe.embedding, *climb.best()[:2], centre, phi, frame, {**_history(climbs), **tried},
        _film(climbs), kept=kept, seconds=time.perf_counter() - began, device=where,
    )  # fmt: skip


class _Climb:
    """The steps of one training, and what was seen on the way."""

    def __init__(
        self, recipe: Localizer, start: Start, rows: Rows, watch: Rows, device: str
    ) -> None:
        self.recipe, self.rows, self.watch = recipe, rows, watch
        self.start = start
        self.centre, self.phi = (
            networks.learnable(part, device) for part in (start.centre, start.phi)
        )
        self.snapshots: list[tuple[Parameters, Parameters]] = []
        self.seen: list[tuple[float, float, float, float]] = []

    def run(
        self, data: Anchors, frame: Frame, rng: np.random.Generator, tell: starts.Tell
    ) -> None:
        """Take the steps of the recipe, looking at all anchors on the way."""
        steps = self.recipe.steps
        every = max(1, -(-steps // CHECKS))
        self._check(0)
        if not steps:
            return
        recipe = self.recipe
        adam = networks.optimiser(recipe, self.centre, self.phi, steps)
        for step in range(1, steps + 1):
            rows = self._batch(data, frame, rng)
            truth, drawn = distances(self.recipe, self.centre, self.phi, rows)
            u = divergence.soft_ranks(truth, drawn, self.recipe.tau)
            away = divergence.w2(u) if self.recipe.divergence == "w2" else divergence.sinkhorn(u)
            adam.zero_grad()
            (-away).backward()
            adam.step()
            adam.cool()
            due = step % every == 0 or step == steps
            tell(step, self._check(step) if due else {})

    @property
    def kept(self) -> int:
        """The check to keep: the last, or the best held-out one if it clearly beats the start."""
        if not self.recipe.keep_best:
            return len(self.seen) - 1
        held, n = np.array([seen[2] for seen in self.seen]), len(self.watch.x)
        best = int(held.argmax())
        return best if excess(held[best], n) > self.start.excess + margin(n) else 0

    def best(self) -> Start:
        """What is kept, as something to begin with."""
        kept = self.kept
        if kept == 0:
            return self.start
        return Start(*self.snapshots[kept], excess(self.seen[kept][2], len(self.watch.x)))

    def with_phi(self, phi: Parameters) -> _Climb:
        """The same course, each of its embeddings written as `phi`, which is the identity."""
        self.snapshots = [(centre, phi) for centre, _ in self.snapshots]
        return self

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


def _history(climbs: Sequence[_Climb]) -> dict[str, NDArray[np.floating]]:
    """What each check saw, by name; steps go on from one stage to the next."""
    parts = [np.array(climb.seen, dtype=np.float32) for climb in climbs]
    for i, part in enumerate(parts):
        part[:, 0] += sum(climb.recipe.steps for climb in climbs[:i])
    return dict(zip(("step", "train", "held", "w2"), np.concatenate(parts).T, strict=True))


def _film(climbs: Sequence[_Climb]) -> dict[str, NDArray[np.float16]]:
    """Parameters at every check, in half precision."""
    snapshots = [snapshot for climb in climbs for snapshot in climb.snapshots]
    film = {}
    for part, name in enumerate(("centre", "phi")):
        for key in snapshots[0][part]:
            stacked = np.stack([snapshot[part][key] for snapshot in snapshots])
            film[f"{name}.{key}"] = stacked.astype(np.float16)
    return film
