"""Localizers: their networks, the distance as a score, and training."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cache
from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from validation_core import statistics
from validation_core.learn import perceptron
from validation_core.learn.adam import Adam
from validation_core.learn.perceptron import Parameters, Tensors
from validation_core.learn.training import descend
from validation_core.provenance import Stopwatch
from validation_core.rng import stream
from validation_core.scores.localizer import STARTS, Anchors, Localizer
from validation_core.scores.localizer_networks import (
    LocalizerFrame,
    build_initial_centre,
    build_initial_embedding,
    centre_at,
    embed_theta,
)
from validation_core.scores.trained_localizer import TrainedLocalizer
from validation_core.study import Report
from validation_core.types import PosteriorTable

_CHECK_DRAWS = 200  # of q at an anchor that a check ranks the truth among
_POINTS = 4096  # through the networks at a time: more leave the cache, and take memory
SINKHORN_BLUR = 0.05  # square root of Sinkhorn's epsilon, in units of U
# geomloss's annealing: its own 0.5 stops a quarter below the fixed point near uniform ranks.
SINKHORN_SCALING = 0.9


def _optimiser(recipe: Localizer, centre: Tensors, phi: Tensors, steps: int) -> Adam:
    """Adam with a rate for each network: along a cosine to 0, or constant as in the paper."""
    groups = [(centre.values(), recipe.lr), (phi.values(), recipe.lr_embedding)]
    return Adam(groups, over=steps if recipe.keep_best else None)


class _AnchorRows(NamedTuple):
    """Anchors in the frame: theta (n, D), x (n, M), q (n, K, D)."""

    theta: Tensor
    x: Tensor
    q: Tensor

    def take(self, which: NDArray[np.intp], draws: NDArray[np.intp] | slice) -> _AnchorRows:
        """Some anchors and some of their draws."""
        rows = torch.from_numpy(which)
        return _AnchorRows(self.theta[rows], self.x[rows], self.q[rows][:, draws])


def anchors_in_frame(
    frame: LocalizerFrame, draws: PosteriorTable, device: str | torch.device
) -> _AnchorRows:
    """A table's rows as tensors in a frame."""
    arrays = (frame.theta(draws.theta), frame.x(draws.x), frame.theta(draws.q))
    return _AnchorRows(*(torch.from_numpy(array).to(device) for array in arrays))


def distances_from_centre(
    recipe: Localizer, centre: Tensors, phi: Tensors, rows: _AnchorRows
) -> tuple[Tensor, Tensor]:
    """Distances of the truth (n,) and of q's draws (n, K) from their centres."""
    n, k, d = rows.q.shape
    at = centre_at(centre, rows.x)
    z = torch.cat([at, rows.theta, rows.q.reshape(-1, d)])
    mapped = embed_theta(recipe.embedding, phi, z)  # in one pass: small ones cost as much
    middle, truth, draws = mapped[:n], mapped[n : 2 * n], mapped[2 * n :].reshape(n, k, -1)
    # The small number keeps the root's slope finite where a point is the centre.
    return (
        ((truth - middle).square().sum(-1) + 1e-12).sqrt(),
        ((draws - middle[:, None]).square().sum(-1) + 1e-12).sqrt(),
    )


def _ranks(
    recipe: Localizer, centre: Tensors, phi: Tensors, rows: _AnchorRows
) -> NDArray[np.float64]:
    """Mid-ranks (n,) of the truth among at most 200 draws; no tie is broken while training."""
    few = rows._replace(q=rows.q[:, :_CHECK_DRAWS])
    parts = []
    step = max(1, _POINTS // max(1, few.q.shape[1]))
    with torch.no_grad():
        for i in range(0, len(few.theta), step):
            part = _AnchorRows(*(tensor[i : i + step] for tensor in few))
            truth, draws = distances_from_centre(recipe, centre, phi, part)
            below = (draws < truth[:, None]).sum(1) + 0.5 * (draws == truth[:, None]).sum(1)
            parts.append((below + 0.5) / (draws.shape[1] + 1))
    return torch.cat(parts).cpu().numpy().astype(np.float64)


def _distance(
    recipe: Localizer, centre: Tensors, phi: Tensors, parts: Sequence[_AnchorRows]
) -> float:
    """Kolmogorov distance of the ranks of all these anchors from uniform."""
    u = np.concatenate([_ranks(recipe, centre, phi, part) for part in parts])
    return float(statistics.ks(u).statistic)


def squared_wasserstein(u: Tensor) -> Tensor:
    """Squared 2-Wasserstein distance of ranks u (n,) from the uniform grid (i - 1/2) / n.

    In one dimension the optimal plan sorts: exact, and the limit of twice Sinkhorn's divergence
    as its blur goes to 0.
    """
    return (torch.sort(u).values - _grid(u)).square().mean()


def sinkhorn_divergence(u: Tensor) -> Tensor:
    """Debiased Sinkhorn divergence of ranks u (n,) from the grid, at cost |a - b|^2 / 2.

    Chen, Bansal, Scott, CoLT, Algorithm 1, through geomloss. Tends to w2(u) / 2.
    """
    return _loss(SINKHORN_BLUR, SINKHORN_SCALING)(u[:, None], _grid(u)[:, None])


@cache
def _loss(blur: float, scaling: float) -> torch.nn.Module:
    from geomloss import SamplesLoss

    return SamplesLoss("sinkhorn", p=2, blur=blur, scaling=scaling, backend="tensorized")


def _grid(u: Tensor) -> Tensor:
    n = len(u)
    return (torch.arange(n, device=u.device, dtype=u.dtype) + 0.5) / n


def soft_ranks(truth: Tensor, draws: Tensor, tau: float) -> Tensor:
    """Ranks (n,) of the truth's distance (n,) among its draws' (n, K), with a gradient.

    Forward the exact rank, ties counting half, so that a phi that has collapsed earns 1/2;
    backward the sigmoid of differences over tau sds of each row's own draws: straight-through, and
    blind to phi's scale.
    """
    with torch.no_grad():
        spread = draws.std(dim=1, keepdim=True, correction=0)
        softness = tau * torch.where(spread > 0, spread, draws.std(correction=0)) + 1e-12
        hard = (draws < truth[:, None]).to(draws.dtype)
        hard += 0.5 * (draws == truth[:, None])
    soft = torch.sigmoid((truth[:, None] - draws) / softness)
    return (soft + (hard - soft.detach())).mean(dim=1)


CHECKS = 12
"""Checks of the ranks of all anchors, beside the one at the start."""
_RIDGES = (1e-3, 1e-1, 1.0, 10.0, 100.0)
CENTRE_FIT_STEPS, _LR = 300, 3e-3
_ENOUGH = 0.95  # of the linear map's error: a network that wins less than a twentieth is noise
_NULL_MEAN = 0.869  # of Kolmogorov's law, times the root of n
# KS distance, times the root of the anchors that judge, by which one place must beat another to be
# preferred: about half a standard error. Within it the simpler one is the better bet.
_MARGIN = 0.5
_Tell = Callable[[int, Mapping[str, float]], None]
"""Told the step and live numbers."""


def train_localizer(
    data: Anchors, recipe: Localizer, seed: int, report: Report | None = None
) -> TrainedLocalizer:
    """Train one localizer; the seed fixes its start and the order of anchors and draws."""
    stopwatch = Stopwatch()
    where = perceptron.pick_device()
    frame = LocalizerFrame.fit(data.learn, whiten=recipe.whiten)
    rows, watch = (anchors_in_frame(frame, part, where) for part in (data.learn, data.watch))
    d, m = rows.theta.shape[1], rows.x.shape[1]
    rng = stream(seed, "localizer")
    centre = build_initial_centre(recipe, m, d, rng)
    phi = build_initial_embedding(recipe.embedding, d, rng, recipe.outputs)
    total = max(1, _blur_steps(recipe, rows) + recipe.steps * recipe.stages)
    done = 0

    def tell(step: int, live: Mapping[str, float]) -> None:
        if report:
            report((done + step) / total, live)

    start, blur, tried = _choose(recipe, centre, phi, rows, watch, seed, tell)
    done += _blur_steps(recipe, rows)
    stages = []
    if recipe.stages > 1:  # while phi is the identity: cheap, and often enough
        simple = replace(recipe, embedding="identity")
        first = _Stage(simple, start._replace(phi={}), rows, watch, where)
        first.run(data, frame, stream(seed, "centre"), tell)
        start = first.best()._replace(phi=phi)
        stages.append(first.with_phi(phi))
        done += recipe.steps
    clearly = blur is not None and blur.excess > start.excess + _margin(len(rows.x) + len(watch.x))
    last = _Stage(recipe, blur if blur and clearly else start, rows, watch, where)
    last.run(data, frame, stream(seed, "order"), tell)
    before = sum(len(stage.checks) for stage in stages)
    checkpoint = before + last.kept
    if stages and last.kept == 0 and not clearly:  # where the first stage had got to
        checkpoint = stages[0].kept
    stages.append(last)
    return TrainedLocalizer(
        recipe.embedding,
        *last.best()[:2],
        centre,
        phi,
        frame,
        {**_history(stages), **tried},
        _checkpoints(stages),
        kept=checkpoint,
        seconds=stopwatch.seconds,
        device=where,
    )


class _Stage:
    """The steps of one training, and the checks along the way."""

    def __init__(
        self, recipe: Localizer, start: _Start, rows: _AnchorRows, watch: _AnchorRows, device: str
    ) -> None:
        self.recipe, self.rows, self.watch = recipe, rows, watch
        self.start = start
        self.centre, self.phi = (
            perceptron.learnable(part, device) for part in (start.centre, start.phi)
        )
        self.snapshots: list[tuple[Parameters, Parameters]] = []
        self.checks: list[tuple[float, float, float, float]] = []

    def run(
        self, data: Anchors, frame: LocalizerFrame, rng: np.random.Generator, tell: _Tell
    ) -> None:
        """Take the steps of the recipe, looking at all anchors on the way."""
        steps = self.recipe.steps
        interval = max(1, -(-steps // CHECKS))
        self._check(0)
        adam = _optimiser(self.recipe, self.centre, self.phi, steps)
        batches = ([self._batch(data, frame, rng)] for _ in range(steps))
        for step, _ in enumerate(descend(adam, batches, self._loss), 1):
            due = step % interval == 0 or step == steps
            tell(step, self._check(step) if due else {})

    def _loss(self, rows: _AnchorRows) -> Tensor:
        truth, draws = distances_from_centre(self.recipe, self.centre, self.phi, rows)
        u = soft_ranks(truth, draws, self.recipe.tau)
        return -(
            squared_wasserstein(u) if self.recipe.divergence == "w2" else sinkhorn_divergence(u)
        )

    @property
    def kept(self) -> int:
        """The check to keep: the last, or the best held-out one if it clearly beats the start."""
        if not self.recipe.keep_best:
            return len(self.checks) - 1
        held_out, n = np.array([check[2] for check in self.checks]), len(self.watch.x)
        best = int(held_out.argmax())
        return best if _excess(held_out[best], n) > self.start.excess + _margin(n) else 0

    def best(self) -> _Start:
        """The kept parameters, as a starting point."""
        checkpoint = self.kept
        if checkpoint == 0:
            return self.start
        return _Start(
            *self.snapshots[checkpoint], _excess(self.checks[checkpoint][2], len(self.watch.x))
        )

    def with_phi(self, phi: Parameters) -> _Stage:
        """The same course, each of its embeddings written as `phi`, which is the identity."""
        self.snapshots = [(centre, phi) for centre, _ in self.snapshots]
        return self

    def _batch(
        self, data: Anchors, frame: LocalizerFrame, rng: np.random.Generator
    ) -> _AnchorRows:
        recipe = self.recipe
        if data.more is not None:
            few = recipe.draws_step or recipe.draws
            anchors = data.more(recipe.batch, few, rng)
            return anchors_in_frame(frame, anchors, self.rows.x.device)
        n, k = self.rows.q.shape[:2]
        everything = slice(None)
        draws = (
            rng.permutation(k)[: recipe.draws_step] if 0 < recipe.draws_step < k else everything
        )
        which = rng.permutation(n)[: recipe.batch] if recipe.batch < n else np.arange(n)
        return self.rows.take(which, draws)

    def _check(self, step: int) -> dict[str, float]:
        self.snapshots.append((perceptron.arrays(self.centre), perceptron.arrays(self.phi)))
        u = _ranks(self.recipe, self.centre, self.phi, self.rows)
        train, away = (
            float(statistics.ks(u).statistic),
            float(squared_wasserstein(torch.from_numpy(u))),
        )
        held_out = _distance(self.recipe, self.centre, self.phi, [self.watch])
        self.checks.append((float(step), train, held_out, away))
        return {"step": float(step), "train": train, "held": held_out}


def _history(stages: Sequence[_Stage]) -> dict[str, NDArray[np.floating]]:
    """Results of the checks, by name; steps go on from one stage to the next."""
    parts = [np.array(stage.checks, dtype=np.float32) for stage in stages]
    for i, checks in enumerate(parts):
        checks[:, 0] += sum(stage.recipe.steps for stage in stages[:i])
    return dict(zip(("step", "train", "held", "w2"), np.concatenate(parts).T, strict=True))


def _checkpoints(stages: Sequence[_Stage]) -> dict[str, NDArray[np.float16]]:
    """Parameters at every check, in half precision."""
    snapshots = [snapshot for stage in stages for snapshot in stage.snapshots]
    checkpoints = {}
    for i, name in enumerate(("centre", "phi")):
        for key in snapshots[0][i]:
            stacked = np.stack([snapshot[i][key] for snapshot in snapshots])
            checkpoints[f"{name}.{key}"] = stacked.astype(np.float16)
    return checkpoints


class _Start(NamedTuple):
    """Two initial networks, and the excess distance of ranks on held-out anchors."""

    centre: Parameters
    phi: Parameters
    excess: float


def _excess(distance: float, n: int) -> float:
    """A KS distance less its mean for n uniform ranks."""
    return max(distance - _NULL_MEAN / np.sqrt(n), 0.0)


def _margin(n: int) -> float:
    """Smallest gain on n anchors that counts."""
    return float(_MARGIN / np.sqrt(n))


def _choose(
    recipe: Localizer,
    centre: Parameters,
    phi: Parameters,
    rows: _AnchorRows,
    watch: _AnchorRows,
    seed: int,
    tell: _Tell,
) -> tuple[_Start, _Start | None, dict[str, NDArray[np.floating]]]:
    """The better of two plain starts, the blurred one if there is one, every start's distance.

    A centre at the origin sees a q that is shifted, one at q's mean a q of the wrong width or
    tails, an embedding that tells q's draws from blurred ones sees wrong detail. None has met
    a true theta, so that every anchor judges them fairly.
    """
    start_distances = dict.fromkeys(STARTS, float("nan"))

    def judged(name: str, centre: Parameters, phi: Parameters) -> _Start:
        tensors = [perceptron.tensors(part, rows.x.device) for part in (centre, phi)]
        start_distances[name] = _distance(recipe, tensors[0], tensors[1], (rows, watch))
        return _Start(centre, phi, _excess(start_distances[name], len(rows.x) + len(watch.x)))

    candidates, blur = [judged("origin", centre, phi)], None
    if recipe.start == "best":
        mean = fit_centre_to_median(centre, rows, watch, stream(seed, "start"))
        candidates.append(judged("mean", mean, phi))
        if _blur_steps(recipe, rows):
            parameters = train_on_blurred_draws(
                recipe, mean, phi, rows, stream(seed, "blur"), tell
            )
            blur = judged("blur", *parameters)
    best = max(candidates, key=lambda start: start.excess)
    return (
        best,
        blur,
        {f"start_{name}": np.array([value]) for name, value in start_distances.items()},
    )


def _blur_steps(recipe: Localizer, rows: _AnchorRows) -> int:
    """Steps that the blurred start takes; none without an embedding to learn or draws to blur."""
    able = recipe.start == "best" and recipe.embedding != "identity" and rows.q.shape[1] > 1
    return recipe.blur_steps if able else 0


def train_on_blurred_draws(
    recipe: Localizer,
    centre: Parameters,
    phi: Parameters,
    rows: _AnchorRows,
    rng: np.random.Generator,
    tell: _Tell,
) -> tuple[Parameters, Parameters]:
    """Train networks for which draws of q with a little noise lie farther out than draws of q.

    q's draws are many where anchors are few: from them alone the embedding learns the fine
    structure of q. A q that is too blunt or too sharp then shows at once.
    """
    where = rows.x.device
    own_centre, own_phi = (perceptron.learnable(part, where) for part in (centre, phi))
    adam = _optimiser(recipe, own_centre, own_phi, recipe.blur_steps)
    n, k, d = rows.q.shape
    half = min(recipe.draws_step or k, k) // 2

    def batches() -> Iterator[list[_AnchorRows]]:
        for _ in range(recipe.blur_steps):
            batch = rows.take(rng.permutation(n)[: recipe.batch], rng.permutation(k)[: 2 * half])
            noise = recipe.blur * rng.standard_normal((len(batch.x), half, d))
            q = batch.q.clone()
            q[:, :half] += torch.from_numpy(noise.astype(np.float32)).to(where)
            # The truth's own place in these rows is not read.
            yield [batch._replace(theta=q[:, 0], q=q)]

    def loss(batch: _AnchorRows) -> Tensor:
        _, far = distances_from_centre(recipe, own_centre, own_phi, batch)
        noisy, clean = far[:, :half].reshape(-1), far[:, half:].repeat_interleave(half, dim=0)
        return -soft_ranks(noisy, clean, recipe.tau).mean()

    for step, _ in enumerate(descend(adam, batches(), loss), 1):
        tell(step, {})
    return perceptron.arrays(own_centre), perceptron.arrays(own_phi)


def fit_centre_to_median(
    centre: Parameters, rows: _AnchorRows, watch: _AnchorRows, rng: np.random.Generator
) -> Parameters:
    """A centre at q's median at each x: a ridge of x, and a network where that falls short."""
    target, held_target = (part.q.median(dim=1).values for part in (rows, watch))
    linear = _ridge(rows.x, target, watch.x, held_target)
    started = {**centre, **linear}
    return _fitted(perceptron.zero_last_layer(started), rows.x, target, watch.x, held_target, rng)


def _ridge(x: Tensor, y: Tensor, held_x: Tensor, held_y: Tensor) -> Parameters:
    """Linear map and shift by ridge regression; held-out rows choose the ridge."""
    # In double precision, which an Apple GPU refuses.
    x, y, held_x, held_y = (part.cpu().double() for part in (x, y, held_x, held_y))
    middle, target = x.mean(0), y.mean(0)
    # One decomposition serves every ridge, and x may have more columns than rows.
    u, size, v = torch.linalg.svd(x - middle, full_matrices=False)
    along = u.T @ (y - target)
    least, best = np.inf, torch.zeros(x.shape[1], y.shape[1], dtype=torch.float64)
    for ridge in _RIDGES:
        coefficients = v.T @ ((size / (size**2 + ridge))[:, None] * along)
        error = float(((held_x - middle) @ coefficients + target - held_y).square().mean())
        if error < least:
            least, best = error, coefficients
    shift = target - middle @ best
    return {"linear": best.float().numpy(), "shift": shift.float().numpy()}


def _fitted(
    start: Parameters,
    x: Tensor,
    y: Tensor,
    held_x: Tensor,
    held_y: Tensor,
    rng: np.random.Generator,
) -> Parameters:
    tensors = perceptron.learnable(start, x.device)
    adam = Adam([(tensors.values(), _LR)], over=CENTRE_FIT_STEPS)

    def error() -> float:
        with torch.no_grad():
            return float((centre_at(tensors, held_x) - held_y).square().mean())

    def loss(which: Tensor) -> Tensor:
        return (centre_at(tensors, x[which]) - y[which]).square().mean()

    best, least = start, _ENOUGH * error()
    batches = ([torch.from_numpy(rng.permutation(len(x))[:256])] for _ in range(CENTRE_FIT_STEPS))
    for step, _ in enumerate(descend(adam, batches, loss), 1):
        if step % 20 == 0 and (now := error()) < least:
            best, least = perceptron.arrays(tensors), now
    return best
