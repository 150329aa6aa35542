"""sbi's L-C2ST at one observation. Runs in the peers' environment."""

from __future__ import annotations

import warnings
from typing import Any

import torch
from sbi.diagnostics.lc2st import LC2ST
from talk import Arrays, serve, timed

warnings.filterwarnings("ignore")


def pvalues(arrays: Arrays, nulls: int, **options: Any) -> dict[str, Any]:
    """p-values of the tables along the leading axis of the arrays, and the time for all.

    The options are those of sbi's class.
    """
    count = len(arrays["theta"])
    tables = [{name: array[i] for name, array in arrays.items()} for i in range(count)]
    seconds, found = timed(
        lambda: [_pvalue(one, i, nulls, options) for i, one in enumerate(tables)]
    )
    return {"seconds": seconds, "pvalues": found}


def _pvalue(arrays: Arrays, seed: int, nulls: int, options: dict[str, Any]) -> float:
    """Of theta, q (N, D) and x (N, M), at x_o (M,) with q's draws there theta_o (K, D)."""
    torch.manual_seed(seed)
    theta, q, x, at, there = (
        torch.from_numpy(arrays[name]) for name in ("theta", "q", "x", "x_o", "theta_o")
    )
    test = LC2ST(theta, x, q, seed=seed, num_trials_null=nulls, **options)
    test.train_on_observed_data(verbosity=0)
    test.train_under_null_hypothesis(verbosity=0)
    return float(test.p_value(theta_o=there, x_o=at[None]))


if __name__ == "__main__":
    serve(pvalues=pvalues)
