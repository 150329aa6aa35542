"""Where training begins: at the origin, at q's mean, or with q's detail. Only q shapes any."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from validation_core.nets import Parameters
from validation_core.optim import Adam
from validation_core.rng import stream
from validation_core.scores.localizer import divergence, networks
from validation_core.scores.localizer.recipe import STARTS, Localizer
from validation_core.scores.localizer.rows import Rows, distance, distances

Tell = Callable[[int, Mapping[str, float]], None]
"""Told the step and live numbers."""
_RIDGES = (1e-3, 1e-1, 1.0, 10.0, 100.0)
_STEPS, _LR = 300, 3e-3
_ENOUGH = 0.95  # of the linear map's error: a network that wins less than a twentieth is noise


_NULL_MEAN = 0.869  # of Kolmogorov's law, times the root of n
_MARGIN = 0.5
"""KS distance, times the root of the anchors that judge, by which one place must beat another to
be preferred: about half a standard error. Within it the simpler one is the better bet."""


class Start(NamedTuple):
    """Two networks to begin with, and how far anchors that shaped neither say ranks are off."""

    centre: Parameters
    phi: Parameters
    excess: float


def excess(distance: float, n: int) -> float:
    """A KS distance beyond what n uniform ranks show on average."""
    return max(distance - _NULL_MEAN / np.sqrt(n), 0.0)


def margin(n: int) -> float:
    """What n anchors must see of a gain before it counts."""
    return float(_MARGIN / np.sqrt(n))


def choose(
    recipe: Localizer, centre: Parameters, phi: Parameters, rows: Rows, watch: Rows, seed: int,
    tell: Tell,
) -> tuple[Start, Start | None, dict[str, NDArray[np.floating]]]:  # fmt: skip
    """The better of two plain starts, the blurred one if there is one, every start's distance.

    A centre at the origin sees a q that is shifted, one at q's mean a q of the wrong width or
    tails, an embedding that tells q's draws from blurred ones sees wrong detail. None has met
    a true theta, so that every anchor judges them fairly.
    """
    seen = dict.fromkeys(STARTS, float("nan"))

    def judged(name: str, centre: Parameters, phi: Parameters) -> Start:
        named = [networks.tensors(part, rows.x.device.type) for part in (centre, phi)]
        seen[name] = distance(recipe, named[0], named[1], (rows, watch))
        return Start(centre, phi, excess(seen[name], len(rows.x) + len(watch.x)))

    plain, blur = [judged("origin", centre, phi)], None
    if recipe.start == "best":
        at_mean = mean(centre, rows, watch, stream(seed, "start"))
        plain.append(judged("mean", at_mean, phi))
        if steps(recipe, rows):
            made = blurred(recipe, at_mean, phi, rows, stream(seed, "blur"), tell)
            blur = judged("blur", *made)
    best = max(plain, key=lambda start: start.excess)
    return best, blur, {f"start_{name}": np.array([value]) for name, value in seen.items()}


def steps(recipe: Localizer, rows: Rows) -> int:
    """Steps that the blurred start takes; none without an embedding to learn or draws to blur."""
    able = recipe.start == "best" and recipe.embedding != "identity" and rows.q.shape[1] > 1
    return recipe.blur_steps if able else 0


def blurred(
    recipe: Localizer,
    centre: Parameters,
    phi: Parameters,
    rows: Rows,
    rng: np.random.Generator,
    tell: Tell,
) -> tuple[Parameters, Parameters]:
    """Networks for which draws of q with a little noise lie farther out than draws of q.

    q's draws are many where anchors are few: from them alone the embedding learns the fine
    structure of q. A q that is too blunt or too sharp then shows at once.
    """
    where = rows.x.device.type
    own_centre, own_phi = (networks.learnable(part, where) for part in (centre, phi))
    adam = networks.optimiser(recipe, own_centre, own_phi, recipe.blur_steps)
    n, k, d = rows.q.shape
    half = min(recipe.draws_step or k, k) // 2
    for step in range(recipe.blur_steps):
        drawn = rows.take(rng.permutation(n)[: recipe.batch], rng.permutation(k)[: 2 * half])
        noise = recipe.blur * rng.standard_normal((len(drawn.x), half, d))
        q = drawn.q.clone()
        q[:, :half] += torch.from_numpy(noise.astype(np.float32)).to(where)
        # The truth's own place in these rows is not looked at.
        _, far = distances(recipe, own_centre, own_phi, drawn._replace(theta=q[:, 0], q=q))
        noisy, plain = far[:, :half].reshape(-1), far[:, half:].repeat_interleave(half, dim=0)
        loss = -divergence.soft_ranks(noisy, plain, recipe.tau).mean()
        adam.zero_grad()
        loss.backward()
        adam.step()
        adam.cool()
        tell(step + 1, {})
    return networks.arrays(own_centre), networks.arrays(own_phi)


def mean(centre: Parameters, rows: Rows, watch: Rows, rng: np.random.Generator) -> Parameters:
    """A centre at q's median at each x: a ridge of x, and a network where that falls short."""
    target, held = (part.q.median(dim=1).values for part in (rows, watch))
    linear = _ridge(rows.x, target, watch.x, held)
    started = {**centre, **linear}
    last = sum(name.startswith("weight") for name in centre) - 1
    for name in (f"weight{last}", f"bias{last}"):
        started[name] = np.zeros_like(started[name])
    return _fitted(started, rows.x, target, watch.x, held, rng)


def _ridge(x: Tensor, y: Tensor, held_x: Tensor, held_y: Tensor) -> Parameters:
    """Linear map and shift by ridge regression; held-out rows choose the ridge."""
    middle, target = x.double().mean(0), y.double().mean(0)
    # One decomposition serves every ridge, and x may have more columns than rows.
    u, size, v = torch.linalg.svd(x.double() - middle, full_matrices=False)
    along = u.T @ (y.double() - target)
    least, best = np.inf, torch.zeros(x.shape[1], y.shape[1], dtype=torch.float64)
    for ridge in _RIDGES:
        found = v.T @ ((size / (size**2 + ridge))[:, None] * along)
        error = float(((held_x - middle) @ found + target - held_y).square().mean())
        if error < least:
            least, best = error, found
    shift = target - middle @ best.to(middle.device)
    return {"linear": best.float().cpu().numpy(), "shift": shift.float().cpu().numpy()}


def _fitted(
    start: Parameters, x: Tensor, y: Tensor, held_x: Tensor, held_y: Tensor,
    rng: np.random.Generator,
) -> Parameters:  # fmt: skip
    tensors = networks.learnable(start, x.device.type)
    adam = Adam([(tensors.values(), _LR)], over=_STEPS)

    def error() -> float:
        with torch.no_grad():
            return float((networks.centre(tensors, held_x) - held_y).square().mean())

    best, least = start, _ENOUGH * error()
    for step in range(_STEPS + 1):
        if step % 20 == 0 and (now := error()) < least:
            best, least = networks.arrays(tensors), now
        which = torch.from_numpy(rng.permutation(len(x))[:256])
        loss = (networks.centre(tensors, x[which]) - y[which]).square().mean()
        adam.zero_grad()
        loss.backward()
        adam.step()
        adam.cool()
    return best
