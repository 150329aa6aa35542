"""What the H + 1 networks say of any row."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from validation_core.scores.classifier import scaled
from validation_core.types import Array

_ROWS = 256  # of one pass on a CPU: what a layer of a hundred networks keeps in its cache


@dataclass(frozen=True, eq=False)
class LocalScore:
    """(theta, x) to the logits (H + 1, n) of all networks, high where a row looks like the truth.

    The first learnt the true labels, each other one its own swapped ones.
    """

    parameters: Mapping[str, NDArray[np.float32]]
    """weight0, bias0, ...: (H + 1, fan in, fan out) and (H + 1, 1, fan out)."""
    shift: Array  # (D + M,), float64: a level may dwarf the spread
    scale: Array  # (D + M,)

    @property
    def nulls(self) -> int:
        """H."""
        return len(self.parameters["bias0"]) - 1

    def __call__(self, theta: Array, x: Array) -> Array:
        import torch

        from validation_core import nets
        from validation_core.scores.local import networks

        device = nets.pick_device()
        z = scaled(theta, x, self.shift, self.scale)
        out = np.empty((self.nulls + 1, len(z)), dtype=np.float32)
        step = _ROWS if device == "cpu" else 1 << 14
        with torch.inference_mode():
            tensors = networks.tensors(self.parameters, device)
            for first in range(0, len(z), step):
                part = slice(first, first + step)
                rows = torch.from_numpy(z[part]).to(device)
                out[:, part] = networks.forward(tensors, rows).cpu().numpy()
        return out
