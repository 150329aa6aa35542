"""sbi's ranks, and its check of them. Runs in the peers' environment."""

from __future__ import annotations

import warnings
from typing import Any

import torch
from sbi.diagnostics import sbc
from talk import Arrays, serve, timed

warnings.filterwarnings("ignore")


def ranks(arrays: Arrays) -> dict[str, Any]:
    """The loop over a posterior's samples, which are already drawn."""
    theta, x, drawn = _tensors(arrays)
    seconds, found = timed(lambda: sbc._run_sbc(theta, x, drawn, "marginals", False))
    return {"seconds": seconds, "ranks": found.int().tolist(), "threads": torch.get_num_threads()}


def check(arrays: Arrays) -> dict[str, Any]:
    """KS, and a random forest per parameter on ranks and on the data-averaged posterior."""
    theta, x, drawn = _tensors(arrays)
    found = sbc._run_sbc(theta, x, drawn, "marginals", False)
    seconds, checked = timed(lambda: sbc.check_sbc(found, theta, drawn[0], len(drawn)))
    return {"seconds": seconds, "pvalues": checked["ks_pvals"].tolist()}


def _tensors(arrays: Arrays) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """theta (N, D), x (N, M), draws (K, N, D): as sbi has them."""
    drawn = torch.from_numpy(arrays["q"]).movedim(1, 0).contiguous()
    return torch.from_numpy(arrays["theta"]), torch.from_numpy(arrays["x"]), drawn


if __name__ == "__main__":
    serve(ranks=ranks, check=check)
