"""Anchors as tensors, and the ranks of their truths under two networks."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from validation_core import statistics
from validation_core.scores.localizer import networks
from validation_core.scores.localizer.frame import Frame
from validation_core.scores.localizer.recipe import Localizer
from validation_core.types import Draws

CHECK_DRAWS = 200
"""Draws of q at an anchor that a check ranks the truth among."""

_POINTS = 4096  # through the networks at a time: more leave the cache, and take memory


class Rows(NamedTuple):
    """Anchors in the frame: theta (n, D), x (n, M), q (n, K, D)."""

    theta: Tensor
    x: Tensor
    q: Tensor

    def take(self, which: NDArray[np.intp], draws: NDArray[np.intp] | slice) -> Rows:
        """Some anchors and some of their draws."""
        rows = torch.from_numpy(which)
        return Rows(self.theta[rows], self.x[rows], self.q[rows][:, draws])


def in_frame(frame: Frame, draws: Draws, device: str) -> Rows:
    """A table's rows as tensors in a frame."""
    arrays = (frame.theta(draws.theta), frame.x(draws.x), frame.theta(draws.q))
    return Rows(*(torch.from_numpy(array).to(device) for array in arrays))


def distances(
    recipe: Localizer, centre: networks.Tensors, phi: networks.Tensors, rows: Rows
) -> tuple[Tensor, Tensor]:
    """Distances of the truth (n,) and of q's draws (n, K) from their centres."""
    n, k, d = rows.q.shape
    at = networks.centre(centre, rows.x)
    z = torch.cat([at, rows.theta, rows.q.reshape(-1, d)])
    mapped = networks.embed(recipe.embedding, phi, z)  # in one pass: small ones cost as much
    middle, truth, drawn = mapped[:n], mapped[n : 2 * n], mapped[2 * n :].reshape(n, k, -1)
    # The small number keeps the root's slope finite where a point is the centre.
    return (
        ((truth - middle).square().sum(-1) + 1e-12).sqrt(),
        ((drawn - middle[:, None]).square().sum(-1) + 1e-12).sqrt(),
    )


def ranks(
    recipe: Localizer, centre: networks.Tensors, phi: networks.Tensors, rows: Rows
) -> NDArray[np.float64]:
    """Mid-ranks (n,) of the truth among at most 200 draws; no tie is broken while training."""
    few = rows._replace(q=rows.q[:, :CHECK_DRAWS])
    parts = []
    step = max(1, _POINTS // max(1, few.q.shape[1]))
    with torch.no_grad():
        for i in range(0, len(few.theta), step):
            part = Rows(*(tensor[i : i + step] for tensor in few))
            truth, drawn = distances(recipe, centre, phi, part)
            below = (drawn < truth[:, None]).sum(1) + 0.5 * (drawn == truth[:, None]).sum(1)
            parts.append((below + 0.5) / (drawn.shape[1] + 1))
    return torch.cat(parts).double().cpu().numpy()


def distance(
    recipe: Localizer, centre: networks.Tensors, phi: networks.Tensors, parts: Sequence[Rows]
) -> float:
    """Kolmogorov distance of the ranks of all these anchors from uniform."""
    u = np.concatenate([ranks(recipe, centre, phi, part) for part in parts])
    return float(statistics.ks(u).statistic)
